# Tables of numbers as maps in two colours: blue above 0, orange below, white at 0. Positions, say, and how alike they are.
#
#     gnuplot -c plots/tables.gp DATA.tsv OUT.png [SIZE [TERMINAL]]          OUT, SIZE, TERMINAL: see attend.gp
#
# It wants a block for each table, with two empty lines between blocks. A block's first line says, with tabs between,
# its title and what its rows and columns are; each further line a row's number, a column's number, the value:
#
#     sinusoids   position   column
#     0   0   0
#     0   1   1
#     1   0   0.841
#     1   1   0.540
#
# Each table has a scale of its own, as far to either side of 0 as its largest value, or from 0 on where nothing is below.
# The first row is at the top.

if (ARGC < 1) { print "usage: gnuplot -c plots/tables.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("tables.gp")]."shell.gp"
# Of table k: title, names of axes, lowest and highest row and column, the largest value, rows and columns that differ.
maps = int(system("LC_ALL=C awk -F'\\t' 'NF < 3 { new = 1; next } NR == 1 || new { n++; new = 0 } END { print n + 0 }' ".quoted(data)))
if (maps < 1) { print "tables.gp: ".data." holds no table"; exit status 1 }
line_of(k, field) = system(sprintf("LC_ALL=C awk -F'\\t' 'NF < 3 { new = 1; next } NR == 1 || new { new = 0; if (n++ == %d) { print $%d; exit } }' %s", k, field, quoted(data)))
numbers(k) = system(sprintf("LC_ALL=C awk -F'\\t' 'NF < 3 { new = 1; next } NR == 1 || new { new = 0; n++; next } n == %d { "\
    ."if (!some++) { r0 = r1 = $1; c0 = c1 = $2 } r0 = $1 < r0 ? $1 : r0; r1 = $1 > r1 ? $1 : r1; "\
    ."c0 = $2 < c0 ? $2 : c0; c1 = $2 > c1 ? $2 : c1; a = $3 < 0 ? -$3 : $3; m = a > m ? a : m; l = $3 < l ? $3 : l; "\
    ."if (!($1 in rows)) { rows[$1] = 1; nr++ } if (!($2 in cols)) { cols[$2] = 1; nc++ } } "\
    ."END { printf \"%%.9e %%.9e %%.9e %%.9e %%.9e %%d %%d %%.9e\", r0, r1, c0, c1, m, nr, nc, l }' %s", k + 1, quoted(data)))

across = maps < 2 ? 1 : 2
down = int((maps + across - 1) / across)

# In points
panel_w = maps < 2 ? 380.0 : 250.0
panel_h = 200.0
left = 34.0; right = 44.0; top = 18.0; bottom = 32.0
W = across * panel_w
H = down * panel_h
load ARG0[1:strlen(ARG0)-strlen("tables.gp")]."attend.gp"
if (letters) { print "tables.gp: a map in two colours is no picture of letters: choose .png, .svg or .pdf"; exit status 2 }

below = '-1 "#a63603", -0.5 "#f16913", -0.15 "#fdd0a2",'
above = '0 "#ffffff", 0.15 "#c6dbef", 0.5 "#4292c6", 1 "#08306b"'
unset key
unset grid
unset colorbox
set border 15 lc rgb "#888888" lw 0.5
set tics out nomirror scale 0.4
set cbtics scale 0.4

set multiplot
do for [k = 0:maps - 1] {
    n = numbers(k)
    r0 = real(word(n, 1)); r1 = real(word(n, 2)); c0 = real(word(n, 3)); c1 = real(word(n, 4)); highest = real(word(n, 5))
    rows = real(word(n, 6)); columns = real(word(n, 7))
    if (highest == 0) { highest = 1 }
    dr = rows > 1 ? (r1 - r0) / (rows - 1) : 1.0
    dc = columns > 1 ? (c1 - c0) / (columns - 1) : 1.0
    x = (k % across) * panel_w
    y = int(k / across) * panel_h
    set lmargin at screen (x + left) / W
    set rmargin at screen (x + panel_w - right) / W
    set tmargin at screen 1 - (y + top) / H
    set bmargin at screen 1 - (y + panel_h - bottom) / H
    set xrange [c0 - dc / 2:c1 + dc / 2]
    set yrange [r1 + dr / 2:r0 - dr / 2]
    set xtics autofreq
    set ytics autofreq
    if (real(word(n, 8)) < 0) { set palette defined (@below @above); set cbrange [-highest:highest] } \
    else { set palette defined (@above); set cbrange [0:highest] }
    set colorbox user origin (x + panel_w - right + 5) / W, 1 - (y + panel_h - bottom) / H size 6 / W, (panel_h - top - bottom) / H
    set label 1 line_of(k, 1) at screen (x + left) / W, screen 1 - (y + 9) / H left noenhanced
    set label 2 line_of(k, 3) at screen (x + (left + panel_w - right) / 2) / W, screen 1 - (y + panel_h - 6) / H center noenhanced
    set label 3 line_of(k, 2) at screen (x + 6) / W, screen 1 - (y + (top + panel_h - bottom) / 2) / H center rotate by 90 noenhanced
    if (rows < 2 || columns < 2) {
        plot data index k skip 1 using 2:1:(dc / 2):(dr / 2):3 with boxxyerror fc palette fs solid noborder
    } else {
        plot data index k skip 1 using 2:1:3 with image
    }
}
unset multiplot
