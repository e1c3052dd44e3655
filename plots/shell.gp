# How scripts give the shell the name of a file, whatever is in it: in quotes, and a quote of its own outside of them.
#
#     load ARG0[1:strlen(ARG0)-strlen("X.gp")]."shell.gp"
#     system("head -n 1 ".quoted(data))

escaped(s) = strstrt(s, "'") ? s[1:strstrt(s, "'")-1]."'\\''".escaped(s[strstrt(s, "'")+1:]) : s
quoted(s) = "'".escaped(s)."'"
