#!/bin/sh
# tools/demo.sh, which `make demo` runs: trains a small character model for a minute on the text that comes with attend,
# scores it, lets it write, and draws how it learnt. Takes under two minutes on two cores; each call makes a run of its
# own in runs/.
set -eu
cd "$(dirname "$0")/.."
charlm=${ATTEND_BIN:-bin}/charlm
[ -x "$charlm" ] || { echo "demo: $charlm is not there; run make first" >&2; exit 1; }

n=1
mkdir -p runs
until mkdir "runs/demo-$n" 2>/dev/null; do
    [ -e "runs/demo-$n" ] || { echo "demo: cannot make a folder in runs/" >&2; exit 1; }
    n=$((n + 1))
done
run=runs/demo-$n

say() { printf '\n\033[1m%s\033[0m\n\n' "$1"; }
[ -t 1 ] || say() { printf '\n%s\n\n' "$1"; }

say "1. Training: a Transformer reads prose and learns to predict the next byte. This takes a minute."
echo "\$ charlm train --run $run"
"$charlm" train --run "$run"

say "2. How good is it? Bits per byte on text it has never seen: 8 is knowing nothing, less is better."
echo "The figure above is of adjacent windows, whose first bytes have little context. In windows that overlap, each byte that"
echo "is scored has at least 241 bytes of context, so the model does better:"
echo
echo "\$ charlm eval --run $run --split test --stride 16"
"$charlm" eval --run "$run" --split test --stride 16
echo
echo "An n-gram model, which only counts, reaches this on the same text. It is the baseline to beat:"
echo
echo "\$ charlm baseline --split test"
"$charlm" baseline --split test --quiet | head -n 1
echo
echo "(On a slow or busy machine, a minute may be too short for that; the first command of part 5 goes on.)"

say "3. It writes: a prompt, and how the model continues it."
echo "\$ charlm sample --run $run --prompt 'The ' --length 300 --temperature 0.5"
"$charlm" sample --run "$run" --prompt 'The ' --length 300 --temperature 0.5

picture=
PATH=$PATH:$PWD/.deps/bin
if command -v gnuplot >/dev/null; then
    "$charlm" plot --run "$run" --out "$run/loss.png" >/dev/null && picture="$run/loss.png"
fi

say "4. The run is in $run:"
cat <<END
    config.json     every option it was made with
    log.tsv         loss, learning rate, speed of each step
    samples/        what it wrote during training: at first noise, then words
    checkpoints/    weights and the state of training
END
if [ -n "$picture" ]; then
    echo "    loss.png        how the loss fell (loss.tsv: the numbers in it)"
else
    echo "    (with gnuplot there would be a plot of the loss, too: make deps)"
fi

say "5. What next?"
charlm=${charlm#"$PWD/"}
next() { printf '    %-56s %s\n' "$charlm $1" "$2"; }
next "train --resume $run --minutes 3" "train it for longer"
next "train --preset minute --data FILE" "a text of your own: any file, compressed or not"
next "train --preset prose --dim 128 --depth 4" "a larger model; --dry-run prints its cost first"
next "plot --run $run --what all" "loss, learning rate, speed; --watch during training"
next "info --run $run" "what the model consists of"
next "train --help" "all options"
