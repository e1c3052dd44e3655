# A phrase structure tree: words side by side, under them their tags turned up to constituents.
#
#     gnuplot -c plots/tree.gp DATA.tsv OUT.png [SIZE [TERMINAL]]        OUT, SIZE, TERMINAL: see attend.gp
#
# It wants a line that names the columns, and a line for each label, with tabs between: where it stands (letters from the
# left, levels from the top), where what it is in stands (the same where there is nothing), the label (two backslashes for
# one), and whether it is a constituent, a tag or a word.

if (ARGC < 2) { print "usage: gnuplot -c plots/tree.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("tree.gp")]."shell.gp"
load ARG0[1:strlen(ARG0)-strlen("tree.gp")]."widths.gp"
info = system(awk_with_widths."NR > 1 { n++; x = $1 > x ? $1 : x; y = $2 > y ? $2 : y; if ($6 == \"word\") { w = width($5) > w ? width($5) : w } } END { print n + 0, x + 0, y + 0, w + 0 }' ".quoted(data))
if (real(word(info, 1)) < 1) { print "tree.gp: ".data." holds no tree"; exit status 1 }

# In points, letters being 8 of them
letter = 5.4
level = 26.0
W = letter * (real(word(info, 2)) + 1) + real(word(info, 4)) / 2 + 12
H = level * (real(word(info, 3)) + 1)
load ARG0[1:strlen(ARG0)-strlen("tree.gp")]."attend.gp"
if (letters) { print "tree.gp: choose .png, .svg or .pdf"; exit status 2 }

unset key
set border 0
unset tics
unset grid
set lmargin 0
set rmargin 0
set tmargin 0
set bmargin 0
set xrange [-1.5 : W / letter - 1.5]
set yrange [real(word(info, 3)) + 0.5 : -0.5]

# An edge begins under a label and ends above another.
is(kind) = stringcolumn(6) eq kind
set style textbox opaque noborder fillcolor rgb "white" margins 0.3, 0.3
plot data skip 1 using 3:($4 + 0.2):($1 - $3):($2 > $4 ? $2 - $4 - 0.4 : NaN) with vectors nohead lc rgb "#888888" lw 0.7, \
     '' skip 1 using (is("constituent") ? $1 : NaN):2:5 with labels tc rgb "#0072b2" noenhanced, \
     '' skip 1 using (is("tag") ? $1 : NaN):2:5 with labels tc rgb "#666666" noenhanced, \
     '' skip 1 using (is("word") ? $1 : NaN):2:5 with labels tc rgb "#000000" noenhanced
