#!/bin/sh
# tools/diagrams.sh: draws the diagrams of the course, course/diagrams/*.svg. With `check` it says instead which of them are
# not what it would draw (`make lint` does that).
#
# A diagram is a function in the awk program below: boxes with words in them, arrows through points, texts. Everything is
# in pixels, and y grows downwards. An SVG has its own white ground, so that it can be read on a dark page, too.
set -u
place=course/diagrams
[ "${1:-}" = check ] && place=${TMPDIR:-/tmp}/diagrams.$$
mkdir -p "$place"

awk -v place="$place" '
function put(line) { print line > file }

function begin(name, width, height, title) {
    file = place "/" name ".svg"
    put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" width "\" height=\"" height "\" viewBox=\"0 0 " width " " height "\" " \
        "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"14\" role=\"img\" aria-label=\"" title "\">")
    put("<title>" title "</title>")
    put("<defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">" \
        "<path d=\"M0 0 L10 5 L0 10 z\" fill=\"#444\"/></marker></defs>")
    put("<rect width=\"" width "\" height=\"" height "\" fill=\"#fff\"/>")
}

function end() { put("</svg>"); close(file) }

function colour(kind) {
    return kind == "attention" ? "#cfe2f3" : kind == "norm" ? "#fff2cc" : kind == "map" ? "#d9ead3" : \
           kind == "table" ? "#ead1dc" : kind == "dark" ? "#3d6fa5" : kind == "frame" ? "none" : "#fff"
}

# words: lines with | between them; anchor: start, middle, end
function text(x, y, words, anchor, size,    lines, n, i) {
    n = split(words, lines, "|")
    for (i = 1; i <= n; i++)
        put("<text x=\"" x "\" y=\"" y + 5 + (i - (n + 1) / 2) * 17 "\" text-anchor=\"" (anchor ? anchor : "middle") "\"" \
            (size ? " font-size=\"" size "\"" : "") " fill=\"#222\">" lines[i] "</text>")
}

# x, y: the middle
function box(x, y, width, height, words, kind) {
    put("<rect x=\"" x - width / 2 "\" y=\"" y - height / 2 "\" width=\"" width "\" height=\"" height "\" rx=\"6\" fill=\"" \
        colour(kind) "\" stroke=\"" (kind == "frame" ? "#999" : "#444") "\"" (kind == "frame" ? " stroke-dasharray=\"6 4\"" : "") "/>")
    if (words != "") text(x, y, words)
}

function line(points, tip) {
    put("<polyline points=\"" points "\" fill=\"none\" stroke=\"#444\" stroke-width=\"1.5\"" (tip ? " marker-end=\"url(#tip)\"" : "") "/>")
}
function arrow(points) { line(points, 1) }

function sum(x, y) {
    put("<circle cx=\"" x "\" cy=\"" y "\" r=\"11\" fill=\"#fff\" stroke=\"#444\"/>")
    line(x - 6 "," y " " x + 6 "," y); line(x "," y - 6 " " x "," y + 6)
}

function cell(x, y, size, fill, words) {
    put("<rect x=\"" x "\" y=\"" y "\" width=\"" size "\" height=\"" size "\" fill=\"" fill "\" stroke=\"#fff\"/>")
    if (words != "") text(x + size / 2, y + size / 2, words, "middle", 12)
}

# ---- one query, many keys and values

function draw_qkv(    i, x, word, weight) {
    begin("qkv", 700, 400, "A query is compared with all keys; the scores become weights; the result is the average of the values")
    split("the dog runs home", word, " ")
    split("0.05 0.80 0.10 0.05", weight, " ")
    for (i = 1; i <= 4; i++) {
        x = 60 + 130 * i
        text(x, 380, word[i] ", x" i)
        box(x - 32, 320, 54, 34, "k" i, "map"); box(x + 32, 320, 54, 34, "v" i, "map")
        arrow(x - 6 ",368 " x - 28 ",340"); arrow(x + 6 ",368 " x + 28 ",340")
        arrow(x - 32 ",303 " x - 32 ",263")
        box(x - 32, 246, 54, 32, "q · k" i)
        arrow(x - 32 ",230 " x - 32 ",198")
        arrow(x - 32 ",160 " x - 5 ",131")
        text(x - 24, 142, weight[i], "end", 12)
        line(x + 32 ",303 " x + 32 ",140"); arrow(x + 32 ",140 " x + 17 ",126")
        box(x, 116, 34, 24, "×")
        arrow(x ",104 " x ",76")
    }
    box(375, 180, 580, 34, "divide by √dk, softmax over all keys: weights that sum to 1", "attention")
    box(60, 246, 54, 32, "q", "map")
    text(60, 305, "of the word|that listens", "middle", 12)
    arrow("60,288 60,264"); line("87,246 100,246 100,284 532,284")
    for (i = 1; i <= 4; i++) { x = 12 + 130 * i; arrow(x ",284 " x ",264") }
    line("190,76 580,76"); arrow("385,76 385,52")
    box(385, 34, 240, 32, "y: the average of the values")
    end()
}

# ---- heads are stripes of columns

function stripe(x, y, fill) {
    put("<rect x=\"" x "\" y=\"" y "\" width=\"38\" height=\"34\" fill=\"" fill "\" stroke=\"#444\"/>")
}

function draw_heads(    h, x, kind, from, to, names, fill) {
    begin("heads", 700, 420, "Heads are stripes of columns: each attends for itself, and one matrix mixes what they found")
    split("#cfe2f3 #d9ead3 #fff2cc #ead1dc", fill, " ")
    split("q k v", names, " ")
    text(350, 402, "x [n, D]"); arrow("350,390 350,372")
    box(350, 354, 560, 34, "one product: x times Wq, Wk and Wv, one below another", "map")
    for (kind = 1; kind <= 3; kind++) {
        x = 190 * kind - 30
        arrow(x ",337 " x ",312")
        for (h = 1; h <= 4; h++) stripe(x - 114 + h * 38, 276, fill[h])
        text(x + 92, 293, names[kind])
    }
    for (h = 1; h <= 4; h++) {
        x = 20 + 132 * h
        for (kind = 1; kind <= 3; kind++) {
            from = 190 * kind - 125 + h * 38; to = x + (kind - 2) * 20
            put("<polyline points=\"" from ",276 " to ",222\" fill=\"none\" stroke=\"#999\"/>")
        }
        put("<rect x=\"" (x - 58) "\" y=\"178\" width=\"116\" height=\"44\" rx=\"6\" fill=\"" fill[h] "\" stroke=\"#444\"/>")
        text(x, 200, "attention|of head " (h - 1), "middle", 13)
        arrow(x ",178 " (255 + h * 38) ",146")
        stripe(236 + h * 38, 110, fill[h])
    }
    text(440, 127, "side by side, [n, H·dv]", "start", 13)
    arrow("350,110 350,88")
    box(350, 70, 240, 34, "Wo [D, H·dv] mixes them", "map")
    arrow("350,53 350,34"); text(350, 20, "y [n, D]")
    end()
}

# ---- who sees whom

function grid(x, y, n, kind, title,    i, j, seen) {
    text(x + n * 26 / 2, y - 42, title)
    for (i = 0; i < n; i++) {
        text(x - 12, y + i * 26 + 13, i, "middle", 12); text(x + i * 26 + 13, y - 12, i, "middle", 12)
        for (j = 0; j < n; j++) {
            seen = kind == "causal" ? j <= i : kind == "length" ? j < 4 && i < 4 : kind == "window" ? j <= i && j > i - 3 : j < 4
            cell(x + j * 26, y + i * 26, 26, seen ? colour("dark") : "#e3e3e3", "")
        }
    }
}

function draw_mask() {
    begin("mask", 760, 270, "Masks: the past, a row of four words, a window of three")
    grid(50, 80, 6, "causal", "causal: j ≤ i")
    grid(300, 80, 6, "length", "a row of 4 words, 2 of padding")
    grid(550, 80, 6, "window", "causal, a window of 3")
    text(380, 254, "rows: the query i that looks; columns: the key j that is looked at; dark: seen, pale: its score is −∞", "middle", 13)
    end()
}

# ---- the block

function draw_block(    x) {
    begin("block", 700, 520, "A block: attention and a feed-forward network, each added to what came in; the norm after the sum, or before the branch")
    x = 180 # post-norm
    text(x, 500, "x [N, D]"); line(x ",488 " x ",452"); arrow(x ",452 " x ",428")
    box(x, 410, 190, 36, "attention", "attention"); arrow(x ",392 " x ",367")
    sum(x, 355); line(x ",456 " x - 130 ",456 " x - 130 ",355"); arrow(x - 130 ",355 " x - 12 ",355")
    arrow(x ",344 " x ",319"); box(x, 302, 190, 34, "norm", "norm")
    arrow(x ",285 " x ",219")
    box(x, 201, 190, 36, "feed-forward", "map"); arrow(x ",183 " x ",158")
    sum(x, 146); line(x ",252 " x - 130 ",252 " x - 130 ",146"); arrow(x - 130 ",146 " x - 12 ",146")
    arrow(x ",135 " x ",110"); box(x, 93, 190, 34, "norm", "norm"); arrow(x ",76 " x ",52")
    text(x, 22, "post-norm (2017)")
    x = 520 # pre-norm
    text(x, 500, "x [N, D]"); arrow(x ",488 " x ",442")
    box(x, 425, 190, 34, "norm", "norm"); arrow(x ",408 " x ",389")
    box(x, 371, 190, 36, "attention", "attention"); arrow(x ",353 " x ",328")
    sum(x, 316); line(x ",468 " x - 130 ",468 " x - 130 ",316"); arrow(x - 130 ",316 " x - 12 ",316")
    arrow(x ",305 " x ",236")
    box(x, 219, 190, 34, "norm", "norm"); arrow(x ",202 " x ",183")
    box(x, 165, 190, 36, "feed-forward", "map"); arrow(x ",147 " x ",122")
    sum(x, 110); line(x ",270 " x - 130 ",270 " x - 130 ",110"); arrow(x - 130 ",110 " x - 12 ",110")
    arrow(x ",99 " x ",52")
    text(x, 22, "pre-norm")
    end()
}

# ---- encoder and decoder

function draw_encdec(    x) {
    begin("encdec", 760, 600, "An encoder reads the source; a decoder reads what it has written so far, looks across at the encoder, and guesses the next word")
    x = 190
    text(x, 580, "source: a dog runs")
    arrow(x ",566 " x ",542"); box(x, 522, 220, 38, "embedding + positions", "table")
    arrow(x ",503 " x ",452")
    box(x, 432, 220, 38, "attention, all see all", "attention"); arrow(x ",413 " x ",390")
    box(x, 374, 220, 30, "add, norm", "norm"); arrow(x ",359 " x ",336")
    box(x, 317, 220, 38, "feed-forward", "map"); arrow(x ",298 " x ",275")
    box(x, 260, 220, 30, "add, norm", "norm")
    box(x, 347, 270, 236, "", "frame"); text(x - 142, 347, "× N", "end")
    arrow(x ",245 " x ",200 380,200 380,317 458,317")
    text(285, 174, "memory: keys and values|for every block of the decoder", "middle", 12)
    x = 570
    text(x, 580, "written so far: &lt;/s&gt; ein Hund")
    arrow(x ",566 " x ",542"); box(x, 522, 220, 38, "embedding + positions", "table")
    arrow(x ",503 " x ",472")
    box(x, 452, 220, 38, "attention, causal", "attention"); arrow(x ",433 " x ",411")
    box(x, 395, 220, 30, "add, norm", "norm"); arrow(x ",380 " x ",345")
    text(x + 8, 362, "queries", "start", 12)
    box(x, 317, 220, 54, "attention across:|keys, values of memory", "attention"); arrow(x ",290 " x ",268")
    box(x, 252, 220, 30, "add, norm", "norm"); arrow(x ",237 " x ",215")
    box(x, 196, 220, 38, "feed-forward", "map"); arrow(x ",177 " x ",155")
    box(x, 139, 220, 30, "add, norm", "norm")
    box(x, 298, 270, 366, "", "frame"); text(x + 142, 298, "× N", "start")
    arrow(x ",124 " x ",86")
    box(x, 67, 220, 38, "linear, softmax", "map"); arrow(x ",48 " x ",32")
    text(x, 18, "next word, at each position: ein Hund läuft")
    end()
}

# ---- a classifier

function draw_classifier(    i, x, word) {
    begin("classifier", 700, 420, "A classifier: words become vectors, blocks let them hear of one another, their mean becomes one guess")
    split("not a good film", word, " ")
    for (i = 1; i <= 4; i++) {
        x = 60 + 116 * i
        text(x, 402, word[i]); arrow(x ",390 " x ",373")
        box(x, 350, 96, 42, "vector|+ position", "table"); arrow(x ",329 " x ",304")
        arrow(x ",226 " x ",196")
        box(x, 180, 96, 32, "vector")
        arrow(x ",164 " 350 + (i - 2.5) * 40 ",136")
    }
    box(350, 264, 480, 76, "some blocks: each vector hears of all others", "attention")
    box(350, 118, 240, 34, "the mean of all vectors [1, D]")
    arrow("350,101 350,84"); box(350, 66, 240, 34, "linear map to 2 classes", "map")
    arrow("350,49 350,34"); text(350, 20, "softmax: 0.9 bad, 0.1 good")
    text(640, 352, "n vectors", "middle", 13); text(640, 180, "n vectors", "middle", 13); text(560, 118, "one vector", "middle", 13)
    end()
}

BEGIN {
    draw_qkv(); draw_heads(); draw_mask(); draw_block(); draw_encdec(); draw_classifier()
}'

[ "${1:-}" = check ] || exit 0
found=0
for file in "$place"/*.svg; do
    cmp -s "$file" "course/diagrams/${file##*/}" || { echo "course/diagrams/${file##*/}: tools/diagrams.sh draws something else"; found=1; }
done
rm -r "$place"
exit $found
