# tools/flips_together.awk: a source with many flips in it, each behind a condition of its own.
#
#     awk -f tools/flips_together.awk FLIPS SOURCE
#
# FLIPS has lines of tools/flips.awk with a number instead of the draw, all for this one file; those without a slot are
# left out. The program holds an int flip_chosen: flip number K is there while that is K. What the compiler says about
# flip K, it says about line K of "flip".
BEGIN { FS = "\t" }

FNR == NR {
    split($7, slot, " ")
    if (slot[1] == "none") next
    key = $3 SUBSEP slot[2] SUBSEP slot[3]
    if (!(key in kind)) { kind[key] = slot[1]; order[$3, ++slots[$3]] = key }
    last[$3] = $4
    code[$3] = $5
    chosen = "(flip_chosen == " $1 ")"
    part = substr($6, slot[2], length($6) - (slot[2] - 1) - (length($5) - slot[3]))
    where = "\n#line " $1 " \"flip\"\n"
    if (slot[1] == "statement") before[key] = before[key] where "if " chosen " { " part " } else"
    else before[key] = before[key] where chosen " ? (" part ") :"
    next
}

# C++ gives a variable the name of the namespace that its file is included in, unless it is C's; what is constant is
# not memory of the host that a kernel must not read.
FNR == 1 { printf "extern %sconst int flip_chosen; ", FILENAME ~ /kernels\/cuda\// ? "\"C\" " : "" }
FNR <= skip { next }
!(FNR in code) { print; next }
{
    text = code[FNR]
    here = "\n#line " FNR " \"" FILENAME "\"\n"
    for (i = slots[FNR]; i > 0; i--) { # the slots of a line do not overlap; the last one first
        best = ""
        for (j = 1; j <= slots[FNR]; j++) {
            key = order[FNR, j]
            split(key, slot, SUBSEP)
            if (!(key in done) && (best == "" || slot[2] + 0 > at)) { best = key; at = slot[2] + 0; to = slot[3] + 0 }
        }
        done[best] = 1
        old = substr(text, at, to - at + 1)
        if (kind[best] == "statement") new = "{" before[best] here "{ " old " } }"
        else new = "(" before[best] here "(" old "))"
        text = substr(text, 1, at - 1) new substr(text, to + 1)
    }
    print text
    print "#line " last[FNR] + 1 " \"" FILENAME "\""
    skip = last[FNR]
}
