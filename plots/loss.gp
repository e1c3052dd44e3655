# What training gave: loss, accuracy, perplexity, learning rate, norm of the gradient, speed; of one run or several.
#
#     gnuplot -c plots/loss.gp DATA.tsv OUT.png [SIZE [TERMINAL [PANELS [OVER [LOG]]]]]       see attend.gp; "-": as usual
#
#     PANELS   "loss accuracy bleu f1 perplexity rate norm speed": some of them, one above the other; "loss"
#     OVER     step, tokens or time
#     LOG      x, y or xy: logarithmic axes
#
# `PROGRAM plot` writes DATA.tsv. Of each curve it has two blocks of lines, training and evaluations, with two empty
# lines between blocks. 21 columns between tabs; the first line of a block is its heading. What is not there is NaN.
#
#     1 step (the heading is the curve's label)   2 tokens so far   3 seconds so far
#     training      4 loss   7 norm of the gradient     10 learning rate           13 tokens a second
#     evaluations   4 loss   7 accuracy                 10 perplexity of a token   13 perplexity of a word   16 BLEU   19 F1
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
earliest = 1e250
longest = 0
x_of(s, t, c) = over eq "tokens" ? t : over eq "time" ? c : s
first(b, row) = (row == 0 && b < 256 ? (label[b+1] = strcol(1), blocks = b + 1, \
                                        longest = strlen(label[b+1]) > longest ? strlen(label[b+1]) : longest) : 0, 0)
reach(x) = (is(x) && x > highest ? highest = x : 0, is(x) && x > 0 && x < earliest ? earliest = x : 0, 0)
set table $pass
plot data using (first(column(-2), $0) + ($0 > 0 ? reach(x_of($1, $2, $3)) : 0)) with table # a heading may be a number
unset table
curves = blocks / 2
if (curves == 0) { printerr "there is nothing to draw in ".data; exit status 2 }

# A picture is higher the more panels it has, and the more names there are to tell.
line = size eq "" ? 0.03 : 0.045
keys = curves > 1 ? curves : 0
# The names are above it all where a panel has no room for them.
outside = curves > 4 || (curves > 1 && (words(panels) > 1 || longest > 20)) || \
          (words(panels) > 2 && word(panels, 1) eq "loss" && size ne "")
many = words(panels) > 1 || outside
ratio = !many ? 0.6 : words(panels) * ((words(panels) > 1 ? 0.2 : 0.45) + 2 * line) + 3 * line + \
                      (outside ? (keys + 3) * 1.3 * line : 0)
load ARG0[1:strlen(ARG0)-strlen("loss.gp")]."attend.gp"

dots_an_inch = dots; height = letters ? 0 : high # these names mean something else below
# Where a panel's numbers are: the column, and which block of a curve (0 training, 1 evaluations, 2 both)
names = "loss accuracy perplexity rate norm speed bleu f1"
place(name) = name eq "loss" ? 1 : name eq "accuracy" ? 2 : name eq "perplexity" ? 3 : name eq "rate" ? 4 : \
              name eq "norm" ? 5 : name eq "speed" ? 6 : name eq "bleu" ? 7 : name eq "f1" ? 8 : 0
array column_of[8] = [4, 7, 13, 10, 7, 13, 16, 19]
array block_of[8] = [2, 1, 1, 0, 0, 0, 1, 1]

unit = over eq "time" ? (highest < 180 ? 1.0 : highest < 7200 ? 60.0 : 3600.0) : \
       highest <= 2e4 ? 1.0 : highest <= 2e6 ? 1e3 : 1e6
title_x = over eq "time" ? (unit == 1 ? "seconds" : unit == 60 ? "minutes" : "hours") : \
          (over eq "tokens" ? "tokens" : "step").(unit == 1 ? "" : unit == 1e3 ? " (thousands)" : " (millions)")
x(s, t, c) = x_of(s, t, c) / unit

# The range of a panel: all that lines show, and a little of what is around them.
belongs(b) = wanted == 2 || int(b) % 2 == wanted
less(a, y) = is(a) && a < y ? a : y
more(a, y) = is(a) && a > y ? a : y
# shown: the blocks that have a number; lone: those that have one only, which no line would show.
ended(b) = words(lone) > 0 && int(word(lone, words(lone))) == b ? strlen(lone) - strlen(sprintf(" %d", b)) : strlen(lone)
again(b) = (lone = ended(b) > 0 ? lone[1:ended(b)] : "", 0)
visit(b, y) = (belongs(b) && is(y) ? (last != b ? (shown = shown.sprintf(" %d", b), lone = lone.sprintf(" %d", b), last = b) : again(b), \
                                      low = less(low, y), high = more(high, y), \
                                      positive = y > 0 ? less(positive, y) : positive) : 0, 0)
around(b, y) = (belongs(b) && is(y) ? (outer_low = less(outer_low, y), outer_high = more(outer_high, y)) : 0, 0)
head(b, row, c) = (row == 0 && int(b) % 2 == (wanted == 1) ? title_y = strcol(c) : 0, 0)

# Lists are texts of numbers; the i-th of an empty one is never drawn, but is asked for.
at(list, i) = words(list) >= i ? int(word(list, i)) : 0
curve(list, i) = at(list, i) / 2 + 1
opposite(name) = strstrt("|accuracy|bleu|f1|speed|", "|".name."|") > 0

# Steps between marks: 1, 2 or 5 of a power of ten, so that there are about n of them.
power(r) = 10 ** floor(log10(r))
nice(r) = power(r) * (r / power(r) < 1.5 ? 1 : r / power(r) < 3.5 ? 2 : r / power(r) < 7.5 ? 5 : 10)

# Marks of a logarithmic axis with too few powers of ten to be read by: even steps, or 1, 2 and 5, or powers of ten
# where there is little room; "" where there are enough, for gnuplot to choose.
mark(v) = (v >= lower * 0.999 && v <= upper * 1.001 ? \
           (bare = bare.sprintf("%s'' %.10g", bare eq "" ? "" : ", ", v), \
            marks = marks.sprintf("%s'%.10g' %.10g", marks eq "" ? "" : ", ", v, v)) : 0, 0)
evenly(step) = sum [i = int(ceil(lower / step)):int(floor(upper / step))] mark(i * step)
sparsely(d) = sum [i = int(floor(log10(lower))):int(ceil(log10(upper)))] mark(10.0 ** i) + mark(2 * 10.0 ** i) + mark(5 * 10.0 ** i)
powers(d) = sum [i = int(floor(log10(lower))):int(ceil(log10(upper)))] mark(10.0 ** i)
marks_of(a, b, fit) = (lower = a, upper = b, marks = "", bare = "", dense = 4 * log10(b / a) > fit || b / a > 300, \
                       b / a < 4 || (dense && b / a < 10) ? evenly(nice((b - a) / at_most(fit))) : b / a > 300 ? 0 : dense ? powers(0) : sparsely(0), marks)
at_most(fit) = fit < 2 ? 1 : fit < 4 ? 2 : fit < 8 ? fit / 2.0 : 4

if (highest <= 0) { highest = 1 }
right = highest / unit
if (strstrt(logs, "x") > 0) {
    set logscale x
    left = earliest / unit < right ? earliest / unit : right / 10
    left = left < right / 1e6 ? right / 1e6 : left
    set xrange [left : right]
    marks_x = marks_of(left, right, letters ? columns / 8.0 : 1.2 * wide)
    bare_x = bare
} else {
    set xrange [0 : right]
    gap = nice(right / (wide > 11 ? 8 : 5))
    if (over eq "step" && unit == 1 && gap < 1) { gap = 1 }
    set xtics gap
    marks_x = ""
}

# Names that are too long for the picture are written smaller, and cut at last.
room = wide * (letters ? 5 : 0.75 / (points * 0.0353 * 0.55)) - (letters ? 12 : 0)
shrink = longest > room && !letters ? (room / longest > 0.7 ? room / longest : 0.7) : 1.0
fits = int(room / shrink)
short(s) = strlen(s) > fits ? s[1:fits-1]."…" : s
set key samplen 2 spacing 1.1
key_font = sprintf(",%g", points * shrink * (medium eq "svg" ? 96.0 / 72 : 1))
if (shrink < 1) { set key font key_font }

line = letters ? 1.0 / rows : points * 0.0353 * 1.4 / high # a line of text, as a part of the picture's height
above = outside ? (keys + 3) * 1.3 * line : 0
if (many) { set multiplot }

# How many points of lines, and of what is drawn under them, are where names would be: in which corner, or below what falls, as parts of the axes.
part_x(v) = strstrt(logs, "x") > 0 ? (v > 0 ? log(v / left) / log(right / left) : 0) : v / right
part_y(v) = tall ? (v > 0 ? log(v / bottom) / log(top / bottom) : 0) : (v - bottom) / (top - bottom)
within(b, u, v) = (belongs(b) && is(u) && is(v) ? \
    (u > 1 - key_w && v > 1 - key_h ? hits_1 = hits_1 + 1 : 0, u > 1 - key_w && v < key_h ? hits_2 = hits_2 + 1 : 0, \
     u < key_w && v > 1 - key_h ? hits_3 = hits_3 + 1 : 0, u < key_w && v < key_h ? hits_4 = hits_4 + 1 : 0, \
     u < 0.66 && u > 0.66 - key_w && v < key_h ? hits_5 = hits_5 + 1 : 0) : 0, 0)
hits(i) = i == 1 ? hits_1 : i == 2 ? hits_2 : i == 3 ? hits_3 : i == 4 ? hits_4 : hits_5
array corners[5] = ["top right", "bottom right", "top left Left reverse", "bottom left Left reverse", "at graph 0.65, 0.02 bottom right"]

do for [p=1:words(panels)] {
    name = word(panels, p)
    k = place(name)
    if (k == 0) { printerr name.": expected some of ".names; exit status 2 }
    c = column_of[k]
    wanted = block_of[k]
    do for [try=1:2] { # a perplexity of tokens where that of words is not known
        shown = ""; lone = ""; last = -1; low = NaN; high = NaN; positive = NaN; outer_low = NaN; outer_high = NaN
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
    y_unit = name eq "speed" && high >= 2e4 ? 1000.0 : 1.0
    if (y_unit > 1) { title_y = title_y." (thousands)"; low = low / y_unit; high = high / y_unit; positive = positive / y_unit }
    if (tall) {
        bottom = (low > 0 ? low : positive) / 1.05
        top = (high > 0 ? high : 1) * 1.05
    } else {
        bottom = low - 0.03 * (high - low)
        top = high + 0.03 * (high - low)
    }

    lines = ""; dots = ""
    do for [b in shown] { if (int(b) % 2 == 0) { lines = lines." ".b } else { dots = dots." ".b } }
    bands = letters ? "" : shown
    thin = letters ? "" : lines
    both = lines ne "" && dots ne ""
    named = p == 1 && !outside && (both || keys)
    corner = opposite(name) ? 2 : 1
    if (named) { # in a corner that is free; else the axis goes on as far as names are high
        key_rows = keys + (both ? 2 : 0) + 0.5
        key_letters = curves > 1 && longest > 10 ? longest : 10
        letter = points * 0.0353 * (medium eq "pngcairo" && dots_an_inch != 300 ? 0.75 : 1) # a pixel is less than a point there
        key_w = letters ? (key_letters + 8.0) / columns / 0.85 : (key_letters * 0.62 * letter + 1.1) / (wide * 0.85)
        key_h = letters ? 1.25 * key_rows * line / 0.62 : 1.75 * key_rows * letter / height / 0.7
        if (many) { key_h = key_h * (letters ? 0.62 : 0.7) / ((1 - 3 * line) / words(panels) - 1.6 * line) }
        if (key_h > 0.6) { key_h = 0.6 }
        hits_1 = 0; hits_2 = 0; hits_3 = 0; hits_4 = 0; hits_5 = 0
        set table $pass
        plot data using (within(column(-2), part_x(x($1, $2, $3)), part_y(column(c) / y_unit))) with table
        unset table
        do for [i in "2 1 3 4 5"] { if (hits(corner) > 0 && hits(int(i)) == 0) { corner = int(i) } }
        if (hits(corner) > 0) {
            if (tall) { top = bottom * (top / bottom) ** (1 / (1 - key_h)) } else { top = bottom + (top - bottom) / (1 - key_h) }
            corner = 1
        }
        eval "set key ".corners[corner]
    } else { unset key }

    fit = many ? (1 - above - 3 * line) / words(panels) / line - 2 : 12.0 # lines of text beside a panel
    if (tall) { set logscale y } else { unset logscale y }
    set yrange [bottom : top]
    if (tall) {
        set ytics autofreq
        if (marks_of(bottom, top, fit) ne "") { eval sprintf("set ytics (%s)", marks) }
    } else { set ytics nice((top - bottom) / (many ? at_most(fit) : 6)) }
    set format y (tall || abs(high) < 1e-3 || abs(high) >= 1e6 ? "%g" : "%.10g")
    if (p == words(panels)) { set xlabel title_x; set format x "%.10g" } else { unset xlabel; set format x "" }
    if (marks_x ne "") { eval sprintf("set xtics (%s)", p == words(panels) ? marks_x : bare_x) }
    if (many) { # one above the other: each has its name above it, so that all begin at the same place
        step = (1 - above - 3 * line) / words(panels)
        set lmargin at screen (letters ? 0.12 : (7 * 0.64 * points * 0.0353 + 0.4) / wide)
        set rmargin at screen letters ? 0.97 : 1 - (2.2 * 0.62 * points * 0.0353 + 0.05) / wide
        set tmargin at screen 1 - above - (p - 1) * step - 1.6 * line
        set bmargin at screen 1 - above - p * step + 0.4 * line
        set label 1 title_y at graph 0, graph 1 left offset (letters ? 1 : 0), (letters ? 1 : 0.7) noenhanced
    } else { set ylabel title_y noenhanced }
    key_lines = outside ? 0 : keys
    key_both = outside ? 0 : both
    key_colour = curves > 1 ? "#444444" : "#0072b2"
    dash = both ? 2 : 1
    thick = wide > 11 ? 1.8 : 1.2
    dot = wide > 11 ? 0.6 : 0.4
    set style fill transparent solid 0.18 noborder
    plot for [i=1:words(bands)] data index at(bands, i) using (x($1, $2, $3)):(column(c+1)/y_unit):(column(c+2)/y_unit) \
             with filledcurves lt curve(bands, i) notitle, \
         for [i=1:words(thin)] for [j=1:2] data index at(thin, i) using (x($1, $2, $3)):(column(c+j)/y_unit) \
             with lines lc rgb pale[(curve(thin, i) - 1) % 8 + 1] lw thick / 4 notitle, \
         for [i=1:words(lines)] data index at(lines, i) using (x($1, $2, $3)):(column(c)/y_unit) \
             with lines lt curve(lines, i) lw thick notitle, \
         for [i=1:words(lone)] data index at(lone, i) using (x($1, $2, $3)):(column(c)/y_unit) \
             with points lt curve(lone, i) pt 7 ps 0.8 * dot notitle, \
         for [i=1:words(dots)] data index at(dots, i) using (x($1, $2, $3)):(column(c)/y_unit) \
             with linespoints lt curve(dots, i) lw thick / 2 ps dot dt dash notitle, \
         for [i=1:key_lines] NaN with lines lt i lw thick title short(label[2*i-1]), \
         for [i=1:key_both] NaN with lines lw thick lc rgb key_colour title "training", \
         for [i=1:key_both] NaN with linespoints lw thick / 2 ps dot pt 7 dt 2 lc rgb key_colour title "validation"
    if (p == 1) { first_both = both }
}
if (outside) { # names above it all, in axes that are not drawn: gnuplot would put them in columns where a panel is low
    set tmargin at screen 1 - 0.2 * line
    set bmargin at screen 1 - above
    unset border; unset tics; unset grid; unset label 1; unset xlabel; unset logscale
    set xrange [0:1]
    set yrange [0:1]
    set key top right
    plot for [i=1:keys] NaN with lines lt i lw thick title short(label[2*i-1]), \
         for [i=1:first_both] NaN with lines lw thick lc rgb key_colour title "training", \
         for [i=1:first_both] NaN with linespoints lw thick / 2 ps dot pt 7 dt 2 lc rgb key_colour title "validation"
}
if (many) { unset multiplot }
