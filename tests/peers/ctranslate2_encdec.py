#!/usr/bin/env python3
"""A run of encdec in CTranslate2: the same translations, and how fast each of the two is.

  ctranslate2_encdec.py RUN SOURCES REFERENCES [--weights best|last|average|STEP] [--beam 4] [--threads 2]
                        [--rounds 5] [--program bin/encdec]

It converts the weights of RUN (--type bpe or words, sinusoids, ReLU), and then

  - has the peer score what encdec found: log p of each translation, and the largest difference;
  - counts how many translations are the same: greedily, and with a beam, without a length penalty, which the two
    count differently. Where they are not the same, both are scored: of a beam, one may have found a better one, since
    CTranslate2 follows as many hypotheses as before when one has ended, and encdec one less;
  - translates all in turn, --rounds times: sentences/s and sentences per second of processor time, of the peer without
    the time for reading, cutting into pieces and putting together, of encdec with it;
  - BLEU of both (13a), each with its own length penalty.

All in f32. Needs ctranslate2, torch and numpy, subword-nmt for --type bpe, and sacremoses for --tokens moses.
"""
import argparse
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import ctranslate2
import numpy as np
from ctranslate2.specs import transformer_spec

from torch_encdec import UNKNOWN, cutter, tokeniser
from torch_step import read_safetensors

POSITIONS = 512
UNK, END = "<unk>", "</s>"


# ---- the model

def sinusoids(dim):
    """Sine and cosine alternate, as in the paper."""
    place = np.arange(POSITIONS)[:, None] / 10000 ** (np.arange(0, dim, 2)[None, :] / dim)
    table = np.zeros((POSITIONS, dim), np.float32)
    table[:, 0::2], table[:, 1::2] = np.sin(place), np.cos(place)
    return table


class Converter:
    def __init__(self, weights, model):
        self.weights, self.model = weights, model
        for key, value in {"positions": "sinusoid", "activation": "relu", "score": "scaled-dot", "distances": "none",
                           "window": 0, "head-size": 0, "value-size": 0}.items():
            if model.get(key, value) != value:
                sys.exit(f"--{key} {model[key]} is not converted here, only {value}")

    def linear(self, spec, *names):
        """One product of several matrices: theirs lie one below the other."""
        spec.weight = np.concatenate([self.weights[name + ".weight"] for name in names])
        if names[0] + ".bias" in self.weights:
            spec.bias = np.concatenate([self.weights[name + ".bias"] for name in names])

    def norm(self, spec, name):
        spec.gamma, spec.beta = self.weights[name + ".weight"], self.weights[name + ".bias"]

    def feed_forward(self, spec, block):
        self.linear(spec.ffn.linear_0, block + ".ff.in")
        self.linear(spec.ffn.linear_1, block + ".ff.out")
        self.norm(spec.ffn.layer_norm, block + ".norm2")

    def self_attention(self, spec, block):
        self.linear(spec.self_attention.linear[0], *(f"{block}.attention.{x}" for x in ("query", "key", "value")))
        self.linear(spec.self_attention.linear[1], f"{block}.attention.out")
        self.norm(spec.self_attention.layer_norm, block + ".norm1")

    def cross_attention(self, spec, block):
        self.linear(spec.attention.linear[0], f"{block}.cross.query")
        self.linear(spec.attention.linear[1], f"{block}.cross.key", f"{block}.cross.value")
        self.linear(spec.attention.linear[2], f"{block}.cross.out")
        self.norm(spec.attention.layer_norm, block + ".norm_cross")

    def table(self, spec, *names):
        spec.weight = next(self.weights[name] for name in names if name in self.weights)

    def convert(self, pieces, folder):
        m, pre = self.model, self.model["norm"] == "pre"
        depths = (m["depth"], m["decoder-depth"] or m["depth"])
        spec = transformer_spec.TransformerSpec.from_config(depths, m["heads"], pre_norm=pre)
        self.table(spec.encoder.embeddings[0], "embedding.weight", "source_embedding.weight")
        self.table(spec.decoder.embeddings, "embedding.weight", "target_embedding.weight")
        if m["tie"]:
            self.table(spec.decoder.projection, "embedding.weight")
        else:
            self.linear(spec.decoder.projection, "logits")
        for side, stack in (("encoder", spec.encoder), ("decoder", spec.decoder)):
            stack.position_encodings.encodings = sinusoids(m["dim"])
            if pre:
                self.norm(stack.layer_norm, side + ".norm")
            for i, layer in enumerate(stack.layer):
                block = f"{side}.{i}"
                self.self_attention(layer, block)
                if side == "decoder":
                    self.cross_attention(layer, block)
                self.feed_forward(layer, block)
        spec.register_source_vocabulary(pieces)
        spec.register_target_vocabulary(pieces)
        spec.config.bos_token = spec.config.eos_token = spec.config.decoder_start_token = END
        spec.config.unk_token = pieces[UNKNOWN]
        spec.config.add_source_eos = True
        spec.config.layer_norm_epsilon = 1e-5
        spec.validate()
        spec.optimize(quantization=None)
        spec.save(folder)


# ---- the two

def checkpoint(run, which):
    if which == "average":
        return os.path.join(run, "average.safetensors")
    if which in ("best", "last"):
        with open(os.path.join(run, which), encoding="ascii") as file:
            which = file.read().strip()
    return os.path.join(run, "checkpoints", f"{int(which):08}", "model.safetensors")


class Ours:
    def __init__(self, a):
        self.a = a

    def run(self, *words):
        """What it prints, its sentences/s, and seconds of processor time, with start and end."""
        a, before = self.a, resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([a.program, "translate", "--run", a.run, "--weights", a.weights, "--file", a.sources,
                               "--precision", "f32", "--workers", str(a.threads), "--max-tokens", str(a.max_tokens),
                               *words], capture_output=True, check=False)
        if done.returncode:
            sys.exit(done.stderr.decode())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rate = re.search(r": ([0-9.,]+) sentences/s", done.stderr.decode())
        return (done.stdout.decode(errors="replace"), float(rate[1].replace(",", "")),
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def pieces(self, beam):
        """Of each line the pieces that were found and log p, without a length penalty."""
        text, _, _ = self.run("--format", "fairseq", "--beam", str(beam), "--alpha", "0")
        found = {}
        for line in text.split("\n"):
            if line.startswith("H-"):
                number, score, said = line.split("\t")
                found[int(number[2:])] = (said.split(" ") if said else [], float(score) * math.log(2))
        return found


class Theirs:
    def __init__(self, a, folder, sources):
        self.a, self.sources = a, sources
        inter, intra = (1, a.threads) if a.one_batch else (a.threads, 1)
        self.translator = ctranslate2.Translator(folder, compute_type="float32", inter_threads=inter,
                                                 intra_threads=intra)

    def run(self, beam, penalty):
        start, cpu = time.perf_counter(), time.process_time()
        found = self.translator.translate_batch(self.sources, beam_size=beam, length_penalty=penalty,
                                                max_batch_size=self.a.their_batch, batch_type="tokens",
                                                max_decoding_length=256, return_scores=True)
        return ([(f.hypotheses[0], f.scores[0]) for f in found], len(found) / (time.perf_counter() - start),
                time.process_time() - cpu)

    def log_p(self, numbers, said):
        """log p, with </s>, of translations of some of the lines."""
        scored = self.translator.score_batch([self.sources[i] for i in numbers], said, max_batch_size=1024,
                                             batch_type="tokens")
        return [sum(s.log_probs) for s in scored]


# ---- what is compared

def compare(ours, theirs, beam):
    mine, (others, _, _) = ours.pieces(beam), theirs.run(beam, 0)
    lines = sorted(mine)
    known = [i for i in lines if UNK not in mine[i][0]]
    scores = dict(zip(known, theirs.log_p(known, [mine[i][0] for i in known])))
    off = max(abs(scores[i] - mine[i][1]) for i in known)
    print(f"beam {beam}: the peer gives what encdec found log p that is at most {off:.6f} nats off "
          f"({len(known)} translations)")
    differ = [i for i in lines if mine[i][0] != others[i][0]]
    found = dict(zip(differ, theirs.log_p(differ, [others[i][0] for i in differ])))
    better = [found[i] - scores.get(i, mine[i][1]) for i in differ]
    print(f"  {len(lines) - len(differ)} of {len(lines)} translations are the same; of the others, "
          f"{sum(b < -1e-4 for b in better)} of encdec's are likelier, {sum(b > 1e-4 for b in better)} of the peer's, "
          f"{sum(abs(b) <= 1e-4 for b in better)} as likely to 1e-4")
    return off


def joined(pieces, model, language):
    words = re.sub(r"@@ |@@$", "", " ".join(pieces)) if model["type"] == "bpe" else " ".join(pieces)
    if model.get("tokens", "spaces") != "moses":
        return words
    from sacremoses import MosesDetokenizer  # not needed for the others
    return MosesDetokenizer(language).detokenize(words.split(" "), unescape=False)


def bleu(a, folder, text):
    path = os.path.join(folder, "said")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return json.loads(subprocess.run([a.program, "bleu", path, a.references, "--json", "-q"], capture_output=True,
                                     check=True).stdout)["bleu"]


def race(a, ours, theirs, folder, model, language):
    rates, used = {"encdec": [], "the peer": []}, {"encdec": [], "the peer": []}
    for _ in range(a.rounds):
        text, rate, cpu = ours.run("--beam", str(a.beam), "--alpha", str(a.alpha))
        rates["encdec"].append(rate)
        used["encdec"].append(cpu)
        found, rate, cpu = theirs.run(a.beam, a.alpha if a.penalty is None else a.penalty)
        rates["the peer"].append(rate)
        used["the peer"].append(cpu)
    said = "".join(joined(f[0], model, language) + "\n" for f in found)
    figures = {"encdec": bleu(a, folder, text), "the peer": bleu(a, folder, said)}
    for name in rates:
        print(f"{name:8}  {statistics.median(rates[name]):7.1f} sentences/s ({min(rates[name]):.1f} to "
              f"{max(rates[name]):.1f}), {len(found) / statistics.median(used[name]):7.1f} a second of processor time, "
              f"BLEU {figures[name]:.2f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("run")
    p.add_argument("sources")
    p.add_argument("references")
    p.add_argument("--weights", default="best")
    p.add_argument("--beam", type=int, default=4)
    p.add_argument("--alpha", type=float, default=0.6, help="of encdec's length penalty")
    p.add_argument("--penalty", type=float, help="the peer's, which is length ** PENALTY (as alpha)")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--max-tokens", type=int, default=4096, help="of a batch of encdec")
    p.add_argument("--their-batch", type=int, default=4096, help="tokens of a batch of the peer: of sources alone")
    p.add_argument("--one-batch", action="store_true", help="the peer's threads share each batch")
    p.add_argument("--program", default="bin/encdec")
    a = p.parse_args()
    with open(os.path.join(a.run, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    options = {**config["model"], **config["training"]}
    weights, model = read_safetensors(checkpoint(a.run, a.weights))
    with open(os.path.join(a.run, "vocabulary.tsv"), encoding="utf-8", newline="\n") as file:
        pieces = [line.split("\t")[0] for line in file.read().split("\n")[:-1]]
    words = tokeniser(model.get("tokens", "spaces"), options["source"])
    cut, _ = cutter(a.run, model["type"])
    with open(a.sources, "rb") as file:
        sources = [[pieces[i] for i in cut(words(line))] for line in file.read().split(b"\n")[:-1]]
    with tempfile.TemporaryDirectory() as folder:
        converted = os.path.join(folder, "model")
        os.mkdir(converted)
        Converter({k: v.numpy() for k, v in weights.items()}, model).convert(pieces, converted)
        ours, theirs = Ours(a), Theirs(a, converted, sources)
        off = max(compare(ours, theirs, beam) for beam in sorted({1, a.beam}))
        if a.rounds:
            race(a, ours, theirs, folder, model, options["target"])
    if off > 1e-3:
        sys.exit("the networks are not the same")


if __name__ == "__main__":
    main()
