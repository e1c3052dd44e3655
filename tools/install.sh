#!/bin/sh
# tools/install.sh PREFIX PROGRAM...: programs as PREFIX/bin/attend-NAME; what fetches and checks data, and what there is to
# read, in PREFIX/share/attend. (The scripts that draw are inside the programs.) `make install` runs it.
set -eu
bin=$1/bin share=$1/share/attend
shift
if ! mkdir -p "$bin" "$share" 2>/dev/null || ! [ -w "$bin" ] || ! [ -w "$share" ]; then
    echo "make install: you may not write to ${bin%/bin}; make install PREFIX=~/.local needs no rights" >&2
    exit 1
fi
for program in "$@"; do
    install -m 755 "$program" "$bin/attend-${program##*/}"
    echo "$bin/attend-${program##*/}"
done
for file in data/fetch data/check data/join data/common.sh data/sets README.md */README.md docs/*.md course/*.md course/*/README.md \
    course/diagrams/*; do
    case $file in */*) mkdir -p "$share/${file%/*}" ;; esac
    cp -p "$file" "$share/$file"
done
echo "$share"
