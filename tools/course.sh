#!/bin/sh
# tools/course.sh mine FLAGS LESSON...: grades each lesson's exercise, makes course/mine/libmine.so of the operations
# that passed, and prints which are there and how fast. `make course` runs it.
# tools/course.sh test FLAGS ONLY LESSON...: tries the lessons themselves, or those whose numbers ONLY has: each runs
# (FAST=1: at most 10 s of the processor), its solution gets all points, its exercise as given does not, each wrong answer
# gets the hint that it is there for, texts quote what the lesson prints, and programs run on the solutions.
# `make course-test` runs it.
#
# A LESSON is a folder: course/01-average. MAKE, OUT, CC, ATTEND_BIN and LESSON_BIN come from the Makefile; CHECKED says that kernels
# for a GPU are looked at while they run.
set -u
make="${MAKE:-make} -s --no-print-directory"
mode=$1
shift

number_of() { n=${1##*/}; echo "${n%%-*}"; }

# The same of its exercise or of a solution: course/01-average/exercise.c, course/solutions/01-average.c
number_of_file() { case $1 in */exercise.c) number_of "${1%/*}" ;; *) number_of "$1" ;; esac; }

# The grader of lesson $1 with the file $2, built; its compiler's words go to standard error.
grader() {
    $make "grader-$(number_of "$1")" "FILE=$2" | tail -n 1
}

# libmine PLACE FLAGS FILES...: PLACE/course/mine/libmine.so of the operations that standard input names, each after the
# number of its lesson. Where lessons share an operation, the last one's is taken; so each file's have names of their own.
libmine() {
    library=$1/course/mine/libmine.so
    flags=$2
    shift 2
    mkdir -p "${library%/*}" "$OUT/course"
    operations=$(cat)
    {
        echo '/* Made by tools/course.sh. */'
        echo '#include "course/frame/mine.h"'
        echo 'size_t mine_table(Kernels *k);'
        echo "$operations" | while read -r number operation; do
            [ -z "$operation" ] || echo "__typeof__(*((Kernels *)0)->$operation) mine_${number}_$operation;"
        done
        echo 'size_t mine_table(Kernels *k)'
        echo '{'
        echo '    if (!k)'
        echo '        return sizeof *k;'
        echo "$operations" | while read -r number operation; do
            [ -z "$operation" ] || echo "    k->$operation = mine_${number}_$operation;"
        done
        echo '    return sizeof *k;'
        echo '}'
    } >"$OUT/course/mine.c"
    objects=
    for file in "$@"; do
        number=$(number_of_file "$file")
        names=$(sed -n "s/^MINE(\(.*\));.*/-Dmine_\1=mine_${number}_\1/p" course/"$number"-*/exercise.h)
        # shellcheck disable=SC2086
        eval "$CC $flags" $names "-fPIC -c -o \"\$OUT/course/mine-\$number.o\" \"\$file\"" || return 1
        objects="$objects $OUT/course/mine-$number.o"
    done
    # shellcheck disable=SC2086
    eval "$CC $flags -Wno-missing-prototypes -fPIC -shared -o \"\$library.new\" \"\$OUT/course/mine.c\" base/philox.c $objects -lm" &&
        mv "$library.new" "$library"
}

mine() {
    flags=$1
    shift
    table=$OUT/course/table
    mkdir -p "$OUT/course"
    : >"$table"
    files=
    for lesson in "$@"; do
        program=$(grader "$lesson" "$lesson/exercise.c") && [ -n "$program" ] || {
            printf 'lesson\t%s: does not compile\t0\t1\n' "$lesson" >>"$table"
            continue
        }
        "$program" table | sed "s/\$/	$(number_of "$lesson")/" >>"$table"
        files="$files $lesson/exercise.c"
    done
    # shellcheck disable=SC2086
    awk -F '\t' '$1 == "operation" && $3 == "yes" { print $7, $2 }' "$table" | libmine . "$flags" $files || exit 1
    awk -F '\t' '
    function time(us) { return us < 0 ? "-" : us < 1000 ? sprintf("%.1f us", us) : sprintf("%.2f ms", us / 1000) }
    $1 == "lesson" { lesson[++lessons] = sprintf("  %-42s %3d of %d points", $2, $3, $4); next }
    $2 in place && $3 != "yes" { next } # another lesson has it, too
    {
      if (!($2 in place)) place[$2] = ++n
      if ($3 == "yes" && !whose[$2]++) mine++
      operation[place[$2]] = sprintf("  %-24s %-6s %12s %12s %12s", $2, $3 == "yes" ? "mine" : "plain", time($4), time($5), time($6))
    }
    END {
        for (i = 1; i <= lessons; i++) print lesson[i]
        printf "\n  %-24s %-6s %12s %12s %12s\n", "operation", "whose", "mine", "plain", "cpu"
        for (i = 1; i <= n; i++) print operation[i]
        printf "\n%d of %d operations are yours; course/mine/libmine.so holds them, plain does the rest:\n", mine, n
        print "    bin/charlm train --preset study --device mine"
    }' "$table"
}

# ---- what the course itself must pass

failed=0
wrong() { echo "course: $*" >&2; failed=1; }

# The lines of a text that stand in blocks after <!-- output of make lesson-NN --> appear in that output, in order.
# After <!-- output of make lesson-NN, about --> numbers may be others, and so may what is drawn after a | and what was
# written after a >: what was trained differs with a library's last digit.
quotes_of_output() { # TEXT OUTPUT
    awk -v text="$1" '
    function shape(words) {
        sub(/\|.*/, "|", words); sub(/^ *>.*/, ">", words)
        gsub(/-?[0-9][0-9.]*/, "#", words); gsub(/ +/, " ", words)
        return words
    }
    function same(i) { return about ? shape(line[i]) == shape($0) : line[i] == $0 }
    FNR == NR { sub(/[ \t]+$/, ""); line[++n] = $0; next }
    /^<!-- output of make lesson-/ { marked = 1; about = / about -->/; next }
    /^```/ { if (inside) inside = marked = 0; else inside = marked; next }
    inside {
        sub(/[ \t]+$/, "")
        if ($0 == "..." || $0 == "") next
        for (i = at + 1; i <= n && !same(i); i++) ;
        if (i <= n) { at = i; next }
        for (i = 1; i <= n && !same(i); i++) ; # a later block may look back
        if (i <= n) { at = i; next }
        print text ":" FNR ": the lesson does not print: " $0
        bad = 1
    }
    END { exit bad }' "$2" "$1"
}

try_lesson() {
    lesson=$1
    name=${lesson##*/}
    number=$(number_of "$lesson")
    log=$OUT/course/test-$number
    began=$(date +%s)
    # (seconds of the processor: a machine that is busy with other things slows nobody's lesson down)
    (ulimit -t ${SECONDS_ALLOWED:-10} && FAST=1 "$LESSON_BIN/lesson-$number") >"$log" ||
        wrong "$lesson: lesson.c ended with status $? (with FAST=1 it may take 10 s)"
    took=$(($(date +%s) - began))
    # (what a build cannot show, for want of a compiler, is a line of its own)
    grep -q '^left out: ' "$log" || quotes_of_output "$lesson/README.md" "$log" >&2 || failed=1
    program=$(grader "$lesson" "course/solutions/$name.c")
    "$program" >"$log" || { wrong "course/solutions/$name.c does not get all points"; cat "$log" >&2; }
    if program=$(grader "$lesson" "$lesson/exercise.c") && [ -n "$program" ]; then
        "$program" >"$log" && wrong "$lesson/exercise.c passes as it is given"
        grep -q '^0 of ' "$log" || wrong "$lesson/exercise.c gets points as it is given: $(tail -n 1 "$log")"
    else
        wrong "$lesson/exercise.c does not compile"
    fi
    count=0
    for answer in course/wrong/"$number"-*.c; do
        [ -e "$answer" ] || continue
        count=$((count + 1))
        [ -n "${CHECKED:-}" ] || [ ! -e "${answer%.c}.cu" ] || continue # nobody would notice
        hint=$(sed -n '1s/^\/\* expect hint: \(.*\) \*\/$/\1/p' "$answer")
        [ -n "$hint" ] || wrong "$answer: its first line is not /* expect hint: ... */"
        program=$(grader "$lesson" "$answer")
        "$program" >"$log" && wrong "$answer passes"
        points=$(sed -n '2s/^\/\* expect points: \(.*\) \*\/$/\1/p' "$answer")
        grep -q "^${points:-[0-9]*} of " "$log" || wrong "$answer does not get $points points: $(tail -n 1 "$log")"
        grep '^        hint: ' "$log" | grep -qF -- "$hint" || { wrong "$answer does not get the hint \"$hint\""; cat "$log" >&2; }
    done
    [ $count -ge 2 ] || wrong "$lesson has $count wrong answers in course/wrong, and should have two"
    echo "  $name: runs in $took s; solution, exercise and $count wrong answers are graded as they should be"
}

# Programs run on the solutions' operations, and learn what they learn on plain's.
try_mine() {
    flags=$1
    shift
    place=$OUT/course/place
    mkdir -p "$place"
    operations= solutions=
    for lesson in "$@"; do
        solution=course/solutions/${lesson##*/}.c
        for operation in $("$(grader "$lesson" "$solution")" operations); do
            operations="$operations$(number_of "$lesson") $operation
"
        done
        solutions="$solutions $solution"
    done
    # shellcheck disable=SC2086
    printf '%s' "$operations" | libmine "$place" "$flags" $solutions || { wrong "the solutions make no library"; return; }
    for kind in layer rms; do
        for device in plain mine; do
            rm -rf "$place/$device"
            (cd "$place" && "$ATTEND_BIN/charlm" train -q --preset study --dim 16 --heads 2 --depth 1 --context 16 --batch 4 --steps 3 \
                --eval-every 3 --attention composed --distances none --positions learned --norm-kind $kind \
                --device $device --workers 1 --run $device >/dev/null) || wrong "charlm does not train with --device $device, --norm-kind $kind"
            cut -f 1,3 "$place/$device/log.tsv" >"$place/$device.loss"
        done
        awk 'FNR == 1 { next } FNR == NR { loss[FNR] = $2; next }
            { d = loss[FNR] - $2; lines++; if (d > 1e-4 || d < -1e-4) bad = 1 } END { exit bad || !lines }' \
            "$place/plain.loss" "$place/mine.loss" ||
            { wrong "--device mine learns something else than plain"; cat "$place"/*.loss >&2; }
    done
    echo 'unsigned long mine_table(void *k); unsigned long mine_table(void *k) { return k != 0; }' >"$OUT/course/old.c"
    # shellcheck disable=SC2086
    eval "$CC $flags -fPIC -shared -o $place/course/mine/libmine.so $OUT/course/old.c" &&
        (cd "$place" && "$ATTEND_BIN/charlm" bench --device mine --dim 16 --heads 2 --depth 1 2>&1) |
        grep -q 'built for another version' || wrong "a library of another version is not refused"
    echo "  --device mine: $(printf '%s' "$operations" | cut -d ' ' -f 2 | sort -u | wc -l) operations of the solutions, the losses of plain"
}

case $mode in
mine) mine "$@" ;;
test)
    flags=$1
    only=$2
    shift 2
    tried=0
    for lesson in "$@"; do
        case " ${only:-$(number_of "$lesson")} " in *" $(number_of "$lesson") "*) ;; *) continue ;; esac
        try_lesson "$lesson"
        tried=$((tried + 1))
    done
    [ $tried -gt 0 ] || wrong "there is no lesson $only; only=\"02 11\" tries these two"
    [ -n "$only" ] || try_mine "$flags" "$@"
    [ $failed -eq 0 ] && echo "course: every lesson passes"
    exit $failed
    ;;
esac
