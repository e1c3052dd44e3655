# What each head of a model does, a map for each measure: a row a layer, a column a head, with the numbers in them.
#
#     gnuplot -c plots/describe.gp DATA.tsv OUT.png [SIZE [TERMINAL]]        OUT, SIZE, TERMINAL: see attend.gp
#
# It wants a block for each measure, with two empty lines between blocks: a line with the measure's name, and a line for
# each head, with tabs between: layer, head, value, layer, head.
#
#     previous, uniform 0.12
#     0   0   0.7     0   0
#     0   1   0.05    0   1
#
# Each measure has a scale of its own, from 0 to its largest value: darker is more.

if (ARGC < 2) { print "usage: gnuplot -c plots/describe.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("describe.gp")]."shell.gp"
info = system("LC_ALL=C awk -F'\\t' 'NF == 1 { n++ } NF < 5 { next } { r = $1 > r ? $1 : r; c = $2 > c ? $2 : c } ".\
              "END { print n + 0, r + 1, c + 1 }' ".quoted(data))
maps = int(word(info, 1))
layers = real(word(info, 2))
heads = real(word(info, 3))
if (maps < 1) { print "describe.gp: ".data." holds no measure"; exit status 1 }
largest(k) = real(system(sprintf("LC_ALL=C awk -F'\\t' 'NF == 1 { n++ } NF > 1 && n == %d && $3 > m { m = $3 } END { printf \"%%.9e\", m }' %s", k + 1, quoted(data))))
title_of(k) = system(sprintf("LC_ALL=C awk -F'\\t' 'NF == 1 && n++ == %d' %s", k, quoted(data)))

# In points: a cell has room for a number.
across = 4
down = int((maps + across - 1) / across)
cell_w = heads > 5 ? 23.0 : 115.0 / heads
cell_h = 15.0
left = 30.0
top = 34.0
panel_w = left + cell_w * heads + 12
panel_h = top + cell_h * layers + 8
W = across * panel_w
H = down * panel_h

load ARG0[1:strlen(ARG0)-strlen("describe.gp")]."attend.gp"
if (letters) { print "describe.gp: a map is no picture of letters: choose .png, .svg or .pdf"; exit status 2 }
small = sprintf(",%g", 0.8 * points * (medium eq "svg" ? 96.0 / 72 : 1))
shown(v) = v == 0 ? "0" : v < 0.995 ? sprintf("%.2f", v) : v < 9.95 ? sprintf("%.1f", v) : sprintf("%.0f", v)

set palette defined (0 "#ffffff", 0.3 "#b0cfe8", 0.65 "#3582be", 1 "#062a5e")
unset key
unset grid
unset colorbox
set border 15 lc rgb "#888888" lw 0.5
set tics scale 0
unset xtics
set x2tics 1
set ytics 1
set xrange [-0.5:heads - 0.5]
set x2range [-0.5:heads - 0.5]
set yrange [layers - 0.5:-0.5]

set multiplot
do for [k = 0:maps - 1] {
    highest = largest(k)
    if (highest == 0) { highest = 1 }
    set cbrange [0:highest]
    x = (k % across) * panel_w
    y = int(k / across) * panel_h
    set lmargin at screen (x + left) / W
    set rmargin at screen (x + left + cell_w * heads) / W
    set tmargin at screen 1 - (y + top) / H
    set bmargin at screen 1 - (y + top + cell_h * layers) / H
    set label 1 title_of(k) at screen (x + left) / W, screen 1 - (y + 9) / H left noenhanced
    set label 2 "head" at screen (x + left - 4) / W, screen 1 - (y + top - 9) / H right tc rgb "#666666"
    set label 3 "layer" at screen (x + 7) / W, screen 1 - (y + top + cell_h * layers / 2) / H center rotate by 90 tc rgb "#666666"
    plot data index k using 2:1:(0.5):(0.5):3 with boxxyerror fc palette fs solid noborder, \
         data index k using 2:1:(shown($3)):($3 > 0.55 * highest ? 0xffffff : 0) with labels font small tc rgb variable
}
unset multiplot
