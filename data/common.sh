# data/common.sh: what data/fetch, data/check and data/join share: where sets are, their table, and how a file is read
# whatever packs it. They set `here` to this folder first.
# shellcheck shell=sh disable=SC2154

# Sets are kept beside these scripts; where one may not write there, as after make install, in data/ of this folder.
place=$here
[ -w "$here" ] || place=data

# sets [SET]: the lines of the table (of one set) as SET|FILE|BYTES|CHECKSUMS|HOMES
sets() {
    awk -F '|' -v only="$1" '
    /^#/ || !NF { next }
    {
        for (i = 1; i <= NF; i++) gsub(/^[ \t]+|[ \t]+$/, "", $i)
        if (only == "" || $1 == only) print $1 "|" $2 "|" $3 "|" $4 "|" $5
    }' "$here/sets"
}

# without_packing NAME: enwik8.zip -> enwik8
without_packing() {
    case $1 in
    *.zip | *.gz | *.xz | *.bz2 | *.zst) echo "${1%.*}" ;;
    *) echo "$1" ;;
    esac
}

# names_packing NAME: the kind that a name speaks of, or nothing
names_packing() {
    case $1 in
    *.zip) echo zip ;;
    *.gz | *.tgz) echo gz ;;
    *.xz | *.txz) echo xz ;;
    *.bz2 | *.tbz2) echo bz2 ;;
    *.zst) echo zst ;;
    *.tar) echo tar ;;
    esac
}

# kind FILE: what its first bytes say it is
kind() {
    hex=$(dd if="$1" bs=512 count=1 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
    letters=$(dd if="$1" bs=512 count=1 2>/dev/null | tr '[:upper:]' '[:lower:]' | tr -d ' \t\r\n' | od -An -v -tx1 | tr -d ' \n')
    case $hex in
    '') echo empty && return ;;
    504b0304* | 504b0506*) echo zip && return ;;
    1f8b08*) echo gz && return ;;
    fd377a585a00*) echo xz && return ;;
    425a68*) echo bz2 && return ;;
    28b52ffd*) echo zst && return ;;
    fffe* | feff*) echo UTF-16 && return ;;
    76657273696f6e2068747470733a2f2f6769742d6c6673*) echo LFS && return ;; # version https://git-lfs
    esac
    case ${letters#efbbbf} in
    3c21646f637479706568746d6c* | 3c68746d6c*) echo HTML && return ;; # <!doctype html, <html
    esac
    case $(echo "$hex" | cut -c 515-524) in
    7573746172) echo tar ;;
    *) echo plain ;;
    esac
}

# contents FILE KIND: its bytes, unpacked where it is packed. Status 3: no tool here unpacks it.
contents() {
    case $2 in
    gz) set -- "$1" gzip ;;
    xz) set -- "$1" xz ;;
    bz2) set -- "$1" bzip2 ;;
    zst) set -- "$1" zstd ;;
    zip)
        if command -v unzip >/dev/null; then
            unzip -p "$1"
            return
        fi
        set -- "$1" gzip ;; # reads an archive of one file, too
    *)
        cat "$1"
        return ;;
    esac
    if ! command -v "$2" >/dev/null; then
        echo "$2 is not installed" >&2
        return 3
    fi
    "$2" -dc <"$1"
}

# digest ALGORITHM <FILE: its hexadecimal checksum; nothing where no tool here makes it
digest() {
    if command -v "$1sum" >/dev/null; then
        "$1sum"
    elif [ "$1" != md5 ] && command -v shasum >/dev/null; then
        shasum -a "${1#sha}"
    elif command -v openssl >/dev/null; then
        openssl dgst -r "-$1"
    elif command -v "$1" >/dev/null; then
        "$1" -q
    fi | awk '{ print $1 }'
}

# commas N: 100000000 -> 100,000,000
commas() {
    echo "$1" | awk '{
        while (length($1) > 3) { tail = "," substr($1, length($1) - 2) tail; $1 = substr($1, 1, length($1) - 3) }
        print $1 tail
    }'
}
