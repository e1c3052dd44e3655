# What heads of attention look at: a map for each, a row a token that looks, a column a token that is looked at.
#
#     gnuplot -c plots/heads.gp DATA.tsv OUT.png [SIZE [TERMINAL [COLUMNS]]]        OUT, SIZE, TERMINAL: see attend.gp
#
# It wants a block for each map, with two empty lines between blocks. A block's first line is its title; each further
# line, with tabs between, says a row's number, a column's number, the weight, and the names of row and column:
#
#     layer 0, head 0
#     0   0   1       The     The
#     0   1   0       The     cat
#     1   0   0.25    cat     The
#     1   1   0.75    cat     cat
#
# Numbers count from 0, and a block has all pairs. Maps are drawn in COLUMNS columns (as many as rows, where none are given).
# One map alone, or few small ones, have their tokens on both axes; in a large grid there is no room for them. All share
# one scale from 0 to 1, on which small weights have more than their share of colours, so that they are seen. Without a
# SIZE a picture is as large as its tokens ask for.

if (ARGC < 2) { print "usage: gnuplot -c plots/heads.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL [COLUMNS]]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("heads.gp")]."shell.gp"

# How many maps, and the most rows, columns and letters of a name that one has.
load ARG0[1:strlen(ARG0)-strlen("heads.gp")]."widths.gp"
info = system(awk_with_widths."function most(a, b) { return a > b ? a : b } ".\
              "NF == 1 { n++; t = most(t, width($1)) } NF < 5 { next } { r = most(r, $1 + 1); c = most(c, $2 + 1) } ".\
              "$2 == 0 { v = most(v, letters($4)); vw = most(vw, width($4)) } ".\
              "$1 == 0 { w = most(w, letters($5)); ww = most(ww, width($5)) } ".\
              "END { print n + 0, r + 0, c + 0, v + 0, w + 0, vw + 0, ww + 0, t + 0 }' ".quoted(data))
maps = int(word(info, 1))
rows = real(word(info, 2))
columns = real(word(info, 3))
least(a, b) = a < b ? a : b
most(a, b) = a > b ? a : b
if (maps < 1 || rows < 1) { print "heads.gp: ".data." holds no map"; exit status 1 }
titles = system("LC_ALL=C awk -F'\\t' 'NF == 1 { printf \"%s\\t\", $0 }' ".quoted(data)) # each ends in a tab
first_title = "strstrt(titles, \"\\t\") > 1 ? titles[1:strstrt(titles, \"\\t\")-1] : \"\""

across = ARGC > 4 ? int(ARG5) : ceil(sqrt(maps))
across = most(1, least(across, maps))
down = int((maps + across - 1) / across)
named = maps == 1 || (maps <= 8 && rows <= 24 && columns <= 24)

# All in points: a cell, what names need beside a map, a title above it.
cell = named ? (maps == 1 ? 13.0 : 11.0) : 120.0 / most(rows, columns)
left = named ? 12 + real(word(info, 6)) : 6.0
top = named ? 22 + real(word(info, 7)) : 18.0
map_w = cell * columns
map_h = cell * rows
panel_w = left + most(map_w, real(word(info, 8))) + 8
panel_h = top + map_h + 6
legend = 62.0
W = across * panel_w + legend
H = most(down * panel_h, top + 86) + 6

# Of letters: a cell is two of them, and maps are one below the other.
ending = strlen(out) > 4 ? out[strlen(out)-3:] : ""
text = terminal eq "" || terminal eq "-" ? out eq "" || out eq "-" || ending eq ".txt" : strstrt(terminal, "dumb") == 1
if (text) {
    row_letters = int(least(16, word(info, 4)))
    column_letters = int(least(8, word(info, 5)))
    map_lines = column_letters + rows + 2
    size = sprintf("%dx%d", row_letters + 2 + 2 * columns > 40 ? row_letters + 2 + 2 * columns : 40, maps * map_lines + 1)
}

map_rows = rows
map_columns = columns
load ARG0[1:strlen(ARG0)-strlen("heads.gp")]."attend.gp"
if (letters) {
    unset key; unset grid; unset border; unset tics
    set margins 0, 0, 0, 0
    set xrange [0:columns - 1]
    set yrange [rows - 1:0]
    shade(w) = w < 0.02 ? "" : w < 0.1 ? "··" : w < 0.3 ? "░░" : w < 0.6 ? "▒▒" : w < 0.85 ? "▓▓" : "██"
    twice(s) = strstrt(s, "\\") > 0 ? s[1:strstrt(s, "\\")]."\\".s[strstrt(s, "\\")+1:] : s # of two backslashes, labels show one
    cut(s, n) = strlen(s) > n ? s[1:n-1]."…" : s
    do for [k = 0:maps - 1] {
        set label k + 1 @first_title at 0, k * map_lines left noenhanced
        titles = titles[strstrt(titles, "\t")+1:]
    }
    plot for [k = 0:maps - 1] for [c = 1:column_letters] data index k using \
             ($1 == 0 ? row_letters + 1 + 2 * $2 : NaN):(k * map_lines + c):($0 < 1 ? "" : twice(cut(strcol(5), column_letters)[c:c])) with labels left noenhanced, \
         for [k = 0:maps - 1] data index k using ($2 == 0 ? 0 : NaN):(k * map_lines + column_letters + 1 + $1):($0 < 1 ? "" : twice(cut(strcol(4), row_letters))) with labels left noenhanced, \
         for [k = 0:maps - 1] data index k using (row_letters + 1 + 2 * $2):(k * map_lines + column_letters + 1 + $1):(shade($3)) with labels left noenhanced
    exit
}

set palette defined (0 "#ffffff", 0.05 "#dce9f6", 0.15 "#b0cfe8", 0.3 "#6fabd3", 0.5 "#3582be", 0.75 "#125298", \
                     1 "#062a5e")
set cbrange [0:1]
unset key
unset grid
unset colorbox
set border 15 lc rgb "#888888" lw 0.5
set tics scale 0 textcolor rgb "#000000"
set cbtics 0.25
unset xtics
set xrange [-0.5:map_columns - 0.5]
set x2range [-0.5:map_columns - 0.5]
set yrange [map_rows - 0.5:-0.5]
if (named) { set x2tics rotate by 90 left } else { unset ytics }

set multiplot
do for [k = 0:maps - 1] {
    x = (k % across) * panel_w
    y = int(k / across) * panel_h
    set lmargin at screen (x + left) / W
    set rmargin at screen (x + left + map_w) / W
    set tmargin at screen 1 - (y + top) / H
    set bmargin at screen 1 - (y + top + map_h) / H
    set label 1 @first_title at screen (x + left) / W, screen 1 - (y + 8) / H left noenhanced
    titles = titles[strstrt(titles, "\t")+1:]
    if (k == maps - 1) {
        set colorbox user origin 1 - (legend - 16) / W, 1 - (top + 80) / H size 8 / W, 80 / H
        set label 2 "weight" at screen 1 - (legend - 16) / W, screen 1 - (top - 11) / H left noenhanced
    }
    if (map_rows < 2 || map_columns < 2) { # too few for an image
        plot data index k using 2:1:(0.5):(0.5):3:x2tic(5):ytic(4) axes x2y1 with boxxyerror fc palette fs solid noborder
    } else { if (named) {
        plot data index k using 2:1:3:x2tic(5):ytic(4) axes x2y1 with image pixels
    } else {
        plot data index k using 2:1:3 with image
    } }
}
unset multiplot
