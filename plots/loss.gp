# Loss over steps, of one run or several:
#
#     gnuplot -c plots/loss.gp RUN/log.tsv [RUN2/log.tsv ...] OUT.png        or OUT.svg
#
# It wants the log of a run as training writes it: one line a step, with tabs between, and a first line that names the
# columns. Of those it reads 1 (step), 3 (loss of the step's batch; thin, and its running mean in full colour) and
# 6 (loss on validation data; empty but for steps that were evaluated; dots). The names of 3 give the unit.

if (ARGC < 2) { print "usage: gnuplot -c plots/loss.gp RUN/log.tsv [RUN2/log.tsv ...] OUT.png|OUT.svg"; exit status 2 }
runs = ARGC - 1
out = ARGV[ARGC]
if (out[strlen(out)-3:] eq ".svg") { set terminal svg size 900,540 dynamic font "sans-serif,14" background "white" } \
else { set terminal pngcairo size 900,540 font "sans,11" }
set output out

# "loss (bits/byte)" -> "bits/byte"
unit = system(sprintf("head -n 1 '%s' | cut -f 3 | sed 's/.*(\\(.*\\)).*/\\1/'", ARGV[1]))
name(path) = system(sprintf("basename \"$(dirname '%s')\"", path))

set datafile separator tab
set key top right noopaque samplen 2
set grid ytics lc rgb "#dddddd"
set border 3 lc rgb "#666666"
set tics nomirror
set xlabel "step"
set ylabel unit
set autoscale xfix

array full[6] = ["#0b5394", "#b45f06", "#38761d", "#741b47", "#45818e", "#7f6000"]
array pale[6] = ["#b7d1ea", "#f3d3b0", "#bfdcb2", "#dcb6c8", "#bcd8dd", "#ded3a6"]
colour(i) = full[(i - 1) % 6 + 1]
shade(i) = pale[(i - 1) % 6 + 1]

# A mean over about the last tenth of the steps so far, but over 50 at most.
mean = 0
seen = 0
weight(n) = n < 10 ? 1 : n < 500 ? 10.0 / n : 0.02
running(x) = (seen = seen + 1, mean = mean + (x - mean) * weight(seen), mean)
restart(i) = (seen = 0, mean = 0, i)

plot for [i=1:runs] ARGV[i] using 1:3 skip 1 with lines lc rgb shade(i) lw 1 notitle, \
     for [i=1:runs] ARGV[restart(i)] using 1:(running($3)) skip 1 with lines lc rgb colour(i) lw 2 \
         title name(ARGV[i])." training", \
     for [i=1:runs] ARGV[i] using 1:6 skip 1 with points pt 7 ps 0.9 lc rgb colour(i) \
         title name(ARGV[i])." validation"
