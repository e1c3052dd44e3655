# How much activations change in a few steps of training, over the width of the model: at the left with the standard
# parametrization, at the right with muP. A line for each operation; the logits are thick.
#
#     gnuplot -c plots/coordinates.gp DATA.tsv OUT.png [SIZE [TERMINAL]]        OUT, SIZE, TERMINAL: see attend.gp
#
# It wants a block for each operation with two empty lines between them, fields between tabs: its name and the two
# parametrizations; then a line for each width, the width and the mean change with each of them.

if (ARGC < 2) { print "usage: gnuplot -c plots/coordinates.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("coordinates.gp")]."shell.gp"
ratio = 0.5
load ARG0[1:strlen(ARG0)-strlen("coordinates.gp")]."attend.gp"

stats data using 2 nooutput
if (!exists("STATS_blocks") || STATS_blocks < 1) { print "coordinates.gp: ".data." holds no operations"; exit status 1 }
layers = int(STATS_blocks)
low = STATS_min; high = STATS_max
stats data using 3 nooutput
low = STATS_min < low ? STATS_min : low; high = STATS_max > high ? STATS_max : high
widths = system("LC_ALL=C awk -F'\\t' 'NF == 3 && $1 ~ /^[0-9]+$/ { seen[$1] = 1 } END { for (w in seen) print w }' ".quoted(data)." | LC_ALL=C sort -n")

set logscale xy
set yrange [low / 1.3 : high * 1.3]
set xrange [word(widths, 1) / 1.1 : word(widths, words(widths)) * 1.1]
unset xtics
set xtics ()
do for [i=1:words(widths)] { set xtics add (word(widths, i) word(widths, i)) }
set xlabel "width"
set format y "%g"
unset key
set multiplot layout 1, 2
do for [kind=2:3] {
    set title kind == 2 ? "standard" : "muP"
    if (kind == 2) { set ylabel "mean |change| of activations" } else { unset ylabel }
    plot for [i=0:layers - 2] data index i skip 1 using 1:kind with linespoints pt 7 ps 0.3 lw 0.8 lc rgb pale[1], \
         data index layers - 1 skip 1 using 1:kind with linespoints pt 7 ps 0.5 lw 2 lc rgb colour[2]
}
unset multiplot
