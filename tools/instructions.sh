#!/bin/sh
# tools/instructions.sh ready COMPILER: whether counts can be compared here; if not, says why, and exits with 1.
# tools/instructions.sh check|write COMPILER PROGRAM: counts the instructions of each operation that PROGRAM
# (tools/instructions.c) knows, with callgrind, and compares them with tests/instructions.tsv, or writes that.
#
# Times are noise where machines are shared; how many instructions an operation takes is not, as long as the compiler
# is the same one. A count that differs by more than 3 % is an error in either direction: what became faster is to be
# written down, so that it is noticed when it is lost again.
set -u
table=tests/instructions.tsv
allowed=3
levels='v1 v2 v3'

skip() {
    echo "skipped: instruction counts: $1"
    exit 1
}

verb=$1 compiler=$2
case $verb in
ready)
    [ "$(uname -m)" = x86_64 ] || skip "they are those of x86-64, and this is $(uname -m)"
    command -v valgrind >/dev/null || skip "valgrind is not here; make deps for=develop installs it"
    known=$(sed -n 's/^# compiler: //p' "$table" 2>/dev/null)
    [ "${WRITE:-}" = 1 ] || [ "$known" = "$compiler" ] ||
        skip "$table was counted with '$known', and this is '$compiler'"
    exit 0
    ;;
check | write) program=$3 ;;
*) echo "usage: tools/instructions.sh ready|check|write COMPILER [PROGRAM]" >&2; exit 2 ;;
esac

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# Our own products, with the same block sizes everywhere
own='f32-short=own f32-long=own f32-held=own bf16-short=own bf16-long=own bf16-held=own bf16-by=dots'
export ATTEND_TUNING="$own chunk=512 panels=384"

# count LEVEL NAME: instructions of the call inside `measured`
count() {
    ATTEND_CPU=$1 valgrind -q --tool=callgrind --toggle-collect=measured --callgrind-out-file="$folder/out" "$program" \
        "$2" >"$folder/said" 2>&1 || { cat "$folder/said" >&2; return 1; }
    sed -n 's/^\(summary\|totals\): *\([0-9]*\).*/\2/p' "$folder/out" | head -n 1
}

names=$("$program" --list) || exit 1
for name in $names; do
    for level in $levels; do
        number=$(count "$level" "$name") || exit 1
        [ "${number:-0}" -gt 0 ] || { echo "instructions: $name, $level: callgrind counted nothing" >&2; exit 1; }
        printf '%s\t%s\t%s\n' "$name" "$level" "$number" >>"$folder/now"
    done
done

if [ "$verb" = write ]; then
    {
        echo "# Instructions of one call of each operation in tools/instructions.c, at each level of instructions that"
        echo "# callgrind knows. make instructions compares; make instructions WRITE=1 writes this file."
        echo "# compiler: $compiler"
        cat "$folder/now"
    } >"$table"
    echo "wrote $table"
    exit 0
fi

grep -v '^#' "$table" | awk -F '\t' -v allowed=$allowed '
{ key = $1 ", " $2 }
NR == FNR { was[key] = $3; next }
{
    seen[key] = 1
    if (!(key in was)) { printf "  %-30s %10s %10d   is not in the table\n", key, "", $3; bad = 1; next }
    change = 100 * ($3 - was[key]) / was[key]
    wrong = change > allowed || change < -allowed
    printf "  %-30s %10d %10d %+7.2f %%%s\n", key, was[key], $3, change, wrong ? "   more than " allowed " %" : ""
    bad = bad || wrong
}
END {
    for (key in was) if (!(key in seen)) { printf "  %-30s is in the table only\n", key; bad = 1 }
    if (bad) print "instructions: counts have changed; if that was meant: make instructions WRITE=1"
    exit bad
}' - "$folder/now"
