#!/usr/bin/env python3
"""Prompts and texts of a run of charlm, in llama.cpp, and in transformers on PyTorch: how fast is each?

  sampling.py RUN TEXT [--prompt 512] [--length 128] [--threads 2] [--rounds 5] [--program bin/charlm]

It exports RUN for both, in f32 and bf16. Then each program reads the first tokens of the file TEXT as a prompt and writes
more, in turn, --rounds times in each precision. It prints a line for each peer, precision and part of the work: tokens/s
of both, the medians of all rounds, and the median of the ratios of ours to the peer's. Nothing is drawn at random: charlm
takes the likeliest token, and the peers are told the next one. Each round loads the model anew, which is not counted, and
then reads the prompt once.

Needs llama-cpp-python, torch and transformers. RUN must be a GPT-2 or a Llama, with byte pairs (docs/exchange.md).
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import llama_cpp
import torch
import transformers

BF16 = 32  # llama.h: LLAMA_FTYPE_MOSTLY_BF16
PRECISIONS = ("f32", "bf16")


@llama_cpp.llama_log_callback
def silence(_level, _text, _data):
    pass


class Llama:
    name = "llama.cpp"

    def __init__(self, folder, precision, a):
        self.m = llama_cpp.Llama(os.path.join(folder, f"{precision}.gguf"), n_ctx=a.prompt + a.length, n_batch=a.prompt,
                                 n_ubatch=a.prompt, n_threads=a.threads, n_threads_batch=a.threads, verbose=False)

    @staticmethod
    def export(a, folder):
        f32, bf16 = (os.path.join(folder, f"{precision}.gguf") for precision in PRECISIONS)
        export(a, "gguf", f32)
        how = llama_cpp.llama_model_quantize_default_params()
        how.ftype = BF16
        if llama_cpp.llama_model_quantize(f32.encode(), bf16.encode(), ctypes.byref(how)):
            sys.exit("llama.cpp does not convert the file to bf16")

    def read(self, ids):
        tokens = (llama_cpp.llama_token * len(ids))(*ids)
        if llama_cpp.llama_decode(self.m.ctx, llama_cpp.llama_batch_get_one(tokens, len(ids))):
            sys.exit("llama.cpp cannot go on")
        return llama_cpp.llama_get_logits_ith(self.m.ctx, -1)[0]  # waits until it is computed


class Transformers:
    name = "transformers"

    def __init__(self, folder, precision, a):
        torch.set_num_threads(a.threads)
        self.m = transformers.AutoModelForCausalLM.from_pretrained(
            os.path.join(folder, "hf"), dtype=torch.bfloat16 if precision == "bf16" else torch.float32).eval()
        self.cache = None

    @staticmethod
    def export(a, folder):
        export(a, "hf", os.path.join(folder, "hf"))

    @torch.inference_mode()
    def read(self, ids):
        out = self.m(torch.tensor([ids]), past_key_values=self.cache, use_cache=True, logits_to_keep=1)
        self.cache = out.past_key_values
        return float(out.logits[0, -1, 0])


def export(a, form, out):
    subprocess.run([a.program, "export", "--run", a.run, "--format", form, "--out", out, "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)


def measure(kind, ids, folder, precision, a):
    """Tokens/s of the prompt and of the text after it."""
    peer = kind(folder, precision, a)
    start = time.perf_counter()
    peer.read(ids[:-1])
    middle = time.perf_counter()
    for _ in range(a.length):
        peer.read(ids[-1:])
    return a.prompt / (middle - start), a.length / (time.perf_counter() - middle)


def ours(a, precision, prompt):
    done = subprocess.run([a.program, "sample", "--run", a.run, "--prompt-file", prompt, "--precision", precision,
                           "--team", str(a.threads), "--temperature", "0", "--length", str(a.length), "--json"],
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.decode())
    said = json.loads(done.stdout)
    if said["prompt_tokens"] != a.prompt:
        sys.exit(f"charlm reads the prompt as {said['prompt_tokens']:.0f} tokens, llama.cpp as {a.prompt}: cut TEXT elsewhere")
    return said["prompt_tokens_per_s"], said["tokens_per_s"]


def prompt_of(a, folder, out):
    """The first tokens of TEXT and one more; out: their bytes, without that one."""
    first = Llama(folder, "f32", a).m
    with open(a.text, "rb") as f:
        ids = first.tokenize(f.read(20 * a.prompt), add_bos=False)[:a.prompt + 1]
    if len(ids) <= a.prompt:
        sys.exit(f"{a.text} has only {len(ids)} tokens, and a prompt takes {a.prompt} and one more")
    with open(out, "wb") as f:
        f.write(first.detokenize(ids[:-1]))
    return ids


def compare(a, folder, precision, prompt, ids):
    rounds = [[ours(a, precision, prompt)] + [measure(kind, ids, folder, precision, a) for kind in PEERS]
              for _ in range(a.rounds)]
    for part, what in enumerate(("prompt", "text")):
        for number, kind in enumerate(PEERS, 1):
            mine = statistics.median(r[0][part] for r in rounds)
            theirs = statistics.median(r[number][part] for r in rounds)
            ratio = statistics.median(r[0][part] / r[number][part] for r in rounds)
            print(f"{precision:5}{what:7}charlm {mine:8.1f} tokens/s   {kind.name:13}{theirs:8.1f} tokens/s   "
                  f"ratio {ratio:.2f}", flush=True)


PEERS = (Llama, Transformers)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("run")
    p.add_argument("text")
    p.add_argument("--prompt", type=int, default=512)
    p.add_argument("--length", type=int, default=128)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--program", default="bin/charlm")
    a = p.parse_args()
    warnings.simplefilter("ignore", FutureWarning)
    llama_cpp.llama_log_set(silence, ctypes.c_void_p())
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        for kind in PEERS:
            kind.export(a, folder)
        prompt = os.path.join(folder, "prompt")
        ids = prompt_of(a, folder, prompt)
        for precision in PRECISIONS:
            compare(a, folder, precision, prompt, ids)


main()
