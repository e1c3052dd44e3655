#!/bin/sh
# tools/instructions.sh ready COMPILER: whether counts can be compared here; if not, says why, and exits with 1.
# tools/instructions.sh check|write COMPILER PROGRAM: counts the instructions of each operation that PROGRAM
# (tools/instructions.c) knows, at each level of instructions, and compares them with tests/instructions.tsv, or writes
# that: callgrind counts those that valgrind knows, the processor itself steps through AVX-512, and a cross-built program
# runs as aarch64 in qemu, which writes down each instruction. Levels that cannot be counted here are named and left out.
#
# Times are noise where machines are shared; how many instructions an operation takes is not, as long as the compiler
# is the same one. A count that differs by more than 3 % is an error in either direction: what became faster is to be
# written down, so that it is noticed when it is lost again.
#
# From the Makefile: MAKE, BUILD.
set -u
table=tests/instructions.tsv
allowed=3
levels='v1 v2 v3'
cross=aarch64-linux-gnu

skip() {
    echo "skipped: instruction counts: $1"
    exit 1
}
leave_out() { echo "not counted: $1"; }

verb=$1 compiler=$2
case $verb in
ready)
    [ "$(uname -m)" = x86_64 ] || skip "they are made on x86-64, and this is $(uname -m)"
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
export ATTEND_TUNING="$own chunk=512 panels=384 alone=256"

# ---- which levels can be counted here

for level in v4 v4_bf16; do
    if why=$(ATTEND_CPU=$level "$program" --list 2>&1 >/dev/null); then levels="$levels $level"
    else leave_out "$level ($why)"; fi
done

cross_compiler=$($cross-gcc --version 2>/dev/null | head -n 1)
known=$(sed -n 's/^# compiler of neon: //p' "$table" 2>/dev/null)
if [ -z "$cross_compiler" ] || ! command -v qemu-aarch64 >/dev/null; then
    leave_out "neon ($cross-gcc or qemu-aarch64 is not here; make deps for=develop installs them)"
elif [ "$verb" = check ] && [ "$known" != "$cross_compiler" ]; then
    leave_out "neon ($table was counted with '$known', and this is '$cross_compiler')"
else
    make="$MAKE --no-print-directory -s CC=$cross-gcc CXX=$cross-g++ HOST_CC=gcc ONEDNN=no LIBARCHIVE=no CUDA=no CXX17=no
        MPI=no ARCH=any BUILD=$BUILD/cross"
    neon=$($make where | sed -n 2p)/instructions
    $make "$neon" >"$folder/said" 2>&1 || { tail -n 5 "$folder/said"; exit 1; }
    levels="$levels neon neon_bf16"
    each=-singlestep
    if qemu-aarch64 --help | grep -q one-insn-per-tb; then each=-one-insn-per-tb; fi
fi

# ---- counting

by_callgrind() {
    valgrind -q --tool=callgrind --toggle-collect=measured --callgrind-out-file="$folder/out" "$program" "$1" \
        >"$folder/said" 2>&1 || { cat "$folder/said" >&2; return 1; }
    sed -n 's/^\(summary\|totals\): *\([0-9]*\).*/\2/p' "$folder/out" | head -n 1
}

# A line for each instruction; those of `measured` and between them are the call's.
by_qemu() {
    qemu-aarch64 -L /usr/$cross $each -d exec,nochain "$neon" "$1" 2>&1 |
        awk '/ measured$/ { first = first ? first : NR; last = NR } END { print first ? last - first + 1 : 0 }'
}

count() { # count LEVEL NAME: instructions of the call inside `measured`
    export ATTEND_CPU="$1"
    case $1 in
    neon*) by_qemu "$2" ;;
    v4*) "$program" --count "$2" ;;
    *) by_callgrind "$2" ;;
    esac
}

names=$("$program" --list) || exit 1
for name in $names; do
    for level in $levels; do
        number=$(count "$level" "$name") || exit 1
        [ "${number:-0}" -gt 0 ] || { echo "instructions: $name, $level: nothing was counted" >&2; exit 1; }
        printf '%s\t%s\t%s\n' "$name" "$level" "$number" >>"$folder/now"
    done
done

# What the table says of levels that were not counted
others() {
    grep -v '^#' "$table" 2>/dev/null |
        awk -F '\t' -v levels=" $levels " '!index(levels, " " $2 " ")'
}

if [ "$verb" = write ]; then
    {
        echo "# Instructions of one call of each operation in tools/instructions.c, at each level of instructions."
        echo "# make instructions compares; make instructions WRITE=1 writes this file."
        echo "# compiler: $compiler"
        case $levels in *neon*) known=$cross_compiler ;; esac
        echo "# compiler of neon: $known"
        { cat "$folder/now"; others; } | sort -s -t "$(printf '\t')" -k 1,1
    } >"$folder/table"
    cp "$folder/table" "$table"
    echo "wrote $table"
    exit 0
fi

others | cat - "$folder/now" >"$folder/all"
grep -v '^#' "$table" | awk -F '\t' -v allowed=$allowed '
{ key = $1 ", " $2 }
NR == FNR { was[key] = $3; next }
{
    seen[key] = 1
    if (!(key in was)) { printf "  %-34s %10s %10d   is not in the table\n", key, "", $3; bad = 1; next }
    change = 100 * ($3 - was[key]) / was[key]
    wrong = change > allowed || change < -allowed
    printf "  %-34s %10d %10d %+7.2f %%%s\n", key, was[key], $3, change, wrong ? "   more than " allowed " %" : ""
    bad = bad || wrong
}
END {
    for (key in was) if (!(key in seen)) { printf "  %-34s is in the table only\n", key; bad = 1 }
    if (bad) print "instructions: counts have changed; if that was meant: make instructions WRITE=1"
    exit bad
}' - "$folder/all"
