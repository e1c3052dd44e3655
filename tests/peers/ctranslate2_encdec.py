#!/usr/bin/env python3
"""A run of encdec in CTranslate2: the same translations, and how fast each of the two is.

  ctranslate2_encdec.py RUN SOURCES REFERENCES [--weights best|last|average|STEP] [--beam 4] [--threads 2]
                        [--rounds 5] [--precision f32|int8] [--program bin/encdec]

It exports RUN (--type bpe or words), and then

  - has the peer score what encdec found: log p of each translation, and the largest difference;
  - counts how many translations are the same: greedily, and with a beam, without a length penalty, which the two
    count differently. Where they are not the same, both are scored: of a beam, one may have found a better one, since
    CTranslate2 follows as many hypotheses as before when one has ended, and encdec one less;
  - translates all in turn, --rounds times: sentences/s and sentences per second of processor time, of the peer without
    the time for reading, cutting into subwords and putting together, of encdec with it;
  - BLEU of both (13a), each with its own length penalty.

With --precision int8 both have linear maps in 8 bits, which each rounds in its own way: then the differences are only
printed. Needs ctranslate2, torch and numpy, subword-nmt for --type bpe, and sacremoses for --tokens moses.
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

from torch_encdec import cutter, tokeniser

UNK = "<unk>"
TYPES = {"f32": "float32", "int8": "int8"}  # the peer's names


# ---- the two

class Ours:
    def __init__(self, a):
        self.a = a

    def run(self, *words):
        """What it prints, its sentences/s, and seconds of processor time, with start and end."""
        a, before = self.a, resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([a.program, "translate", "--run", a.run, "--weights", a.weights, "--file", a.sources,
                               "--precision", a.precision, "--workers", str(a.threads), "--team", "1",
                               "--max-tokens", str(a.max_tokens), *words], capture_output=True, check=False)
        if done.returncode:
            sys.exit(done.stderr.decode())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rate = re.search(r": ([0-9.,]+) sentences/s", done.stderr.decode())
        return (done.stdout.decode(errors="replace"), float(rate[1].replace(",", "")),
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def subwords(self, beam):
        """Of each line the subwords that were found and log p, without a length penalty."""
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
        self.translator = ctranslate2.Translator(folder, compute_type=TYPES[a.precision], inter_threads=inter,
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
    mine, (others, _, _) = ours.subwords(beam), theirs.run(beam, 0)
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


def joined(subwords, model, language):
    words = re.sub(r"@@ |@@$", "", " ".join(subwords)) if model["type"] == "bpe" else " ".join(subwords)
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
    p.add_argument("--precision", choices=TYPES, default="f32")
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
    model = config["model"]
    with open(os.path.join(a.run, "vocabulary.tsv"), encoding="utf-8", newline="\n") as file:
        subwords = [line.split("\t")[0] for line in file.read().split("\n")[:-1]]
    words = tokeniser(model.get("tokens", "spaces"), options["source"])
    cut, _ = cutter(a.run, model["type"])
    with open(a.sources, "rb") as file:
        sources = [[subwords[i] for i in cut(words(line))] for line in file.read().split(b"\n")[:-1]]
    with tempfile.TemporaryDirectory() as folder:
        converted = os.path.join(folder, "model")
        subprocess.run([a.program, "export", "--run", a.run, "--weights", a.weights, "--format", "ctranslate2", "--out",
                        converted, "-q"], check=True)
        ours, theirs = Ours(a), Theirs(a, converted, sources)
        off = max(compare(ours, theirs, beam) for beam in sorted({1, a.beam}))
        if a.rounds:
            race(a, ours, theirs, folder, model, options["target"])
    if off > 1e-3 and a.precision == "f32":
        sys.exit("the networks are not the same")


if __name__ == "__main__":
    main()
