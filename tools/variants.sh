#!/bin/sh
# tools/variants.sh PROGRAM/sweeps/NAME.sweep TABLE [ROUNDS]: what a sweep found, as a table in Markdown with the best row
# first. TABLE is its sweep.tsv. Each row is at its best learning rate and compared with the first one. The time of a step
# is the median of as many rounds (5) over all rows, one worker, 40 steps each: give it an idle machine. Memory is what
# --dry-run plans.
set -eu
sweep=$1 table=$2 rounds=${3:-5}
program=${sweep%/sweeps/*}
program=${BIN:-bin}/${program##*/}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ROW, tab, its options, those of all rows first
awk '
    { sub(/[ \t]*#.*/, "") }
    /^\[/ { if (row != "") print row "\t" common own; row = substr($0, 2, length($0) - 2); own = ""; next }
    /=/ {
        name = value = $0
        sub(/[ \t]*=.*/, "", name)
        sub(/^[^=]*=[ \t]*/, "", value)
        if (name == "seeds" || name == "lr")
            next
        if (row == "") common = common " --" name "=" value
        else own = own " --" name "=" value
    }
    END { print row "\t" common own }' "$sweep" >"$work/rows"

value() { # NAME in one line of JSON
    sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p"
}

"$program" bench --help | sed -n 's/^ *\(-., \)\{0,1\}--\(\[no-]\)\{0,1\}\([a-z0-9-]*\).*/\3/p' | grep -vx 'steps\|warmup' >"$work/known"

# Of the options in $1 those that bench knows: the others change no step, or too little to see.
of_bench() {
    printf '%s\n' "$1" | tr ' ' '\n' | while IFS='=' read -r name value; do
        if grep -qx -e "${name#--}" "$work/known"; then printf '%s=%s ' "$name" "$value"; fi
    done
}

tab=$(printf '\t')
while IFS=$tab read -r row options; do
    # shellcheck disable=SC2086
    plan=$("$program" train $options --run "$work/run" --dry-run --json -q)
    printf '%s\t%s\t%s\n' "$row" "$(echo "$plan" | value parameters)" "$(echo "$plan" | value memory_bytes)"
done <"$work/rows" >"$work/plans"
for round in $(seq "$rounds"); do
    while IFS=$tab read -r row options; do
        # shellcheck disable=SC2046
        seconds=$("$program" bench $(of_bench "$options") --steps 40 --json -q | value step_s)
        printf '%s\t%s\n' "$row" "$seconds" >>"$work/times"
    done <"$work/rows"
    echo "round $round of $rounds" >&2
done
sort -t "$tab" -k 1,1 -k 2,2g "$work/times" | awk -F '\t' '
    function end() { if (row != "") print row "\t" seconds[int((n + 1) / 2)] }
    $1 != row { end(); row = $1; n = 0 }
    { seconds[++n] = $2 }
    END { end() }' >"$work/medians"

# BLEU of each row and rate, if the program has it
case $program in
*/encdec) unit=nats/token bleu=' BLEU |' line='---:|' && "$program" compare "$table" --figure bleu --format tsv ;;
*) unit=bits/byte bleu='' line='' ;;
esac >"$work/bleu"

echo "| row | lr | $unit | difference | p |$bleu parameters | ms | MiB |"
echo "|---|---:|---|---|---:|$line---:|---:|---:|"
"$program" compare "$table" --tuned lr --against "$(sed -n "1s/$tab.*//p" "$work/rows")" --format tsv |
    awk -F '\t' -v rows="$work/rows" -v medians="$work/medians" -v plans="$work/plans" -v bleu="$work/bleu" '
    function minus(text) { gsub(/-/, "−", text); return text }
    function thousands(n) { return n >= 1000 ? thousands(int(n / 1000)) sprintf(",%03d", n % 1000) : n }
    function chance(p) { return p == "" ? "–" : p < 1e-4 ? "< 0.0001" : sprintf(p < 1e-3 ? "%.4f" : "%.3f", p) }
    function key(name) { gsub(/[^A-Za-z0-9.,-]/, "_", name); return name } # as the sweep names its runs
    BEGIN {
        while ((getline <rows) > 0) shown[key($1)] = $1 ($2 ~ /--attention=composed/ ? " ¹" : "")
        while ((getline <medians) > 0) seconds[key($1)] = $2
        while ((getline <bleu) > 0) scored[$1] = $4 == "mean" ? "" : sprintf(" %.1f |", $4)
        while ((getline <plans) > 0) { parameters[key($1)] = $2; memory[key($1)] = $3 }
    }
    NR == 1 { for (i = 2; i <= NF; i++) at[$i] = i; next }
    {
        row = rate = $1
        sub(/-lr[^-]*(-[0-9]+)?$/, "", row)
        rate = substr(rate, length(row) + 4)
        mean = $at["mean"]
        if ($at["margin"] == "") # fewer than two of its runs are done
            next
        printf "%.6f\t| %s | %s | %.3f ± %.3f |", mean, shown[row], minus(rate), mean, $at["margin"]
        if ($at["p"] == "")
            printf " reference |"
        else
            printf " %s |", minus(sprintf("%+.3f (%+.3f to %+.3f)", $at["difference"], $at["low"], $at["high"]))
        printf " %s |%s %s | %.1f | %.0f |\n", chance($at["p (Holm)"]), scored[$1], thousands(parameters[row]), 1000 * seconds[row],
            memory[row] / 1048576
    }' | sort -g | cut -f 2
