#!/bin/sh
# tests/hostile/hostile.sh [SEED] [COUNT]: calls programs as nobody should, and prints what they do wrong. Commands and
# options are those that --help lists; values, damage to a run's files, the data and the memory limit are drawn. Wrong is:
# a signal, a hang (over a minute of the processor, or half an hour), an exit status above 2, a failure without a word, a
# refused call (status 2) of several lines or with something on standard output, "nan" or "inf" in an answer, a raw
# control character in a message, and a file changed outside the run. The same seed makes the same calls. KEEP=1 leaves
# the folder of what was found.
set -u
seed=$((${1:-0} % 2147483646 + 1)) count=${2:-200} bin=${BIN:-$PWD/bin}
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

# ---- a run of each program, and data

mkdir data kept
i=0
while [ $i -lt 40 ]; do
    echo "the weights of line $i are small" >>data/lines.en
    echo "die Gewichte von Zeile $i sind klein" >>data/lines.de
    printf '%s\tsome text of %d words\n' $((i % 2)) $i >>data/rows
    i=$((i + 1))
done
{ printf 'label\ttext\n' && cat data/rows; } >data/labels.tsv
gzip -k data/lines.en
head -c 3000 /dev/urandom >data/noise
: >data/empty
small='--dim 16 --heads 2 --depth 1 --ff 16 --steps 3 --workers 1 -q'
"$bin/charlm" train --run kept/charlm $small --data data/lines.en --context 16 --batch 4 >/dev/null || exit 1
"$bin/classifier" train --run kept/classifier $small --data data/labels.tsv --context 16 --no-cache >/dev/null || exit 1
"$bin/encdec" train --run kept/encdec $small --type bytes --train-source data/lines.en --train-target data/lines.de \
    --valid-source data/lines.en --valid-target data/lines.de --longest 50 --context 64 --batch-tokens 256 >/dev/null || exit 1
for program in charlm classifier encdec; do
    "$bin/$program" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' >$program.commands
    while read -r command; do
        "$bin/$program" "$command" --help | grep -oE '^ +(-[A-Za-z0-9], )?--(\[no-\])?[a-z0-9-]+' | sed 's/.*--/--/; s/\[no-\]//' |
            grep -vxE -e '--(help|run|resume|minutes)' >"$program.$command"
    done <$program.commands
done
cp -r data data.before

# damage FILE: turns a byte over, cuts it off, appends, repeats it, empties it, puts a value into it that cannot be, or
# makes something else of it
damage() {
    [ -f "$1" ] || return
    size=$(wc -c <"$1")
    [ "$size" -gt 0 ] || return
    draw "$size" && at=$drawn
    pick byte byte cut append twice empty value value value key folder fifo link
    damaged=$picked
    case $picked in
    byte) draw 256; printf "\\$(printf %03o "$drawn")" | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null ;;
    cut) head -c "$at" "$1" >part && mv part "$1" ;;
    append) printf '\000\t\n\377' >>"$1" ;;
    twice) cat "$1" "$1" >part && mv part "$1" ;;
    empty) : >"$1" ;;
    value)
        pick -1 0 1 1e999 99999999999999999999 '"\\u0000"' '"\\u001b[31m"' null '[]' '{}' 0.5 true '"none"'
        value=$picked
        draw 30
        sed "s/: [-\"a-z0-9.]*,/: $value,/$((drawn + 1))" "$1" >part && mv part "$1" ;;
    key) draw 20; sed "s/\"[a-z-]*\": [^,{]*, //$((drawn + 1))" "$1" >part && mv part "$1" ;;
    folder) rm "$1" && mkdir "$1" ;;
    fifo) rm "$1" && mkfifo "$1" ;;
    link) rm "$1" && ln -s ../data/labels.tsv "$1" ;;
    esac
}

found=0 i=0
while [ "$i" -lt "$count" ]; do
    i=$((i + 1))
    pick charlm classifier encdec && program=$picked
    rm -rf run && cp -r "kept/$program" run
    pick $(cat $program.commands) && command=$picked
    set -- "$command"
    case $command in # all calls are of a run, and short
    train) pick "--resume run" "--resume run --steps 5" "--run new --steps 2 --dim 16 --depth 1" && set -- "$@" $picked --minutes 0.02 ;;
    bench) set -- "$@" --dim 16 --depth 1 ;;
    vocab | pieces | bleu | baseline) ;;
    *) grep -qxe --run "$program.$command" || [ "$command" != plot ] || continue
       set -- "$@" --run run ;;
    esac
    draw 4 && options=$drawn
    while [ "$options" -gt 0 ]; do
        options=$((options - 1))
        pick $(cat "$program.$command") && option=$picked
        pick -1 0 1 2 3 7 -0 nan inf 1e308 1e-320 0x10 9223372036854775807 18446744073709551616 EMPTY a /dev/null /dev/full \
            . run run/config.json missing/file data/lines.en data/lines.en.gz data/lines.de data/labels.tsv data/noise data/empty \
            data last best average 3 bf16 f64 plain emulated bytes words bpe none cosine en de text label all valid test - \
            "$(printf '\033[31mred')" "$(printf 'two\nlines')" 1,2 0.9,0.98 30m 50% ../x.png out.svg out.tsv && value=$picked
        [ "$value" = EMPTY ] && value=
        pick = = BLANK ALONE
        case $picked in
        =) set -- "$@" "$option=$value" ;;
        BLANK) set -- "$@" "$option" "$value" ;;
        ALONE) set -- "$@" "$option" ;;
        esac
    done
    damaged=
    draw 3
    [ "$drawn" -gt 0 ] || {
        pick $(cd run && find . -type f ! -name lock | sort) && file=$picked
        damage "run/$file" && damaged="$damaged $file"
    }
    pick unlimited unlimited unlimited 200000 500000 3000000 && memory=$picked
    echo "the weights" >in
    (ulimit -v "$memory" && ulimit -f 200000 && ulimit -t 60 && exec timeout -k 2 1800 "$bin/$program" "$@") >out 2>err <in
    status=$?
    why=
    [ "$status" -le 2 ] || why="status $status"
    [ "$status" -eq 0 ] || [ -s err ] || why="status $status without a word"
    [ "$status" -ne 2 ] || [ "$(wc -l <err)" -eq 1 ] || why="a mistake in several lines"
    [ "$status" -ne 2 ] || [ ! -s out ] || why="an answer beside a mistake"
    case "$*" in # unless it repeats what was asked
    *nan* | *inf*) ;;
    *) [ "$status" -ne 0 ] || ! grep -qiwE -e '-?(nan|inf)' out || why="nan or inf in an answer" ;;
    esac
    ! grep -q "$(printf '[\001-\010\013\014\016-\037]')" err || why="a control character in a message"
    diff -r data data.before >/dev/null || {
        case " $*" in *\ --out* | *\ --npy* | *\ --html* | *\ --dump*) ;; *) why="data changed" ;; esac # there it was asked for
        rm -rf data && cp -r data.before data
    }
    rm -rf new runs out.svg out.tsv
    [ -z "$why" ] && continue
    found=$((found + 1))
    echo "$why: $program $* (call $i, memory $memory; damaged:$damaged)"
    head -n 3 err | cut -c 1-300 | cat -v
    [ -z "${KEEP:-}" ] || cp -r run "found-$i"
done
echo "$count calls, findings: $found"
[ -z "${KEEP:-}" ] || echo "kept: $work"
[ "$found" -eq 0 ]
