#!/bin/sh
# tests/hostile/hostile.sh [SEED] [COUNT]: calls programs as nobody should (options with values that cannot be, edited
# configurations, damaged files, little memory) and prints what is more than one line and an exit status of 0, 1 or 2: a
# signal, a hang, an error of no line or several, "nan" in an answer. The same seed makes the same calls.
set -u
seed=$((${1:-0} % 2147483646 + 1)) count=${2:-200} bin=${BIN:-$PWD/bin}
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work" || exit 1
export XDG_CACHE_HOME="$work/cache"

# draw N: sets `drawn` to a number below N (the minimal standard generator)
draw() {
    seed=$(((seed * 48271) % 2147483647))
    drawn=$((seed % $1))
}

# pick WORD...: sets `picked` to one of them
pick() {
    draw $#
    shift "$drawn"
    picked=$1
}

"$bin/charlm" train --run charlm --dim 16 --heads 2 --depth 1 --context 16 --batch 4 --steps 3 -q >/dev/null || exit 1
"$bin/classifier" train --run classifier --preset minute --minutes 0 --steps 3 --dim 16 --heads 2 --ff 32 --no-cache -q \
    >/dev/null || exit 1

# damage FILE: turns a byte over, cuts it off, or puts a value into it that cannot be
damage() {
    [ -f "$1" ] || return
    size=$(wc -c <"$1")
    [ "$size" -gt 0 ] || return
    draw "$size" && at=$drawn
    pick byte cut value
    case $picked in
    byte) printf '\377' | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null ;;
    cut) head -c "$at" "$1" >damaged && mv damaged "$1" ;;
    value)
        pick -1 0 1e999 99999999999999999999 '"\\u0000"' null '[]'
        sed "s/: [0-9][0-9.]*,/: $picked,/" "$1" >damaged && mv damaged "$1" ;;
    esac
}

found=0 i=0
while [ "$i" -lt "$count" ]; do
    i=$((i + 1))
    pick charlm classifier && program=$picked
    rm -rf run && cp -r "$program" run
    pick info eval train heads && command=$picked
    pick --seed --workers --batch --lr --weights --device --precision --steps --context --data --split && option=$picked
    pick -1 0 1 nan inf 1e308 9223372036854775807 '' a /dev/null run last average bf16 plain && value=$picked
    draw 3 && [ "$drawn" -gt 0 ] &&
        pick config.json log.tsv best last checkpoints/00000003/model.safetensors checkpoints/00000003/state.safetensors \
            checkpoints/00000003/SHA256SUMS && damage "run/$picked"
    pick unlimited unlimited 300000 3000000 && memory=$picked
    set -- "$command" "$option=$value" -q
    case $command in
    train) set -- "$@" --resume run --minutes 0.01 ;;
    heads) set -- "$@" --run run --text "some words" ;;
    *) set -- "$@" --run run ;;
    esac
    (ulimit -v "$memory" && exec timeout -k 2 60 "$bin/$program" "$@") >out 2>err </dev/null
    status=$?
    why=
    [ "$status" -le 2 ] || why="status $status"
    [ "$status" -eq 0 ] || [ "$(wc -l <err)" -ge 1 ] || why="status $status without a word"
    [ "$status" -ne 2 ] || [ "$(wc -l <err)" -eq 1 ] || why="a mistake in several lines"
    [ "$status" -ne 0 ] || ! grep -qiw nan out || why="nan in an answer"
    [ -z "$why" ] && continue
    found=$((found + 1))
    echo "$why: $program $* (call $i, memory $memory)"
    head -2 err
done
echo "$count calls, findings: $found"
[ "$found" -eq 0 ]
