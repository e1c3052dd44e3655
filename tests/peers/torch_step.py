#!/usr/bin/env python3
"""charlm, classifier and encdec in PyTorch: to compare speed, and, of charlm, what is learnt, step by step.

  torch_step.py charlm [--dim 256 --heads 8 --depth 12 --context 256 --batch 32 ...]
      times training steps on random bytes (forward, loss, backward, clipping, Adam) and prints one line of JSON
      with the fields of `charlm bench --json`.

  torch_step.py classifier [--dim 128 --heads 8 --depth 6 --context 512 --batch 4 --words 50000 --pool average ...]
      the same of classifier, on random words.

  torch_step.py encdec [--dim 512 --heads 8 --depth 6 --batch-tokens 25000 --length 32 --words 37000 ...]
      the same of encdec, on pairs of random subwords; torch_encdec.py compares what is learnt.

  torch_step.py charlm --run DIR [--steps 50]
      begins with the weights of DIR's step 0, trains on the run's own batches with its options, and prints step and
      loss in bits/byte; where DIR/log.tsv has the same step, also its loss and the difference.

  torch_step.py charlm --weights model.safetensors --data FILE [--batch 32 --lr 1e-4 --warmup 156 ...]
      the same from a file of weights, with the options given here.

More options: --precision f32|tf32|bf16|f64 --threads N --compile [--mode MODE] --composed (attention spelt out)
--device cpu|cuda. Needs torch and numpy.
"""
import argparse
import bz2
import gzip
import hashlib
import io
import json
import lzma
import math
import os
import statistics
import sys
import time
import zipfile

import numpy as np
import torch
from torch import nn
from torch.nn import functional

BYTES, CLASSES = 256, 2
SITE_DATA = 0x20000000  # core/tensor/sites.h


# ---- the network, under the names that charlm's files use

def activation_of(name):
    return {"relu": functional.relu, "gelu": functional.gelu,
            "gelu-tanh": lambda x: functional.gelu(x, approximate="tanh"),
            "silu": functional.silu, "relu2": lambda x: functional.relu(x).square()}[name]


def norm_of(o):
    return nn.RMSNorm(o["dim"], eps=1e-5) if o["norm-kind"] == "rms" else nn.LayerNorm(o["dim"])


def rotated(x):
    """x [rows, heads, T, n], position by position (Su et al. 2021)"""
    n = x.shape[-1]
    frequency = 10000 ** (-2 * torch.arange(n // 2, dtype=torch.float64, device=x.device) / n)
    angle = torch.arange(x.shape[2], dtype=torch.float64, device=x.device)[:, None] * frequency.repeat(2)
    half = torch.cat((-x[..., n // 2:], x[..., :n // 2]), -1)
    return x * angle.cos().to(x.dtype) + half * angle.sin().to(x.dtype)


class Attention(nn.Module):
    def __init__(self, o, rotary=False):
        super().__init__()
        self.heads, self.composed, self.rotary = o["heads"], o["composed"], rotary
        self.kv_heads = o["kv-heads"] or self.heads
        self.key_size = o["head-size"] or o["dim"] // o["heads"]
        self.value_size = o["value-size"] or self.key_size
        self.scale = self.key_size ** -0.5 if o["score"] == "scaled-dot" else 1.0
        if o["qk-norm"]:
            self.query_norm, self.key_norm = (nn.RMSNorm(self.key_size, eps=1e-5) for _ in range(2))
        self.query = nn.Linear(o["dim"], self.heads * self.key_size, bias=o["bias"])
        self.key = nn.Linear(o["dim"], self.kv_heads * self.key_size, bias=o["bias"])
        self.value = nn.Linear(o["dim"], self.kv_heads * self.value_size, bias=o["bias"])
        self.out = nn.Linear(self.heads * self.value_size, o["dim"])

    def forward(self, x, memory, causal, seen=None):
        """x [rows, T, D] over memory [rows, S, D]; seen [rows, S]: which of these there are, where not all are"""
        rows, length, _ = x.shape

        def by_head(y, heads, size):
            return y.view(rows, y.shape[1], heads, size).transpose(1, 2)

        q = by_head(self.query(x), self.heads, self.key_size)
        k = by_head(self.key(memory), self.kv_heads, self.key_size)
        v = by_head(self.value(memory), self.kv_heads, self.value_size)
        if hasattr(self, "query_norm"):
            q, k = self.query_norm(q), self.key_norm(k)
        if self.rotary:
            q, k = rotated(q), rotated(k)
        if self.kv_heads < self.heads:
            k, v = (y.repeat_interleave(self.heads // self.kv_heads, 1) for y in (k, v))
        mask = None if seen is None else seen[:, None, None, :]
        if self.composed:
            scores = q @ k.transpose(-2, -1) * self.scale
            if causal:
                hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
                scores = scores.masked_fill(hidden, -math.inf)
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            y = scores.softmax(-1) @ v
        else:
            y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=self.scale)
        return self.out(y.transpose(1, 2).reshape(rows, length, self.heads * self.value_size))


class Block(nn.Module):
    def __init__(self, o, causal, crosses=False):
        super().__init__()
        self.pre, self.activation, self.causal = o["norm"] != "post", activation_of(o["activation"]), causal
        self.attention = Attention(o, o["positions"] == "rotary")
        if crosses:
            self.cross, self.norm_cross = Attention(o), norm_of(o)
        self.norm1, self.norm2 = norm_of(o), norm_of(o)
        if o["norm"] == "sandwich":
            self.norm1_out, self.norm2_out = norm_of(o), norm_of(o)
            if crosses:
                self.norm_cross_out = norm_of(o)
        self.ff = nn.ModuleDict({"in": nn.Linear(o["dim"], o["ff"]), "out": nn.Linear(o["ff"], o["dim"])})
        if o["gate"]:
            self.ff["gate"] = nn.Linear(o["dim"], o["ff"])

    def feed_forward(self, x):
        h = self.ff["in"](x)
        return self.ff["out"](self.activation(self.ff["gate"](x)) * h if "gate" in self.ff else self.activation(h))

    def branch(self, name, x, inside):
        norm, norm_out = getattr(self, name), getattr(self, name + "_out", lambda y: y)
        return x + norm_out(inside(norm(x))) if self.pre else norm(x + inside(x))

    def forward(self, x, memory=None, seen=None):
        """seen: of the memory, or of x where there is none"""
        own = seen if memory is None else None
        x = self.branch("norm1", x, lambda z: self.attention(z, z, self.causal, own))
        if memory is not None:
            x = self.branch("norm_cross", x, lambda z: self.cross(z, memory, False, seen))
        return self.branch("norm2", x, self.feed_forward)


class Body(nn.Module):
    """What charlm and classifier have: words and positions looked up, blocks, and with pre-norm a norm after them."""

    def __init__(self, o, causal):
        super().__init__()
        self.smoothing = o["smoothing"]
        self.token_embedding = nn.Embedding(o["words"], o["dim"])
        if o["positions"] == "learned":
            self.position_embedding = nn.Embedding(o["context"], o["dim"])
        elif o["positions"] == "sinusoid":
            self.register_buffer("waves", sinusoids(o["context"], o["dim"]), persistent=False)
        self.positions = o["positions"]
        self.blocks = nn.ModuleList(Block(o, causal) for _ in range(o["depth"]))
        if o["norm"] != "post":
            self.norm = norm_of(o)
        self.pre = o["norm"] != "post"

    def body(self, ids):
        x = self.token_embedding(ids)
        if self.positions == "learned":
            x = x + self.position_embedding.weight[: ids.shape[1]]
        elif self.positions == "sinusoid":
            x = x + self.waves[: ids.shape[1]].to(x.dtype)
        for block in self.blocks:
            x = block(x)
        return self.norm(x) if self.pre else x


def mean_loss(y, targets, smoothing):
    """Over all targets that are not negative."""
    y = y if y.dtype == torch.float64 else y.float()
    return functional.cross_entropy(y.reshape(-1, y.shape[-1]), targets.reshape(-1), ignore_index=-1,
                                    label_smoothing=smoothing)


class CharacterModel(Body):
    def __init__(self, o):
        super().__init__(o, True)
        self.tied = o["tie"]
        if not self.tied:
            self.logits = nn.Linear(o["dim"], BYTES)

    def forward(self, ids, targets):
        x = self.body(ids)
        y = functional.linear(x, self.token_embedding.weight) if self.tied else self.logits(x)
        return mean_loss(y, targets, self.smoothing)


class ClassifierModel(Body):
    def __init__(self, o):
        super().__init__(o, False)
        self.pool = {"first": lambda x: x[:, 0], "average": lambda x: x.mean(1), "max": lambda x: x.amax(1)}[o["pool"]]
        self.logits = nn.Linear(o["dim"], CLASSES)

    def forward(self, ids, labels):
        return mean_loss(self.logits(self.pool(self.body(ids))), labels, self.smoothing)


class Translator(nn.Module):
    """encdec: one table for source, target and logits, or three."""

    def __init__(self, o):
        super().__init__()
        self.o, self.scale = o, math.sqrt(o["dim"])
        for name in ["embedding"] if o["tie"] else ["source_embedding", "target_embedding"]:
            setattr(self, name, nn.Embedding(o["words"], o["dim"]))
        if not o["tie"]:
            self.logits = nn.Linear(o["dim"], o["words"])
        if o["positions"] == "learned":
            self.source_position_embedding = nn.Embedding(o["context"], o["dim"])
            self.target_position_embedding = nn.Embedding(o["context"], o["dim"])
        elif o["positions"] == "sinusoid":
            self.register_buffer("waves", sinusoids(o["context"], o["dim"]), persistent=False)
        for table in (part for part in self.children() if isinstance(part, nn.Embedding)):
            nn.init.normal_(table.weight, std=1 / self.scale)  # as encdec begins
        self.encoder = self.stack(o["depth"], False, False)
        self.decoder = self.stack(o["decoder-depth"] or o["depth"], True, True)

    def stack(self, depth, causal, crosses):
        parts = {str(i): Block(self.o, causal, crosses) for i in range(depth)}
        return nn.ModuleDict(parts | ({"norm": norm_of(self.o)} if self.o["norm"] != "post" else {}))

    def embed(self, side, ids):
        x = self.scale * (self.embedding if self.o["tie"] else getattr(self, side + "_embedding"))(ids)
        if self.o["positions"] == "learned":
            return x + getattr(self, side + "_position_embedding").weight[: ids.shape[1]]
        return x + self.waves[: ids.shape[1]].to(x.dtype) if self.o["positions"] == "sinusoid" else x

    def forward(self, ids, targets):
        """ids: sources [rows, S]; targets that begin with </s> [rows, T]; which of the sources' ids there are, or None"""
        source, target, seen = ids
        memory, x = self.embed("source", source), self.embed("target", target)
        for part in self.encoder.values():
            memory = part(memory, None, seen) if isinstance(part, Block) else part(memory)
        for part in self.decoder.values():
            x = part(x, memory, seen) if isinstance(part, Block) else part(x)
        y = functional.linear(x, self.embedding.weight) if self.o["tie"] else self.logits(x)
        return mean_loss(y, targets, self.o["smoothing"])


def sinusoids(context, dim):
    angle = torch.arange(context).double()[:, None] / 10000 ** (torch.arange(0, dim, 2).double() / dim)
    return torch.stack([angle.sin(), angle.cos()], -1).reshape(context, -1)[:, :dim]


# ---- files

def read_safetensors(path):
    """Weights by name, and the options of the model that they belong to."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header, data = json.loads(file.read(size)), file.read()
    metadata, weights = header.pop("__metadata__", {}), {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        kind = {"F32": np.float32, "F64": np.float64}[tensor["dtype"]]
        values = np.frombuffer(data[begin:end], kind).reshape(tensor["shape"])
        weights[name] = torch.from_numpy(values.copy())
    return weights, json.loads(metadata.get("model", "{}"))


def unpacked(path):
    """A text as charlm reads it: .gz, .bz2, .xz and .zip by their first bytes."""
    with open(path, "rb") as file:
        data = file.read()
    for magic, unpack in ((b"\x1f\x8b", gzip.decompress), (b"BZh", bz2.decompress), (b"\xfd7zXZ", lzma.decompress)):
        if data.startswith(magic):
            return unpack(data)
    if data.startswith(b"PK\3\4"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(archive.namelist()[0])
    return data


def training_part(path, sha256):
    """What charlm trains on: all but a twentieth for validation and one for tests; of enwik8, 90 million bytes."""
    data = unpacked(path)
    if sha256 and hashlib.sha256(data).hexdigest() != sha256:
        sys.exit(f"{path} is not what the run learnt from: its sha256 is another")
    text = np.frombuffer(data, np.uint8)
    part = 5_000_000 if len(text) == 100_000_000 else len(text) // 20
    return text[: len(text) - 2 * part]


def read_log(path):
    """Loss by step, where a run has learnt."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return {int(line[0]): float(line[2]) for line in lines[1:]}


# ---- charlm's batches: base/philox.c and charlm/data.c once more

def philox(seed, step, counter, site):
    """Philox4x32-10 with key (seed, step): four words."""
    mask = 0xFFFFFFFF
    c = [counter & mask, counter >> 32 & mask, 0, site]
    for _ in range(10):
        even, odd = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(odd >> 32) ^ c[1] ^ seed, odd & mask, (even >> 32) ^ c[3] ^ step, even & mask]
        seed, step = (seed + 0x9E3779B9) & mask, (step + 0xBB67AE85) & mask
    return c


def philox_below(n, seed, step, index, site):
    """A whole number in [0,n): 64 random bits scaled."""
    words = philox(seed, step, index // 2, site)[2 * (index % 2):][:2]
    return ((words[0] << 32 | words[1]) * n) >> 64


def training_batch(text, context, rows, seed, step):
    begins = [philox_below(len(text) - context, seed, step, r, SITE_DATA) for r in range(rows)]
    windows = np.stack([text[b: b + context + 1] for b in begins]).astype(np.int64)
    return torch.from_numpy(windows[:, :-1].copy()), torch.from_numpy(windows[:, 1:].copy())


# ---- a step

class Trainer:
    def __init__(self, model, a, o):
        self.model, self.a, self.clip = model, a, o["clip"]
        self.run = torch.compile(model, mode=a.mode) if a.compile else model
        decayed = [p for p in model.parameters() if p.dim() == 2]
        others = [p for p in model.parameters() if p.dim() != 2]
        groups = [{"params": decayed, "weight_decay": o["decay"]}, {"params": others, "weight_decay": 0.0}]
        how = dict(lr=o["lr"], betas=o["betas"], eps=o["epsilon"])
        try:
            self.adam = torch.optim.AdamW(groups, fused=True, **how)
        except (RuntimeError, TypeError):
            self.adam = torch.optim.AdamW(groups, **how)

    def step(self, ids, targets, rate):
        for group in self.adam.param_groups:
            group["lr"] = rate
        self.adam.zero_grad(set_to_none=True)
        if self.a.precision == "bf16":
            with torch.autocast(self.a.device, dtype=torch.bfloat16):
                loss = self.run(ids, targets)
        else:
            loss = self.run(ids, targets)
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.adam.step()
        return loss.detach()


def bench(trainer, a, o, parameters):
    rows, length = o["batch"], o["context"]
    if a.program == "encdec":
        length = o["length"]
        rows = max(o["batch-tokens"] // length, 1) if o["batch-tokens"] else rows

    def random(most, *shape):
        return torch.randint(0, most, shape, device=a.device)

    ids = random(o["words"], rows, length)
    if a.program == "encdec":
        ids, targets = (ids, random(o["words"], rows, length), None), random(o["words"], rows, length)
    else:
        targets = random(BYTES, rows, length) if a.program == "charlm" else random(CLASSES, rows)
    wait = torch.cuda.synchronize if a.device == "cuda" else lambda: None
    first = float(trainer.step(ids, targets, 1e-4))
    for _ in range(2 if a.device == "cpu" else 10):
        trainer.step(ids, targets, 1e-4)
    times = []
    for _ in range(a.steps or 10):
        wait()
        begin = time.perf_counter()
        trainer.step(ids, targets, 1e-4)
        wait()
        times.append(time.perf_counter() - begin)
    step = statistics.median(times)
    print(json.dumps({
        "peer": "torch " + torch.__version__, "program": a.program, "device": a.device,
        "precision": a.precision,
        "compile": (a.mode or True) if a.compile else False, "fused_attention": not o["composed"],
        "threads": torch.get_num_threads(), "parameters": parameters, "step_s": round(step, 5),
        "fastest_s": round(min(times), 5), "tokens_per_s": round(rows * length / step, 1),
        "first_loss": round(first, 4)}))


def follow(trainer, a, o, text, log):
    """Trains on charlm's batches; says loss by loss how far charlm was from it."""
    largest = 0.0
    print("step\tloss (bits/byte)" + ("\tcharlm's\tdifference" if log else ""), flush=True)
    for step in range(1, (a.steps or max(log, default=50)) + 1):
        ids, targets = training_batch(text, o["context"], o["batch"], o["seed"], step)
        rate = o["lr"] * min(1.0, step / o["warmup"] if o["warmup"] else 1.0)
        loss = float(trainer.step(ids.to(a.device), targets.to(a.device), rate)) / math.log(2)
        line = f"{step}\t{loss:.6f}"
        if step in log:
            largest = max(largest, abs(loss - log[step]))
            line += f"\t{log[step]:.6f}\t{loss - log[step]:+.6f}"
        print(line, flush=True)
    if log:
        print(f"largest difference: {largest:.6f} bits/byte", file=sys.stderr)


# ---- options

MODEL = {"dim": 256, "heads": 8, "kv-heads": 0, "head-size": 0, "value-size": 0, "depth": 12, "ff": 0, "context": 256,
         "window": 0, "norm-kind": "layer", "gate": False, "qk-norm": False,
         "activation": "relu", "norm": "post", "positions": "learned", "score": "scaled-dot", "bias": False,
         "tie": False, "words": BYTES, "pool": "average", "decoder-depth": 0}
TRAINING = {"batch": 32, "lr": 1e-4, "warmup": 156, "decay": 0.0, "clip": 1.0, "epsilon": 1e-8, "seed": 1,
            "betas": "0.9,0.999", "smoothing": 0.0, "batch-tokens": 0, "length": 32}
OF_PROGRAM = {"charlm": {}, "classifier": {"dim": 128, "depth": 6, "context": 512, "words": 50000, "batch": 4},
              "encdec": {"dim": 512, "depth": 6, "ff": 2048, "context": 512, "words": 37000, "positions": "sinusoid",
                         "bias": True, "tie": True, "batch-tokens": 25000, "smoothing": 0.1, "clip": 0.0,
                         "betas": "0.9,0.98", "epsilon": 1e-9}}
MUST_BE = {"window": 0, "distances": "none", "dropout": 0, "attention-dropout": 0, "ff-dropout": 0, "schedule": "constant"}


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", choices=list(OF_PROGRAM))
    for name, standard in {**MODEL, **TRAINING}.items():
        if isinstance(standard, bool):
            p.add_argument("--" + name, action="store_true", default=None)
        else:
            p.add_argument("--" + name, type=type(standard), default=None, help=f"({standard})")
    p.add_argument("--run", help="a run of charlm that has a checkpoint of step 0")
    p.add_argument("--weights", help="a safetensors file")
    p.add_argument("--data", help="the text to train on; any file that charlm reads")
    p.add_argument("--steps", type=int, default=0, help="(10; with --run, as many as its log has)")
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--device", default="cpu")
    p.add_argument("--precision", choices=["f32", "tf32", "bf16", "f64"], default="f32")
    p.add_argument("--compile", action="store_true")
    p.add_argument("--mode", help="torch.compile's mode")
    p.add_argument("--composed", action="store_true", help="attention as products and a softmax, not one call")
    return p, p.parse_args()


def options_of(p, a):
    """Defaults, then what run and file say, then the command line."""
    o, stored, weights, log = {**MODEL, **TRAINING, **OF_PROGRAM[a.program]}, {}, None, {}
    if a.program != "charlm" and (a.run or a.weights or a.data):
        p.error("--run, --weights and --data are charlm's")
    a.sha256 = None
    if a.run:
        with open(os.path.join(a.run, "config.json")) as file:
            config = json.load(file)
        stored = {**config["model"], **config["training"]}
        a.data = a.data or stored.get("data")
        a.sha256 = config["data"]["sha256"]
        a.weights = a.weights or os.path.join(a.run, "checkpoints", "00000000", "model.safetensors")
        log = read_log(os.path.join(a.run, "log.tsv"))
        if not a.data:
            p.error("the run learnt from charlm's built-in text: give --data data/prose.txt")
    if a.weights:
        weights, model = read_safetensors(a.weights)
        stored = {**model, **stored}
    o.update({k: v for k, v in stored.items() if k in o or k in MUST_BE})
    o.update({k: v for k in o if (v := getattr(a, k.replace("-", "_"), None)) is not None})
    if o["score"] not in ("scaled-dot", "dot"):
        p.error(f"the peer's attention has no score {o['score']}: only scaled-dot and dot")
    for key, value in MUST_BE.items():
        if o.get(key, value) != value:
            p.error(f"--{key} {o[key]} is not built here, only {value}")
    if a.program == "charlm" and o["words"] != BYTES:
        p.error("--words is classifier's: charlm reads bytes")
    if a.program == "classifier" and o["tie"]:
        p.error("--tie is charlm's: classes have no vectors in the table of words")
    if o["pool"] not in ("first", "average", "max"):
        p.error(f"--pool {o['pool']} is not one of first, average, max")
    if bool(a.weights) != bool(a.data):
        p.error("--weights and --data go together")
    o["ff"] = o["ff"] or 4 * o["dim"]
    o["composed"] = a.composed
    o["betas"] = tuple(float(b) for b in o["betas"].split(","))
    return o, weights, log


def main():
    p, a = parse()
    o, weights, log = options_of(p, a)
    if a.threads:
        torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = a.precision == "tf32"
    model = {"charlm": CharacterModel, "classifier": ClassifierModel, "encdec": Translator}[a.program](o).to(a.device)
    if weights is not None:
        model.load_state_dict(weights)  # refuses what is missing or too much
    if a.precision == "f64":
        model.double()
    trainer = Trainer(model, a, o)
    if weights is not None:
        follow(trainer, a, o, training_part(a.data, a.sha256), log)
    else:
        bench(trainer, a, o, sum(q.numel() for q in model.parameters()))


if __name__ == "__main__":
    main()
