#!/bin/sh
# tests/hostile/hostile.sh [SEED] [COUNT]: calls programs as nobody should, and prints what they do wrong. Commands and
# options are those that --help lists; values, damage to a run's files, the data and the memory limit are drawn. Most
# values suit their option, so that networks of all kinds are trained. Wrong is: a signal, a hang (over a minute of the
# processor, or half an hour), an exit status above 2, a failure without a word, a refused call (status 2) of several lines
# or with something on standard output, "nan" or "inf" in an answer, a raw control character in a message, a file changed
# outside the run, and a run just made that cannot be read or continued. The same seed makes the same calls. KEEP=1 leaves
# the folder of what was found.
set -u
seed=$((${1:-0} % 2147483646 + 1)) count=${2:-200} bin=${BIN:-$PWD/bin} fixtures=$PWD/tests/fixtures
work=$(mktemp -d) && cd "$work" || exit 1
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache" LC_ALL=C

# draw N: sets `drawn` to a number below N (the minimal standard generator; its low bits are poor, so the high ones count)
draw() {
    seed=$(((seed * 48271) % 2147483647))
    drawn=$((seed / 7 % $1))
}

# pick WORD...: sets `picked` to one of them
pick() {
    draw $#
    shift "$drawn"
    picked=$1
}

# suitable PLACEHOLDER: sets `picked` to a value that may suit an option that --help lists with it
suitable() {
    case $1 in
    *'|DIR') pick run new ;;
    'RUN|FILE') pick run run/checkpoints/00000003/model.safetensors ;;
    'N|'*) pick 1 2 4 50% 10s context ;;
    *'|'*) old=$IFS && IFS='|' && pick $1 && IFS=$old ;;
    N) pick 1 2 4 8 16 ;;
    X | PART) pick 0 1e-3 0.1 0.5 1 2 ;;
    A,B) pick 0.9,0.98 0,0 ;;
    DIR | RUN | PATH) pick run made out.gguf ;;
    FILE.npy) picked=out.npy ;;
    FILE) pick data/lines.en data/lines.de data/labels.tsv data/options out.tsv out.txt out.svg run/vocab.bpe run/encoder.json ;;
    PATTERN:*) pick '*.norm?.*:lr=0' 'blocks.0.*:lr=0.5,decay=0;*:lr=2' '*:lr=0' '*:beta1=0,momentum=1' '*:lr=nan' ':;' ;;
    OLD=*) pick blocks.0=blocks.1 blocks=blocks,a=b = ;;
    SSSL) pick S SL LLS X '' ;;
    LIST) pick all loss,rate lengths positions embeddings schedule smoothing coverage ;;
    WIDTHS) pick 16,32 16 16,16 0,-1 ;;
    LIMIT) pick steps=2 tokens=100 seconds=0 flop=1e9 steps=nan ;;
    SIZE) pick 8cm 300x200 0x0 1e9cm ;;
    WHICH) pick best last average 3 run/checkpoints/00000003/model.safetensors ;;
    LANG) pick en de ;;
    NAME) pick minute former text label dumb sixelgd ;;
    *) pick 'the weights' "$(printf 'a\tb')" ;;
    esac
}

# ---- two runs of each program, and data

mkdir data kept
i=0
while [ $i -lt 40 ]; do
    echo "the weights of line $i are small" >>data/lines.en
    echo "die Gewichte von Zeile $i sind klein" >>data/lines.de
    printf '%s\tsome text of %d words\n' $((i % 2)) $i >>data/rows
    i=$((i + 1))
done
{ printf 'label\ttext\n' && cat data/rows; } >data/labels.tsv
gzip -kn data/lines.en
gzip -cn data/lines.en data/rows | head -c 300 >data/noise
: >data/empty
printf 'dim = 16\nheads = 2\ndepth = 1\n' >data/options
tiny='--dim 16 --heads 2 --ff 16 --steps 3 --workers 1 --positions learned --activation gelu-tanh --bias'
variants='--depth 2 --loops 2 --norm sandwich --norm-kind rms --positions rotary --gate --kv-heads 1 --skip x0 --ema 0.9 --optimizer muon'
made() { # made PROGRAM OPTION...: a plain run of it, and one with many variants, whose tokens are subwords
    program=$1
    shift
    "$bin/$program" train --run "kept/$program.0" $tiny -q --depth 1 --norm pre "$@" >/dev/null || exit 1
    subwords=
    [ "$program" = classifier ] || subwords='--merges 20'
    [ "$program" != charlm ] || subwords="$subwords --tokens bpe"
    [ "$program" != encdec ] || subwords="$subwords --type bpe"
    "$bin/$program" train --run "kept/$program.1" $tiny -q $variants "$@" $subwords >/dev/null || exit 1
    printf '%s\n' "$@" | awk '/^--/ { if (n) print n " = yes"; n = substr($0, 3); next } { print n " = " $0; n = "" }
        END { if (n) print n " = yes" }' | sed "s|data/|$work/data/|" >"plan.$program"
    printf 'steps = 2\ndepth = 1\nff = 16\nheads = 2\ndim = 16 | 8\nseeds = 2\n[a]\n[b]\ngate = yes\n' >>"plan.$program"
    # a new run: with `set -- $new`, its options are words
    eval "new_$program=\"--run new $tiny --depth 1 $*\""
}
made charlm --data data/lines.en --context 16 --batch 4 --distances none --tie
made classifier --data data/labels.tsv --context 16 --batch 4
made encdec --type bytes --train-source data/lines.en --train-target data/lines.de --valid-source data/lines.en \
    --valid-target data/lines.de --longest 50 --context 64 --batch-tokens 256
mkdir kept/gpt2 && cp "$fixtures/gpt2-model/config.json" "$fixtures/gpt2-model/model.safetensors" kept/gpt2
cp "$fixtures/gpt2-encoder.json" kept/gpt2/vocab.json && cp "$fixtures/gpt2-vocab.bpe" kept/gpt2/merges.txt
cp -r "$fixtures/encoders/bert-pairs" kept/bert
cp -r "$fixtures/marian/plain" kept/marian && cp "$fixtures/marian/npz/model.npz" "$fixtures/marian/npz/opus.vocab.yml" kept/marian
rm kept/marian/reference.safetensors kept/marian/tokens.json kept/marian/translations.json # which no importer reads
rm -rf cache
for program in charlm classifier encdec; do
    "$bin/$program" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' >$program.commands
    while read -r command; do
        "$bin/$program" "$command" --help | sed -nE 's/^ {1,6}(-[A-Za-z], )?--(\[no-\])?([a-z0-9-]+)( [^ ]+)?( .*)?$/--\3\4/p' |
            grep -vxE -e '--(help|run|resume|minutes)( .*)?' >"$program.$command"
    done <$program.commands
done
cp -r data data.before

# damage FILE: turns a byte over, cuts it off, appends, repeats it, empties it, puts a value or a key into it that cannot
# be, or makes something else of it
damage() {
    [ -f "$1" ] || return
    size=$(wc -c <"$1")
    [ "$size" -gt 0 ] || return
    draw "$size" && at=$drawn
    pick byte byte cut append twice empty value value value option option key folder fifo link
    case $picked in
    byte) draw 256; printf "\\$(printf %03o "$drawn")" | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null ;;
    cut) head -c "$at" "$1" >part && mv part "$1" ;;
    append) printf '\000\t\n\377' >>"$1" ;;
    twice) cat "$1" "$1" >part && mv part "$1" ;;
    empty) : >"$1" ;;
    value) # a word between a key and a comma, whichever it is
        pick -1 0 1 1e999 99999999999999999999 '"\\u0000"' '"\\u001b[31m"' null '[]' '{}' 0.5 true '"none"'
        value=$picked
        draw 60
        sed "s/: [-\"a-z0-9.]*,/: $value,/$((drawn + 1))" "$1" >part && mv part "$1" ;;
    option) # one of the options of training, with whatever value
        lines=$(wc -l <"$program.train") && draw "$lines"
        value=$(sed -n "$((drawn + 1)){s/^--//;s/ .*//;p;}" "$program.train")
        pick -1 0 3 1e999 '"S"' '"rms"' '"none"' '""' '"*:lr=nan"' true null '[]'
        sed "s/\"$value\": [^,}]*/\"$value\": $picked/; t
             s/\"training\": {/&\"$value\": $picked, /" "$1" >part && mv part "$1" ;;
    key) draw 60; sed "s/\"[a-z-]*\": [^,{]*, //$((drawn + 1))" "$1" >part && mv part "$1" ;;
    folder) rm "$1" && mkdir "$1" ;;
    fifo) rm "$1" && mkfifo "$1" ;;
    link) rm "$1" && ln -s ../data/labels.tsv "$1" ;;
    esac
}

# call PROGRAM ARGUMENT...: runs it, with its words in out and err; sets `status`
call() {
    (ulimit -v "$memory" && ulimit -f 200000 && ulimit -t 60 && exec timeout -k 2 1800 "$bin/$@") >out 2>err <in
    status=$?
}

suits='SUITABLE SUITABLE SUITABLE SUITABLE SUITABLE SUITABLE SUITABLE SUITABLE SUITABLE'
found=0 answered=0 i=0
while [ "$i" -lt "$count" ]; do
    i=$((i + 1))
    pick charlm classifier encdec && program=$picked
    rm -rf run made gpt2
    pick 0 1 && cp -r "kept/$program.$picked" run
    pick $(cat $program.commands) && command=$picked
    pick train train train "$command" "$command" "$command" "$command" "$command" "$command" && command=$picked
    set -- "$command"
    case $command in # all calls are of a run, and short
    train)
        eval "new=\$new_$program"
        pick "--resume run" "--resume run --steps 5" "$new" "$new" "$new" && set -- "$@" $picked --minutes 0.02 ;;
    bench | info) pick "--run run" "--dim 16 --heads 2 --depth 1" && set -- "$@" $picked ;;
    compare | plot) cp -r "kept/$program.0" made && set -- "$@" run made ;;
    sweep) pick made run run/new && set -- "$@" "plan.$program" --run "$picked" ;;
    export) pick "made --format hf" "made --format gguf" "made --format onnx" /dev/null && set -- "$@" --run run --out $picked ;;
    import)
        case $program in
        charlm) cp -r kept/gpt2 . && set -- "$@" gpt2 --out made --data data/lines.en ;;
        classifier) cp -r kept/bert gpt2 && set -- "$@" gpt2 --out made ;;
        encdec) cp -r kept/marian gpt2 && pick gpt2 gpt2/model.npz && set -- "$@" "$picked" --out made ;;
        esac ;;
    predict) set -- "$@" --run run "some text" "$(printf 'a\tb')" '' ;;
    bleu) pick data/lines.de data/lines.en data/empty run && set -- "$@" data/lines.de "$picked" ;;
    vocab) set -- "$@" --out made data/lines.de ;;
    subwords) set -- "$@" --codes run/merges ;;
    heads) set -- "$@" --run run --text "the weights" ;;
    sample) set -- "$@" --run run --length 20 ;;
    baseline) ;;
    *) set -- "$@" --run run ;;
    esac
    [ "$command" != bench ] || [ "$2" != --run ] || { shift 3 && set -- "$command" --steps 2 --dim 16 --heads 2 --depth 1 "$@"; }
    lines=$(wc -l <"$program.$command")
    draw 5 && options=$drawn
    [ "$lines" -gt 0 ] || options=0
    while [ "$options" -gt 0 ]; do
        options=$((options - 1))
        draw "$lines" && listed=$(sed -n "$((drawn + 1))p" "$program.$command")
        option=${listed%% *} placeholder=${listed#"$option"}
        pick -1 0 1 2 3 7 -0 nan inf 1e308 1e-320 0x10 9223372036854775807 18446744073709551616 EMPTY a /dev/null /dev/full \
            . run run/config.json missing/file data/lines.en data/lines.en.gz data/lines.de data/labels.tsv data/noise data/empty \
            data last best average 3 bf16 f64 plain emulated bytes words bpe none cosine en de text label all valid test - \
            "$(printf '\033[31mred')" "$(printf '\302\23331mred')" "$(printf 'two\nlines')" 1,2 0.9,0.98 30m 50% out.png out.svg out.tsv && value=$picked
        [ "$value" = EMPTY ] && value=
        pick = BLANK ALONE $suits
        case $picked,$placeholder in
        =,*) set -- "$@" "$option=$value" ;;
        BLANK,*) set -- "$@" "$option" "$value" ;;
        ALONE,* | SUITABLE,) set -- "$@" "$option" ;;
        SUITABLE,*) suitable "${placeholder# }" && set -- "$@" "$option" "$picked" ;;
        esac
    done
    damaged=
    draw 3
    [ "$drawn" -gt 0 ] || {
        [ -d gpt2 ] && from=gpt2 || from=run
        pick $(find $from -type f ! -name lock | sort) $from/config.json && file=$picked
        damage "$file" && damaged="$damaged $file"
    }
    pick 8000000 8000000 8000000 200000 500000 3000000 && memory=$picked
    echo "the weights" >in
    call "$program" "$@"
    why=
    [ "$status" -gt 0 ] || answered=$((answered + 1))
    [ "$status" -le 2 ] || why="status $status"
    [ "$status" -eq 0 ] || [ -s err ] || why="status $status without a word"
    [ "$status" -ne 2 ] || [ "$(wc -l <err)" -eq 1 ] || why="a mistake in several lines"
    [ "$status" -ne 2 ] || [ ! -s out ] || why="an answer beside a mistake"
    case "$*" in # unless it repeats what was asked
    *nan* | *inf*) ;;
    *) [ "$status" -ne 0 ] || ! grep -qiwE -e '-?(nan|inf)' out || why="nan or inf in an answer" ;;
    esac
    [ -c /dev/null ] && [ -c /dev/full ] || { echo "/dev/null or /dev/full is no device any more: $program $*" && exit 1; }
    ! grep -qE "$(printf '[\001-\010\013\014\016-\037]|\302[\200-\237]')" err || why="a control character in a message"
    diff -r data data.before >/dev/null || {
        case " $*" in *\ --out* | *\ --npy* | *\ --html* | *\ --dump*) ;; *) why="data changed" ;; esac # there it was asked for
        rm -rf data && cp -r data.before data
    }
    if [ "$status" -eq 0 ] && [ -e new/config.json ] && [ -z "$why" ] && [ "$*" = "${*%--final*}" ]; then # a run just made, and
        # not of all data, which leaves none to score
        memory=8000000
        for then in "info --run" "eval --run" "train --resume"; do
            [ -n "$why" ] || { call "$program" $then new && [ "$status" -eq 0 ]; } ||
                grep -q "part has no texts" err || why="then $then new: status $status" # the data were too few to leave some
        done
    fi
    rm -rf new runs out.*
    [ -z "$why" ] && continue
    found=$((found + 1))
    echo "$why: $program $* (call $i, memory $memory; damaged:$damaged)"
    head -n 3 err | cut -c 1-300 | cat -v
    [ -z "${KEEP:-}" ] || cp -r run "found-$i"
done
echo "$count calls, $answered answered, findings: $found"
[ -z "${KEEP:-}" ] || echo "kept: $work"
[ "$found" -eq 0 ]
