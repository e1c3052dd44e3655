#!/bin/sh
# tools/deps.sh: installs what attend can use and this machine lacks. `make deps` runs it.
# tools/deps.sh offer PACKAGE GOAL [1]: GOAL needs what PACKAGE brings; asks on a terminal whether to install now.
#
# As root, Debian packages are installed. Without root they are downloaded and unpacked under .deps/ in the tree,
# where the Makefile looks. On other systems this prints the line to run. YES=1 answers every question.
set -u
top=$PWD

# package | what shows that it is there | why
wanted='
gcc             | command gcc                 | compiles attend
make            | command make                | runs the Makefile
libc6-dev       | header stdio.h              | headers of the C library
g++             | command g++                 | compiles the CUDA kernels for the emulator (--device emulated)
pkg-config      | command pkg-config          | tells other programs how to link a library
libdnnl-dev     | header dnnl.h               | oneDNN: fast matrix products on a CPU
libarchive-dev  | header archive.h            | reads compressed data as it is published
check           | header check.h              | the test framework
libsubunit-dev  | header subunit/child.h      | Check is linked with it
gnuplot-nox     | command gnuplot             | draws pictures
clang           | command clang               | the second compiler: make CC=clang
@clang-rt       | sanitizer clang             | sanitizers for clang, and libFuzzer for make fuzz
clang-format    | command clang-format        | make lint, make format
cppcheck        | command cppcheck            | make lint
valgrind        | command valgrind            | make valgrind
libc6-dbg       | works valgrind -q true      | names in the C library, for make valgrind
'

cc=$(command -v gcc || command -v cc || command -v clang)
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || $cc -print-multiarch 2>/dev/null)
triplet=${triplet:-$(uname -m)-linux-gnu}
PATH=$PATH:$PWD/.deps/bin

have() { # have KIND WHAT: is it there?
    case $1 in
    command) command -v "$2" >/dev/null ;;
    works) shift && "$@" >/dev/null 2>&1 ;;
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

# apt with its own lists and cache under .deps/, for who may not write the system's (apt_tree get ..., cache ...).
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
    clang=$($apt cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
    # older Debian had them in libclang-common-N-dev
    for p in "libclang-rt-$clang-dev" "libclang-common-$clang-dev"; do
        $apt cache show "$p" >/dev/null 2>&1 && echo "$p" && return
    done
}

# missing: the packages to install, and prints why to standard error
missing() {
    echo "$wanted" | while IFS='|' read -r package test why; do
        [ -n "$package" ] || continue
        # shellcheck disable=SC2086
        have $test && continue
        package=${package%% *}
        printf '  %-16s %s\n' "${package#@}" "$why" >&2
        echo "$package"
    done
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

install_as_root() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update && apt-get -q install -y --no-install-recommends $(names "$@") </dev/null
}

# Without root: apt with lists and cache of its own downloads each package that would be installed, and dpkg unpacks.
install_in_tree() {
    mkdir -p .deps/apt/lists/partial .deps/apt/cache/archives/partial .deps/packages || return 1
    apt=apt_tree
    apt_tree get -q update || return 1
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
    for tool in gnuplot:gnuplot-nox clang: clang-format:  valgrind: cppcheck: pkg-config:pkgconf; do
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
    echo "  conda install -c conda-forge onednn libarchive check gnuplot pkg-config cppcheck clang-tools"
    echo "  brew install onednn libarchive check gnuplot pkg-config cppcheck clang-format"
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
        echo "make deps: nothing is missing"
        return 0
    fi
    echo "make deps: these packages would make attend better:"
    missing 2>&1 >/dev/null
    if ! command -v apt-get >/dev/null; then
        elsewhere
        return 1
    fi
    if [ "$(id -u)" -eq 0 ]; then
        echo "They are installed with apt-get."
        install_as_root $packages && return 0
        echo "make deps: apt-get could not install them; unpacking under .deps/ instead" >&2
    else
        echo "You are not root: they are downloaded and unpacked under .deps/ in this folder."
        packages=$(without_compiler $packages)
        if [ -z "$packages" ]; then
            echo "Nothing that could be unpacked is missing."
            return 0
        fi
        if ! ask "Go on?"; then
            echo "Nothing was done; 'make deps YES=1' does it without asking."
            return 1
        fi
    fi
    install_in_tree $packages && echo "make deps: done; they lie under .deps/"
}

# Somebody at a terminal is asked. Where nobody can be asked, root (a container, a CI machine) gets what the goal
# needs, as from make deps itself, and anyone else is told the line.
offer() { # offer PACKAGE GOAL
    echo "$2 needs $1, which was not found."
    if [ "${YES:-}" = 1 ] || ask "Run make deps?" || { [ "$(id -u)" -eq 0 ] && ! [ -t 0 ]; }; then
        YES=1 install && rm -f build/*/probe.mk
    else
        echo "Run 'make deps', or '$2 YES=1'." >&2
        return 1
    fi
}

case ${1:-} in
'') install ;;
offer)
    if [ -n "${4:-}" ]; then
        echo "$3 needs $2, which make deps did not bring; probe.log under build/ says what was tried" >&2
        exit 1
    fi
    offer "$2" "$3"
    ;;
*) echo "usage: tools/deps.sh [offer PACKAGE GOAL]" >&2; exit 2 ;;
esac
