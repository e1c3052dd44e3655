# How wide a name is, for scripts that make room for names before anything is drawn: functions of awk.
#
#     load ARG0[1:strlen(ARG0)-strlen("X.gp")]."widths.gp"
#     system(awk_with_widths."{ n = letters($1); w = width($1) } END { print n, w }' ".quoted(data))
#
# letters(s) counts characters; width(s) says how many points they take at a size of 8, where Chinese, Japanese, Korean
# and pictograms are twice as wide as others. Both look at the bytes of UTF-8, because not every awk knows characters.

awk_with_widths = "LC_ALL=C awk -F'\\t' '".\
    "function letters(s) { gsub(/[\\200-\\277]/, \"\", s); return length(s) } ".\
    "function width(s) { return 5.4 * letters(s) + 3.2 * gsub(/[\\343-\\355\\360-\\367]/, \"\", s) } "
