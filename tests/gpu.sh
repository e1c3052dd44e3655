#!/bin/sh
# tests/gpu.sh: everything that only a GPU can show, by one command.
#
#     tests/gpu.sh [OPTION...] [FOLDER]   tests and measures on this machine's GPU; results go to FOLDER (runs/gpu)
#     tests/gpu.sh --pack FILE.tar.gz     this commit, with what a bare machine lacks (Check), to carry there
#
#     --only PARTS     of tests, same, speed, steps, use, sanitizer: these (with commas between); it builds always
#     --for SECONDS    begins nothing more after so long; the next call does what is left
#     --retry          once more what has failed
#     --again          once more what has been done already
#     --rehearse       the same on the emulated device, with sizes that tell nothing: tries the script (runs/rehearsal)
#
# It needs a GPU with its driver, nvcc, a C and a C++ compiler and make; no network, no Python. Where PyTorch is, its
# steps are measured, too (PYTHON=... names another python3); where compute-sanitizer is, it looks at the kernels.
# Everything is built here, for this processor and this GPU, in a folder of its own.
#
# What has been done is kept, piece by piece, however the run ends: the same call continues from there. The table has a line
# for what is missing, too, with the reason. Exit status: 3 something is left for the next call, 1 something failed, 0 all
# is well.
set -u
cd "$(dirname "$0")/.." || exit 1

usage() { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# ---- to carry

pack() {
    case $1 in *.tar.gz) ;; *) echo "tests/gpu.sh --pack FILE.tar.gz: it makes that file" >&2; return 2 ;; esac
    folder=$(mktemp -d) && mkdir "$folder/attend" || return 1
    git archive HEAD | tar -x -C "$folder/attend" || return 1
    [ -z "$(git status --porcelain --untracked-files=no)" ] || echo "what is not committed is not packed" >&2
    there=$folder/attend/.deps/usr/lib/$(uname -m)-linux-gnu
    mkdir -p "$folder/attend/.deps/usr/include" "$there"
    git describe --always --dirty >"$folder/attend/.deps/commit"
    for header in check.h check_stdint.h; do
        found=$(echo "#include <$header>" | ${CC:-cc} -E - 2>/dev/null | sed -n "s/^# 1 \"\(.*$header\)\".*/\1/p" | head -n 1)
        [ -n "$found" ] && cp "$found" "$folder/attend/.deps/usr/include/"
    done
    for library in libcheck.a libsubunit.a; do
        found=$(${CC:-cc} -print-file-name=$library)
        [ -f "$found" ] && cp "$found" "$there/"
    done
    [ -f "$there/libcheck.a" ] || echo "there is no libcheck.a here: without Check there, tests are left out" >&2
    tar -c -C "$folder" attend | gzip >"$1" || return 1
    rm -rf "$folder"
    echo "$1: unpack it there (tar -xzf), and run attend/tests/gpu.sh"
}

device=cuda size='' out='' only=all seconds=1000000 again='' retry=''
while [ $# -gt 0 ]; do
    case $1 in
    --pack) pack "${2-}"; exit $? ;;
    --rehearse) device=emulated size=tiny ;;
    --only) [ $# -gt 1 ] || usage; only=$2; shift ;;
    --for) [ $# -gt 1 ] || usage; seconds=$2; shift ;;
    --retry) retry=yes ;;
    --again) again=yes ;;
    -*) usage ;;
    *) out=$1 ;;
    esac
    shift
done
case $seconds in '' | *[!0-9]*) echo "--for $seconds: it is a number of seconds" >&2; exit 2 ;; esac
for word in $(echo "$only" | tr , ' '); do
    case " all tests same speed steps use sanitizer " in
    *" $word "*) ;;
    *) echo "--only $word: there are tests, same, speed, steps, use and sanitizer" >&2; exit 2 ;;
    esac
done
began=$(date +%s) end=$(($(date +%s) + seconds))
out=${out:-runs/$([ $device = cuda ] && echo gpu || echo rehearsal)}
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
table=$out/table.tsv

part() { printf '\n==== %s\n' "$1"; }
wants() { case ",$only," in *,all,* | *",$1,"*) return 0 ;; esac; return 1; }
begin() { ! wants "$1" || part "$1: $2"; }
tell() { echo "$*" >&2; exit 1; }

# ---- the machine

part "the machine"
command -v make >/dev/null || tell "there is no make here: nothing can be built"
nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null)
if [ $device = cuda ]; then
    gpus=$(nvidia-smi --query-gpu=name,compute_cap,memory.total,driver_version --format=csv,noheader 2>/dev/null)
    [ -n "$gpus" ] || tell "there is no GPU here (nvidia-smi finds none): tests/gpu.sh --rehearse tries the script without"
    [ -n "$nvcc" ] || tell "there is no nvcc here, neither in PATH nor in ${CUDA_HOME:-/usr/local/cuda}/bin: nothing can be built"
else
    gpus="none: the emulated device, whose speed tells nothing"
fi
commit=$(git describe --always --dirty 2>/dev/null || cat .deps/commit 2>/dev/null || echo unknown)
{
    echo "GPU        $gpus"
    echo "processor  $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1), $(getconf _NPROCESSORS_ONLN) cores"
    echo "nvcc       $([ -n "$nvcc" ] && "$nvcc" --version | sed -n 's/.*release //p')"
    echo "commit     $commit"
} | tee "$out/machine.txt"

# What is there already is of this commit and this GPU, or it is not mixed with what comes.
[ -z "$again" ] || [ "$only" != all ] || rm -rf "$out/done" "$out/rows" "$out/why" "$out/log" "$out/of"
if [ -e "$out/of" ] && ! cmp -s "$out/of" "$out/machine.txt"; then
    tell "$out holds results of another commit or machine (see $out/of): name another folder, or begin anew with --again"
fi
cp "$out/machine.txt" "$out/of"
mkdir -p "$out/done" "$out/rows" "$out/why" "$out/log" "$out/same"

# ---- building

part "building (make's words: $out/build.log)"
jobs=$(getconf _NPROCESSORS_ONLN)
# The emulator's tests need no GPU, and take longest to compile; the rehearsal takes the build that is there.
[ $device = cuda ] || export ATTEND_HOST=apart # what the host may not touch on a GPU it may not touch here
if [ $device = cuda ]; then build="BUILD=build/gpu GPU=native CXX17=no"; else build=${BUILD:+BUILD=$BUILD}; fi
make="make --no-print-directory"
cannot() { tail -n 20 "$out/build.log" >&2; tell "cannot build: $1"; }
$make -j"$jobs" $build all >"$out/build.log" 2>&1 || cannot "make $build all"
tail -n 12 "$out/build.log"
bin=$($make -s $build where | sed -n 1p)
tools=$($make -s $build where | sed -n 2p)
$make -j"$jobs" $build "$tools/gpu" >>"$out/build.log" 2>&1 || cannot "make $build $tools/gpu"
if ! why=$("$bin/charlm" bench --device $device --steps 1 --dim 16 --heads 2 --depth 1 --context 16 --batch 2 2>&1 >/dev/null); then
    [ $device = emulated ] || grep '^CUDA' build/gpu/*/probe.mk
    [ $device = emulated ] || grep -q '^CUDA := yes' build/gpu/*/probe.mk || tail -n 20 build/gpu/*/probe.log
    tell "the programs do not run on device $device: $why"
fi

# cuBLAS may be where neither the system nor attend looks: among Python's packages.
python=${PYTHON:-python3}
libraries=${LD_LIBRARY_PATH-}
if [ $device = cuda ] && "$bin/charlm" bench --device cuda --steps 1 --dim 16 --heads 2 --depth 1 --context 16 --batch 2 2>&1 |
    grep -q "cuBLAS was not found"; then
    packages=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null)
    found=$(find ${packages:+"$packages/nvidia"} /usr/local /opt -name 'libcublas.so.[0-9]*' 2>/dev/null | head -n 1)
    [ -z "$found" ] || export LD_LIBRARY_PATH="$(dirname "$found")${libraries:+:$libraries}"
    echo "cuBLAS: ${found:-not found, so products are our own}" | tee -a "$out/machine.txt"
fi

# ---- pieces, each done once

# limited COMMAND...: 124 where it takes longer than `limit` seconds, which a piece sets. (It has a group of processes of
# its own, which a terminal's Ctrl-C does not reach.)
if timeout 1 true 2>/dev/null; then
    limited() {
        timeout -k 10 "$limit" "$@" &
        child=$!
        wait $child
        status=$?
        [ $status -ne 137 ] || status=124 # it would not end when it was asked to
        return $status
    }
else
    limited() { "$@" & child=$!; wait $child; }
fi
child='' pieces='' left=''
interrupted() {
    [ -z "$child" ] || kill $child 2>/dev/null
    write_table >"$table"
    echo "interrupted: what was done is kept, and in $table; the same call continues from there" >&3
    exit 130
}
exec 3>&1 # while a piece's output goes to its own file
trap interrupted INT TERM

# piece PART NAME SECONDS FUNCTION...: does it, unless it was done before. Its output goes to rows/NAME; it fails with a
# line in why/NAME, or else of log/NAME, where its errors go.
piece() {
    of=$1 name=$2 limit=$3
    shift 3
    pieces="$pieces $name"
    wants "$of" || return 0
    if [ -e "$out/done/$name" ] && [ -z "$again" ]; then
        [ -e "$out/why/$name" ] || { echo "$name: done before"; return 0; }
        [ -n "$retry" ] || { echo "$name: failed before (--retry does it once more)"; return 0; }
    fi
    ! grep -q '^left out' "$out/why/$name" 2>/dev/null || rm "$out/why/$name" # now it can be done
    now=$(date +%s)
    [ $((end - now)) -ge 5 ] || { left="$left $name"; return 0; }
    [ -z "$size" ] || limit=$((4 * limit)) # the emulator takes its time, and may not be alone here
    [ $((end - now)) -ge $limit ] || limit=$((end - now))
    rm -f "$out/done/$name" "$out/why/$name" "$out/rows/$name"
    printf '%s ...\n' "$name"
    "$@" >"$out/rows/$name.part" 2>"$out/log/$name"
    status=$?
    if [ $status -eq 0 ]; then
        mv "$out/rows/$name.part" "$out/rows/$name"
    elif [ $status -eq 124 ] && [ $(($(date +%s) + 5)) -ge "$end" ] && [ $((now - began)) -gt 60 ]; then
        left="$left $name" # --for cut it short
    elif [ $status -eq 124 ]; then
        echo "took longer than $limit s" >"$out/why/$name"
    else
        [ -s "$out/why/$name" ] || grep . "$out/log/$name" | tail -n 1 >"$out/why/$name"
        [ -s "$out/why/$name" ] || echo "ended with status $status" >"$out/why/$name"
    fi
    case "$left " in *" $name ") ;; *) : >"$out/done/$name" ;; esac
    cat "$out/rows/$name" "$out/rows/$name.part" 2>/dev/null
    [ ! -s "$out/why/$name" ] || echo "FAILED: $name: $(cat "$out/why/$name")"
    write_table >"$table"
}

# A piece that cannot be done here.
leave_out() { # leave_out PART NAME WHY
    pieces="$pieces $2"
    ! wants "$1" || [ -e "$out/done/$2" ] || echo "left out: $3" >"$out/why/$2"
}

# Every piece that is to give rows has its place here, done or not: NAME|WHAT|PRECISION
measurements() {
    for precision in f32 tf32 bf16; do echo "speed-$precision|products, attention, memory|$precision"; done
    for program in charlm classifier encdec; do
        for precision in f32 tf32 bf16; do
            echo "$program-$precision|$program|$precision"
            for mode in $modes; do echo "$program-$precision-$mode|$program, PyTorch $mode|$precision"; done
        done
    done
    echo "median|charlm, median of $long|bf16"
    for precision in f32 bf16; do
        echo "sampling-$precision|sampling|$precision"
        echo "translating-$precision|translating|$precision"
    done
}

write_table() {
    echo "what	shape	precision	us	rate	unit	% of the limit	note"
    measurements | while IFS='|' read -r name what precision; do
        cat "$out/rows/$name" 2>/dev/null && continue
        cat "$out/rows/$name.part" 2>/dev/null
        echo "$what		$precision	-	-	-	-	missing: $(sed 's/^left out: //' "$out/why/$name" 2>/dev/null || echo "not measured yet")"
    done
}

modes="eager compile max-autotune"
if [ -n "$size" ]; then long=3; else long=2000; fi

# ---- right

# One process for all tests of a file (Check forks, and a GPU takes most of a second to begin with each process).
tests_of() { # tests_of ONLY [VARIABLE=VALUE]...
    chosen=$1
    shift
    limited env CK_FORK=no WRAP="$wrap" FAST="${size:+1}" "$@" $make -j"$jobs" $build test only="$chosen" >"$out/log/$name.txt" 2>&1
    status=$?
    [ $status -ne 124 ] || return 124
    grep -a ', [0-9]* failed' "$out/log/$name.txt"
    [ $status -eq 0 ] && grep -aq ', 0 failed' "$out/log/$name.txt" && return 0
    echo "$(grep -a '^failed in:' "$out/log/$name.txt" || tail -n 1 "$out/log/$name.txt") (all of it: $out/log/$name.txt)" >"$out/why/$name"
    return 1
}

begin tests "every kernel's on $device and the other backends; the parity fixtures"
wrap=
most=570
! timeout 1 true 2>/dev/null || wrap="timeout $([ -n "$size" ] && echo 1200 || echo 280)" # a test that hangs does not hide the others
if [ "$($make -s $build has-check)" = yes ]; then
    piece tests kernels $most tests_of kernels
    piece tests parity $most tests_of "classifier/parity encdec/parity nn/parity" ATTEND_DEVICE=$device
elif wants tests; then # not just left out: without them no number is worth much
    pieces="$pieces kernels parity"
    for name in kernels parity; do
        echo "not run: there is no Check here (tests/gpu.sh --pack brings it)" | tee "$out/why/$name"
    done
fi

begin same "steps beside the cpu's"
steps_of() { # steps_of PROGRAM DEVICE PRECISION OPTIONS...
    program=$1 where=$2 precision=$3
    shift 3
    run=$out/same/$program-$where-$precision
    rm -rf "$run" # of an earlier call
    limited "$bin/$program" train --run "$run" --quiet --device "$where" --precision "$precision" --steps $same --eval-every 0 \
        --save-every 0 --dropout 0.1 --warmup 10 --lr 1e-3 --workers 1 "$@" >&2 || return $?
    awk -F '\t' '!/^#/ && $1 ~ /^[0-9]+$/ { print $3 }' "$run/log.tsv" >"$run.losses"
}

# The same short training on both devices: losses agree to 1e-4, or 2e-2 in tf32 and bf16.
compare() { # compare PROGRAM OPTIONS...
    what=$1 bad=0
    shift
    steps_of "$what" cpu f32 "$@" || return $?
    for type in f32 tf32 bf16; do
        steps_of "$what" $device $type "$@"
        case $? in
        0) ;;
        124) return 124 ;;
        *) bad=1; echo "$what in $type: $(tail -n 1 "$out/log/$name")" >>"$out/why/$name"; continue ;;
        esac
        paste "$out/same/$what-cpu-f32.losses" "$out/same/$what-$device-$type.losses" | awk -v steps=$same \
            -v what="$what $type" -v most=$([ $type = f32 ] && echo 1e-4 || echo 2e-2) '
            { off = $1 - $2; if (off < 0) off = -off; if (off > far) far = off; n += $1 != "" && $2 != "" }
            END { printf "%s: %d losses, the furthest is off by %.2g\n", what, n, far; exit !(n == steps && far <= most) }' ||
            { bad=1; echo "$what in $type: losses differ from the cpu's" >>"$out/why/$name"; }
    done
    return $bad
}
same=20
piece same same-charlm 300 compare charlm --minutes 0 --dim 32 --heads 2 --depth 2 --context 32 --batch 4
piece same same-classifier 300 compare classifier --preset minute --minutes 0 --dim 16 --heads 2 --ff 32 --depth 1 --batch 4 --no-cache
piece same same-encdec 300 compare encdec --preset minute --minutes 0 --dim 32 --heads 2 --ff 64 --depth 1 --batch-tokens 256

# ---- fast

begin speed "products, attention, memory (tools/gpu.c)"
speed() { limited "$tools/gpu" $device $size $1; }
for precision in f32 tf32 bf16; do piece speed speed-$precision 300 speed $precision; done

begin steps "those of the three programs, and PyTorch's"
field() { sed -n "s/.*\"$1\": \([0-9.e+-]*\).*/\1/p"; }
row() { # row WHAT PRECISION COMMAND...: a line of the table, of what the command says
    what=$1 precision=$2
    shift 2
    limited "$@" >"$out/said" || return $?
    rate=$(field tokens_per_s <"$out/said")
    [ -n "$rate" ] || { echo "it says no tokens_per_s" >&2; return 1; }
    echo "$what		$precision	$(field step_s <"$out/said" | awk '{ printf "%.1f", 1e6 * $1 }')	$rate	tokens/s		"
}
if [ -n "$size" ]; then
    charlm="--dim 16 --heads 2 --depth 1 --context 16 --batch 2 --ff 32 --steps 2"
    classifier=$charlm
    encdec="--dim 16 --heads 2 --depth 1 --batch-tokens 64 --ff 32 --steps 2"
    peer_charlm=$charlm peer_classifier=$charlm peer_encdec="$encdec --words 300"
    encdec="$encdec --merges 300"
    peer_device=cpu
else
    charlm="--preset former --steps 200" classifier="--preset former --steps 200"
    encdec="--preset base --dropout 0 --micro-tokens 25000 --steps 50" # as the peer, which has no dropout
    peer_charlm="--steps 200" peer_classifier="--steps 200" peer_encdec="--steps 50"
    peer_device=$device
fi

# Its own libraries, and what it has compiled and tuned is kept for the next call.
torch() { # torch MODE PROGRAM PRECISION OPTIONS...
    case $1 in eager) how= ;; compile) how=--compile ;; *) how="--compile --mode $1" ;; esac
    mode=$1 program=$2 precision=$3
    shift 3
    row "$program, PyTorch $mode" $precision env LD_LIBRARY_PATH="$libraries" TORCHINDUCTOR_CACHE_DIR="$out/inductor" \
        "$python" tests/peers/torch_step.py $program "$@" $how --device $peer_device --precision $precision
}
no_torch=
if ! command -v "$python" >/dev/null; then
    no_torch="there is no $python here"
elif ! said=$("$python" -c 'import sys
try:
    import numpy, torch
except ImportError as e:
    sys.exit(f"{sys.executable} cannot import PyTorch and NumPy ({e}); PYTHON=... names another")
sys.exit("PyTorch finds no GPU" if sys.argv[1] == "cuda" and not torch.cuda.is_available() else 0)' $peer_device 2>&1); then
    no_torch=$(echo "$said" | tail -n 1)
fi
[ -z "$no_torch" ] || ! wants steps || echo "PyTorch's steps are left out: $no_torch"
for program in charlm classifier encdec; do
    eval "ours=\$$program theirs=\$peer_$program"
    for precision in f32 tf32 bf16; do
        piece steps $program-$precision 300 row $program $precision \
            "$bin/$program" bench $ours --device $device --precision $precision --json
        for mode in $modes; do
            name=$program-$precision-$mode
            case $size,$program-$precision-$mode in # compiling takes long
            tiny,charlm-f32-compile | tiny,classifier-bf16-max* | tiny,encdec-f32-compile | *-eager | ,*) why=$no_torch ;;
            *) why=${no_torch:-the rehearsal compiles but a few} ;;
            esac
            if [ -n "$why" ]; then leave_out steps $name "$why"; else piece steps $name 540 torch $mode $program $precision $theirs; fi
        done
    done
done

begin use "the median charlm step, sampling, translating"
written() { # written WHAT PRECISION UNIT RATE
    [ -n "$4" ] || { echo "it does not say how many $3" >&2; return 1; }
    echo "$1		$2		$(echo "$4" | awk '{ printf "%.1f", $1 }')	$3		"
}
sample() { # sample PRECISION
    limited "$bin/charlm" bench --sample $sampled --device $device --precision $1 --json >"$out/said" || return $?
    written sampling $1 characters/s "$(field characters_per_s <"$out/said")"
}
# A model that has learned next to nothing writes as long as it may, so its tokens per second are measured, too.
translate() { # translate PRECISION
    run=$out/same/translating-$1
    rm -rf "$run"
    limited "$bin/encdec" train --run "$run" --quiet $translated --minutes 0 --steps 2 --batch-tokens 512 --eval-every 0 --save-every 0 \
        --device $device --precision $1 >&2 || return $?
    awk -v n=$pairs 'BEGIN { for (i = 0; i < n; i++) print "a dog runs in the park ." }' >"$out/sentences"
    limited "$bin/encdec" translate --run "$run" --file "$out/sentences" --device $device --precision $1 --beam 4 \
        --max-extra $extra >"$out/translations" || return $?
    written translating $1 sentences/s "$(sed -n 's/.* \([0-9.]*\) sentences\/s.*/\1/p' "$out/log/$name")"
}
if [ -n "$size" ]; then
    sampled=$charlm translated="--preset minute --dim 32 --heads 2 --ff 64 --depth 1" pairs=1 extra=2
else
    sampled="--preset former" translated="--preset base" pairs=2000 extra=50
fi
piece use median 300 row "charlm, median of $long" bf16 "$bin/charlm" bench $charlm --steps $long --device $device --precision bf16 --json
for precision in f32 bf16; do
    piece use sampling-$precision 300 sample $precision
    piece use translating-$precision 300 translate $precision
done

# ---- looked at

# The rehearsal has the device `checked` in its place, for each tool with threads in another order.
begin sanitizer "$([ $device = emulated ] && echo "the device checked instead of ")compute-sanitizer"
sanitizer=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" 2>/dev/null)
# Our kernels, not cuBLAS.
under() { # under TOOL COMMAND...
    tool=$1
    shift
    if [ $device = emulated ]; then
        case $tool in memcheck) order=forward ;; racecheck) order=greedy ;; synccheck) order=backward ;; *) order=random ;; esac
        set -- env ATTEND_ORDER=$order "$@"
    else
        set -- "$sanitizer" --tool "$tool" --error-exitcode 9 "$@"
    fi
    limited env ATTEND_GRAPHS=no ATTEND_KERNELS=own "$@" >>"$out/log/$name.txt" 2>&1 && return 0
    status=$?
    [ $status -eq 124 ] || echo "$(grep -a . "$out/log/$name.txt" | tail -n 1) (all of it: $out/log/$name.txt)" >"$out/why/$name"
    return $status
}
sanitize() { # sanitize TOOL
    : >"$out/log/$name.txt"
    if [ $device = emulated ]; then where=checked; else where=$device; fi
    for type in f32 bf16; do
        under $1 "$tools/gpu" $where tiny $type || return $?
        under $1 "$bin/charlm" bench --device $where --precision $type $looked_charlm --steps 1 --dropout 0.1 || return $?
        under $1 "$bin/encdec" bench --device $where --precision $type $looked_encdec --steps 1 --dropout 0.1 || return $?
    done
    echo "$1: nothing"
}
if [ -n "$size" ]; then
    looked_charlm=$charlm looked_encdec=$encdec
else
    looked_charlm="--dim 64 --heads 4 --depth 2 --context 64 --batch 4"
    looked_encdec="--dim 64 --heads 4 --depth 1 --ff 64 --batch-tokens 128"
fi
for tool in memcheck racecheck synccheck initcheck; do
    if [ -n "$sanitizer" ] || [ $device = emulated ]; then
        piece sanitizer $tool 300 sanitize $tool
    else
        leave_out sanitizer $tool "there is no compute-sanitizer here"
    fi
done

# ---- all of it

part "all of it: $table"
write_table >"$table"
column -t -s '	' "$table" 2>/dev/null || cat "$table"
of_pieces() { for name in $pieces; do [ ! -e "$out/why/$name" ] || sed "s|^|$name: |" "$out/why/$name"; done; }
of_pieces | grep -q ': left out' && printf '\nleft out, because\n' &&
    of_pieces | sed -n 's/^[^:]*: left out: //p' | sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/  \2 (\1)/'
[ -z "$left" ] || printf '\nleft for the next call:%s\n' "$left"
if of_pieces | grep -qv ': left out'; then
    printf '\nFAILED\n'
    of_pieces | grep -v ': left out' | sed 's/^/  /'
    [ -n "$left" ] || exit 1
fi
[ -z "$left" ] || exit 3
