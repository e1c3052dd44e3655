#!/bin/sh
# tools/decoding.sh SOURCES REFERENCES RUN RUN RUN: what ways of translating do, as a table in Markdown. The RUNs differ in
# their seed alone; each translates SOURCES in each way. BLEU is the mean of the three, and its difference from that of the
# first way has a 95 % interval (Student's t of the three differences; the pairs of an ensemble share runs, so they have
# none). Length is in words, as a share of REFERENCES'; times are of one worker, with reading the model: give it an idle
# machine. Each run gets the average of its checkpoints, as `encdec average` makes it.
set -eu
[ $# -eq 5 ] || { sed -n '2,6s/^# //p' "$0" >&2 && exit 2; }
sources=$1 references=$2
shift 2
program=${BIN:-bin}/encdec
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

way() { # NAME RUN OPTION...
    name=$1 run=$2
    shift 2
    began=$(date +%s.%N)
    "$program" translate --run "$run" --file "$sources" --workers 1 -q "$@" >"$work/text"
    ended=$(date +%s.%N)
    "$program" bleu "$work/text" "$references" --json >"$work/score"
    printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$(sed 's/.*"bleu": \([^,}]*\).*/\1/' "$work/score")" "$began" "$ended" \
        "$(wc -w <"$work/text")" >>"$work/all"
}

each() { # NAME OPTION...: with each run
    name=$1
    shift
    way "$name" "$one" "$@"
    way "$name" "$two" "$@"
    way "$name" "$three" "$@"
    echo "$name" >&2
}

one=$1 two=$2 three=$3
for run in "$@"; do "$program" average --run "$run" -q >/dev/null; done
each '`--beam 4`, the default'
each '`--beam 1`: greedy' --beam 1
each '`--beam 2`' --beam 2
each '`--beam 8`' --beam 8
each '`--beam 16`' --beam 16
each '`--alpha 0`' --alpha 0
each '`--alpha 1`' --alpha 1
each '`--beam-rule full --alpha 1`' --beam-rule full --alpha 1
each '`--beam-groups 4`: diverse' --beam-groups 4
each '`--no-repeat 3`' --no-repeat 3
each '`--sample`' --sample
each '`--sample --temperature 0.5`' --sample --temperature 0.5
each '`--sample --top-k 10`' --sample --top-k 10
each '`--sample --top-p 0.9`' --sample --top-p 0.9
each '`--precision int8`' --precision int8
each '`--weights average`: the mean of five checkpoints' --weights average
way '`--ensemble` of two' "$one" --ensemble "$two"
way '`--ensemble` of two' "$two" --ensemble "$three"
way '`--ensemble` of two' "$three" --ensemble "$one"
way '`--ensemble` of three' "$one" --ensemble "$two,$three"
each '`--weights average --beam 8 --alpha 1`' --weights average --beam 8 --alpha 1

awk -F '\t' -v words="$(wc -w <"$references")" '
    function end(  i, mean, square, half, difference) {
        for (i = 1; i <= n; i++)
            mean += (bleu[i] - base[i]) / n
        for (i = 1; i <= n; i++)
            square += (bleu[i] - base[i] - mean) ^ 2
        half = 4.303 * sqrt(square / 6)
        difference = sprintf("%+.1f (%+.1f to %+.1f)", mean, mean - half, mean + half)
        gsub(/-/, "−", difference)
        if (first || name ~ /ensemble/)
            difference = first ? "reference" : n == 3 ? sprintf("%+.1f", mean) : ""
        printf "| %s | %.1f | %s | %.3f | %.1f |\n", name, sum / n, difference, length_sum / n / words, seconds / n
    }
    BEGIN { print "| | BLEU | difference | length | seconds |\n|---|---:|---|---:|---:|"; first = 1 }
    $1 != name {
        if (name != "") { end(); first = 0 }
        name = $1
        n = sum = seconds = length_sum = 0
    }
    { bleu[++n] = $2; if (first) base[n] = $2; sum += $2; seconds += $4 - $3; length_sum += $5 }
    END { end() }' "$work/all"
