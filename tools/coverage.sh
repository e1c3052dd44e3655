#!/bin/sh
# tools/coverage.sh FOLDER: which lines and branches of base, kernels, core and charlm the tests have reached.
#
# FOLDER holds objects that gcc compiled with --coverage, beside what running them has counted; gcov reads both. An
# object that was never linked has counted nothing. Prints a table of modules and files, then what was not reached and has
# no reason in tests/coverage.txt. WRITE=1 writes that list anew, keeps its reasons, and puts "?" where there is none.
# The status does not judge: a test that fails does.
#
# A line or branch counts as reached when any object reached it: files of a backend and inline functions are in several. A
# branch is one way that a condition can go, or a part of one between && and ||. Asserts are left out, whose other way
# ends the program; what no object holds; and whether `.. || fail(..)` is true because fail is, which it never is.
set -u
list=tests/coverage.txt
tab=$(printf '\t')
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

find "$1" -name '*.gcno' ! -path '*/tests/*' | sort >"$work/data"
[ -s "$work/data" ] || { echo "make coverage: $1 holds no counts" >&2; exit 2; }

# FILE LINE reached? ways ways-taken TEXT, a line each
while read -r data; do
    gcov -b -c -t "$data" 2>/dev/null
done <"$work/data" | awk '
/^ *-: *0:Source:/ { file = $0; sub(/.*Source:/, "", file); wanted = file ~ /^(base|kernels|core|charlm)\//; next }
!wanted { next }
/^ *[0-9#=-][0-9#=*-]*: *[0-9]+:/ { # how often a line was run: a number, ##### never, - nothing to run
    split($0, part, ":")
    count = part[1]; gsub(/[ *]/, "", count)
    line = part[2] + 0; way = 0
    at = file SUBSEP line
    skip = line == 0 || count == "-"
    if (skip) next
    if (!(at in text)) {
        order[++n] = at
        text[at] = substr($0, length(part[1]) + length(part[2]) + 3)
        sub(/^ +/, "", text[at])
    }
    skip = text[at] ~ /assert\(/
    if (count !~ /[#=]/) reached[at] = 1
    next
}
/^branch / && !skip {
    if (way >= ways[at]) ways[at] = way + 1
    if ($3 == "taken" && $4 + 0 > 0 && !taken_known[at, way]++) taken[at]++
    way++
}
END {
    for (i = 1; i <= n; i++) {
        split(order[i], part, SUBSEP)
        at = order[i]
        ends = text[at] text[part[1], part[2] + 1]
        if (ends ~ /\|\| *(fail|memory_error)\(/ && taken_known[at, ways[at] - 2] + taken_known[at, ways[at] - 1] > 0 &&
            (!taken_known[at, ways[at] - 2] || !taken_known[at, ways[at] - 1])) { ways[at] -= 2; taken[at]-- }
        printf "%s\t%d\t%d\t%d\t%d\t%s\n", part[1], part[2], reached[order[i]], ways[order[i]], taken[order[i]], text[order[i]]
    }
}' | sort -t "$tab" -k 1,1 -k 2,2n >"$work/lines"

awk -F "$tab" '
function share(part, whole) { return whole ? sprintf("%5.1f %% of %5d", 100 * part / whole, whole) : sprintf("%16s", "-") }
function row(name, key) { printf "  %-34s %s   %s\n", name, share(reached[key], lines[key]), share(taken[key], ways[key]) }
function add(key) { if (!(key in lines)) order[++n] = key; lines[key]++; reached[key] += $3; ways[key] += $4; taken[key] += $5 }
{ module = $1; sub(/\/[^\/]*$/, "", module); add(module); add($1); add("all") }
END {
    printf "  %-34s %-16s   %s\n", "", "lines", "branches"
    for (i = 1; i <= n; i++) {
        name = order[i]
        if (name == "all") continue
        if (name !~ /\.[ch]$/) print ""
        row((name ~ /\.[ch]$/ ? "  " : "") name, name)
    }
    print ""
    row("all", "all")
}' "$work/lines"

# FILE TEXT REASON. Equal lines of a file are one; the text * stands for all of a file.
awk -F "$tab" -v list=$list '
BEGIN { OFS = FS; while ((getline line < list) > 0) { split(line, part, FS); reason[part[1], part[2]] = part[3] } }
($3 == 0 || $5 < $4) && !seen[$1, $6]++ {
    if (($1, "*") in reason) { if (!star[$1]++) print $1, "*", reason[$1, "*"]; next }
    print $1, $6, (($1, $6) in reason ? reason[$1, $6] : "?")
}' "$work/lines" >"$work/left"

if [ "${WRITE:-}" = 1 ]; then
    {
        echo "# What the tests do not reach: file, a line of it that is not run or a condition that goes one way only, and why"
        echo "# (make coverage WRITE=1); \"?\": not looked at yet."
        cat "$work/left"
    } >$list
    echo "wrote $list"
fi
unknown=$(grep -c "${tab}?\$" "$work/left")
echo
echo "  not reached, with a reason in $list: $(($(wc -l <"$work/left") - unknown)); without: $unknown"
grep "${tab}?\$" "$work/left" | awk -F "$tab" '{ printf "    %s: %s\n", $1, $2 }'
