# Does the best learning rate of a narrow model suit a wider one? Losses over rates, a line for each width and a panel for
# each parametrization; the best rate of each width is a large point.
#
#     gnuplot -c plots/transfer.gp SWEEP.tsv OUT.png [SIZE [TERMINAL]]        OUT, SIZE, TERMINAL: see attend.gp
#
# It wants the sweep.tsv of a sweep over dim, lr and parametrization, such as charlm/sweeps/mup.sweep; seeds are averaged.

if (ARGC < 2) { print "usage: gnuplot -c plots/transfer.gp SWEEP.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("transfer.gp")]."shell.gp"
ratio = 0.5
load ARG0[1:strlen(ARG0)-strlen("transfer.gp")]."attend.gp"

# means(kind, dim): lines of rate and mean; all of them for kind "" and dim 0
awk(program) = sprintf("awk -F'\\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } ".\
    "{ kind = $at[\"parametrization\"]; if (kind == \"\") kind = \"standard\"; dim = $at[\"dim\"]; loss = $at[\"best validation\"] } %s' %s", program, quoted(data))
means(kind, dim) = "< ".awk(sprintf("kind == \"%s\" && dim == %s { sum[$at[\"lr\"]] += loss; n[$at[\"lr\"]]++ } ".\
    "END { for (r in n) print r \"\\t\" sum[r] / n[r] }", kind, dim))." | sort -g"
best(kind, dim) = means(kind, dim)." | sort -g -k 2 | head -n 1"
dims = system(awk("{ seen[dim] = 1 } END { for (d in seen) print d }")." | sort -n")
if (words(dims) < 2) { print "transfer.gp: ".data." is no sweep over dim"; exit status 1 }
stats means("mup", word(dims, words(dims))) using 2 nooutput
low = STATS_min
stats means("mup", word(dims, 1)) using 2 nooutput
high = STATS_max

set logscale x
set format x "%g"
set xlabel "learning rate"
set yrange [low - 0.12 * (high - low) : high + 0.15 * (high - low)]
set offsets 0, 0, 0, 0
array name[2] = ["standard", "mup"]
set multiplot layout 1, 2
do for [k=1:2] {
    set title k == 1 ? "standard" : "muP"
    if (k == 1) { set ylabel "validation loss"; unset key } else { unset ylabel; set key top center }
    plot for [i=1:words(dims)] means(name[k], word(dims, i)) using 1:2 with lines lw 1.5 lc rgb colour[i] title "width ".word(dims, i), \
         for [i=1:words(dims)] best(name[k], word(dims, i)) using 1:2 with points pt 7 ps 1 lc rgb colour[i] notitle
}
unset multiplot
