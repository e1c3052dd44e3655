#!/bin/sh
# tools/processors.sh [MAKE]: does one program run on other processors? bin/charlm trains ten steps here, and under
# qemu-user as other x86-64 processors; built by a cross compiler, if there is one, also as aarch64. Losses must be
# equal but for rounding. There random networks are compared with the plain backend as well, at each level (on this
# machine `make levels` does that). What is missing is said; status 1: something went wrong.
set -u
cd "$(dirname "$0")/.." || exit 2
make=${1:-make}
here=$(uname -m)
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
failed=0

train() { # train NAME COMMAND...: ten steps of that program, and what level of instructions it took
    name=$1
    shift
    for precision in f32 bf16; do
        run=$place/$name-$precision
        if ! "$@" train --data README.md --dim 64 --heads 2 --depth 2 --context 48 --batch 8 --steps 10 --sample-every 0 \
            --seed 1 --precision $precision --run "$run" >"$place/said" 2>&1; then
            tail -n 3 "$place/said"
            echo "$name, $precision: it does not train"
            failed=1
            continue
        fi
        awk -v name="$name" -v precision=$precision -v level="$("$@" --version 2>/dev/null | sed 's/.*, //')" '
            FNR == 1 { next }
            NR == FNR { loss[$1] = $3; next }
            { off = ($3 - loss[$1]) / loss[$1]; most = off > most ? off : -off > most ? -off : most; steps++ }
            END {
                printf "%-16s %-5s %-22s %d steps, losses differ by %.1e at most\n", name, precision, level, steps, most
                exit steps != 10 || !(most < (precision == "f32" ? 1e-5 : 1e-3))
            }' "$place/this-$precision/log.tsv" "$run/log.tsv" || failed=1
    done
}

program=$($make -s where | sed 1q)/charlm
build=$(dirname "$(dirname "$($make -s where | sed -n 2p)")")
$make -s "$program" >/dev/null || exit 1
train this "$program"
if [ "$here" = x86_64 ] && command -v qemu-x86_64 >/dev/null; then
    for cpu in qemu64 Nehalem Haswell Skylake-Server; do train $cpu qemu-x86_64 -cpu $cpu "$program"; done
else
    echo "no other x86-64: qemu-x86_64 is not here (package qemu-user)"
fi
cross=aarch64-linux-gnu
if [ "$here" != aarch64 ] && command -v $cross-gcc qemu-aarch64 >/dev/null; then
    make="$make -s CC=$cross-gcc CXX=$cross-g++ HOST_CC=gcc ONEDNN=no LIBARCHIVE=no CUDA=no CXX17=no MPI=no
        BUILD=$build/cross"
    program=$($make where | sed 1q)/charlm
    hunt=$($make where | sed -n 2p)/hunt
    $make "$program" "$hunt" >"$place/said" 2>&1 || { tail -n 5 "$place/said"; echo "aarch64: it does not build"; exit 1; }
    train aarch64 qemu-aarch64 -L /usr/$cross "$program"
    for level in neon neon_bf16; do
        ATTEND_CPU=$level ATTEND_TUNING=bf16-by=dots,alone=0 BACKEND=cpu qemu-aarch64 -L /usr/$cross "$hunt" 0 60 0 \
            >"$place/said" || failed=1
        sed "s/^/aarch64, $level: /" "$place/said"
    done
else
    echo "no aarch64: $cross-gcc or qemu-aarch64 is not here (packages gcc-$cross, libc6-dev-arm64-cross, qemu-user)"
fi
exit $failed
