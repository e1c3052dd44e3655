#!/usr/bin/env python3
"""encdec in PyTorch: what is learnt, step by step.

  torch_encdec.py RUN [--steps 100] [--data FOLDER] [--precision f32|f64] [--threads N]
      begins with the weights of RUN's step 0, trains on the run's own batches with its options, and prints step and loss
      (nats/token, with label smoothing) beside the loss that is in RUN/log.tsv, and the largest difference.

The run must have been trained without dropout, on a folder with train.LANG in it, packed by gzip or not. It reads these
texts, the run's vocabulary.tsv and codes.bpe, and makes subwords, batches and the learning rate on its own: that they are
the same is part of what is compared. Needs torch and numpy, for byte pairs subword-nmt, and for --tokens moses sacremoses.
"""
import argparse
import gzip
import json
import os
import re
import sys

import torch

from torch_step import SITE_DATA, Trainer, Translator, philox_below, read_log, read_safetensors

UNKNOWN, END, FIRST = 0, 1, 2
SITE_TURNS = SITE_DATA + 1  # core/train/order.c


# ---- sentences as ids: encdec/lines.c, subwords.c and data.c once more

def lines_of(folder, language):
    for name in (f"train.{language}", f"train.{language}.gz"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, "rb") as file:
                data = file.read()
            data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            return [line.removesuffix(b"\r") for line in data.removesuffix(b"\n").split(b"\n")]
    sys.exit(f"{folder} holds no train.{language}: say with --data where it is")


def words_of(line):
    return [word for word in re.split(rb"[ \t\n\v\f\r\0]+", line) if word]


def tokeniser(rule, language):
    """A function that makes words of a line."""
    if rule == "spaces":
        return words_of
    from sacremoses import MosesTokenizer  # not needed for the others
    moses = MosesTokenizer(language)
    return lambda line: words_of(moses.tokenize(line.decode(), return_str=True, escape=False).encode())


def cutter(run, kind):
    """A function that makes ids of a line's words, without </s>."""
    if kind == "bytes":
        return lambda words: [FIRST + byte for word in words for byte in word], FIRST + 256
    with open(os.path.join(run, "vocabulary.tsv"), "rb") as file:
        ids = {line.split(b"\t")[0]: i for i, line in enumerate(file.read().split(b"\n")[:-1])}

    def id_of(subword):
        found = ids.get(subword, UNKNOWN)
        return UNKNOWN if found == END else found

    if kind == "words":
        return lambda words: [id_of(word) for word in words], len(ids)
    from subword_nmt.apply_bpe import BPE  # not needed for the others
    with open(os.path.join(run, "codes.bpe"), encoding="utf-8") as file:
        bpe = BPE(file)
    known = {}

    def subwords_of(word):
        if word not in known:
            known[word] = [id_of(subword.encode()) for subword in bpe.segment(word.decode()).split(" ")]
        return known[word]

    return lambda words: [i for word in words for i in subwords_of(word)], len(ids)


def pairs_of(folder, o, cut):
    sides = [lines_of(folder, o["source"]), lines_of(folder, o["target"])]
    whole = lambda line: [line]
    words = [whole if o["type"] == "bytes" else tokeniser(o["tokens"], o[side]) for side in ("source", "target")]
    longest, pairs = min(o["longest"], o["context"] - 1), []
    for lines in zip(*sides):
        if all(words_of(line) for line in lines):
            ids = [cut(words_in(line)) + [END] for words_in, line in zip(words, lines)]
            if max(map(len, ids)) <= longest + 1:
                pairs.append(ids)
    return pairs


# ---- batches: core/train/order.c once more

def shuffled(count, seed, epoch, site):
    order = []
    for i in range(count):
        j = philox_below(i + 1, seed, epoch, i, site)
        order.append(i)
        order[i], order[j] = order[j], i
    return order


def batches_of(pairs, o, epoch):
    """All batches of an epoch, counted from 1, as lists of pairs."""
    lengths = [max(map(len, pair)) for pair in pairs]
    tokens = max(o["batch-tokens"], max(lengths)) if o["batch-tokens"] else 0
    share = tokens or o["batch"]
    cost = lengths if tokens else [1] * len(pairs)
    batches = -(-sum(cost) // share)
    order, turns = shuffled(len(pairs), o["seed"], epoch, SITE_DATA), list(range(batches))
    if o["by-length"]:
        order.sort(key=lambda i: lengths[i])
        turns = shuffled(batches, o["seed"], epoch, SITE_TURNS)
    parts, end = [], 0
    for i in order:
        end += cost[i]
        if len(parts) < batches and len(parts) * share < end:
            parts.append([])
        parts[-1].append(pairs[i])
    return [parts[turn] for turn in turns]


def padded(rows, value):
    width = max(map(len, rows))
    return torch.tensor([list(row) + [value] * (width - len(row)) for row in rows])


def tensors_of(batch):
    source, target = [pair[0] for pair in batch], [pair[1] for pair in batch]
    seen = padded([[1] * len(row) for row in source], 0).bool()
    return (padded(source, 0), padded([[END] + row[:-1] for row in target], 0), seen), padded(target, -1)


def rate_of(o, step):
    if o["schedule"] == "noam":
        return o["lr"] * o["dim"] ** -0.5 * min(step ** -0.5, step * o["warmup"] ** -1.5)
    if o["schedule"] != "constant":
        sys.exit(f"the schedule {o['schedule']} is not built here")
    return o["lr"] * min(1.0, step / o["warmup"] if o["warmup"] else 1.0)


# ---- a run

def options_of(run, a):
    with open(os.path.join(run, "config.json")) as file:
        config = json.load(file)
    o = {**config["model"], **config["training"]}
    for key in ("dropout", "attention-dropout", "ff-dropout"):
        if o.get(key):
            sys.exit(f"the run drops out: --{key} {o[key]}; masks are not built here")
    if o["window"] or o["distances"] != "none" or o["score"] not in ("scaled-dot", "dot"):
        sys.exit("windows, distances and scores with parameters are not built here")
    o["ff"] = o["ff"] or 4 * o["dim"]
    o["composed"] = False
    o["betas"] = tuple(float(b) for b in o["betas"].split(","))
    folder = a.data or o.get("data")
    if not folder:
        sys.exit("the run learnt from encdec's built-in sentences, which are not built here")
    return o, folder


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("run")
    p.add_argument("--steps", type=int, default=0, help="(as many as the run's log has)")
    p.add_argument("--data", help="where the run's data is now")
    p.add_argument("--precision", choices=["f32", "f64"], default="f32")
    p.add_argument("--threads", type=int, default=0)
    a = p.parse_args()
    a.compile, a.device = False, "cpu"
    if a.threads:
        torch.set_num_threads(a.threads)
    o, folder = options_of(a.run, a)
    cut, o["words"] = cutter(a.run, o["type"])
    pairs, log = pairs_of(folder, o, cut), read_log(os.path.join(a.run, "log.tsv"))
    weights, _ = read_safetensors(os.path.join(a.run, "checkpoints", "00000000", "model.safetensors"))
    model = Translator(o)
    model.load_state_dict(weights)  # refuses what is missing or too much
    if a.precision == "f64":
        model.double()
    trainer, batches, largest = Trainer(model, a, o), [], 0.0
    print("step\ttargets\tloss (nats/token)\tencdec's\tdifference", flush=True)
    for step in range(1, (a.steps or max(log, default=100)) + 1):
        if not batches:
            epoch = 1 if step == 1 else epoch + 1
            batches = batches_of(pairs, o, epoch)
        ids, targets = tensors_of(batches.pop(0))
        loss = float(trainer.step(ids, targets, rate_of(o, step)))
        line = f"{step}\t{int((targets >= 0).sum())}\t{loss:.6f}"
        if step in log:
            largest = max(largest, abs(loss - log[step]))
            line += f"\t{log[step]:.6f}\t{loss - log[step]:+.6f}"
        print(line, flush=True)
    print(f"largest difference: {largest:.6f} nats/token", file=sys.stderr)


if __name__ == "__main__":
    main()
