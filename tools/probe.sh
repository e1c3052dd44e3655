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

# MPI's own compiler says which flags the compiler in use needs: Open MPI's and MPICH's name the whole command.
# shellcheck disable=SC2086
mpi_flags() { # mpi_flags PATTERN: those that match, headers of a system's library
    for flag in $(${MPICC:-mpicc} -show 2>>"$log"); do
        case $flag in -I*) flag="-isystem ${flag#-I}" ;; esac
        case $flag in $1) printf '%s ' "$flag" ;; esac
    done
}
mpi_compile=$(mpi_flags '-isystem*')
mpi_link=$(mpi_flags '-[Ll]*')
if [ -n "$mpi_link" ] && try MPI "$CC $mpi_compile" mpi.c "$@" $mpi_link <<'END'
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int size;
    MPI_Get_library_version(version, &size);
    version[strcspn(version, ",\n\t")] = 0;
    return printf("%s", version) < 0;
}
END
then
    say MPI_COMPILE "$mpi_compile"
    say MPI_LINK "$mpi_link"
else
    say MPI no
fi

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

# The CUDA compiler is asked to compile, and the program to run, which it must where there is no GPU, too. Its runtime is
# linked statically; where that is differs from system to system, and so does which C++ compiler it takes.
try_cuda() { # try_cuda FOLDER OF LIBRARIES [flag of nvcc's]...
    libraries="${1:+-L$1} -lcudart_static -lpthread -ldl -lrt"
    shift
    echo "== CUDA: $nvcc $* $libraries" >>"$log"
    "$nvcc" "$@" $plain -c -o "$here/cuda.o" "$here/cuda.cu" >>"$log" 2>&1 &&
        $CC -o "$here/program" "$here/cuda.c" "$here/cuda.o" $libraries >>"$log" 2>&1 &&
        "$here/program" >>"$log" 2>&1 || return 1
    say CUDA yes
    say NVCC "$nvcc"
    say NVCC_HOST "$* $plain"
    say CUDA_LIBS "$libraries"
    say CUDA_VERSION "$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
    known=" $("$nvcc" --list-gpu-code 2>>"$log" | tr '\n' ' ')"
    codes=
    for code in 75 80 86 89 90 100 120; do
        case $known in *" sm_$code "*) codes="$codes $code" ;; esac
    done
    say GPU_CODES "${codes# }"
    gpus= # those that this nvcc knows: a newer one may still run PTX, and an older one is told that it cannot
    for code in $(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>>"$log" | tr -d ' .' | sort -un); do
        case $known in *" sm_$code "*) gpus="$gpus $code" ;; esac
    done
    say GPU_HERE "${gpus# }"
}

cuda=no
plain="-Xcompiler -fno-exceptions,-fno-threadsafe-statics" # nothing of C++'s own library is linked
nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null)
if [ -n "$nvcc" ]; then
    cat >"$here/cuda.cu" <<'END'
#include <cuda_runtime.h>
__global__ void f(float *x) { x[threadIdx.x] = 0; }
extern "C" int probe(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0)
        f<<<1, 1>>>(nullptr);
    return 0;
}
END
    echo 'int probe(void); int main(void) { return probe(); }' >"$here/cuda.c"
    home=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    for folder in "$home/lib64" "$home/lib" "$home/targets/$(uname -m)-linux/lib" ''; do
        [ -z "$folder" ] || [ -f "$folder/libcudart_static.a" ] || continue
        if try_cuda "$folder" || try_cuda "$folder" -ccbin "${CXX:-c++}"; then
            cuda=yes
            break
        fi
    done
fi
[ $cuda = yes ] || say CUDA no

# cuBLAS is opened by the program that runs: on this machine it may be missing without harm.
try CUBLAS "$CC" cublas.c "$@" -ldl <<'END' || say CUBLAS no
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"};
    static const char *const folders[] = {"", "/usr/local/cuda/lib64/"};
    for (int i = 0; i < 8; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s%s", folders[i % 2], names[i / 2]);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *found = library ? dlsym(library, "cublasGetProperty") : NULL;
        int (*property)(int, int *), major, minor;
        memcpy(&property, &found, sizeof property);
        if (found && !property(0, &major) && !property(1, &minor))
            return printf("%d.%d", major, minor) < 0;
    }
    return 1;
}
END

say GNUPLOT no
if version=$(gnuplot --version 2>>"$log"); then
    say GNUPLOT yes
    say GNUPLOT_VERSION "$(echo "$version" | sed 's/gnuplot \([0-9.]*\) patchlevel /\1./')"
fi

mv "$file.part" "$file"
