# How scripts give the shell the name of a file, whatever is in it: in quotes, and a quote of its own outside of them.
#
#     load ARG0[1:strlen(ARG0)-strlen("X.gp")]."shell.gp"
#     system("head -n 1 ".quoted(data))
#
# awk and sort are run with LC_ALL=C: in other languages they may write, or read, a comma where gnuplot wants a point.

escaped(s) = strstrt(s, "'") ? s[1:strstrt(s, "'")-1]."'\\''".escaped(s[strstrt(s, "'")+1:]) : s
quoted(s) = "'".escaped(s)."'"
