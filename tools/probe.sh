#!/bin/sh
# tools/probe.sh FILE [linker flags]: what is here? Each answer comes from compiling, linking and running a small
# program with $CC $CPPFLAGS (not from asking a package manager), and goes to FILE as make variables:
#
#     ONEDNN := yes
#     ONEDNN_VERSION := 2.6.3
#
# What the compiler said goes to probe.log beside FILE.
set -u
file=$1
shift
here=$(dirname "$file")/probe
log=$(dirname "$file")/probe.log
mkdir -p "$here"
: >"$file.part"
: >"$log"

if ! command -v ${CC%% *} >/dev/null; then
    echo "no C compiler: $CC was not found; 'make deps' installs one, CC=... names another" >&2
fi

say() { printf '%s := %s\n' "$1" "$2" >>"$file.part"; }

# try NAME COMPILER SOURCE [flags]: yes when the program on standard input compiles and runs; its output is the version
try() {
    name=$1 compiler=$2 source=$here/$3
    shift 3
    cat >"$source"
    echo "== $name: $compiler $*" >>"$log"
    if $compiler ${CPPFLAGS:-} -o "$here/program" "$source" "$@" >>"$log" 2>&1 && version=$("$here/program" 2>>"$log"); then
        say "$name" yes
        say "${name}_VERSION" "$version"
        return 0
    fi
    return 1
}

try ONEDNN "$CC" onednn.c "$@" -ldnnl <<'END' || say ONEDNN no
#include <dnnl.h>
#include <stdio.h>
int main(void)
{
    const dnnl_version_t *v = dnnl_version();
    return printf("%d.%d.%d", v->major, v->minor, v->patch) < 0;
}
END

try LIBARCHIVE "$CC" libarchive.c "$@" -larchive <<'END' || say LIBARCHIVE no
#include <archive.h>
#include <stdio.h>
int main(void)
{
    int v = archive_version_number();
    return printf("%d.%d.%d", v / 1000000, v / 1000 % 1000, v % 1000) < 0;
}
END

# How Check is linked differs from system to system; the first way that works is kept.
check=no
for libraries in "-lcheck -lm" "-lcheck -lrt -lm" "-lcheck -lsubunit -lrt -lm" "-lcheck_pic -lsubunit -lrt -lm"; do
    if try CHECK "$CC" check.c "$@" -pthread $libraries <<'END'
#include <check.h>
#include <stdio.h>
START_TEST(holds) { ck_assert_int_eq(1, 1); }
END_TEST
int main(void)
{
    Suite *s = suite_create("probe");
    TCase *c = tcase_create("probe");
    tcase_add_test(c, holds);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_SILENT);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed || printf("%d.%d.%d", check_major_version, check_minor_version, check_micro_version) < 0;
}
END
    then
        check=yes
        say CHECK_LIBS "$libraries"
        break
    fi
done
[ $check = yes ] || say CHECK no

try CXX17 "${CXX:-c++} -std=gnu++17" cxx17.cpp "$@" <<'END' || say CXX17 no
#include <cstdio>
#include <optional>
template <class T> constexpr int size_of() { if constexpr (sizeof(T) > 4) return 8; else return 4; }
int main()
{
    std::optional<int> n = size_of<double>();
    return n != 8 || std::printf("yes") < 0;
}
END

# The CUDA compiler is asked to compile; a device may be missing on the machine that builds.
say CUDA no
nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null)
if [ -n "$nvcc" ]; then
    echo '__global__ void f(float *x) { x[threadIdx.x] = 0; }' >"$here/cuda.cu"
    if "$nvcc" -c -o "$here/cuda.o" "$here/cuda.cu" >>"$log" 2>&1; then
        say CUDA yes
        say NVCC "$nvcc"
        say CUDA_VERSION "$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
    fi
fi

say GNUPLOT no
if version=$(gnuplot --version 2>>"$log"); then
    say GNUPLOT yes
    say GNUPLOT_VERSION "$(echo "$version" | sed 's/gnuplot \([0-9.]*\) patchlevel /\1./')"
fi

mv "$file.part" "$file"
