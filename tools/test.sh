#!/bin/sh
# tools/test.sh choose ONLY NAME: prints the test programs that `make test only=ONLY name=NAME` asks for.
# tools/test.sh run NAME PROGRAM...: runs them, and adds up.
#
# A choice that matches nothing is an error that names the nearest ones. BIN: where programs are; WRAP: a command to
# run each one under (valgrind); SKIP: test programs not to run, as MODULE/FILE; AT_ONCE: how many run side by side (one a
# processor).
set -u
bin=${BIN:-bin}

# MODULE/FILE of every test source
files() { ls tests/*/test_*.c 2>/dev/null | sed 's|^tests/||; s|/test_|/|; s|\.c$||'; }
source_of() { echo "tests/${1%/*}/test_${1#*/}.c"; }
names_in() { sed -n 's/^START_TEST(\([A-Za-z0-9_]*\)).*/\1/p' "$@"; }

# nearest WORD <candidates: the three with the smallest edit distance
nearest() {
    awk -v a="$1" '
    function min(x, y) { return x < y ? x : y }
    function distance(a, b,    i, j, row, last, was) {
        for (j = 0; j <= length(b); j++) row[j] = j
        for (i = 1; i <= length(a); i++) {
            last = row[0]; row[0] = i
            for (j = 1; j <= length(b); j++) {
                was = row[j]
                row[j] = min(min(row[j], row[j-1]) + 1, last + (substr(a, i, 1) != substr(b, j, 1)))
                last = was
            }
        }
        return row[length(b)]
    }
    { print distance(a, $0), $0 }' | sort -n -u | head -n 3 | awk '{ printf "%s%s", (NR > 1 ? ", " : ""), $2 }'
}

# The files that ONLY names: modules, or files, written in any way one would try.
chosen_files() {
    [ -n "$1" ] || { files; return; }
    for word in $1; do
        word=$(echo "$word" | sed 's|^tests/||; s|/test_|/|; s|\.c$||; s|/$||')
        found=$(files | awk -v w="$word" '$0 == w || index($0, w "/") == 1')
        if [ -z "$found" ]; then
            echo "make test: no module or file '$word' in tests/; nearest: $({ files; files | sed 's|/.*||'; } |
                sort -u | nearest "$word")" >&2
            return 1
        fi
        echo "$found"
    done
}

choose() {
    chosen=$(chosen_files "$1") || exit 2
    [ -n "$chosen" ] || { echo "make test: there are no tests in tests/*/test_*.c" >&2; exit 2; }
    if [ -n "$2" ]; then
        for word in $2; do
            holders=$(for f in $chosen; do names_in "$(source_of "$f")" | grep -qx -- "$word" && echo "$f"; done)
            if [ -z "$holders" ]; then
                echo "make test: no test '$word'${1:+ in $1}; nearest: $(for f in $chosen; do
                    names_in "$(source_of "$f")"; done | nearest "$word")" >&2
                exit 2
            fi
            all="${all:-} $holders"
        done
        chosen=$all
    fi
    printf '%s\n' $chosen | awk -v bin="$bin" '!seen[$0]++ { printf "%s/tests/%s ", bin, $0 }'
}

# one DIRECTORY WANTED PROGRAM: runs it, shows what it said once it is over, and leaves "passed failed skipped" there.
one() {
    directory=$1 wanted=$2 program=$3
    file=${program#"$bin"/tests/}
    as=$directory/$(echo "$file" | tr / .)
    case " ${SKIP:-} " in *" $file "*) echo "skipped: $file (see the Makefile)"; echo 0 0 1 >"$as.counts"; return ;; esac
    names=
    for word in $wanted; do
        names_in "$(source_of "$file")" | grep -qx -- "$word" && names="$names $word"
    done
    case $file in kernels/*) export ATTEND_LAUNCHES="$directory/launches" ;; esac
    began=$(date +%s)
    ${WRAP:-} "$program" $names </dev/null >"$as.log" 2>&1
    status=$?
    took=$(($(date +%s) - began))
    if [ $took -ge 10 ]; then
        echo "  ($took s)" >>"$as.log"
        echo "$took $file" >"$as.took"
    fi

    # Check's line: "100%: Checks: 3, Failures: 0, Errors: 0"
    set_counts=$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' "$as.log" |
        awk '{ c += $1; b += $2 + $3 } END { if (NR) print c, b }')
    checks=${set_counts% *} bad=${set_counts#* } skips=$(grep -c '^skipped: ' "$as.log")
    if [ -z "$set_counts" ] || { [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; }; then
        echo "$file: ended with status $status$([ -n "$set_counts" ] || echo " before Check could count")" >>"$as.log"
        checks=$((${checks:-0} + 1)) bad=$((${bad:-0} + 1))
    fi
    [ "$bad" -eq 0 ] || echo "$file" >"$as.broken"
    echo $((checks - bad - skips)) $bad $skips >"$as.counts"
    cat "$as.log" # at once: programs that run side by side do not mix their lines
}

# launches DIRECTORY: after all tests of kernels, on all backends: has every CUDA kernel run on the emulator, in two orders?
launches() {
    echo 1 0 0 >"$1/launches.counts"
    tools/launches.sh "$1/launches" && return
    echo 0 1 0 >"$1/launches.counts"
    echo "tools/launches.sh" >"$1/launches.broken"
}

# The programs, those first whose sources say that they take long, so that no processor waits for the last of them.
longest_first() {
    for program in "$@"; do
        awk -v program="$program" '
        { while (match($0, /TEST_(SLOW|SLOW_LOOP|LEARNS)\([^)]*\)/)) {
              n = split(substr($0, RSTART, RLENGTH - 1), word, ", "); seconds += word[n]
              $0 = substr($0, RSTART + RLENGTH) } }
        END { print seconds + 0, program }' "$(source_of "${program#"$bin"/tests/}")"
    done | sort -k1,1nr -k2 | sed 's/^[0-9]* //'
}

run() {
    wanted=$1
    shift
    directory=$(mktemp -d) || exit 2
    trap 'rm -rf "$directory"' EXIT
    trap 'exit 130' INT TERM
    longest_first "$@" | xargs -P "${AT_ONCE:-$(getconf _NPROCESSORS_ONLN)}" -I PROGRAM "$0" one "$directory" "$wanted" PROGRAM
    if [ -z "$wanted${BACKEND:-}" ] && [ -s "$directory/launches" ] && [ -z "$(files | grep '^kernels/' |
        while read -r file; do [ -e "$directory/$(echo "$file" | tr / .).counts" ] || echo "$file"; done)" ]; then
        launches "$directory"
    fi
    counts=$(cat "$directory"/*.counts 2>/dev/null | awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }')
    set -- $counts $# $(ls "$directory"/*.counts 2>/dev/null | grep -vc '/launches.counts$')
    passed=$1 failed=$2 skipped=$3
    [ "$4" -eq "$5" ] || { echo "only $5 of $4 test programs came to their end"; failed=$((failed + 1)); }
    if ls "$directory"/*.broken >/dev/null 2>&1; then
        printf '\nfailed in:%s\n' "$(cat "$directory"/*.broken | awk '{ printf " %s", $0 }')"
    fi
    if ls "$directory"/*.took >/dev/null 2>&1; then
        sort -rn "$directory"/*.took | awk '
            { total += $1; if (NR <= 12) line = line ", " $2 " " $1 " s" }
            END { printf "\nslowest:%s (%d programs of ten seconds or more, %d s in all)\n", substr(line, 2), NR, total }'
    fi
    printf '\n%d passed, %d failed%s\n' $passed $failed "$([ $skipped -eq 0 ] || echo ", $skipped skipped")"
    [ $failed -eq 0 ]
}

verb=$1
shift
case $verb in choose | run | one) "$verb" "$@" ;; *) echo "usage: tools/test.sh choose|run ..." >&2; exit 2 ;; esac
