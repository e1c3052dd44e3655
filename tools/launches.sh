#!/bin/sh
# tools/launches.sh FILE [SOURCE...]: was every kernel of kernels/cuda launched?
#
# FILE holds what ATTEND_LAUNCHES gathered while the tests of kernels ran: a line for each process, kernel, device and
# order of threads. Every __global__ function of kernels/cuda (or of the files named) has to be there in two orders at
# least, on each of the devices emulated and checked that the build has; what is not gets a line.
set -u
launches=$1
shift
[ $# -gt 0 ] || set -- kernels/cuda/*.cu kernels/cuda/*.h

# What only nvcc reads is left out, and a kernel that does nothing, which is there to be asked about. A kernel's name
# stands after __global__, void and what nvcc is told in brackets, on that line or the next.
awk '
    /^#if/ { depth++; if (!skip && /__CUDACC__/) skip = depth }
    /^#else/ && depth == skip { skip = 0 }
    !skip { print }
    /^#endif/ { if (depth == skip) skip = 0; depth-- }' "$@" |
    sed 's/__launch_bounds__([^)]*)//; /__global__ void [a-z_]*() {}/d' | tr '\n' ' ' |
    grep -o '__global__ *void *[A-Za-z0-9_]*' | sed 's/.* //' |
    sort -u | awk -F '\t' -v launches="$launches" '
    BEGIN {
        while ((getline line <launches) > 0) {
            split(line, part, "\t")
            gsub(/^\(|<.*/, "", part[1]) # each of a template counts as it
            devices[part[2]]
            if (!((part[1], part[2], part[3]) in seen))
                orders[part[1], part[2]]++
            seen[part[1], part[2], part[3]]
        }
    }
    {
        kernels++
        for (device in devices)
            if (orders[$1, device] < 2) {
                printf "%s: the tests of kernels launch it in %d orders of threads on %s, not in two\n", $1,
                    orders[$1, device], device
                bad++
            }
    }
    END {
        if (!kernels) print "no __global__ function was found"
        exit bad > 0 || !kernels
    }'
