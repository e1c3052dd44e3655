# tools/flips.awk: what could be typed wrongly in C sources, one thing at a time.
#
#     awk -v seed=N -f tools/flips.awk FILE...
#
# prints a line for each flip, of fields with a tab between: draw, file, first and last line number of the statement, it
# without comments on one line, the same with the flip, and the slot: which characters of the first text may be put
# under a condition to have both in one program, "expression FROM TO", "statement FROM TO" or "none 0 0".
#
# `draw` is a hash of seed and texts: the flips with the smallest draws are a sample, and stay the same ones when other
# lines of the file change. What the layout of the house says is relied on: a binary operator has a space on both
# sides, a pointer's * and an address's & only before it.
#
# Left out: comments, asserts, preprocessor lines but numbers in a #define, what steps a `for` (it would just not end),
# heads of functions, sizes of arrays, texts in quotes.

BEGIN {
    for (i = 1; i < 256; i++) code_of[sprintf("%c", i)] = i
    n = split("+ - * / % < <= > >= == != && || += -= *= | & << >> ^", from, " ")
    split("- + / * / <= < >= > != == || && = += /= & | >> << |", to, " ")
    for (i = 1; i <= n; i++) swap[from[i]] = to[i]
    ends["+"] = ends["-"] = " + - < <= > >= == != && || ? : | & = += -= *= "
    ends["*"] = ends["/"] = ends["+"] "* / % "
    ends["&&"] = ends["||"] = " && || ? : "
}

function hash(text,    h, k) {
    h = 7 + seed
    for (k = 1; k <= length(text); k++) h = (h * 69069 + code_of[substr(text, k, 1)] + 1) % 2147483648
    return (h * 1103515 + 12345) % 2147483648
}

function trimmed(text) { sub(/^ +/, "", text); sub(/ +$/, "", text); return text }

# The line without comments; "" where a comment begins that goes on.
function without_comments(text,    at, end) {
    if (inside) {
        end = index(text, "*/")
        if (!end) return ""
        inside = 0
        text = substr(text, end + 2)
    }
    while ((at = index(text, "/*")) > 0) {
        end = index(substr(text, at), "*/")
        if (!end) { inside = 1; return "" }
        text = substr(text, 1, at - 1) substr(text, at + end + 1)
    }
    sub(/ +$/, "", text)
    return text
}

# Characters at .. at+length-1 become `by`.
function flip(at, count, by,    after) {
    after = substr(code, 1, at - 1) by substr(code, at + count)
    if (known[FILENAME, trimmed(code), trimmed(after)]++) return
    printf "%.0f\t%s\t%d\t%d\t%s\t%s\t%s\n", hash(FILENAME trimmed(code) trimmed(after)), FILENAME, first, FNR, code,
        after, slot_of(at, at + count - 1)
}

# Where the operand that begins at `at` ends, or 0 where that is on another line.
function operand_end(at, stops,    k, c, depth, word) {
    depth = 0
    for (k = at; k <= length(code); k++) {
        c = substr(code, k, 1)
        if (c == "(" || c == "[" || c == "{") depth++
        else if (c == ")" || c == "]" || c == "}") { if (!depth--) return k }
        else if (!depth && (c == ";" || c == ",")) return k
        else if (!depth && c == " ") {
            word = substr(code, k + 1)
            sub(/ .*/, "", word)
            if (index(stops, " " word " ")) return k
        }
    }
    return 0
}

# ---- slots

function slot(kind, from, to) { slots++; slot_kind[slots] = kind; slot_from[slots] = from; slot_to[slots] = to }

function slot_of(from, to,    i) {
    for (i = 1; i <= slots; i++)
        if (from >= slot_from[i] && to <= slot_to[i]) return slot_kind[i] " " slot_from[i] " " slot_to[i]
    return "none 0 0"
}

# What "=" of a declaration at from .. to is followed by, up to a comma or the end
function declared(from, to,    k, c, depth, begin) {
    depth = begin = 0
    for (k = from; k <= to + 1; k++) {
        c = k > to ? "," : substr(code, k, 1)
        if (c == "(" || c == "[" || c == "{") depth++
        else if (c == ")" || c == "]" || c == "}") depth--
        else if (c == "," && !depth) {
            if (begin && substr(code, begin, 1) != "{") slot("expression", begin, k - 1)
            begin = 0
        } else if (c == "=" && !depth && !begin && substr(code, k, 2) == "= " && substr(code, k - 1, 1) == " ") begin = k + 2
    }
}

# The character before which the bracket that opens at `at` closes
function closing(at,    k, depth, c) {
    depth = 0
    for (k = at; k <= length(code); k++) {
        c = substr(code, k, 1)
        if (c == "(") depth++
        else if (c == ")" && !--depth) return k
    }
    return 0
}

function find_slots(    text, at, end, one, two) {
    slots = 0
    text = trimmed(code)
    at = index(code, "(")
    if (text ~ /^(\} )?(else )?(if|while) \(/) {
        end = closing(at)
        if (end) slot("expression", at + 1, end - 1)
    } else if (text ~ /^for \(/) {
        end = closing(at)
        one = at + index(substr(code, at + 1), ";")
        two = one + index(substr(code, one + 1), ";")
        declared(at + 1, one - 1)
        if (two > one + 1) slot("expression", one + 2, two - 1)
    } else if (match(code, /(^[A-Za-z].*\{|^ *case .*:|^ *default:) return /)) slot("expression", RLENGTH + 1, index(code, ";") - 1)
    else if (is_statement(text) || text ~ /^(return .*|return|continue|break);$/) slot("statement", 1, length(code))
    else if (text ~ /^[A-Za-z_].* = .*;$/) declared(length(code) - length(text) + 1, length(code) - 1)
}

# ---- flips

function flip_operator(at,    rest, op, end) {
    rest = substr(code, at + 1)
    op = rest
    sub(/ .*/, "", op)
    if (!(op in swap)) return
    flip(at + 1, length(op), swap[op])
    if (!(op in ends)) return
    end = operand_end(at + length(op) + 2, ends[op])
    if (end) flip(at, end - at, "")
}

function flip_number(at,    token, k, digit) {
    match(substr(code, at), /^[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/)
    token = substr(code, at, RLENGTH)
    if (substr(code, at, 2) == "0x") return
    if (token == "0") flip(at, 1, "1")
    else if (token == "1") { flip(at, 1, "0"); flip(at, 1, "2") }
    else if (token !~ /[.e]/) flip(at, length(token), token + 1)
    else {
        for (k = at; substr(code, k, 1) !~ /[1-9]/; k++)
            if (k >= at + length(token)) return
        digit = substr(code, k, 1)
        flip(k, 1, digit == 9 ? 8 : digit + 1)
    }
}

function flip_word(at,    word) {
    match(substr(code, at), /^[A-Za-z_0-9]+/)
    word = substr(code, at, RLENGTH)
    if (word == "true") flip(at, 4, "false")
    else if (word == "false") flip(at, 5, "true")
    else if (word == "vec_max") flip(at, 7, "vec_min")
    else if (word == "vec_min") flip(at, 7, "vec_max")
    else if (word == "continue") flip(at, 8, "break")
    return length(word)
}

# Whether it is one that is neither a declaration nor begins with a word of C
function is_statement(text,    name) {
    if (text !~ /;$/ || text ~ /^(return|break|continue|case|default|goto|for|if|while|else|do|typedef)[ ;(]/) return 0
    while (match(text, /\[[^][]*\]/)) text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
    return text ~ /^\**\(?[*A-Za-z_][A-Za-z_0-9.>-]*( [-+*\/|&]?= |\(|\+\+|--)/
}

function flips(from,    at, c, before, quoted, step, array) {
    array = code ~ /^ *(const |static |extern )*[A-Za-z_]+ \**[a-z_A-Z]+\[[^=]*;$/
    step = code ~ /for \(.*;.*;/ ? index(code, "for (") : 0
    if (step) step += index(substr(code, step), ";") + index(substr(code, step + index(substr(code, step), ";")), ";")
    quoted = 0
    for (at = from; at <= length(code); at++) {
        c = substr(code, at, 1)
        before = at > 1 ? substr(code, at - 1, 1) : " "
        if (c == "\"" && before != "\\") quoted = !quoted
        if (quoted) continue
        if (step && at >= step) { if (c != ")") continue; step = 0 }
        if (c == " " && trimmed(substr(code, 1, at)) != "") flip_operator(at)
        else if (c ~ /[0-9]/ && before !~ /[A-Za-z0-9_.]/ && !array) { flip_number(at); while (substr(code, at + 1, 1) ~ /[0-9.]/) at++ }
        else if (c ~ /[A-Za-z_]/ && before !~ /[A-Za-z0-9_]/) at += flip_word(at) - 1
        else if (c == "!" && substr(code, at + 1, 1) ~ /[A-Za-z(]/) flip(at, 1, "")
        else if (c == "-" && substr(code, at + 1, 1) ~ /[A-Za-z(]/ && before ~ /[ (]/) flip(at, 1, "")
        else if (c == "]" && before != "[" && !array) flip(at, 1, " + 1]")
    }
}

# Whether what was read so far goes on in the next line: brackets are open, or nothing ends it
function goes_on(text,    k, c, depth) {
    depth = 0
    for (k = 1; k <= length(text); k++) {
        c = substr(text, k, 1)
        if (c == "(" || c == "[") depth++
        else if (c == ")" || c == "]") depth--
    }
    return depth > 0 || (text !~ /[;{}:]$/ && text !~ /^ *(\} )?(else )?(if|for|while|switch) \(.*\)$/ && text !~ /(else|do)$/)
}

FNR == 1 { inside = 0; whole = "" }
{
    line = without_comments($0)
    if (line == "") next
    if (line ~ /^#/) {
        code = line; first = FNR; slots = 0
        if (code ~ /^#define [A-Z_0-9]+ +\(?(\(Real\))?[0-9.]+f?\)?$/) flips(9)
        next
    }
    if (whole == "") { whole = line; first = FNR }
    else whole = whole " " trimmed(line)
    if (goes_on(whole)) next
    code = whole
    whole = ""
    if (code ~ /assert\(/ || code ~ /^[{}]/ || code ~ /^ *\(void\)/) next
    if (code ~ /^[A-Za-z]/) { # the head of a function, or one that is on a line
        if (code ~ /\{ .*\}$/) { find_slots(); flips(index(code, "{")) }
        next
    }
    find_slots()
    if (is_statement(trimmed(code))) flip(1, length(code), ";")
    flips(1)
}
