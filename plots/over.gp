# A figure of a sweep over the values of one option, a line for each row: means, with 95 % intervals.
#
#     gnuplot -c plots/over.gp DATA.tsv OUT.png [SIZE [TERMINAL]]        OUT, SIZE, TERMINAL: see attend.gp
#
# It wants a block for each row, with two empty lines between them, fields between tabs: the row, the figure and the option;
# then a line for each value, with mean and the two ends of the interval.
#
#     pretrained   accuracy, the best of each run   examples
#     100   0.71   0.68   0.74

if (ARGC < 2) { print "usage: gnuplot -c plots/over.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("over.gp")]."shell.gp"
lines = int(system("LC_ALL=C awk -F'\\t' 'NF == 3 { n++ } END { print n + 0 }' ".quoted(data)))
if (lines < 1) { print "over.gp: ".data." holds no lines"; exit status 1 }
ratio = 0.5 + 0.05 * lines # in a narrow picture, the names are above each other
load ARG0[1:strlen(ARG0)-strlen("over.gp")]."attend.gp"

set ylabel system("head -n 1 ".quoted(data)." | cut -f 2 | cut -d , -f 1") noenhanced
set xlabel system("head -n 1 ".quoted(data)." | cut -f 3") noenhanced

# Values that grow by factors stand apart by factors; one alone needs room on both sides.
stats data using 1 name "x" nooutput
stats data using 3 name "least" nooutput
stats data using 4 name "most" nooutput
low = x_min; high = x_max
if (low > 0 && high / low >= 4) {
    set logscale x
    set xrange [low / 1.2 : high * 1.2]
} else { set offsets graph 0.03, graph 0.03, 0, 0 }
if (low == high) { set xrange [low - 1 : low + 1] }
if (least_min == most_max) { set yrange [most_max - 1 : most_max + 1] }
set format x "%g"
set xtics () # (gnuplot takes 1e-05 for no number, but 1.0e-05 for one)
do for [x in system("LC_ALL=C awk -F'\\t' 'NF == 4 { printf \"%.9e\\n\", $1 }' ".quoted(data)." | LC_ALL=C sort -gu")] { set xtics add (sprintf("%.10g", real(x)) real(x)) }
set key above samplen 2 noautotitle
plot for [i=1:lines] data index i - 1 skip 1 using 1:2:3:4 with yerrorbars ls i ps 0 lw 1, \
     for [i=1:lines] data index i - 1 using 1:2 with linespoints ls i ps 0.7 lw 1.5 title columnheader(1)
