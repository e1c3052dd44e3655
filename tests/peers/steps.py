#!/usr/bin/env python3
"""A training step on this machine: which share of its peak is it, and how fast is PyTorch's?

  steps.py [--rounds 3] [--program charlm ..] [--precision f32 ..] [--threads N] [--compile]

In each round, every program and precision runs in turn with the same model in PyTorch (torch_step.py), on as many threads
as there are cores; --compile tries PyTorch compiled, too, and takes the faster. It prints a line for each program and
precision: tokens/s of both (medians of the rounds), the ratios of the rounds, and the best step's share of what all cores
can do on registers alone (make bench-kernels), bf16's where its instruction is the faster way.

Needs torch. Give it a machine that does nothing else.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {  # (ours, PyTorch's): small enough for a few seconds a step
    "charlm": (["--preset", "former", "--steps", "4"], ["--steps", "4"]),
    "classifier": (["--preset", "former", "--steps", "8"], ["--steps", "8"]),
    "encdec": (["--preset", "base", "--batch-tokens", "2048", "--micro-tokens", "1024", "--length", "32", "--steps", "3"],
               ["--batch-tokens", "2048", "--length", "32", "--steps", "3"]),
}  # fmt: skip


def run(command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def limits():
    """GFLOP/s of all cores, by precision"""
    lines = run(["make", "bench-kernels", "only=adam"]).splitlines()
    level = next(line for line in lines if line.endswith(" instructions"))
    last = [line for line in lines if re.match(r"\d+ cores?:", line)][-1]
    found = {name: float(value) for name, value in re.findall(r"(f32|bf16) ([\d.]+) GFLOP/s", last)}
    print(f"{level}; {last}")
    return {"f32": found["f32"], "bf16": max(found.values())}


def ours(program, precision, a):
    threads = ["--workers", str(a.threads)] if a.threads else []
    return json.loads(run([f"bin/{program}", "bench", *SIZES[program][0], "--precision", precision, *threads, "--json", "-q"]))


def peers(program, precision, a):
    command = [sys.executable, os.path.join(HERE, "torch_step.py"), program, *SIZES[program][1], "--precision", precision]
    command += ["--threads", str(a.threads)] if a.threads else []
    ways = ([], ["--compile"]) if a.compile else ([],)
    return max((json.loads(run(command + way)) for way in ways), key=lambda found: found["tokens_per_s"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--program", nargs="+", choices=list(SIZES), default=list(SIZES))
    p.add_argument("--precision", nargs="+", choices=["f32", "bf16"], default=["f32", "bf16"])
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--compile", action="store_true")
    a = p.parse_args()
    peak = limits()
    rounds = {(program, precision): [] for program in a.program for precision in a.precision}
    for number in range(a.rounds):
        for (program, precision), pairs in rounds.items():
            pairs.append((ours(program, precision, a), peers(program, precision, a)))
        print(f"round {number + 1} of {a.rounds}", file=sys.stderr)
    print("\n| | attend | PyTorch | ratios of the rounds | GFLOP/s | share of the peak |\n|---|---:|---:|---|---:|---:|")
    for (program, precision), pairs in rounds.items():
        medians = [statistics.median(one[i]["tokens_per_s"] for one in pairs) for i in (0, 1)]
        ratios = sorted(one["tokens_per_s"] / other["tokens_per_s"] for one, other in pairs)
        rate = max(one["flop_a_step"] / one["fastest_s"] for one, _ in pairs) * 1e-9
        print(f"| `{program}`, {precision} | {medians[0]:,.0f} | {medians[1]:,.0f} | "
              f"{', '.join(f'{ratio:.2f}' for ratio in ratios)} | {rate:.0f} | {100 * rate / peak[precision]:.0f} % |")  # fmt: skip


main()
