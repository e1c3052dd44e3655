#!/bin/sh
# tools/flips.sh COUNT ONLY...: how good are the tests? Flips one operator, constant, condition or statement of an
# operation, and runs the tests that should notice, until one does. `make flips` calls it.
#
# tests/flips.tsv lists flips: file, the statement, the statement with the flip, and which test noticed it, or after
# "survives:" why none can. What survives without such a reason is printed, and the status is 1. WRITE=1 writes the list
# anew, of the files that ONLY names (words, a part of a name each), and keeps its reasons; what survives without one then
# stands there as "survives: ?".
#
# Drawn by SEED alone (tools/flips.awk), from each file in proportion to the root of how many it has, so that long files
# do not push out short ones. All flips of a file are compiled into one program, each behind a condition
# (tools/flips_together.awk), in every number type of its backend: a fault is in all types, too. One that no compiler takes
# is drawn in vain. A test runs as FAST=1 lets it; that it takes a processor for too long is noticed.
# What the tests of its own module let pass is compiled alone: if its machine code has not changed, it was no flip.
# The rest is tried on the same tests at full length, but the longest, and on what else there is in tensor and nn.
# CUDA kernels run in the emulator that checks each access of memory, and tests try that backend alone.
#
# From the Makefile: CC, FLAGS, EXTRA (for kernels/cpu), CXX and CXX_FLAGS (for kernels/cuda; CXX is empty where there is
# no emulator), LINK, LIBS, OUT (objects of the tests, and libattend.a).
set -u
count=$1
shift
only=$*
seed=${SEED:-1} workers=${WORKERS:-2} fast=1
list=tests/flips.tsv
tab=$(printf '\t')
root=$PWD
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# ---- what to flip

files() {
    printf '%s\n' kernels/plain/*.c kernels/cpu/*.c kernels/cpu/random.h kernels/cpu/tile.h kernels/cpu/vector.h \
        kernels/attend.h kernels/dropout.h core/tensor/*.c core/nn/*.c core/train/*.c core/search/*.c \
        ${CXX:+kernels/cuda/*.cu kernels/cuda/*.h} |
        grep -vE '/(plain|cpu|bench|limits|levels)\.c$|/cuda\.'
}

# Of all flips of each file those with the smallest draws
draw() {
    awk -v seed="$seed" -f tools/flips.awk "$@" | sort -n | awk -F "$tab" -v count="$count" '
    { line[NR] = $0; file[NR] = $2; all[$2]++ }
    END {
        for (f in all) roots += sqrt(all[f])
        for (i = 1; i <= NR; i++)
            if (taken[file[i]]++ < int(count * sqrt(all[file[i]]) / roots + 0.5)) print line[i]
    }' | sort -t "$tab" -k 2,2 -k 3,3n
}

# ---- which objects hold a file ("OBJECT SOURCE FLAGS" each), and which tests should notice

plain() { for type in F32 BF16 F64; do echo "kernels/plain/plain_$type kernels/plain/plain.c -DPLAIN_$type"; done; }
cpu() { for type in F32 BF16; do echo "kernels/cpu/single/cpu_$type kernels/cpu/cpu.c -DCPU_$type $EXTRA"; done; }
cuda() { for type in F32 BF16; do echo "kernels/cuda/checked_$type kernels/cuda/cuda.cu -DCUDA_$type"; done; }
alone() {
    case $1 in
    kernels/cpu/tuning.c) echo "${1%.c} $1" ;; # once, for all levels
    kernels/cpu/*) object=${1##*/} && echo "kernels/cpu/single/${object%.c} $1 $EXTRA" ;;
    *) echo "${1%.c} $1" ;;
    esac
}

objects() {
    case $1 in
    kernels/plain/*) plain ;;
    kernels/cuda/*) cuda ;;
    kernels/*/*.h) cpu; alone kernels/cpu/blocked.c ;;
    kernels/*.h) plain; cpu ;;
    kernels/cpu/*) if grep -qF "#include \"${1##*/}\"" kernels/cpu/cpu.c; then cpu; else alone "$1"; fi ;;
    *) alone "$1" ;;
    esac
}

tests_for() { # the quickest first
    name=${1##*/}
    case $1 in
    kernels/cuda/device.cu | kernels/cuda/failure.cu | kernels/cuda/launch.h)
        echo kernels/add kernels/stream emulator/streams emulator/failures kernels/gpu ;;
    kernels/cuda/order.cu) echo kernels/gather kernels/embed ;;
    kernels/cuda/sums.h) echo kernels/norm kernels/linear kernels/add ;;
    kernels/cuda/matmul.cu | kernels/cuda/blas.cu) echo kernels/linear kernels/composed kernels/gpu ;;
    kernels/cuda/random.h) echo kernels/embed kernels/add kernels/composed kernels/score ;;
    kernels/cuda/attention* | kernels/cuda/score.cu | kernels/cuda/mma.h)
        echo kernels/blocks kernels/score kernels/narrow kernels/attention_few kernels/gpu kernels/attention ;;
    kernels/cpu/probe.c | kernels/cpu/tuning.c) echo kernels/tuning ;;
    kernels/cpu/attention_narrow*) echo kernels/narrow kernels/blocks kernels/attention ;;
    kernels/*/attention* | kernels/*/score*) echo kernels/blocks kernels/score kernels/attention ;;
    kernels/attend.h) echo kernels/composed kernels/cost kernels/blocks kernels/score kernels/attention ;;
    kernels/dropout.h | kernels/cpu/random.h) echo kernels/embed kernels/add kernels/composed kernels/attention ;;
    kernels/*/device.c) echo kernels/cache kernels/add kernels/optimizer kernels/composed ;;
    kernels/cpu/rows.c) echo kernels/linear kernels/score kernels/attention ;;
    kernels/cpu/*.h) echo kernels/norm kernels/activation kernels/cross_entropy kernels/argmax kernels/pool \
        kernels/optimizer kernels/linear kernels/blocks kernels/score kernels/attention ;;
    kernels/*) if [ -f "tests/kernels/test_${name%.*}.c" ]; then echo "kernels/${name%.*}"
        else echo kernels/linear kernels/add kernels/composed kernels/optimizer kernels/blocks kernels/attention; fi ;;
    core/nn/*) echo $(own nn) $(module nn) $(module tensor) ;;
    core/tensor/*) echo $(own tensor) $(module tensor) $(module nn) ;;
    core/train/*) echo $(own train) train/optimizer $(module train) train/loop ;;
    core/search/*) echo $(own search) $(module search) nn/translate ;;
    esac
}
own() { if [ -f "tests/$1/test_${name%.c}.c" ]; then echo "$1/${name%.c}"; fi; } # a file's own tests come first
whole_tests() { # those that can be run without FAST, too, in seconds
    for name in $(tests_for "$1"); do
        case $name in kernels/attention | kernels/score | kernels/linear | nn/*) ;; kernels/*) printf '%s ' "$name" ;; esac
    done
}
wider_tests() { case $1 in kernels/cuda/*) ;; kernels/*) echo "$(module tensor)" "$(module nn)" ;; esac; }
module() { # but two of nn, which take longer than all others together; of train, not what comes last
    for file in tests/"$1"/test_*.c; do
        file=${file##*/test_}
        case $1/${file%.c} in nn/network | nn/distances | train/loop) ;; *) printf '%s ' "$1/${file%.c}" ;; esac
    done
    case $1,${flipped:-} in nn,core/nn/distances.c) printf nn/distances ;; esac
}

# ---- in the folder of a worker

# Objects of a file that is there, named in FOLDER/objects where they differ from before; ERRORS: what gcc says
compile() { # compile FOLDER FILE MORE...
    folder=$1 more=$3
    objects "$2" >"$1/wanted"
    : >"$1/objects"
    : >"$1/errors"
    while read -r name source flags; do
        object=$folder/$(echo "$name" | tr / _).o
        case $source in *.cu) compiler="$CXX -x c++ $CXX_FLAGS" ;; *) compiler="$CC $FLAGS" ;; esac
        # shellcheck disable=SC2086
        (cd "$folder" && $compiler $flags -w $more -c -o "$object" "$source" 2>>errors) || return 1
        [ -n "$more" ] || cmp -s "$object" "$OUT/$name.o" || echo "$object" >>"$folder/objects"
    done <"$1/wanted"
}

link_test() { # link_test FOLDER MODULE/FILE: FOLDER/MODULE-FILE
    to=$1/$(echo "$2" | tr / -)
    [ ! -f "$to" ] || return 0
    others=$(printf '%s\n' "$OUT/tests/${2%/*}"/*.o "$OUT"/tests/*.o | grep -v '/test_[^/]*$')
    case $2 in nn/*) others="$others $(printf '%s\n' "$OUT"/charlm/*.o | grep -v '/main\.o$') $OUT/prose.o" ;; esac
    # shellcheck disable=SC2046,SC2086
    $CC $LINK -o "$to" "$OUT/tests/${2%/*}/test_${2#*/}.o" $others $(cat "$1/objects") "$OUT/libattend.a" $LIBS
}

# Who notices flip NUMBER: a line, or none
notices() { # notices FOLDER NUMBER TEST...
    folder=$1 number=$2
    case $flipped in kernels/cuda/*) backend=checked ;; *) backend= ;; esac
    shift 2
    for name in "$@"; do
        link_test "$folder" "$name" 2>>"$folder/errors" || { echo "make flips: $name cannot be linked" >&2; return; }
        rm -rf "$folder/tmp" && mkdir "$folder/tmp"
        case $name,$fast in *,0) most=120 ;; kernels/attention,* | kernels/score,* | kernels/linear,* | nn/distances,*) most=40 ;; *) most=15 ;; esac
        {
            ( ulimit -c 0; ulimit -t $most; FLIP=$number BACKEND=$backend TMPDIR=$folder/tmp FAST=$fast STOP=1 CK_FORK=no timeout --foreground 600 \
                "$folder/$(echo "$name" | tr / -)" </dev/null >"$folder/said" 2>&1 )
            status=$?
        } 2>/dev/null
        [ $status -ne 0 ] || continue
        test=$(sed -n 's/^[^:]*:[0-9]*:[FE]:\([^:]*\):.*/\1/p' "$folder/said" | head -n 1)
        case $test,$status in
        ,124 | ,137 | ,152) test="does not end" ;;
        ,*) test="crash" ;;
        esac
        echo "$name: $test"
        return
    done
}

# One program with all flips of FOLDER/flips; those that are not C leave the list.
together() { # together FOLDER FILE
    for try in 1 2 3 4; do
        awk -f tools/flips_together.awk "$1/flips" "$2" >"$1/$2"
        rm -f "$1"/*.o "$1"/*-*
        if compile "$1" "$2" -fsyntax-only; then
            compile "$1" "$2" '' && echo "$work/choose.o" >>"$1/objects"
            return
        fi
        sed -n 's/^flip:\([0-9]*\):[0-9]*: error.*/\1/p' "$1/errors" | sort -u >"$1/bad"
        [ -s "$1/bad" ] || break
        awk -F "$tab" 'NR == FNR { bad[$1] = 1; next } !($1 in bad)' "$1/bad" "$1/flips" >"$1/good" && mv "$1/good" "$1/flips"
    done
    sed -n 's/.*error: /make flips: /p' "$1/errors" | head -n 1 >&2
    return 1
}

# Whether a flip alone leaves the machine code as it was
is_nothing() { # is_nothing FOLDER FILE FIRST LAST AFTER
    mkdir -p "$1/alone" && cp -R "$1/copy/." "$1/alone/"
    AFTER=$5 awk -v from="$3" -v to="$4" 'NR == from { print ENVIRON["AFTER"] } NR < from || NR > to' "$2" >"$1/alone/$2"
    compile "$1/alone" "$2" '' && [ ! -s "$1/alone/objects" ]
}

flip_file() { # flip_file FOLDER FILE
    flipped=$2
    awk -F "$tab" -v file="$2" 'BEGIN { OFS = FS } $2 == file && $7 !~ /^none/ { $1 = ++n; print }' "$work/flips" >"$1/flips"
    together "$1" "$2" || { cp "$2" "$1/$2"; return; }
    said=$(notices "$1" 0 "$(tests_for "$2" | cut -d ' ' -f 1)")
    [ -z "$said" ] || { echo "make flips: without a flip in $2, $said; this must pass first" >&2; exit 2; }
    while IFS=$tab read -r number file first last before after slot; do
        # shellcheck disable=SC2046
        said=$(notices "$1" "$number" $(tests_for "$file"))
        # shellcheck disable=SC2046
        if [ -z "$said" ]; then
            if is_nothing "$1" "$file" "$first" "$last" "$after"; then said="survives: the same machine code"
            else
                said=$(fast=0; notices "$1" "$number" $(whole_tests "$file"))
                [ -n "$said" ] || said=$(notices "$1" "$number" $(wider_tests "$file"))
            fi
        fi
        : "${said:=survives: ?}"
        printf '%s\t%s\t%s\t%s\t%s\n' "$file" "$first" "$before" "$after" "$said" >>"$1.tsv"
        case $said in "survives: ?") echo "$file:$first: $after" ;; esac
    done <"$1/flips"
    cp "$2" "$1/$2"
}

worker() { # worker NUMBER <files
    mkdir -p "$work/$1/copy" && cp -R base core kernels "$work/$1/" && cp -R base core kernels "$work/$1/copy" || exit 2
    [ ! -d .deps ] || { ln -s "$root/.deps" "$work/$1/.deps"; ln -s "$root/.deps" "$work/$1/copy/.deps"; }
    while read -r each; do
        flip_file "$work/$1" "$each"
        echo "  $each" >&2
    done
}

# ---- all of them

chosen=$(files | awk -v only="$only" '
    BEGIN { n = split(only, word, " ") }
    { for (i = 1; i <= n && !index($0, word[i]);) i++ }
    !n || i <= n')
[ -n "$chosen" ] || { echo "make flips: no file that could be flipped is called like '$only'" >&2; exit 2; }
printf '%s\n' '#include <stdlib.h>' 'int flip_chosen;' '__attribute__((constructor)) static void choose(void)' \
    '{' '    const char *number = getenv("FLIP");' '    flip_chosen = number ? atoi(number) : 0;' '}' >"$work/choose.c"
$CC -w -c -o "$work/choose.o" "$work/choose.c" || exit 2

# shellcheck disable=SC2086
draw $chosen >"$work/flips"
echo "$(wc -l <"$work/flips") flips in $(echo "$chosen" | wc -l) files" >&2
for w in $(seq "$workers"); do
    cut -f 2 "$work/flips" | uniq | awk -v w="$w" -v all="$workers" 'NR % all == w % all' | worker "$w" &
done
wait

# Reasons that the list gives are kept.
cat "$work"/[0-9]*.tsv 2>/dev/null | sort -t "$tab" -k 1,1 -k 2,2n | awk -F "$tab" -v list=$list '
function trimmed(text) { sub(/^ +/, "", text); sub(/ +$/, "", text); return text }
BEGIN { OFS = FS; while ((getline line < list) > 0) { split(line, part, FS); reason[part[1], part[2], part[3]] = part[4] } }
{
    $3 = trimmed($3); $4 = trimmed($4)
    known = reason[$1, $3, $4]
    if ($5 == "survives: ?" && known ~ /^survives: /) $5 = known
    print $1, $3, $4, $5
}' >"$work/result"

noticed=$(grep -vc "${tab}survives: " "$work/result")
unknown=$(grep -c "${tab}survives: ?\$" "$work/result")
if [ "${WRITE:-}" = 1 ]; then
    {
        [ -z "$only" ] || awk -F "$tab" 'FILENAME != ARGV[2] { drawn[$1] = 1; next } !/^#/ && !($1 in drawn)' "$work/result" $list
        cat "$work/result"
    } | sort -t "$tab" -k 1,1 -s >"$work/new"
    {
        echo "# Mistakes made on purpose: file, statement, the statement with a mistake, and which test notices (make flips WRITE=1)"
        cat "$work/new"
    } >$list
    echo "wrote $list"
fi
echo "$(wc -l <"$work/result") flips: $noticed noticed, $unknown survive without a reason, the others with one"
[ "$unknown" -eq 0 ]
