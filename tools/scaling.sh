#!/bin/sh
# Predicts a step's time in several processes, by the formula of docs/clusters.md, as rows of a table. FLOP, parameters and
# micro-batches are those of `info`. What is assumed may be set in the environment:
#     ranks="1 8 64 512"   processes
#     workers=16           of a process, each a core of its own
#     rate=90e9            FLOP/s of a worker
#     memory=100e9         bytes/s of a process's memory
#     networks="NAME:bytes/s of a process:seconds a message ..."
#     grow=1               the batch grows with the processes
set -eu
bin=${BIN:-bin}
: "${ranks:=1 8 64 512}" "${workers:=16}" "${rate:=90e9}" "${memory:=100e9}" "${grow:=}"
: "${networks:=10_Gbit/s:1.1e9:20e-6 100_Gbit/s:11e9:2e-6}"

# PROGRAM PRESET SHARES OPTION..., SHARES a power of two
predict() {
    program=$1 preset=$2 shares=$3
    shift 3
    "$bin/$program" info --preset "$preset" --workers 1 --shares "$shares" --json "$@" | tr ',{}' '\n\n\n' |
        awk -v model="$program \`$preset\`" -v shares="$shares" -v ranks="$ranks" -v workers="$workers" -v rate="$rate" \
            -v memory="$memory" -v networks="$networks" -v grow="$grow" '
        { gsub(/[ "]/, ""); split($0, field, ":"); value[field[1]] = field[2] }
        function least(a, b) { return a < b ? a : b }
        function up(x) { return x > int(x) ? int(x) + 1 : int(x) }
        function seconds(P, rate_of_net, latency,   times, S, M, own, busy, compute, passes, sent, used) {
            times = grow ? P : 1
            S = shares * times
            M = value["micro_batches_a_step"] * times
            used = least(P, S) # the others have no share
            own = up(S / used)
            busy = least(M, up(up(own / workers) * M / S))
            compute = value["flop_a_step"] * times / M * busy / rate
            passes = (12 * (own + 1) + 28) * value["parameters"] / memory
            sent = 8 * value["parameters"] * (1 - 1 / used)
            return compute + passes + sent / rate_of_net + 14 * (P - 1) * latency
        }
        END {
            count = split(ranks, rank, " ")
            nets = split(networks, network, " ")
            for (n = 1; n <= nets; n++) {
                split(network[n], net, ":")
                gsub(/_/, " ", net[1])
                line = "| " model " | " net[1] " |"
                alone = seconds(1, net[2], net[3])
                for (i = 1; i <= count; i++) {
                    t = seconds(rank[i], net[2], net[3])
                    part = 100 * alone / t / (grow ? 1 : rank[i])
                    line = line sprintf(part < 10 ? " %.3g s, %.1f %% |" : " %.3g s, %.0f %% |", t, part)
                }
                print line
            }
        }'
}

predict charlm former 32 --micro-batch 1
predict encdec base 64 --micro-tokens 512
predict encdec big 64 --micro-tokens 512
predict charlm gpt2 512 --micro-batch 1
