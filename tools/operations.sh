#!/bin/sh
# tools/operations.sh: does docs/operations.md say what kernels/operations.h and kernels/kernels.h say? `make lint`
# runs it. Every operation and every other member of the struct Kernels has one row in the page, every field of Attend
# and AttendGradients and every value of Activation and Pooling one in the table of that name, and there are no other
# rows. The files in an operation's columns "plain" and "cpu" define the function that the backend's table names, and
# those in "used by" define the functions that the link names and call the operation. One line for each mistake.
set -u
page=docs/operations.md
header=kernels/kernels.h

# What the header declares: "TABLE NAME" for each
declared() {
    awk '
    function names(text,    part, n, i) { # "*a, *b" or "a, b"
        n = split(text, part, /, */)
        for (i = 1; i <= n; i++) { sub(/.*[ *]/, "", part[i]); print table, part[i] }
    }
    { while ((at = index($0, "/*")) && (end = index(substr($0, at), "*/"))) $0 = substr($0, 1, at - 1) substr($0, at + end + 1) }
    /\/\*/ { comment = 1 }
    comment { if (/\*\//) comment = 0; next }
    /^}/ { table = "" }
    /^typedef (struct|enum) (Kernels|Attend|AttendGradients|Activation|Pooling) \{/ { table = $3 }
    table == "Kernels" && match($0, /\(\*[a-z_0-9]+\)\(/) { print table, substr($0, RSTART + 2, RLENGTH - 4) }
    table ~ /^Attend/ && /;/ { sub(/;.*/, ""); sub(/^ *(const )?/, ""); names($0) }
    table == "Activation" || table == "Pooling" {
        line = $0
        while (match(line, /(ACTIVATION|POOLING)_[A-Z_0-9]+/)) {
            print table, substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
        }
    }
    ' "$header"
    operations | sed 's/^/Kernels /'
}

operations() { sed -nE 's/^(OPTIONAL_)?OPERATION\(([a-z_0-9]+),.*/\2/p' kernels/operations.h; }

# The page as "TABLE NAME LINE" for each name in the first column, and for an operation as
# "+ NAME LINE COLUMN FILE FUNCTION" for each link (FUNCTION: one that a user's link names, or -)
written() {
    awk -F ' *[|] *' '
    function quoted(text, list,    n) {
        n = 0
        while (match(text, /`[^`]*`/)) {
            list[++n] = substr(text, RSTART + 1, RLENGTH - 2)
            text = substr(text, RSTART + RLENGTH)
        }
        return n
    }
    function links(column, text,    link, file, label, n, i, k, functions) {
        while (match(text, /\[[^]]*\]\([^)]*\)/)) {
            link = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
            label = file = link
            sub(/\]\(.*/, "", label); sub(/.*\]\((\.\.\/)?/, "", file); sub(/\)$/, "", file)
            n = quoted(label, functions)
            if (!n) functions[n = 1] = "-"
            for (i = 1; i <= count; i++)
                for (k = 1; k <= n; k++) print "+", name[i], FNR, column, file, functions[k]
        }
    }
    /^## / { table = /: Attend$/ ? "Attend" : /: Activation$/ ? "Activation" : /: Pooling$/ ? "Pooling" : "Kernels" }
    /AttendGradients,/ { table = "AttendGradients" }
    /^\| *(operation|field|value) / { for (i = 2; i <= NF; i++) column[i] = $i; next }
    /^\| *`/ {
        count = quoted($2, name)
        for (i = 1; i <= count; i++) print table, name[i], FNR
        for (i = 3; i < NF && table == "Kernels"; i++)
            if (column[i] ~ /^(plain|cpu|used by)$/) links(column[i] == "used by" ? "user" : column[i], $i)
    }' "$page"
}

# What a backend calls its function: "BACKEND NAME FUNCTION". An operation's has its name; cpu has none for plain's.
tables() {
    for backend in plain cpu; do
        sed -n "s/^    \.\([a-z_0-9]*\) = \([A-Za-z_0-9]*\),\$/$backend \1 \2/p" kernels/$backend/$backend.c
        operations | while read -r name; do
            grep -q "^OPTIONAL_OPERATION($name," kernels/operations.h && [ $backend = plain ] && continue
            grep -q "^#define MISSING_$name " kernels/$backend/$backend.c || echo "$backend $name $name"
        done
    done
}

{ declared | sed 's/^/declared /'; tables | sed 's/^/table /'; written | sed 's/^/written /'; } | awk -v page="$page" -v header="$header" '
function wrong(line, text) {
    text = page (line ? ":" line : "") ": " text
    if (!said[text]++) print text
    bad = 1
}
function has(file, pattern,    line, found) {
    found = 0
    while ((getline line < file) > 0) if (line ~ pattern) { found = 1; break }
    close(file)
    return found
}
function exists(file,    line, result) { result = (getline line < file); close(file); return result >= 0 }
function what(table) { return table == "Kernels" ? "operation" : table ~ /^Attend/ ? "field of " table : "value of " table }
$1 == "declared" { there[$2 " " $3] = 1; order[++n] = $2 " " $3 }
$1 == "table" { called[$2 " " $3] = $4 }
$1 == "written" && $2 != "+" {
    if (!(($2 " " $3) in there)) wrong($4, header " has no " what($2) " \"" $3 "\"")
    if (seen[$2 " " $3]++) wrong($4, what($2) " \"" $3 "\" has a row already")
}
$1 == "written" && $2 == "+" {
    operation = $3; line = $4; column = $5; file = $6; with = $7
    held[operation " " column] = 1
    if (!exists(file)) { wrong(line, "there is no file " file); defined[operation " " column] = 1; next }
    if (column == "user") {
        if (with == "-") wrong(line, "the link to " file " names no function")
        else if (!has(file, "(^|[ *])" with "\\(")) wrong(line, file " has no function \"" with "\"")
        if (!has(file, "->" operation "[(;]")) wrong(line, file " does not call " operation)
    } else if (has(file, "^[A-Za-z].*[ *]" called[column " " operation] "\\(")) defined[operation " " column] = 1
    else if (!((operation " " column) in at)) at[operation " " column] = line " " file
}
END {
    for (i = 1; i <= n; i++) {
        split(order[i], part, " ")
        if (!seen[order[i]]) { wrong(0, "no row for the " what(part[1]) " \"" part[2] "\" of " header); continue }
        if (part[1] != "Kernels") continue
        for (t = 1; t <= 2; t++) {
            key = part[2] " " (t == 1 ? "plain" : "cpu")
            backend = t == 1 ? "plain" : "cpu"
            name = called[backend " " part[2]]
            if (name == "" && held[key]) wrong(0, "kernels/" backend "/" backend ".c has no " part[2])
            if (name != "" && name != "NOTE" && !defined[key])
                wrong(0, part[2] ": no file in column " backend " defines " name (key in at ? ": not " substr(at[key], index(at[key], " ") + 1) : ""))
        }
        if (!held[part[2] " user"]) wrong(0, part[2] ": nobody in column \"used by\"")
    }
    exit bad
}'
