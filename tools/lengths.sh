#!/bin/sh
# tools/lengths.sh OUT.png [MOST]: how long a training step takes whose one text has n = 1,024, 2,048 .. MOST (16,384) bytes, with
# attention to all keys, to a window, and by the sparse patterns. Also writes OUT.tsv: n, and for each kind the fastest
# of some steps in seconds. Thin lines are n sqrt(n) and n^2. Give it an idle machine: it takes some minutes of one core.
set -eu
out=$1 most=${2:-16384}
data=${out%.*}.tsv
names='all keys|window 128|strided|fixed|local (Longformer)'
ways='
--window 128
--sparse strided --sparse-block 32
--sparse fixed --sparse-block 32
--sparse local --sparse-block 32 --sinks 32'

seconds() { # CONTEXT OPTION...
    context=$1
    shift
    "${BIN:-bin}"/charlm bench --preset study --depth 1 --dim 64 --heads 4 --ff 64 --positions rotary --distances none \
        --batch 1 --workers 1 --context "$context" --json -q "$@" | sed -n 's/.*"fastest_s": \([^,]*\),.*/\1/p'
}

printf 'n\t%s\n' "$(echo "$names" | tr '|' '\t')" >"$data"
n=1024
while [ "$n" -le "$most" ]; do
    line=$n
    while IFS= read -r way; do
        # shellcheck disable=SC2086
        line="$line$(printf '\t')$(seconds "$n" $way)"
    done <<END
$ways
END
    echo "$line" | tee -a "$data"
    n=$((2 * n))
done

gnuplot <<END
data = "$data"; out = "$out"; size = ""; terminal = ""
load "plots/attend.gp"
set datafile separator tab
set logscale x 2; set logscale y 10
set format y "%g"
set xlabel "positions n"
set ylabel "seconds a step"
set key left top
stats data skip 1 using 1:2 nooutput
first = STATS_min_x
least = STATS_min_y
plot least * (x / first)**2 lw 0.5 lc rgb "#888888" title "n^2", \
     least * (x / first)**1.5 lw 0.5 dt 2 lc rgb "#888888" title "n √n", \
     for [i=2:6] data using 1:i with linespoints ls (i - 1) title columnheader(i)
END
