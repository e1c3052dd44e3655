#!/bin/sh
# tools/null_comparison.sh [PAIRS [SEEDS]]: does compare cry wolf? PAIRS (200) times, two groups of SEEDS (5) runs of the
# same recipe, no seed twice, are trained and compared: p must be below 0.05 in one comparison of twenty, within limits
# that chance leaves once in a thousand times. `make null-comparison` runs it; BIN: the programs.
set -eu
pairs=${1:-200} seeds=${2:-5}
charlm=${BIN:-bin}/charlm
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
runs=$((pairs * seeds))

# Groups are told apart by a limit of the gradient's norm that none comes near.
{
    cat <<RECIPE
dim = 8
heads = 2
depth = 1
context = 16
batch = 2
micro-batch = 2
steps = 20
warmup = 2
lr = 1e-2
minutes = 0
eval-every = 20
eval-bytes = 500
workers = 1
keep = 1
[a]
clip = 1000
seeds = $runs
[b]
clip = 2000
RECIPE
    seq -s ' | ' $((runs + 1)) $((2 * runs)) | sed 's/^/seeds = /'
} >"$place/null.sweep"
"$charlm" sweep "$place/null.sweep" --run "$place/runs" --jobs "${JOBS:-4}" -q >/dev/null

pair=0
while [ $pair -lt "$pairs" ]; do
    set --
    seed=1
    while [ $seed -le "$seeds" ]; do
        set -- "$@" "$place/runs/a-s$((pair * seeds + seed))" "$place/runs/b-s$((runs + pair * seeds + seed))"
        seed=$((seed + 1))
    done
    "$charlm" compare "$@" --last --format tsv | awk -F '\t' 'NR == 3 { print $10 }'
    pair=$((pair + 1))
done | awk -v pairs="$pairs" -v seeds="$seeds" '
function at_most(n, below,    i, share, sum) { # P(X <= below) of n tries at 0.05
    share = exp(n * log(0.95)); sum = share
    for (i = 1; i <= below; i++) { share *= (n - i + 1) / i * 0.05 / 0.95; sum += share }
    return sum
}
{ count++; found += $1 < 0.05; low += $1 < 0.5 }
END {
    printf "%d comparisons of %d runs with %d runs of the same recipe: p < 0.05 in %d (%.1f %%), p < 0.5 in %d (%.1f %%)\n",
        count, seeds, seeds, found, 100 * found / count, low, 100 * low / count
    if (count != pairs || at_most(pairs, found) < 0.0005 || 1 - at_most(pairs, found - 1) < 0.0005) {
        print "that is not chance"; exit 1
    }
}'
