# How long the texts of a data set are: what part of them has how many tokens.
#
#     gnuplot -c plots/lengths.gp DATA.tsv OUT.png [SIZE [TERMINAL [CONTEXT [AXIS]]]]      see attend.gp; "-": as usual
#
#     CONTEXT   what a model reads of a text: a line is drawn there; 0: none
#     AXIS      what is counted: "words of a text"
#
# It wants a block for each list of texts, with two empty lines between blocks. A block's first line says, with tabs
# between: name, texts, mean, median, the length that one in a hundred exceeds, the longest, percent longer than CONTEXT.
# Each further line: from, to (not included), percent of the texts.
#
#     train   20000   265.1   196   1019   2752   9.6
#     0       20      0.05

if (ARGC < 1) { print "usage: gnuplot -c plots/lengths.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL [CONTEXT [AXIS]]]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
context = ARG5 eq "" || ARG5 eq "-" ? 0.0 : real(ARG5)
axis = ARG6 eq "" || ARG6 eq "-" ? "tokens of a text" : ARG6
load ARG0[1:strlen(ARG0)-strlen("lengths.gp")]."shell.gp"
exact(k, f) = system(sprintf("LC_ALL=C awk -F'\t' 'NF == 7 && n++ == %d { printf \"%%.9e\", $%d }' %s", k, f, quoted(data)))
field(k, f) = system(sprintf("LC_ALL=C awk -F'\\t' 'NF == 7 && n++ == %d { print $%d }' %s", k, f, quoted(data)))
lists = int(system("LC_ALL=C awk -F'\\t' 'NF == 7 { n++ } END { print n + 0 }' ".quoted(data)))
if (lists < 1) { print "lengths.gp: ".data." holds no lengths"; exit status 1 }
farthest = real(system("LC_ALL=C awk -F'\\t' 'NF == 7 { m = $5 > m ? $5 : m } END { print m + 0 }' ".quoted(data)))
ratio = 0.55
natural = 403.0 # its names are long: at other widths than 16 cm all of it is smaller or larger, letters too
load ARG0[1:strlen(ARG0)-strlen("lengths.gp")]."attend.gp"

percent(x) = sprintf(x < 100 ? "%.2g %%" : "%g %%", x)
more(k) = context > 0 && real(exact(k, 7)) > 0 ? sprintf("; %s longer than %g", percent(real(exact(k, 7))), context) : ""
name(k) = sprintf("%s: %s, median %s, longest %s%s", field(k, 1), field(k, 2), field(k, 4), field(k, 6), more(k))
set key top right samplen 2 spacing 1.15
set xlabel axis noenhanced
set ylabel "% of the texts"
right = context > 0 && context < 4 * farthest && context > farthest ? 1.05 * context : 1.15 * (farthest > 0 ? farthest : 1)
set xrange [0:right]
set yrange [0:*]
set offsets 0, 0, graph 0.25, 0
if (context > 0 && context <= right) {
    set arrow from context, graph 0 to context, graph 0.7 nohead lc rgb "#444444" dt 2 lw 1
    set label sprintf("context %g", context) at context, graph 0.74 center tc rgb "#444444"
}
plot for [k = 0:lists - 1] data index k skip 1 using (0.5 * ($1 + $2 - 1)):3 with lines lt k + 1 lw 1.8 title name(k)
