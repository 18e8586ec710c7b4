#!/usr/bin/env python3
"""Whether GGUF files that we write mean the same to llama.cpp: random models of all families, what
llama-cpp-python computes of their f32 files against transformers: logits, of encoders hidden states.

    compare_peer.py --count 4 --seed 1
    compare_peer.py --family gemma4 --count 10

Prints how many of each family agree, differ, or are not loaded and why. A peer may not know an
architecture, a setting or a shape, and has errors of its own, so no difference fails: each is a
question, which file is right. Needs torch, transformers, numpy and llama-cpp-python.
"""
import argparse
import collections
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

from families import reference, verdicts, weights
from families.engine import Engine
from families.records import FAMILIES

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BOUND = 0.02  # of the logits' standard deviation: keys and values in f16, other kernels
PEER = """
import ctypes, json, sys
import numpy as np
import llama_cpp as peer
log = peer.llama_log_callback(
    lambda level, text, user: sys.stderr.write(text.decode(errors="replace")) if level >= 3 else None)
peer.llama_log_set(log, ctypes.c_void_p(0))
model = peer.llama_model_load_from_file(sys.argv[1].encode(), peer.llama_model_default_params())
if not model:
    sys.exit(3)
prompts, is_encoder = json.loads(sys.argv[2]), sys.argv[3] == "hidden"
params = peer.llama_context_default_params()
longest = max(map(len, prompts))
params.n_ctx, params.n_batch, params.n_ubatch = longest + 8, longest, longest
params.n_threads = params.n_threads_batch = 1
params.type_k = params.type_v = 0  # float32
if is_encoder:
    params.embeddings, params.pooling_type = True, peer.LLAMA_POOLING_TYPE_NONE
ctx = peer.llama_init_from_model(model, params)
if not ctx:
    sys.exit(3)
n_vocab = peer.llama_vocab_n_tokens(peer.llama_model_get_vocab(model))
batch = peer.llama_batch_init(longest, 0, 1)
alone = is_encoder and peer.llama_model_has_encoder(model)
answers = []
for ids in prompts:
    if not is_encoder:
        peer.llama_memory_clear(peer.llama_get_memory(ctx), True)
    batch.n_tokens = len(ids)
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, i, 1
        batch.seq_id[i][0], batch.logits[i] = 0, True
    if (peer.llama_encode if alone else peer.llama_decode)(ctx, batch) != 0:
        sys.exit(4)
    found, n = ((peer.llama_get_embeddings, peer.llama_model_n_embd(model)) if is_encoder else
                (peer.llama_get_logits, n_vocab))
    answers.append(np.ctypeslib.as_array(found(ctx), shape=(len(ids), n)).tolist())
print(json.dumps(answers))
"""


def without_tokenizer(file):
    """Says in the file that it has none, which llama.cpp asks for. What is put in has the length of
    whole alignments, so that nothing behind it moves against its place."""
    def entry(key, value):
        return (struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(value)) + value)

    raw = file.read_bytes()
    n_entries = struct.unpack_from("<Q", raw, 16)[0]
    added = entry(b"tokenizer.ggml.model", b"none")
    room = -(len(added) + len(entry(b"general.url", b""))) % 32
    added += entry(b"general.url", b"x" * room)
    file.write_bytes(raw[:16] + struct.pack("<Q", n_entries + 2) + added + raw[24:])


def peer_rows(file, prompts, gives):
    """(rows of each prompt, why there are none)"""
    done = subprocess.run([sys.executable, "-c", PEER, str(file), json.dumps(prompts), gives],
                          capture_output=True, text=True, errors="replace", timeout=120)
    if done.returncode:
        said = re.findall(r"error loading model: (.*)|(GGML_ASSERT.*)", done.stderr)
        why = said[-1][0] or said[-1][1] if said else f"exit code {done.returncode}"
        return None, why.strip()[:110]
    return [np.array(rows) for rows in json.loads(done.stdout)], ""


def one(family, number, seed, binary):
    """(verdict, detail)"""
    case = FAMILIES[family].draw(f"{seed}/{family}/{number}")
    engine = Engine(binary)
    try:
        trial = verdicts.Trial(case, engine)
        if trial.gives == "scores":
            return "classifier", ""
        with tempfile.TemporaryDirectory(prefix="peer-") as scratch:
            trial.folder = pathlib.Path(scratch) / "model"
            weights.write_folder(trial.folder, case["config"], trial.tensors, case["file"])
            file = pathlib.Path(scratch) / "f32.gguf"
            if trial.engine.quantize(trial.folder, file, "f32").message:
                return "refused", ""
            why = trial.ask_reference()
            if why:
                return "no reference", why
            without_tokenizer(file)
            rows, why = peer_rows(file, trial.prompts, trial.gives)
    except reference.Refused as refused:
        return "no reference", str(refused)
    if rows is None:
        return "not loaded", why
    worst = verdicts.difference(rows, trial.want)
    return ("agree" if worst <= BOUND else "differ"), f"{worst:.1e}"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--family", nargs="+", default=list(FAMILIES))
    p.add_argument("--count", type=int, default=3)
    p.add_argument("--seed", default="1")
    p.add_argument("--binary", type=pathlib.Path,
                   default=SOURCE / "build/release/apps/ruvllm/ruvllm")
    args = p.parse_args()
    for family in args.family:
        outcomes = [one(family, n, args.seed, args.binary) for n in range(args.count)]
        counts = collections.Counter(verdict for verdict, _ in outcomes)
        details = sorted({detail for verdict, detail in outcomes
                          if verdict in ("differ", "not loaded")})
        print(f"{family}: {', '.join(f'{n} {verdict}' for verdict, n in counts.items())}"
              f"{'; ' if details else ''}{'; '.join(details)}", flush=True)


if __name__ == "__main__":
    main()
