#!/bin/sh
# tools/quotes.sh [FILE.md...]: are the quotes and links of these texts current? (No file: README files, docs/ and all of
# the course.) `make lint` runs it.
#
# A block of code after the line <!-- quote PATH --> is in that file, line by line as it stands there; "..." on a line
# of its own stands for lines that are left out. A relative link leads to something that is there. A lesson has the
# headings of a lesson, in their order. (What a lesson prints is compared by tools/course.sh, which runs it.)
set -u
[ $# -gt 0 ] || set -- $(ls README.md CONTRIBUTING.md ./*/README.md docs/*.md course/*.md course/*/README.md tests/*/README.md 2>/dev/null | sort -u)
found=0

quotes() {
    awk -v text="$1" '
    function wrong(line, words) { print text ":" line ": " words; bad = 1 }
    function load(path,    line) {
        count = 0
        while ((getline line < path) > 0) file[++count] = line
        close(path)
        return count
    }
    function find(from, size,    i, j) { # the block piece[1..size] in the file, at `from` or after it
        for (i = from; i <= count - size + 1; i++) {
            for (j = 1; j <= size && file[i + j - 1] == piece[j]; j++) ;
            if (j > size) return i + size
        }
        return 0
    }
    function check(    at) {
        if (!pieces) return
        at = find(place, pieces)
        if (at) place = at
        else wrong(begin, path " has no such lines, or not in this order: " piece[1])
        pieces = 0
    }
    /^<!-- quote .* -->$/ { path = $3; if (!load(path)) wrong(FNR, "there is no file " path " to quote"); marked = 1; next }
    /^```/ {
        if (inside) check()
        inside = !inside && marked; marked = 0; place = 1; pieces = 0; begin = FNR
        next
    }
    inside && /^ *\.\.\.$/ { check(); next }
    inside { if (!pieces) begin = FNR; piece[++pieces] = $0 }
    marked && !/^$/ && !/^```/ { wrong(FNR, "a quote is announced, and there is none"); marked = 0 }
    END { exit bad }' "$1"
}

links() {
    folder=$(dirname "$1")
    sed '/^```/,/^```/d; s/`[^`]*`//g' "$1" | grep -o '](\([^)]*\))' | sed 's/^](//; s/)$//' | grep -v '^[a-z]*:' |
        sed 's/#.*//' | sort -u | while read -r link; do
        [ -z "$link" ] || [ -e "$folder/$link" ] || echo "$1: there is nothing at $link"
    done
}

headings() {
    grep '^## ' "$1" | sed 's/^## //' | tr '\n' '|' | grep -qx 'The question|The idea|The formula|The code|A run|A picture|What goes wrong|Exercises|Where to read on|' ||
        echo "$1: a lesson has the headings The question, The idea, The formula, The code, A run, A picture, What goes wrong, Exercises, Where to read on"
    grep -q '^Reading [0-9]* minutes, running [0-9]*, exercises [0-9]*\.$' "$1" ||
        echo "$1: it does not say how long it takes: Reading N minutes, running N, exercises N."
}

for text in "$@"; do
    quotes "$text" || found=1
    broken=$(links "$text"; case $text in *course/[0-9][0-9]-*/README.md) headings "$text" ;; esac)
    [ -z "$broken" ] || { echo "$broken"; found=1; }
done
exit $found
