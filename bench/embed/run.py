#!/usr/bin/env python3
"""Vectors of texts beside other engines, in one run: a random model in BERT-base's shape, texts of
mixed lengths, tokens per second of each and the cosine of each text's vectors to sentence-transformers'
in float32. All take turns, who begins changes every round, and medians are compared.

    bench/embed/run.py build/models/bert-base --texts 192 --rounds 3 --into docs/performance.md

Ours answers /v1/embeddings of `ruvllm serve`, in requests of 64 texts, so tokenizer, HTTP and JSON are
counted; the peers are called in this process, tokenizer included. llama.cpp reads the GGUF files that
`ruvllm quantize` writes. Needs torch, sentence-transformers, and llama-cpp-python.
"""
import argparse
import base64
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time
import urllib.request

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from tables import put_into  # noqa: E402

N_VOCAB = 30522
REQUEST = 64
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def write_model(folder):
    """A sentence-transformers folder: BERT-base, mean of all tokens, length 1."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast
    folder.mkdir(parents=True)
    source = folder / "bert"
    source.mkdir()
    words = list(SPECIAL) + [f"w{i}" for i in range(N_VOCAB - len(SPECIAL))]
    (source / "vocab.txt").write_text("\n".join(words) + "\n")
    BertTokenizerFast(str(source / "vocab.txt")).save_pretrained(source)
    torch.manual_seed(1)
    model = BertModel(BertConfig(vocab_size=N_VOCAB, initializer_range=0.05))
    model.save_pretrained(source)
    part = Transformer(str(source))
    pooling = Pooling(part.get_embedding_dimension(), pooling_mode="mean")
    SentenceTransformer(modules=[part, pooling, Normalize()]).save(str(folder / "st"))


def texts_of(n, seed):
    """Mostly short, some of a whole page: 4 to 500 tokens, the mean of about 110."""
    draw = random.Random(seed)
    for _ in range(n):
        n_words = min(498, max(2, int(draw.lognormvariate(4.3, 0.9))))
        yield " ".join(f"w{draw.randrange(N_VOCAB - len(SPECIAL))}" for _ in range(n_words))


class Ours:
    def __init__(self, name, model, binary, threads):
        self.name = name
        log = model.parent / f"{name.replace(' ', '-')}.log"
        self.server = subprocess.Popen(
            [binary, "serve", "--model", model, "--port", "0", "--alias", "m", "-t", str(threads)],
            stderr=log.open("w"), stdout=subprocess.DEVNULL)
        while not (found := re.search(r"^listening on (.*)$", log.read_text(), re.M)):
            if self.server.poll() is not None:
                raise SystemExit(log.read_text())
            time.sleep(0.1)
        self.url = found[1] + "/v1/embeddings"

    def ask(self, texts):
        body = json.dumps({"model": "m", "input": texts, "encoding_format": "base64"}).encode()
        asked = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked) as answer:
            return json.load(answer)

    def embed(self, texts):
        rows = []
        for first in range(0, len(texts), REQUEST):
            answer = self.ask(texts[first:first + REQUEST])
            rows += [np.frombuffer(base64.b64decode(d["embedding"]), np.float32)
                     for d in answer["data"]]
        return np.stack(rows)

    def count(self, texts):
        return sum(self.ask(texts[first:first + REQUEST])["usage"]["prompt_tokens"]
                   for first in range(0, len(texts), REQUEST))

    def close(self):
        self.server.terminate()
        self.server.wait()


class SentenceTransformers:
    def __init__(self, folder, threads):
        import torch
        from sentence_transformers import SentenceTransformer
        torch.set_num_threads(threads)
        self.name = "sentence-transformers f32"
        self.model = SentenceTransformer(str(folder), device="cpu")

    def embed(self, texts):
        return self.model.encode(texts, batch_size=32)

    def close(self):
        pass


class OnnxRuntime:
    """The same batches, sorted by length, padded to the longest."""

    def __init__(self, folder, threads):
        import onnxruntime
        import torch
        from transformers import AutoTokenizer, BertModel
        self.name = "ONNX Runtime f32"
        source = folder.parent / "bert"
        path = folder.parent / "bert.onnx"
        self.tokenizer = AutoTokenizer.from_pretrained(source)
        if not path.exists():
            bert = BertModel.from_pretrained(source, attn_implementation="eager").eval()

            class Hidden(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.bert = bert

                def forward(self, ids, mask):
                    return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

            ids = torch.ones((2, 8), dtype=torch.int64)
            dims = {0: "batch", 1: "length"}
            torch.onnx.export(Hidden(), (ids, ids), str(path), input_names=["ids", "mask"],
                              output_names=["hidden"], dynamo=False, opset_version=17,
                              dynamic_axes={"ids": dims, "mask": dims, "hidden": dims})
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(path), options,
                                                    providers=["CPUExecutionProvider"])

    def embed(self, texts):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        out = [None] * len(texts)
        for first in range(0, len(order), 32):
            chosen = order[first:first + 32]
            batch = self.tokenizer([texts[i] for i in chosen], padding=True, return_tensors="np")
            mask = batch["attention_mask"].astype(np.int64)
            hidden, = self.session.run(["hidden"], {"ids": batch["input_ids"].astype(np.int64),
                                                    "mask": mask})
            sums = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
            for i, row in zip(chosen, sums):
                out[i] = row / np.linalg.norm(row)
        return np.stack(out).astype(np.float32)

    def close(self):
        pass


class LlamaCpp:
    def __init__(self, name, file, threads):
        import llama_cpp
        self.name = name
        self.model = llama_cpp.Llama(str(file), embedding=True, n_ctx=2048, n_batch=2048,
                                     n_ubatch=2048, n_threads=threads, n_threads_batch=threads,
                                     pooling_type=llama_cpp.LLAMA_POOLING_TYPE_MEAN, verbose=False)

    def embed(self, texts):
        return np.array(self.model.embed(texts, normalize=True), dtype=np.float32)

    def close(self):
        self.model.close()


def made(folder, binary):
    if not folder.exists():
        write_model(folder)
    for kind in ("f16", "q8_0"):
        path = folder / f"bert-{kind}.gguf"
        if not path.exists():
            subprocess.run([binary, "quantize", "--model", folder / "st", "--type", kind, "--out",
                            path], check=True, stdout=subprocess.DEVNULL)


def sides_of(folder, binary, threads):
    yield Ours("ours f32", folder / "st", binary, threads)
    for kind in ("f16", "q8_0"):
        yield Ours(f"ours {kind}", folder / f"bert-{kind}.gguf", binary, threads)
        yield LlamaCpp(f"llama.cpp {kind}", folder / f"bert-{kind}.gguf", threads)
    yield SentenceTransformers(folder / "st", threads)
    yield OnnxRuntime(folder / "st", threads)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("folder", type=pathlib.Path, help="made when absent")
    p.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/apps/ruvllm/ruvllm")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--texts", type=int, default=192)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--into", type=pathlib.Path, help="the page that the table is put into")
    args = p.parse_args()
    made(args.folder, args.binary)
    texts = list(texts_of(args.texts, 1))
    sides = list(sides_of(args.folder, args.binary, args.threads))
    n_tokens = sides[0].count(texts)
    speeds, vectors = {side.name: [] for side in sides}, {}
    for turn in range(args.rounds):
        for side in sides if turn % 2 == 0 else reversed(sides):
            if turn == 0:
                side.embed(texts[:4])  # for warmth
            begin = time.perf_counter()
            vectors[side.name] = side.embed(texts)
            speeds[side.name].append(n_tokens / (time.perf_counter() - begin))
    reference = vectors["sentence-transformers f32"]
    lines = [f"{len(texts)} texts of {n_tokens / len(texts):.0f} tokens on average, {args.threads} "
             f"threads, medians of {args.rounds} rounds.", "", "| | tokens/s | least cosine |",
             "|---|---|---|"]
    for side in sides:
        cosine = (vectors[side.name] * reference).sum(1) / np.linalg.norm(
            vectors[side.name], axis=1) / np.linalg.norm(reference, axis=1)
        lines.append(f"| {side.name} | {statistics.median(speeds[side.name]):.0f} | "
                     f"{cosine.min():.6f} |")
        side.close()
    text = "\n".join(lines) + "\n"
    print(text)
    if args.into:
        put_into(args.into, text, "embed")


if __name__ == "__main__":
    main()
