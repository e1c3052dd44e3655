#!/bin/sh
# tools/bare.sh RELEASE WAY [COMMAND...]: does README hold on a machine that has nothing? Makes a Debian of that release
# (bookworm, trixie, sid) with apt alone, in a folder, and types there, as a container would with no LANG and no terminal,
# README's commands for building, its demo and its tests, word by word; or the COMMANDs instead.
#
#   root      as root          user      as somebody who is not root, after root has typed the line with apt-get
#   clang     as root, with clang as the only compiler
#   offline   as root without a network, after the line with apt-get; make deps and make test must say so, and soon
#
# Packages come from where this machine's apt takes its own. Needs root, mmdebstrap and a network; without them it says so,
# with status 3. BARE=FOLDER keeps the roots there (else in build/bare-roots), so that a second call is quick; KEEP=1 leaves what was
# built. What was typed and said is printed.
set -u
cd "$(dirname "$0")/.." || exit 2
release=${1:-} way=${2:-root}
case $release,$way in
,* | -*) sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
*,root | *,user | *,clang | *,offline) ;;
*) echo "tools/bare.sh: root, user, clang or offline, not '$way'" >&2; exit 2 ;;
esac
[ $# -lt 2 ] || shift
shift
cannot() { echo "tools/bare.sh: $*" >&2; exit 3; }

[ "$(id -u)" -eq 0 ] || cannot "only root can make a root"
command -v mmdebstrap >/dev/null || cannot "mmdebstrap is not here (apt-get install mmdebstrap)"
unshare -m -p -f true 2>/dev/null || cannot "no namespaces can be made here"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | head -n 1)
[ -n "$mirror" ] || cannot "apt here takes packages from nowhere"
roots=${BARE:-$PWD/build/bare-roots}
mkdir -p "$roots"

# ---- a root for each release, as it comes, and a copy of it for this call

fresh=$roots/$release.tar
if [ ! -e "$fresh" ]; then
    # (a mirror that was frozen some weeks ago has the lists of sid as they were then)
    mmdebstrap --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' "$release" "$fresh.new" "$mirror" \
        --format=tar >"$roots/log" 2>&1 ||
        cannot "no Debian $release could be made: $(grep -m 1 -E '^E:' "$roots/log" || tail -n 1 "$roots/log")"
    mv "$fresh.new" "$fresh"
fi
root=$(mktemp -d "$roots/$release-$way.XXXXXX") || exit 2
[ -n "${KEEP:-}" ] || trap 'rm -rf "$root"' EXIT
trap 'exit 130' INT TERM
chmod 755 "$root"
tar -xf "$fresh" -C "$root" --exclude='./dev/*' || exit 2
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null
mkdir -p "$root/srv/attend" && git archive HEAD | tar -x -C "$root/srv/attend" || exit 2
chown -R 1000:1000 "$root/srv"

# inside USER NET COMMAND: in the root, with a clean environment
inside() {
    unshare -m -p -f --kill-child $([ "$2" = net ] || printf %s --net) sh -c '
        mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
        exec chroot --userspec="$2" "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv TERM=dumb \
            sh -c "cd /srv/attend && $3"' sh "$root" "$1" "$3" </dev/null
}
typed() { # typed USER NET COMMAND: says what it types, and ends at the first that does not do what it should
    printf '\n%s %s\n' "$([ "$1" = 0:0 ] && echo '#' || echo '$')" "$3"
    began=$(date +%s)
    inside "$@" 2>&1
    status=$?
    took=$(($(date +%s) - began))
    printf '(%s: status %d, %d s)\n' "$release, $way" $status $took
    case $2,$3 in
    none,make\ deps* | none,make*\ test*) # they need a network
        [ $status -ne 0 ] && [ $took -lt 60 ] || exit 1 ;;
    *) [ $status -eq 0 ] || exit 1 ;;
    esac
}

# README's commands without their comments: those of its section on building, and the demo once programs can be built
commands() {
    awk '/^## / { on = /^## Building/ }
         /^    make demo/ { demo = "make demo\n" }
         on && /^    (apt-get|make)/ { sub(/ +#.*/, ""); sub(/^ +/, ""); print }
         on && /^make/ { printf "%s", demo; demo = "" }' README.md
}

who=0:0 net=net
[ $way = user ] && who=1000:1000
printf 'Debian %s: %s\n' "$release" "$way"
inside 0:0 net "apt-get -q update" >"$root/log" 2>&1 || cannot "apt-get update fails in the root: $(tail -n 1 "$root/log")"
{ if [ $# -gt 0 ]; then printf '%s\n' "$(commands | grep '^apt-get')" "$@"; else commands; fi; } >"$root/commands"
while read -r command; do
    case $command in
    apt-get*)
        [ $way = clang ] && command=$(echo "$command" | sed 's/ gcc\>/ clang/')
        typed 0:0 net "$command" ;;
    *)
        [ $way = offline ] && net=none
        typed $who $net "$command" ;;
    esac
done <"$root/commands"
