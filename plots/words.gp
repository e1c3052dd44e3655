# Which words of a text moved an answer, asked in three ways: bars for each word, from the first word down.
#
#     gnuplot -c plots/words.gp DATA.tsv OUT.png [SIZE [TERMINAL]]        OUT, SIZE, TERMINAL: see attend.gp
#
# It wants a line that names the columns, and a line for each word, with tabs between: the word (two backslashes for one),
# what happens to the log odds when it is left out, gradient x input, and how much attention it is given (1: an even share).

if (ARGC < 2) { print "usage: gnuplot -c plots/words.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("words.gp")]."shell.gp"
load ARG0[1:strlen(ARG0)-strlen("words.gp")]."widths.gp"
info = system(awk_with_widths."NR > 1 { n++; w = width($1) > w ? width($1) : w } END { print n + 0, w + 0 }' ".quoted(data))
words = real(word(info, 1))
if (words < 1) { print "words.gp: ".data." holds no word"; exit status 1 }

# In points
left = 14 + real(word(info, 2))
top = 20.0
line = 11.0
bars = 120.0
gap = 34.0
W = left + 3 * (bars + gap)
H = top + line * words + 24

load ARG0[1:strlen(ARG0)-strlen("words.gp")]."attend.gp"
if (letters) { print "words.gp: choose .png, .svg or .pdf"; exit status 2 }

unset key
set border 0
set tics scale 0
unset grid
set yrange [words - 0.5:-0.5]
set style fill solid noborder
array names[3] = ["left out (log odds)", "gradient × input", "attention (1: even)"]

# (gnuplot reads 1e-09 as a 1 followed by something, but 1.0e-09 right.) How far a column reaches from 0 to both sides, and ticks that suit it.
span(k) = real(system(sprintf("LC_ALL=C awk -F'\\t' 'NR > 1 { x = $%d + 0; a = x > a ? x : a; b = x < b ? x : b } END { printf \"%%.9e\", a - b }' %s", k + 1, quoted(data))))
ten(x) = x > 0 ? 10**floor(log10(x)) : 1
step(x) = x / ten(x) < 1.5 ? 0.5 * ten(x) : x / ten(x) < 3 ? ten(x) : x / ten(x) < 6 ? 2 * ten(x) : 5 * ten(x)

set multiplot
do for [k = 1:3] {
    x = left + (k - 1) * (bars + gap)
    set lmargin at screen x / W
    set rmargin at screen (x + bars) / W
    set tmargin at screen 1 - top / H
    set bmargin at screen 1 - (top + line * words) / H
    set label 1 names[k] at screen x / W, screen 1 - 9 / H left noenhanced
    set xtics step(span(k))
    even = k == 3 ? 1 : 0
    unset arrow
    set arrow from even, graph 0 to even, graph 1 nohead lc rgb "#888888" lw 0.5
    if (span(k) > 0) { set xrange [*:*] } else { set xrange [-1:1] }
    if (k > 1) { set ytics format "" }
    if (k == 1) {
        plot data skip 1 using (0.5 * $2):0:(abs(0.5 * $2)):(0.38):($2 < 0 ? 0xd55e00 : 0x0072b2):ytic(1) with boxxyerror lc rgb variable
    } else {
        plot data skip 1 using (0.5 * column(k + 1)):0:(abs(0.5 * column(k + 1))):(0.38):\
             (k == 3 ? 0x888888 : column(k + 1) < 0 ? 0xd55e00 : 0x0072b2) with boxxyerror lc rgb variable
    }
}
unset multiplot
