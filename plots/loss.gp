# What training gave: loss, accuracy, perplexity, learning rate, norm of the gradient, speed; of one run or several.
#
#     gnuplot -c plots/loss.gp DATA.tsv OUT.png [SIZE [TERMINAL [PANELS [OVER [LOG]]]]]       see attend.gp; "-": as usual
#
#     PANELS   "loss accuracy bleu perplexity rate norm speed": some of them, one above the other; "loss"
#     OVER     step, tokens or time
#     LOG      x, y or xy: logarithmic axes
#
# `PROGRAM plot` writes DATA.tsv. Of each curve it has two blocks of lines, training and evaluations, with two empty
# lines between blocks. 18 columns between tabs; the first line of a block is its heading. What is not there is NaN.
#
#     1 step (the heading is the curve's label)   2 tokens so far   3 seconds so far
#     training      4 loss   7 norm of the gradient     10 learning rate           13 tokens a second
#     evaluations   4 loss   7 accuracy                 10 perplexity of a piece   13 perplexity of a word   16 BLEU
#
# Behind each of the latter are its lowest and its highest: of the steps that the line stands for, or of several seeds.

data = ARG1; out = ARG2; size = ARG3; terminal = ARG4
panels = ARG5 eq "" || ARG5 eq "-" ? "loss" : ARG5
over = ARG6 eq "" || ARG6 eq "-" ? "step" : ARG6
logs = ARG7 eq "-" ? "" : ARG7
if (ARGC < 1) {
    printerr "usage: gnuplot -c plots/loss.gp DATA.tsv OUT.png [SIZE [TERMINAL [PANELS [OVER [LOG]]]]]"
    exit status 2
}

# ---- A first reading: how many blocks there are, their labels, and how far numbers reach
is(y) = y == y && abs(y) < 1e250
set datafile separator tab
set datafile commentschars ""
array label[256]
blocks = 0
highest = 0
longest = 0
x_of(s, t, c) = over eq "tokens" ? t : over eq "time" ? c : s
first(b, row) = (row == 0 && b < 256 ? (label[b+1] = strcol(1), blocks = b + 1, \
                                        longest = strlen(label[b+1]) > longest ? strlen(label[b+1]) : longest) : 0, 0)
reach(x) = (is(x) && x > highest ? highest = x : 0, 0)
set table $pass
plot data using (first(column(-2), $0) + reach(x_of($1, $2, $3))) with table
unset table
curves = blocks / 2
if (curves == 0) { printerr "there is nothing to draw in ".data; exit status 2 }

# A picture is higher the more panels it has, and the more names there are to tell.
line = size eq "" ? 0.03 : 0.045
many = words(panels) > 1 || curves > 4
ratio = !many ? 0.6 : words(panels) * ((words(panels) > 1 ? 0.2 : 0.45) + 2 * line) + 3 * line + \
                      (curves > 1 ? (curves + 2) * line : 0)
load ARG0[1:strlen(ARG0)-strlen("loss.gp")]."attend.gp"

# Where a panel's numbers are: the column, and which block of a curve (0 training, 1 evaluations, 2 both)
names = "loss accuracy perplexity rate norm speed bleu"
place(name) = name eq "loss" ? 1 : name eq "accuracy" ? 2 : name eq "perplexity" ? 3 : name eq "rate" ? 4 : \
              name eq "norm" ? 5 : name eq "speed" ? 6 : name eq "bleu" ? 7 : 0
array column_of[7] = [4, 7, 13, 10, 7, 13, 16]
array block_of[7] = [2, 1, 1, 0, 0, 0, 1]

unit = over eq "time" ? (highest < 180 ? 1.0 : highest < 7200 ? 60.0 : 3600.0) : highest < 1e6 ? 1.0 : 1e6
title_x = over eq "time" ? (unit == 1 ? "seconds" : unit == 60 ? "minutes" : "hours") : \
          (over eq "tokens" ? "tokens" : "step").(unit == 1 ? "" : " (millions)")
x(s, t, c) = x_of(s, t, c) / unit

# The range of a panel: all that lines show; and of what lies around them, a little.
belongs(b) = wanted == 2 || int(b) % 2 == wanted
less(a, y) = is(a) && a < y ? a : y
more(a, y) = is(a) && a > y ? a : y
visit(b, y) = (belongs(b) && is(y) ? (last != b ? (shown = shown.sprintf(" %d", b), last = b) : 0, \
                                      low = less(low, y), high = more(high, y), \
                                      positive = y > 0 ? less(positive, y) : positive) : 0, 0)
around(b, y) = (belongs(b) && is(y) ? (outer_low = less(outer_low, y), outer_high = more(outer_high, y)) : 0, 0)
head(b, row, c) = (row == 0 && int(b) % 2 == (wanted == 1) ? title_y = strcol(c) : 0, 0)

# Lists are texts of numbers; the i-th of an empty one is never drawn, but is asked for.
at(list, i) = words(list) >= i ? int(word(list, i)) : 0
curve(list, i) = at(list, i) / 2 + 1
opposite(name) = strstrt("|accuracy|bleu|speed|", "|".name."|") > 0

# Steps between marks: 1, 2 or 5 of a power of ten, so that there are about n of them.
power(r) = 10 ** floor(log10(r))
nice(r) = power(r) * (r / power(r) < 1.5 ? 1 : r / power(r) < 3.5 ? 2 : r / power(r) < 7.5 ? 5 : 10)

if (highest <= 0) { highest = 1 }
right = highest / unit
if (strstrt(logs, "x") > 0) {
    set logscale x
    set xrange [(over eq "step" ? 0.9 : right / 1e4) : right]
} else {
    set xrange [0 : right]
    set xtics nice(right / (wide > 11 ? 8 : 5))
}

# Names that are too long for the picture are written smaller, and cut at last.
room = wide * (letters ? 5 : 0.75 / (points * 0.0353 * 0.55)) - (letters ? 12 : 0)
shrink = longest > room && !letters ? (room / longest > 0.7 ? room / longest : 0.7) : 1.0
fits = int(room / shrink)
short(s) = strlen(s) > fits ? s[1:fits-1]."…" : s
set key samplen 2 spacing 1.1
key_font = sprintf(",%g", points * shrink * (medium eq "svg" ? 96.0 / 72 : 1))
if (shrink < 1) { set key font key_font }
if (many) { set multiplot }

do for [p=1:words(panels)] {
    name = word(panels, p)
    k = place(name)
    if (k == 0) { printerr name.": expected some of ".names; exit status 2 }
    c = column_of[k]
    wanted = block_of[k]
    do for [try=1:2] { # a perplexity of pieces where that of words is not known
        shown = ""; last = -1; low = NaN; high = NaN; positive = NaN; outer_low = NaN; outer_high = NaN
        set table $pass
        plot data using (visit(column(-2), column(c)) + around(column(-2), column(c+1)) + \
                         around(column(-2), column(c+2)) + head(column(-2), $0, c)) with table
        unset table
        if (shown eq "" && name eq "perplexity") { c = 10 }
    }
    if (shown eq "") { printerr "there is nothing to draw of ".name; exit status 2 }

    # A range is never empty: gnuplot would say so.
    span = high - low
    if (is(outer_low) && outer_low < low) { low = outer_low > low - 0.15 * span ? outer_low : low - 0.15 * span }
    if (is(outer_high) && outer_high > high) { high = outer_high < high + 0.15 * span ? outer_high : high + 0.15 * span }
    if (!(high - low > 1e-9 * abs(high))) { high = high + 0.05 * abs(high) + 1e-9; low = low - 0.05 * abs(low) - 1e-9 }
    tall = strstrt(logs, "y") > 0 && positive > 0
    if (name eq "norm" && positive > 0 && high / positive > 50) { tall = 1 }
    if (tall) {
        set logscale y
        set ytics autofreq
        set yrange [(low > 0 ? low : positive) / 1.05 : (high > 0 ? high : 1) * 1.05]
    } else {
        unset logscale y
        set ytics nice((high - low) / (many ? 4 : 6))
        set yrange [low - 0.03 * (high - low) : high + 0.03 * (high - low)]
    }
    set format y (tall || abs(high) < 1e-3 || abs(high) >= 1e6 ? "%g" : "%.10g")
    if (p == words(panels)) { set xlabel title_x; set format x "%.10g" } else { unset xlabel; set format x "" }
    if (many) { # one above the other: each has its name above it, so that all begin at the same place
        line = points * 0.035 * 1.4 / (wide * ratio) # a line of text, as a part of the picture's height
        if (letters) { line = 1.0 / rows }
        # Several curves have their names above it all.
        above = curves > 1 ? (curves + 2) * 1.15 * line : 0
        step = (1 - above - 3 * line) / words(panels)
        set lmargin at screen (letters ? 0.12 : wide > 11 ? 0.09 : 0.14)
        set rmargin at screen 0.97
        set tmargin at screen 1 - above - (p - 1) * step - 1.6 * line
        set bmargin at screen 1 - above - p * step + 0.4 * line
        set label 1 title_y at graph 0, graph 1 left offset (letters ? 1 : 0), 0.7 noenhanced
    } else { set ylabel title_y noenhanced }
    if (opposite(name)) { set key bottom right } else { set key top right }
    if (name eq "rate" && curves > 1 && !letters) { set key at graph 0.62, graph 0.36 top right } # below what falls
    if (many && curves > 1) { set key at screen 0.97, screen 1 - 0.6 * line top right }
    if (p > 1) { unset key }

    lines = ""; dots = ""
    do for [b in shown] { if (int(b) % 2 == 0) { lines = lines." ".b } else { dots = dots." ".b } }
    bands = letters ? "" : shown
    thin = letters ? "" : lines
    key_lines = curves > 1 ? curves : 0
    both = lines ne "" && dots ne ""
    if (!both && curves == 1) { unset key }
    key_colour = curves > 1 ? "#444444" : "#0072b2"
    dash = both ? 2 : 1
    thick = wide > 11 ? 1.8 : 1.2
    dot = wide > 11 ? 0.6 : 0.4
    set style fill transparent solid 0.18 noborder
    plot for [i=1:words(bands)] data index at(bands, i) using (x($1, $2, $3)):(column(c+1)):(column(c+2)) \
             with filledcurves lt curve(bands, i) notitle, \
         for [i=1:words(thin)] for [j=1:2] data index at(thin, i) using (x($1, $2, $3)):(column(c+j)) \
             with lines lc rgb pale[(curve(thin, i) - 1) % 8 + 1] lw thick / 4 notitle, \
         for [i=1:words(lines)] data index at(lines, i) using (x($1, $2, $3)):(column(c)) \
             with lines lt curve(lines, i) lw thick notitle, \
         for [i=1:words(dots)] data index at(dots, i) using (x($1, $2, $3)):(column(c)) \
             with linespoints lt curve(dots, i) lw thick / 2 ps dot dt dash notitle, \
         for [i=1:key_lines] NaN with lines lt i lw thick title short(label[2*i-1]), \
         for [i=1:both] NaN with lines lw thick lc rgb key_colour title "training", \
         for [i=1:both] NaN with linespoints lw thick / 2 ps dot pt 7 dt 2 lc rgb key_colour title "validation"
}
if (many) { unset multiplot }
