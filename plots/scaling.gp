# Losses of runs against their FLOP, a colour for each size of model, with the law that was fitted to them, and (dashed)
# the least loss that it expects of any size.
#
#     gnuplot -c plots/scaling.gp DATA.tsv OUT.png [SIZE [TERMINAL]]        OUT, SIZE, TERMINAL: see attend.gp
#
# It wants blocks with two empty lines between them: a line of names, then FLOP and loss between tabs. For each size there
# are its runs (names: its parameters, what the loss is called) and the fit; the last block is the least loss of any size.

if (ARGC < 2) { print "usage: gnuplot -c plots/scaling.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("scaling.gp")]."shell.gp"
ratio = 0.72
load ARG0[1:strlen(ARG0)-strlen("scaling.gp")]."attend.gp"

stats data using 1:2 nooutput
blocks = int(STATS_blocks)
if (blocks < 3) { print "scaling.gp: ".data." holds no fit"; exit status 1 }
sizes = (blocks - 1) / 2
loss = system("head -n 1 ".quoted(data)." | cut -f 2 | cut -d , -f 1")

set logscale x
set format x "1e%T"
set xrange [STATS_min_x / 1.5 : STATS_max_x * 1.5]
set xlabel "FLOP"
set ylabel loss
set key top right samplen 2 title "parameters"
if (wide < 11) { set key above }
plot for [i=1:sizes] data index 2 * i - 1 skip 1 using 1:2 with lines lw 1.2 lc rgb pale[(i - 1) % 8 + 1] notitle, \
     for [i=1:sizes] data index 2 * i - 2 using 1:2 with points ls i ps 0.6 title columnheader(1), \
     data index blocks - 1 skip 1 using 1:2 with lines dt 2 lc rgb "#666666" title "the best"
