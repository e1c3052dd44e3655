# What a ramp of the learning rate found: the loss of each step, smoothed, and the rates that were read off it. What is
# far above the first loss is cut off.
#
#     gnuplot -c plots/ramp.gp DATA.tsv OUT.png [SIZE [TERMINAL]]        OUT, SIZE, TERMINAL: see attend.gp
#
# It wants two blocks with two empty lines between them, fields between tabs: a line of names, and for each step its
# learning rate, loss, smoothed loss and slope; then rates and what they are.

if (ARGC < 2) { print "usage: gnuplot -c plots/ramp.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("ramp.gp")]."shell.gp"
ratio = 0.55
load ARG0[1:strlen(ARG0)-strlen("ramp.gp")]."attend.gp"

unit = system("head -n 1 ".quoted(data)." | cut -f 2")
stats data index 0 skip 1 using 3 nooutput
if (!exists("STATS_records") || STATS_records < 2) { print "ramp.gp: ".data." holds no steps"; exit status 1 }
low = STATS_min
first = real(system("sed -n 2p ".quoted(data)." | cut -f 3"))
rate(name) = real(system(sprintf("LC_ALL=C awk -F'\\t' '$1 == \"%s\" { printf \"%%.9e\", $2 }' %s", name, quoted(data))))

set logscale x
set format x "%g"
set xlabel "learning rate"
set ylabel unit
set yrange [low - 0.1 * (first - low) : first + 0.4 * (first - low)]
array name[3] = ["steepest descent", "lowest loss", "suggestion"]
array drawn[3] = [8, 8, 2]
do for [i=1:3] {
    at = rate(name[i]); dash = 3 - i / 3 * 2; place = i == 1 ? 0.95 : 0.035
    set arrow i from at, graph (i == 1 ? 0.1 : 0) to at, graph 1 nohead dt dash lc rgb colour[drawn[i]]
    # Labels keep clear of the lines and of the curve, which is above these two at the bottom.
    if (i == 2) { set label i name[i] at at, graph place left offset 0.4, 0 tc rgb colour[drawn[i]] } \
    else { set label i name[i] at at, graph place right offset -0.4, 0 tc rgb colour[drawn[i]] }
}
unset key
plot data index 0 skip 1 using 1:2 with points pt 7 ps 0.25 lc rgb pale[1], \
     data index 0 skip 1 using 1:3 with lines lw 2 lc rgb colour[1]
