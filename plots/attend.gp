# What all scripts here begin with: where the picture goes, how large it is, its fonts and colours. A script X.gp says
#
#     data = ARG1; out = ARG2; size = ARG3; terminal = ARG4        and may say: ratio = HEIGHT / WIDTH
#                                                                               natural = its width, letters being 8 points
#                                                                               W and H, in points: both follow from these
#     load ARG0[1:strlen(ARG0)-strlen("X.gp")]."attend.gp"
#
#     out        OUT.png, OUT.svg, OUT.pdf (its fonts inside) or OUT.txt; nothing or "-": text on standard output
#     size       WIDTH or WIDTHxHEIGHT in cm, mm or in: 8.5cm, 16cmx9cm, 6inx4in; without a unit, in what the medium
#                is made of: 900x540 pixels, 100x30 letters. Nothing or "-": 16 cm, or 79 letters; of W points as many
#     terminal   gnuplot's, instead of the one that the ending means: "sixelgd", "dumb ansi", "qt"; nothing or "-": that
#
# Afterwards there are: letters (true where the picture consists of letters), wide (its width in cm), and
# line types 1 to 8, whose colour[i] differ in lightness, too (Okabe and Ito): print and all eyes keep them apart; each
# has a pale[i] for what is drawn under it.

set encoding utf8
if (exists("W")) { ratio = H / W; natural = W }
if (!exists("ratio")) { ratio = 0.6 }
if (out eq "-") { out = "" }
if (size eq "-") { size = "" }
if (terminal eq "-") { terminal = "" }

# ---- the terminal
ending = strlen(out) > 4 ? out[strlen(out)-3:] : ""
# (the pixels of a screen are a little smaller than points)
if (exists("W") && size eq "") { size = ending eq ".png" ? sprintf("%d", 1.8 * W) : sprintf("%.2fcm", W / 72 * 2.54) }
if (terminal eq "") {
    terminal = out eq "" ? "dumb" : ending eq ".png" ? "pngcairo" : ending eq ".svg" ? "svg" : \
               ending eq ".pdf" ? "pdfcairo" : ending eq ".txt" ? "dumb mono" : ""
}
if (terminal eq "") {
    printerr sprintf("%s: expected a name that ends in .png, .svg, .pdf or .txt", out)
    exit status 2
}
medium = word(terminal, 1)
letters = strstrt("|dumb|block|caca|", "|".medium."|") > 0
inches = strstrt("|pdfcairo|epscairo|cairolatex|epslatex|postscript|tikz|lua|", "|".medium."|") > 0

# ---- its size: 8.5cmx6cm is two numbers, each with a unit
cut = strstrt(size, "x")
part(i) = cut ? (i == 1 ? size[1:cut-1] : size[cut+1:]) : (i == 1 ? size : "")
unit(s) = strlen(s) > 2 && strstrt("|cm|mm|in|", "|".s[strlen(s)-1:]."|") ? s[strlen(s)-1:] : ""
number(s) = real(s[1:strlen(s)-strlen(unit(s))])
cm(s) = number(s) * (unit(s) eq "mm" ? 0.1 : unit(s) eq "in" ? 2.54 : 1)

# A picture of pixels in cm is made for print, 300 of them an inch; without a size, for a screen.
dots = size eq "" ? 144.0 : 300.0
asked = part(1) ne ""
if (letters) {
    columns = !asked ? 79 : unit(part(1)) eq "" ? number(part(1)) : cm(part(1)) * 5
    rows = part(2) eq "" ? (columns * ratio * 0.5 > 24 ? columns * ratio * 0.5 : 24) : \
           unit(part(2)) eq "" ? number(part(2)) : cm(part(2)) * 2.5
    wide = columns / 5.0
    extent = sprintf("size %d,%d", columns, rows)
} else {
    if (asked && unit(part(1)) eq "" && !inches) {
        dots = part(2) ne "" && unit(part(2)) ne "" ? 96.0 : number(part(1)) / 16 * 2.54 # as if it were 16 cm wide
        if (dots < 72) { dots = 72.0 }
        wide = number(part(1)) / dots * 2.54
        high = part(2) eq "" ? wide * ratio : unit(part(2)) eq "" ? number(part(2)) / dots * 2.54 : cm(part(2))
    } else {
        wide = asked ? cm(part(1)) : 16.0
        high = part(2) eq "" ? wide * ratio : unit(part(2)) eq "" && !inches ? number(part(2)) / dots * 2.54 : cm(part(2))
    }
    if (medium eq "svg") { dots = 96.0 }
    extent = inches ? sprintf("size %.4fcm,%.4fcm", wide, high) : \
             sprintf("size %d,%d", wide / 2.54 * dots + 0.5, high / 2.54 * dots + 0.5)
}

# ---- letters as large as those of a caption, lines to match; where a script says how large its parts are, as those
points = letters || wide > 11 ? 9.0 : wide > 7 ? 7.5 : 6.5
fine = 1.0
if (exists("natural") && !letters) { fine = wide / 2.54 * 72 / natural; points = 8 * fine }
look = ""
if (medium eq "pngcairo") { look = sprintf("font 'sans,%g' fontscale %g linewidth %g pointscale %g", \
                                           points, dots / (dots == 300 ? 72 : 96), dots / 96 * fine, dots / 96) }
if (medium eq "pdfcairo" || medium eq "epscairo") { look = sprintf("font 'sans,%g' fontscale 1 linewidth %g", points, 1.25 * fine) }
if (medium eq "svg") { look = sprintf("dynamic font 'sans-serif,%g' background 'white'", points * 96 / 72) }
if (!strstrt(" ".GPVAL_TERMINALS, " ".word(terminal, 1))) { printerr "gnuplot has no terminal ".word(terminal, 1); exit status 2 }
set terminal @terminal noenhanced @look
if (!strstrt(terminal, " size ")) { set terminal @terminal noenhanced @look @extent }
# (a program that runs a script takes the picture from standard output, and sees when a disk is full)
if (out ne "" && !exists("to_stdout")) { set output out }

# ---- colours
array colour[8] = ["#0072b2", "#d55e00", "#009e73", "#000000", "#cc79a7", "#56b4e9", "#e69f00", "#666666"]
array pale[8]   = ["#b3d5e8", "#f2cfb3", "#b3e2d5", "#b3b3b3", "#f0d7e5", "#cce9f8", "#f8e2b3", "#d1d1d1"]
array dots_of[8] = [7, 5, 9, 13, 11, 6, 4, 8]
do for [i=1:8] { set linetype i lc rgb colour[i] pt dots_of[i] dt 1 }
set linetype cycle 8

# From white to a blue that is almost black: the darker, the more, in print as on a screen.
set palette defined (0 "#ffffff", 0.15 "#dce9f5", 0.4 "#8fbfdf", 0.7 "#2f7fbc", 1 "#08306b")

# ---- how axes look, and how files are read: # begins no comment, _ and ^ mean themselves
set datafile separator tab
set datafile commentschars ""
set border 3 lc rgb "#666666"
set tics nomirror noenhanced scale 0.5
set key noenhanced
set grid ytics lc rgb "#cccccc" dt 1 lw 0.7
