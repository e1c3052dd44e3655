# Tokens as points in a plane: a dot for each, and the names of those that there is room for, each above its own dot,
# which has its colour. In letters, a name stands where its dot would be.
#
#     gnuplot -c plots/embeddings.gp DATA.tsv OUT.png [SIZE [TERMINAL]]      OUT, SIZE, TERMINAL: see attend.gp
#
# It wants a block for each table of tokens, with two empty lines between blocks. A block's first line says, with tabs
# between, its title and how much of the variance, in percent, each direction has; each further line where a token is,
# whether its name is to be written (1 or 0), and its name, with two backslashes for one:
#
#     token_embedding.weight   12.5   8.1
#     0.3    -1.2   1   the
#     0.35   -1.1   0   a

if (ARGC < 1) { print "usage: gnuplot -c plots/embeddings.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
load ARG0[1:strlen(ARG0)-strlen("embeddings.gp")]."shell.gp"
maps = int(system("LC_ALL=C awk -F'\\t' 'NF == 3 { n++ } END { print n + 0 }' ".quoted(data)))
if (maps < 1) { print "embeddings.gp: ".data." holds no table"; exit status 1 }
line_of(k, field) = system(sprintf("LC_ALL=C awk -F'\\t' 'NF == 3 && n++ == %d { print $%d }' %s", k, field, quoted(data)))
ratio = 0.72 * maps
natural = 403.0 # its names are long: at other widths than 16 cm all of it is smaller or larger, letters too
load ARG0[1:strlen(ARG0)-strlen("embeddings.gp")]."attend.gp"
small = letters ? "" : sprintf(",%g", 0.75 * points * (medium eq "svg" ? 96.0 / 72 : 1))

unset key
unset grid
set border 15 lc rgb "#888888" lw 0.5
set zeroaxis lc rgb "#cccccc" dt 1
set autoscale fix
set offsets graph 0.06, graph 0.06, graph 0.06, graph 0.04
above = letters ? 0 : 0.55
if (maps > 1) { set multiplot layout maps, 1 }
# A range is never empty: gnuplot would say so.
reach(k, f) = real(system(sprintf("LC_ALL=C awk -F'\t' 'NF == 3 { n++ } NF == 4 && n == %d { a = some++ && a < $%d ? a : $%d; b = some > 1 && b > $%d ? b : $%d } END { printf \"%%.9e\", b - a }' %s", k + 1, f, f, f, f, quoted(data))))
do for [k = 0:maps - 1] {
    set xrange [*:*]
    set yrange [*:*]
    if (reach(k, 1) == 0) { set xrange [-1:1] }
    if (reach(k, 2) == 0) { set yrange [-1:1] }
    set title line_of(k, 1) noenhanced offset 0, -0.6
    set xlabel sprintf("first direction: %s %% of the variance", line_of(k, 2)) noenhanced
    set ylabel sprintf("second: %s %%", line_of(k, 3)) noenhanced
    plot data index k skip 1 using 1:($3 > 0 ? NaN : $2) with points pt 7 ps (letters ? 1 : 0.2) lc rgb "#b3b3b3", \
         data index k skip 1 using 1:($3 > 0 && !letters ? $2 : NaN) with points pt 7 ps 0.3 lc rgb "#00456e", \
         data index k skip 1 using 1:($3 > 0 ? $2 : NaN):4 with labels noenhanced font small tc rgb "#00456e" offset 0, above
}
if (maps > 1) { unset multiplot }
