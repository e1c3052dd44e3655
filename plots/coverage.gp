# Vocabulary coverage: what part of a text's tokens is among the 1, 2, 3 ... most frequent ones of what is trained on.
#
#     gnuplot -c plots/coverage.gp DATA.tsv OUT.png [SIZE [TERMINAL [SIZE_OF_VOCABULARY [TOKENS]]]]         see attend.gp
#
# It wants a block for each list of texts, with two empty lines between blocks. A block's first line says, with tabs
# between: name, tokens, different ones in what is trained on. Each further line: how many of the most frequent ones,
# percent of the tokens that are among them. What VOCABULARY covers is said of the last list: of validation texts.
#
#     valid   1215432   74902
#     1       4.61

if (ARGC < 1) { print "usage: gnuplot -c plots/coverage.gp DATA.tsv OUT.png|OUT.svg|OUT.pdf [SIZE [TERMINAL [VOCABULARY [TOKENS]]]]"; exit status 2 }
data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
vocabulary = ARG5 eq "" || ARG5 eq "-" ? 0.0 : real(ARG5)
tokens = ARG6 eq "" || ARG6 eq "-" ? "tokens" : ARG6
load ARG0[1:strlen(ARG0)-strlen("coverage.gp")]."shell.gp"
begins = "NF > 1 && (NR == 1 || new) { new = 0; n++; first = 1 } NF < 2 { new = 1; next } "
lists = int(system("LC_ALL=C awk -F'\\t' '".begins."END { print n + 0 }' ".quoted(data)))
if (lists < 1) { print "coverage.gp: ".data." holds no coverage"; exit status 1 }
field(k, f) = system(sprintf("LC_ALL=C awk -F'\\t' '%s first { first = 0; if (n == %d) print $%d }' %s", begins, k + 1, f, quoted(data)))
# Of list k: percent at the largest rank up to r
covered(k, r) = real(system(sprintf("LC_ALL=C awk -F'\\t' '%s first { first = 0; next } n == %d && $1 <= %.0f { y = $2 } END { printf \"%%.9e\", y }' %s", begins, k + 1, r, quoted(data))))
ratio = 0.6
natural = 403.0 # its names are long: at other widths than 16 cm all of it is smaller or larger, letters too
load ARG0[1:strlen(ARG0)-strlen("coverage.gp")]."attend.gp"

most = 1.0
do for [k = 0:lists - 1] { n = real(field(k, 3)); most = n > most ? n : most }
all(k) = covered(k, 1e15)
name(k) = sprintf("%s: %s, %.4g %% at last", field(k, 1), field(k, 2), all(k))
set logscale x
set xrange [1:most > 1 ? most * 1.05 : 10]
set yrange [0:115]
set key top left samplen 2 spacing 1.15
set xlabel sprintf("most frequent %s of what is trained on: %s different ones", tokens, field(0, 3)) noenhanced
set ylabel sprintf("%% of the %s", tokens) noenhanced
if (vocabulary >= 1 && vocabulary <= 1.05 * most) {
    set arrow from vocabulary, graph 0 to vocabulary, graph 1 nohead lc rgb "#444444" dt 2 lw 1
    words = sprintf("vocabulary %.0f: %.4g %%", vocabulary, covered(lists - 1, vocabulary)) # below the curves, which rise
    if (log(vocabulary) > 0.5 * log(most)) { set label words at vocabulary, graph 0.06 right offset -0.5, 0 tc rgb "#444444" } \
    else { set label words at vocabulary, graph 0.06 left offset 0.5, 0 tc rgb "#444444" }
}
plot for [k = 0:lists - 1] data index k skip 1 using 1:2 with lines lt k + 1 lw 1.8 title name(k)
