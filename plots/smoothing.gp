# Label smoothing: what is asked for in place of "this class and no other", and what that makes of the loss.
#
#     gnuplot -c plots/smoothing.gp DATA.tsv OUT.png [SIZE [TERMINAL]]       OUT, SIZE, TERMINAL: see attend.gp
#
# It wants two blocks with two empty lines between them, with tabs between fields. The first says, after a line with the
# number of classes and the smoothing, of some classes the number, the probability asked for, and 1 for the right one.
# The second, after a line like it: the probability that the right class is given while all others share the rest alike,
# the loss without smoothing, and with it.
#
#     targets   256   0.1
#     0         0.900390625   1
#     1         0.000390625   0
#
#     losses    256   0.1
#     0.5       0.693147      1.179

if (ARGC < 1) { print "usage: gnuplot -c plots/smoothing.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("smoothing.gp")]."shell.gp"
field(f) = system(sprintf("LC_ALL=C awk -F'\\t' 'NR == 1 { print $%d }' %s", f, quoted(data)))
classes = field(2) eq "" ? 0 : int(field(2))
if (classes < 2) { print "smoothing.gp: ".data." holds no targets"; exit status 1 }
smoothing = real(system("LC_ALL=C awk -F'\t' 'NR == 1 { printf \"%.9e\", $3 }' ".quoted(data)))
ratio = 0.45
natural = 403.0 # its names are long: at other widths than 16 cm all of it is smaller or larger, letters too
load ARG0[1:strlen(ARG0)-strlen("smoothing.gp")]."attend.gp"

drawn = classes < 12 ? classes : 12
best = 1 - smoothing + smoothing / classes
set multiplot layout 1,2
set title sprintf("target, %d classes", classes) noenhanced
set logscale y
set format y "%g"
low = smoothing / classes
set yrange [10**floor(log10(low) - 0.3):1.6]
set xrange [-0.6:drawn - 0.4]
set xtics ("right" 0, (drawn < classes ? "11 others" : "others") drawn / 2)
set ylabel "probability asked for"
set style fill solid noborder
unset key
plot data index 0 skip 1 using 1:2:(0.7):($3 > 0 ? 0x0072b2 : 0x888888) with boxes lc rgb variable
unset logscale y
set title "loss, others sharing the rest" noenhanced
set xtics 0.2
set xrange [0:1]
set yrange [0:6]
set xlabel "probability given to the right class"
set ylabel "nats"
set key top right samplen 2
set arrow from best, graph 0 to best, graph 0.55 nohead lc rgb "#444444" dt 2
set label sprintf("%.4g", best) at best, graph 0.6 center tc rgb "#444444"
plot data index 1 skip 1 using 1:2 with lines lt 8 lw 1.5 dt 2 title "without", \
     data index 1 skip 1 using 1:3 with lines lt 1 lw 2 title sprintf("smoothing %g", smoothing)
unset multiplot
