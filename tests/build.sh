#!/bin/sh
# tests/build.sh [CASE...]: what must hold of the build itself, tried by calling make as a user does; `make build-test`
# runs it. Prints a line for each case; what failed shows what make said.
set -u
cd "$(dirname "$0")/.." || exit 2
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES FILE
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM
said=$place/said failed=0 cases=

m() { ${MAKE:-make} --no-print-directory "$@" >"$said" 2>&1; }
no() { echo "    $*"; return 1; }
says() { grep -qF -- "$1" "$said" || no "make does not say: $1"; }

# ---- make grade-NN FILE=...

solution=course/solutions/01-average.c empty=course/01-average/exercise.c
graded() { # graded POINTS FILE: of 12
    m grade-01 FILE="$2"
    says "$1 of 12 points" || return
}

cases="$cases a_file_with_an_older_time_is_graded_anew"
a_file_with_an_older_time_is_graded_anew() {
    cp $solution "$place/a.c" && graded 12 "$place/a.c" || return
    cp $empty "$place/a.c" && touch -d 2001-01-01 "$place/a.c" && graded 0 "$place/a.c" || return
    cp $solution "$place/a.c" && touch -d 2001-01-01 "$place/a.c" && graded 12 "$place/a.c"
}

cases="$cases so_is_one_whose_header_has_an_older_time"
so_is_one_whose_header_has_an_older_time() {
    mkdir -p "$place/h" && cp $solution "$place/h/all.h" && echo '#include "all.h"' >"$place/h/a.c" && graded 12 "$place/h/a.c" || return
    cp $empty "$place/h/all.h" && touch -d 2001-01-01 "$place/h/all.h" && graded 0 "$place/h/a.c"
}

cases="$cases two_names_are_two_programs"
two_names_are_two_programs() {
    mkdir -p "$place/hw" && cp $solution "$place/hw/alice.c" && cp $empty "$place/hw_alice.c" || return
    m grader-01 FILE="$place/hw/alice.c" && tail -n 1 "$said" >"$place/one" || return
    m grader-01 FILE="$place/hw_alice.c" && tail -n 1 "$said" >"$place/two" || return
    ! cmp -s "$place/one" "$place/two" || no "both are $(cat "$place/one")" || return
    "$(cat "$place/one")" >"$said"
    says "12 of 12 points" || return
    "$(cat "$place/two")" >"$said"
    says "0 of 12 points"
}

cases="$cases a_name_is_a_name_whatever_is_in_it"
a_name_is_a_name_whatever_is_in_it() {
    for name in 'two  words.c' '-o.c' 'a:b%c=d;e|f&.c' "it's.c" '$(shell touch made).c' '`touch made`.c' '$HOME #x.c' 'none'; do
        cp $solution "$place/$name" && graded 12 "$place/$name" || no "FILE='$name'" || return
        (cd "$place" && [ ! -e made ]) && [ ! -e made ] || { rm -f made; no "FILE='$name' was run as a command"; return; }
    done
    cp $solution ./-o.c && graded 12 -o.c
    status=$?
    rm -f ./-o.c
    [ $status -eq 0 ] || return
    ! m grade-01 FILE="$place/nobody.c" && says "there is no file $place/nobody.c"
}

cases="$cases a_kernel_of_an_older_time_is_graded_anew"
a_kernel_of_an_older_time_is_graded_anew() {
    cp course/solutions/18-kernel.c "$place/k d.c" && cp course/solutions/18-kernel.cu "$place/k d.cu" && m grade-18 FILE="$place/k d.c" ||
        no "the solution does not pass" || return
    cp course/18-kernel/exercise.cu "$place/k d.cu" && touch -d 2001-01-01 "$place/k d.cu" || return
    ! m grade-18 FILE="$place/k d.c" || no "an empty kernel has all points"
}

# ---- flags, processors

programs=$(${MAKE:-make} -s where | sed -n 1p)

cases="$cases a_processor_that_cannot_run_a_program_is_told_so"
a_processor_that_cannot_run_a_program_is_told_so() {
    m FEATURES='avx512f xop' "$programs/charlm" || return # none has both; the first that is missing is named
    "$programs/charlm" --version >"$said" 2>&1
    status=$?
    ${MAKE:-make} -s "$programs/charlm" >/dev/null 2>&1 && "$programs/charlm" --version >/dev/null || no "it does not come back" || return
    [ $status -eq 1 ] && [ "$(wc -l <"$said")" -eq 1 ] && says "make ARCH=any" || return
    grep -qE 'but this processor lacks (avx512f|xop):' "$said" || no "make does not say what is missing"
}

cases="$cases flags_of_a_users_own_take_the_place_of_no_others"
flags_of_a_users_own_take_the_place_of_no_others() {
    other="BUILD=$place/other ONEDNN=no LIBARCHIVE=no CHECK=no CUDA=no CXX17=no"
    # shellcheck disable=SC2086
    m -n V=1 $other CFLAGS=-Og CPPFLAGS=-DMINE LDFLAGS=-Lmine all || return
    for words in '-Og -std=c11' -ffp-contract=off -fno-fast-math -pthread '-I. ' -DMINE -Lmine; do says "$words" || return; done
    ! grep -q -e -O3 "$said" || no "there is -O3" || return
    # shellcheck disable=SC2086
    m -n V=1 $other HOST_CC=other-cc all && says "other-cc -std=c11 -O1" || return
    for wrong in "CC=${CC:-gcc} -m32" CFLAGS=-m32; do
        # shellcheck disable=SC2086
        ! m $other "$wrong" all && [ "$(wc -l <"$said")" -eq 1 ] && says "32-bit" || return
    done
}

# ---- installing

cases="$cases what_is_installed_works_elsewhere"
what_is_installed_works_elsewhere() {
    m install PREFIX="$place/a b" && says "$place/a b/bin/attend-charlm" || return
    (cd / && "$place/a b/bin/attend-charlm" --help && "$place/a b/share/attend/data/fetch") >"$said" 2>&1
    says "Usage: attend-charlm COMMAND" && says "sets: " && [ -s "$place/a b/share/attend/course/README.md" ] || return
    ! m install PREFIX=/proc/none && says "make install PREFIX=~/.local"
}

cases="$cases deps_brings_no_second_compiler"
deps_brings_no_second_compiler() {
    mkdir "$place/only" && (cd "$place/only" && for tool in awk cat grep mkdir mktemp rm sed sh tail tr uname; do
        ln -s "$(command -v $tool)" . || exit 1
    done && ln -s cat clang && ln -s cat clang++ && echo 'echo 0' >id &&
        printf 'echo "Err:1 http://nowhere/"\necho "  Temporary failure"\nexit 100\n' >apt-get && chmod +x id apt-get) || return
    for tier in run develop; do
        ! PATH="$place/only" tools/deps.sh $tier >"$said" 2>&1 && says "  make  " && says "apt-get failed: Temporary failure" || return
        case $tier in
        run) ! grep -E '^  (gcc|g\+\+) ' "$said" || no "it would install gcc beside clang" || return ;;
        develop) says "  gcc  " && says "  g++  " || return ;;
        esac
    done
}

# ---- all of them, or those that were named

for each in ${*:-$cases}; do
    case " $cases " in *" $each "*) ;; *) echo "there is no case $each; there are:$cases" >&2; exit 2 ;; esac
    if $each; then echo "  $each"; else
        echo "  $each FAILED"
        sed 's/^/      /' "$said" | tail -n 8
        failed=$((failed + 1))
    fi
done
[ $failed -eq 0 ] && echo "build: all is well"
exit $failed
