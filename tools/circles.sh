#!/bin/sh
# tools/circles.sh FOLDER...: files of one folder must not use one another in a circle. A file uses another when it
# names a function or a table that the other defines and does not keep to itself. Prints each circle; status 1.
set -u
found=0
for folder; do
    awk '
    FNR == 1 { comment = 0; files[++n] = FILENAME }
    {
        line = $0
        gsub(/"([^"\\]|\\.)*"/, "", line)
        while (!comment && match(line, /\/\*/)) {
            rest = substr(line, RSTART + 2)
            line = substr(line, 1, RSTART - 1)
            if ((end = index(rest, "*/")) > 0) line = line " " substr(rest, end + 2); else comment = 1
        }
        if (comment && $0 ~ /\*\//) { comment = 0; next }
        if (comment && line == $0) next
        name = ""
        if (line ~ /^[A-Za-z]/ && match(line, /[A-Za-z0-9_]+\(/) && line !~ /;$|^(typedef|extern)/)
            name = substr(line, RSTART, RLENGTH - 1)
        else if (line ~ /^const / && match(line, /[A-Za-z0-9_]+(\[[^]]*\])* = /))
            { name = substr(line, RSTART, RLENGTH); sub(/[^A-Za-z0-9_].*/, "", name) }
        if (name != "" && name != "main") {
            own[FILENAME, name] = 1
            if (line !~ /^static/) home[name] = FILENAME
        }
        gsub(/[^A-Za-z0-9_]+/, " ", line)
        count = split(line, word, " ")
        for (i = 1; i <= count; i++) uses[FILENAME, word[i]] = 1
    }
    END {
        for (pair in uses) {
            split(pair, part, SUBSEP)
            if (part[2] in home && home[part[2]] != part[1] && !(pair in own)) print part[1], home[part[2]]
        }
    }' "$folder"/*.c | tsort 2>&1 >/dev/null | sed -n "s|^tsort: \([^-].*\)|  \1|p" >build/circle.$$
    if [ -s build/circle.$$ ]; then
        echo "lint: files of $folder use one another in a circle:"
        cat build/circle.$$
        found=1
    fi
    rm -f build/circle.$$
done
exit $found
