#!/bin/sh
# tests/gpu.sh: everything that only a GPU can show, by one command.
#
#     tests/gpu.sh [FOLDER]               tests and measures on this machine's GPU; results go to FOLDER (runs/gpu)
#     tests/gpu.sh --rehearse [FOLDER]    the same on the emulated device, with sizes that tell nothing: tries the script
#     tests/gpu.sh --pack FILE.tar.gz     this commit, with what a bare machine lacks (Check), to carry there
#
# It needs a GPU with its driver, nvcc, a C and a C++ compiler and make; no network, no Python. Where PyTorch is, its
# steps are measured, too (PYTHON=... names another python3); where compute-sanitizer is, it looks at every kernel. Everything is built here, for this
# processor and this GPU, in a folder of its own. What fails is told at the end, and makes the exit status 1; what comes
# after it is still done.
set -u
cd "$(dirname "$0")/.." || exit 1

pack() {
    case $1 in *.tar.gz) ;; *) echo "tests/gpu.sh --pack FILE.tar.gz" >&2 && return 2 ;; esac
    folder=$(mktemp -d) && mkdir "$folder/attend" || return 1
    git archive HEAD | tar -x -C "$folder/attend" || return 1
    there=$folder/attend/.deps/usr/lib/$(uname -m)-linux-gnu
    mkdir -p "$folder/attend/.deps/usr/include" "$there"
    for header in check.h check_stdint.h; do
        found=$(echo "#include <$header>" | ${CC:-cc} -E - 2>/dev/null | sed -n "s/^# 1 \"\(.*$header\)\".*/\1/p" | head -n 1)
        [ -n "$found" ] && cp "$found" "$folder/attend/.deps/usr/include/"
    done
    for library in libcheck.a libsubunit.a; do
        found=$(${CC:-cc} -print-file-name=$library)
        [ -f "$found" ] && cp "$found" "$there/"
    done
    [ -f "$there/libcheck.a" ] || echo "there is no libcheck.a here: without Check there, tests are left out" >&2
    tar -c -C "$folder" attend | gzip >"$1"
    rm -rf "$folder"
    echo "$1: unpack it there, and run attend/tests/gpu.sh"
}

device=cuda size=
case ${1-} in
--pack) pack "${2-}"; exit $? ;;
--rehearse) device=emulated size=tiny; shift ;;
-*) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
out=${1:-runs/gpu}
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
table=$out/table.tsv
failed=

part() { printf '\n==== %s\n' "$1"; }
fails() { failed="$failed
  $1"; echo "FAILED: $1"; }

# ---- what there is

part "the machine"
nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null)
if [ $device = cuda ]; then
    gpus=$(nvidia-smi --query-gpu=name,compute_cap,memory.total,driver_version --format=csv,noheader 2>/dev/null)
    if [ -z "$gpus" ]; then
        echo "there is no GPU here (nvidia-smi finds none): tests/gpu.sh --rehearse tries the script without" >&2
        exit 1
    fi
    if [ -z "$nvcc" ]; then
        echo "there is no nvcc here, neither in PATH nor in ${CUDA_HOME:-/usr/local/cuda}/bin: nothing can be built" >&2
        exit 1
    fi
else
    gpus="none: the emulated device, whose speed tells nothing"
fi
{
    echo "GPU        $gpus"
    echo "processor  $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1), $(getconf _NPROCESSORS_ONLN) cores"
    echo "nvcc       $([ -n "$nvcc" ] && "$nvcc" --version | sed -n 's/.*release //p')"
    echo "commit     $(git describe --always --dirty 2>/dev/null || echo unknown)"
} | tee "$out/machine.txt"

# ---- building

# The rehearsal has a build already, as a rule, and takes it.
part "building"
jobs=$(getconf _NPROCESSORS_ONLN)
if [ $device = cuda ]; then build="BUILD=build/gpu GPU=native"; else build=${BUILD:+BUILD=$BUILD}; fi
make="make --no-print-directory"
$make -j"$jobs" $build all >"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log"; echo "cannot build"; exit 1; }
tail -n 12 "$out/build.log"
bin=$($make -s $build where)
$make -j"$jobs" $build "$bin/gpu" >>"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log"; echo "cannot build"; exit 1; }
if ! "$bin/charlm" bench --device $device --steps 1 --dim 16 --heads 2 --depth 1 --context 16 --batch 2 >/dev/null; then
    echo "the programs do not run on device $device" >&2
    exit 1
fi

# ---- right

if [ -n "$size" ]; then tests=train/replay parity=kernels/find; else tests=kernels parity="classifier/parity encdec/parity nn/parity"; fi
if grep -q '^CHECK := yes' build/*/probe.mk build/gpu/*/probe.mk 2>/dev/null; then
    part "every kernel's tests, on $device and the others; the parity fixtures"
    $make -j"$jobs" $build test only="$tests" 2>&1 | tee "$out/kernels.log" | tail -n 5
    grep -q ', 0 failed' "$out/kernels.log" || fails "tests of kernels: see $out/kernels.log"
    ATTEND_DEVICE=$device $make -j"$jobs" $build test only="$parity" 2>&1 | tee "$out/parity.log" | tail -n 5
    grep -q ', 0 failed' "$out/parity.log" || fails "parity: see $out/parity.log"
else
    part "no Check here: tests are left out (tests/gpu.sh --pack brings it)"
    failed="$failed
  tests: left out, since Check is not there"
fi

# The same short training on both devices: losses agree to 1e-4, or 1e-2 in tf32 and bf16.
part "steps beside the cpu's"
steps_of() { # steps_of PROGRAM DEVICE PRECISION OPTIONS...
    program=$1 where=$2 precision=$3
    shift 3
    run=$out/same/$program-$where-$precision
    rm -rf "$run" # of an earlier call
    "$bin/$program" train --run "$run" --quiet --device "$where" --precision "$precision" --steps 10 --eval-every 0 \
        --save-every 0 --dropout 0.1 --warmup 10 --lr 1e-3 --workers 1 "$@" >"$out/same.log" 2>&1 || { cat "$out/same.log"; return 1; }
    awk -F '\t' '!/^#/ && $1 ~ /^[0-9]+$/ { print $3 }' "$run/log.tsv" >"$run.losses"
}
mkdir -p "$out/same"
compare() { # compare PROGRAM OPTIONS...
    program=$1
    shift
    steps_of "$program" cpu f32 "$@" || { fails "$program on the cpu"; return; }
    for precision in f32 tf32 bf16; do
        steps_of "$program" $device $precision "$@" || { fails "$program on $device in $precision"; continue; }
        paste "$out/same/$program-cpu-f32.losses" "$out/same/$program-$device-$precision.losses" | awk \
            -v what="$program $precision" -v most=$([ $precision = f32 ] && echo 1e-4 || echo 2e-2) '
            { off = $1 - $2; if (off < 0) off = -off; if (off > far) far = off; n++ }
            END { printf "%s: %d losses, the furthest is off by %.2g\n", what, n, far; exit !(n == 10 && far <= most) }' ||
            fails "$program in $precision: losses differ from the cpu's"
    done
}
compare charlm --minutes 0 --dim 32 --heads 2 --depth 2 --context 32 --batch 4
compare classifier --preset minute --minutes 0 --dim 16 --heads 2 --ff 32 --depth 1 --batch 4 --no-cache
compare encdec --preset minute --minutes 0 --dim 32 --heads 2 --ff 64 --depth 1 --batch-tokens 256

part "compute-sanitizer"
sanitizer=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" 2>/dev/null)
if [ -z "$sanitizer" ]; then
    echo "not here: left out"
elif [ $device = cuda ]; then
    for tool in memcheck racecheck synccheck initcheck; do
        ATTEND_GRAPHS=no "$sanitizer" --tool $tool --error-exitcode 9 "$bin/gpu" $device tiny >"$out/$tool.log" 2>&1 &&
            ATTEND_GRAPHS=no "$sanitizer" --tool $tool --error-exitcode 9 "$bin/charlm" bench --device $device --steps 1 \
                --dim 64 --heads 4 --depth 2 --context 64 --batch 4 --dropout 0.1 >>"$out/$tool.log" 2>&1 &&
            echo "$tool: nothing" || fails "compute-sanitizer --tool $tool: see $out/$tool.log"
    done
fi

# ---- fast

part "products, attention, memory (bin/gpu)"
{
    echo "what	shape	precision	us	rate	unit	% of the limit"
    "$bin/gpu" $device $size 2>"$out/gpu.err" || fails "bin/gpu: $(cat "$out/gpu.err")"
} | tee "$table"

part "steps"
python=${PYTHON:-python3}
"$python" -c 'import torch, sys; sys.exit(sys.argv[1] == "cuda" and not torch.cuda.is_available())' $device 2>/dev/null || python=
[ -n "$python" ] || echo "PyTorch is not here, or has no GPU: its steps are left out"
field() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p"; }
row() { # row WHAT PRECISION JSON: a line of the table
    seconds=$(echo "$3" | field step_s) rate=$(echo "$3" | field tokens_per_s)
    [ -n "$rate" ] || { fails "$1 in $2"; return; }
    echo "$1		$2	$(awk "BEGIN { printf \"%.1f\", 1e6 * $seconds }")	$rate	tokens/s	" | tee -a "$table"
}
if [ -n "$size" ]; then
    steps=2
    charlm="--dim 16 --heads 2 --depth 1 --context 16 --batch 2 --ff 32"
    classifier="--dim 16 --heads 2 --depth 1 --context 16 --batch 2 --ff 32"
    encdec="--dim 16 --heads 2 --depth 1 --batch-tokens 64 --ff 32"
    peer_charlm=$charlm peer_classifier=$classifier peer_encdec=$encdec
    modes="eager"
    peer_device=cpu
else
    steps=200
    charlm="--preset former" classifier="--preset former" encdec="--preset base --micro-tokens 25000"
    peer_charlm= peer_classifier= peer_encdec=
    modes="eager compile max-autotune"
    peer_device=$device
fi
for program in charlm classifier encdec; do
    eval "ours=\$$program theirs=\$peer_$program"
    for precision in f32 tf32 bf16; do
        row "$program" $precision "$("$bin/$program" bench $ours --device $device --precision $precision --steps $steps --json 2>>"$out/bench.err")"
        [ -n "$python" ] || continue
        for mode in $modes; do
            case $mode in eager) how= ;; compile) how=--compile ;; *) how="--compile --mode $mode" ;; esac
            row "$program, PyTorch $mode" $precision "$("$python" tests/peers/torch_step.py $program $theirs $how \
                --device $peer_device --precision $precision --steps $steps 2>>"$out/bench.err")"
        done
    done
done

part "the median charlm step, sampling, translating"
if [ -n "$size" ]; then long=3; else long=2000; fi
row "charlm, median of $long" bf16 "$("$bin/charlm" bench $charlm --device $device --precision bf16 --steps $long --json 2>>"$out/bench.err")"
written() { # written WHAT UNIT RATE
    [ -n "$3" ] || { fails "$1"; return; }
    echo "$1		f32		$3	$2	" | tee -a "$table"
}
if [ -n "$size" ]; then letters=5 pairs=3; else letters=2000 pairs=2000; fi
written sampling "characters/s" "$("$bin/charlm" sample --run "$out/same/charlm-$device-f32" --device $device --length $letters --json \
    2>>"$out/bench.err" | field characters_per_s)"
written translating "sentences/s" "$(awk -v n=$pairs 'BEGIN { for (i = 0; i < n; i++) print "a dog runs in the park ." }' |
    "$bin/encdec" translate --run "$out/same/encdec-$device-f32" --device $device --beam 4 --json 2>>"$out/bench.err" | field sentences_per_s)"

part "all of it: $table"
column -t -s '	' "$table" 2>/dev/null || cat "$table"
[ -z "$failed" ] && exit 0
printf '\nFAILED:%s\n' "$failed"
exit 1
