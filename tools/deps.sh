#!/bin/sh
# tools/deps.sh [run|test|develop]: installs what attend can use and this machine lacks: what the programs use (run), with
# what `make test` needs, or with what a change needs to pass (develop). `make deps for=...` runs it.
# tools/deps.sh offer GOAL [1]: GOAL needs what `make deps for=test` brings; asks on a terminal whether to install now.
#
# As root, Debian packages are installed. Without root they are downloaded and unpacked under .deps/ in the tree,
# where the Makefile looks. On other systems this prints the line to run. (make test YES=1: a question is answered.)
set -u
top=$PWD

# for | package | MB on disk, with what it brings along (Debian 12) | what shows that it is there | why
wanted='
run     | gcc            | 150 | compiler gcc clang     | compiles attend
run     | make           |   2 | command make           | runs the Makefile
run     | libc6-dev      |  25 | header stdio.h         | headers of the C library
run     | g++            |  60 | compiler g++ clang++   | compiles the CUDA kernels for the emulator (--device emulated)
run     | libdnnl-dev    |  50 | header dnnl.h          | oneDNN: fast matrix products on a CPU
run     | libarchive-dev |  10 | header archive.h       | reads compressed data as it is published
run     | libopenmpi-dev |  60 | command mpicc          | Open MPI: one run in several processes, on several machines
run     | openmpi-bin    |  10 | command mpirun         | starts them
run     | gnuplot-nox    |  60 | command gnuplot        | draws pictures
test    | check          |   1 | header check.h         | the test framework
test    | libsubunit-dev |   1 | header subunit/child.h | Check is linked with it
develop | clang          | 500 | command clang          | the second compiler: make CC=clang
develop | @clang-rt      |  50 | sanitizer clang        | sanitizers for clang, and libFuzzer for make fuzz
develop | clang-format   |  10 | command clang-format   | make lint, make format
develop | cppcheck       |  20 | command cppcheck       | make lint
develop | valgrind       |  80 | command valgrind       | make valgrind
develop | libc6-dbg      |  30 | works valgrind -q true | names in the C library, for make valgrind
develop | mmdebstrap     |  20 | root command mmdebstrap | another Debian in a folder: tools/bare.sh, for root alone
develop | qemu-user      | 100 | command qemu-aarch64   | other processors: tools/processors.sh
develop | gcc-aarch64-linux-gnu | 90 | command aarch64-linux-gnu-gcc | the same, built for another family
develop | libc6-dev-arm64-cross | 20 | works test -e /usr/aarch64-linux-gnu/include/stdio.h | its C library
'
tier=run
case ${1:-run} in
run | test | develop) tier=${1:-run} ;;
offer) tier=test ;;
*) echo "usage: tools/deps.sh [run|test|develop] | offer GOAL; make deps for=... says which" >&2; exit 2 ;;
esac

cc=$(command -v gcc || command -v cc || command -v clang)
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || $cc -print-multiarch 2>/dev/null)
triplet=${triplet:-$(uname -m)-linux-gnu}
PATH=$PATH:$PWD/.deps/bin

have() { # have KIND WHAT: is it there?
    case $1 in
    command) command -v "$2" >/dev/null ;;
    compiler) have command "$2" || { [ $tier != develop ] && have command "$3"; } ;; # a change needs to pass with both
    works) shift && "$@" >/dev/null 2>&1 ;;
    root) shift && { [ "$(id -u)" -ne 0 ] || have "$@"; } ;; # nobody else can use it
    header) [ -n "$cc" ] && echo "#include <$2>" |
        $cc -E -isystem .deps/usr/include -isystem ".deps/usr/include/$triplet" - >/dev/null 2>&1 ;;
    sanitizer)
        there=$(mktemp) && echo 'int main(void) { return 0; }' |
            "$2" -fsanitize=address,undefined -x c -o "$there" - >/dev/null 2>&1
        status=$?
        rm -f "$there"
        return $status ;;
    esac
}

# apt with its own lists and cache under .deps/, for users who may not write the system's (apt_tree get ..., cache ...).
apt_tree() {
    tool=apt-$1
    shift
    "$tool" -o "Dir::State::Lists=$top/.deps/apt/lists" -o "Dir::Cache=$top/.deps/apt/cache" \
        -o APT::Sandbox::User= "$@"
}
apt_system() {
    tool=apt-$1
    shift
    "$tool" "$@"
}
apt=apt_system

clang_rt() { # the package with the sanitizers of this system's clang: libclang-rt-14-dev
    major=$(clang -dumpversion 2>/dev/null | sed 's/\..*//')
    [ -n "$major" ] || major=$($apt cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
    # older Debian had them in libclang-common-N-dev
    for p in ${major:+"libclang-rt-$major-dev" "libclang-common-$major-dev"}; do
        $apt cache show "$p" >/dev/null 2>&1 && echo "$p" && return
    done
}

# missing: the packages to install, and prints why to standard error
missing() {
    echo "$wanted" | while IFS='|' read -r for package size test why; do
        case $tier,${for%% *} in *, | run,test | run,develop | test,develop) continue ;; esac
        # shellcheck disable=SC2086
        have $test && continue
        package=$(echo $package) size=$(echo $size)
        printf '  %-15s %4s MB  %s\n' "${package#@}" "$size" "${why# }" >&2
        echo "$package"
    done
}

# quietly COMMAND...: what it says goes to a file; where it fails, one line of it is said.
quietly() {
    mkdir -p build
    if "$@" >build/deps.log 2>&1 </dev/null; then return 0; fi
    # (after Err:, which names an address, a line says why)
    why=$(awk '/^Err:/ { getline; sub(/^ +/, ""); print; exit } /^(E|W):/ { print; exit }' build/deps.log)
    echo "make deps: apt-get failed: ${why:-$(tail -n 1 build/deps.log)} (build/deps.log has the rest)" >&2
    return 1
}

ask() { # ask QUESTION
    [ "${YES:-}" = 1 ] && return 0
    [ -t 0 ] && [ -t 1 ] || return 1
    printf '%s [y/N] ' "$1"
    read -r answer || return 1
    case $answer in y* | Y*) return 0 ;; *) return 1 ;; esac
}

names() { # the packages by their names in this release
    for p in "$@"; do [ "$p" = @clang-rt ] && clang_rt || echo "$p"; done
}

# The lists of packages. Without a network this ends soon: nothing is tried again.
update() { quietly "apt_$1" get -q -o Acquire::Retries=0 -o Acquire::http::Timeout=20 -o APT::Update::Error-Mode=any update; }

install_as_root() {
    export DEBIAN_FRONTEND=noninteractive
    update system || return 2
    echo "make deps: apt-get is at work"
    # shellcheck disable=SC2046
    quietly apt_system get -q install -y --no-install-recommends $(names "$@")
}

# Without root: apt with lists and cache of its own downloads each package that would be installed, and dpkg unpacks.
install_in_tree() {
    mkdir -p .deps/apt/lists/partial .deps/apt/cache/archives/partial .deps/packages || return 1
    apt=apt_tree
    update tree || return 2
    all=$(apt_tree get -s --no-install-recommends install $(names "$@") | sed -n 's/^Inst \([^ ]*\) .*/\1/p')
    [ -n "$all" ] || return 1
    (cd .deps/packages && apt_tree get -q download $all) || return 1
    for package in .deps/packages/*.deb; do
        dpkg -x "$package" .deps || return 1
    done
    rm -rf .deps/packages .deps/apt
    tidy_tree
}

# Makes what was unpacked usable: one library folder, no links into nowhere, and a starter for each tool.
tidy_tree() {
    if [ -d .deps/lib ] && [ ! -L .deps/lib ]; then
        cp -a .deps/lib/. .deps/usr/lib/ && rm -rf .deps/lib
    fi
    libraries=.deps/usr/lib/$triplet
    for link in "$libraries"/*.so; do # its library may be one that the system already has
        [ -L "$link" ] && [ ! -e "$link" ] || continue
        for place in "/usr/lib/$triplet" "/lib/$triplet"; do
            [ -e "$place/$(readlink "$link")" ] && ln -sf "$place/$(readlink "$link")" "$link" && break
        done
    done
    # valgrind finds symbols by their build-id in the system's folder only; elsewhere by name, beside the library's path
    debug=.deps/usr/lib/debug
    mkdir -p "$debug/lib" "$debug/lib/$triplet" && ln -sfn . "$debug/usr"
    for symbols in "$debug"/.build-id/*/*.debug; do
        [ -e "$symbols" ] && ln -sf "../../.build-id/${symbols#"$debug"/.build-id/}" "$debug/lib/$triplet/"
    done
    [ -e "$libraries/cppcheck/cfg" ] && ln -sfn "../lib/$triplet/cppcheck/cfg" .deps/usr/bin/cfg
    mkdir -p .deps/bin
    for tool in gnuplot:gnuplot-nox clang: clang-format: valgrind: cppcheck:; do
        real=.deps/usr/bin/${tool#*:}
        [ -n "${tool#*:}" ] && [ -e "$real" ] || real=.deps/usr/bin/${tool%:*}
        [ -e "$real" ] || continue
        {
            echo '#!/bin/sh'
            echo "# Runs a tool that make deps unpacked, with its libraries. Written by tools/deps.sh."
            echo 'here=$(cd "$(dirname "$0")/.." && pwd)'
            echo 'export VALGRIND_LIB="$here/usr/libexec/valgrind"'
            echo 'export VALGRIND_OPTS="--extra-debuginfo-path=$here/usr/lib/debug"'
            echo '[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_PATH="$here/etc/fonts" XDG_DATA_HOME="$here/usr/share"'
            echo "export LD_LIBRARY_PATH=\"\$here/usr/lib/$triplet\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}\""
            echo "exec \"\$here/${real#.deps/}\" \"\$@\""
        } >".deps/bin/${tool%:*}"
        chmod +x ".deps/bin/${tool%:*}"
    done
}

elsewhere() { # the line for other systems
    echo "This system has no apt. With conda, Homebrew, dnf or pacman:"
    echo "  conda install -c conda-forge onednn libarchive check gnuplot cppcheck clang-tools"
    echo "  brew install onednn libarchive check gnuplot cppcheck clang-format"
    echo "  dnf install gcc make onednn-devel libarchive-devel check-devel subunit-devel gnuplot clang clang-tools-extra compiler-rt cppcheck valgrind"
    echo "  pacman -S gcc make onednn libarchive check gnuplot clang cppcheck valgrind"
    echo "then: make probe"
}

# A compiler cannot be unpacked just anywhere.
without_compiler() {
    for p in "$@"; do
        case $p in
        gcc | g++ | make | libc6-dev) echo "  ($p needs root: ask whoever runs this machine)" >&2 ;;
        *) echo "$p" ;;
        esac
    done
}

install() {
    packages=$(missing 2>/dev/null)
    if [ -z "$packages" ]; then
        case $tier in
        run) echo "make deps: nothing is missing to run; for=test and for=develop bring more" ;;
        *) echo "make deps for=$tier: nothing is missing" ;;
        esac
        return 0
    fi
    echo "make deps for=$tier: these packages are missing:"
    missing 2>&1 >/dev/null
    if ! command -v apt-get >/dev/null; then
        elsewhere
        return 1
    fi
    # shellcheck disable=SC2086
    if [ "$(id -u)" -eq 0 ]; then
        install_as_root $packages && echo "make deps: done" && return 0
        [ $? -eq 1 ] || return 1 # no network
        echo "make deps: unpacking under .deps/ instead" >&2
    else
        packages=$(without_compiler $packages)
        if [ -z "$packages" ]; then
            echo "Nothing that could be unpacked is missing."
            return 0
        fi
        echo "You are not root: they are downloaded and unpacked under .deps/ in this folder."
    fi
    # shellcheck disable=SC2086
    install_in_tree $packages && echo "make deps: done; they are under .deps/"
}

# A user at a terminal is asked. Where there is none (a container, a CI machine), the goal gets what it needs.
offer() { # offer GOAL
    echo "$1 needs Check, which was not found."
    if ! [ -t 0 ] || ask "Run make deps for=test?"; then
        install && rm -f "${BUILD:-build}"/*/probe.mk
    else
        echo "Run 'make deps for=test', or '$1 YES=1'." >&2
        return 1
    fi
}

if [ "${1:-}" != offer ]; then install
elif [ -z "${3:-}" ]; then offer "$2"
else
    echo "$2 needs Check, which make deps did not bring; probe.log under build/ says what was tried" >&2
    exit 1
fi
