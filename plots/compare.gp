# A figure of groups of runs, a line for each group: every run a small point, the mean a large one in its 95 % interval.
#
#     gnuplot -c plots/compare.gp DATA.tsv OUT.png [SIZE [TERMINAL]]        OUT, SIZE, TERMINAL: see attend.gp
#
# It wants two blocks with two empty lines between them, fields between tabs: the figure's name and a line for each run,
# group and value; then a line for each group, its name, number, mean, and the two ends of the interval.
#
#     validation loss (bits/byte), the best of each run
#     1   2.031
#
#     dim 64   1   2.034   2.021   2.047

if (ARGC < 2) { print "usage: gnuplot -c plots/compare.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("compare.gp")]."shell.gp"
load ARG0[1:strlen(ARG0)-strlen("compare.gp")]."widths.gp"
info = system(awk_with_widths."NF == 5 { n++; w = width($1) > w ? width($1) : w } END { print n + 0, w + 0 }' ".quoted(data))
groups = int(word(info, 1))
if (groups < 1) { print "compare.gp: ".data." holds no groups"; exit status 1 }
figure = system("head -n 1 ".quoted(data))

# In points: names stand at the left, and take at most half of the picture.
names = real(word(info, 2)) + 12
W = names < 220 ? 440.0 : 2 * names
H = 16.0 * groups + 44
load ARG0[1:strlen(ARG0)-strlen("compare.gp")]."attend.gp"

set lmargin at screen names / W
set rmargin at screen 1 - 12 / W
set tmargin at screen 1 - 8 / H
set bmargin at screen 36 / H
unset key
unset grid
set grid xtics lc rgb "#cccccc" dt 1 lw 0.7
set border 1
set xlabel figure noenhanced offset 0, 0.3
set yrange [groups + 0.6:0.4]
set offsets graph 0.03, graph 0.03, 0, 0
unset ytics # (a name is a format, in which %% is a %)
set ytics scale 0 ()
do for [i=1:groups] {
    set ytics add (system(sprintf("LC_ALL=C awk -F'\\t' 'NF == 5 && $2 == %d { gsub(/%%/, \"%%%%\", $1); print $1 }' %s", i, quoted(data))) i)
}
# One value for all: an axis of some width around it.
apart = int(system("LC_ALL=C awk -F'\\t' 'NF == 2 && n++ && $2 != last { apart = 1 } { last = $2 } END { print apart + 0 }' ".quoted(data)))
value = real(system("LC_ALL=C awk -F'\\t' 'NF == 2 { printf \"%.9e\", $2; exit }' ".quoted(data)))
if (!apart) { set xrange [value - 0.01 * (abs(value) + 1):value + 0.01 * (abs(value) + 1)] }
plot data index 0 skip 1 using 2:1 with points pt 6 ps 0.6 lc rgb colour[6], \
     data index 1 using 4:2:($5 - $4):(0) with vectors nohead lw 1.6 lc rgb colour[1], \
     data index 1 using 3:2 with points pt 7 ps 0.8 lc rgb colour[1]
