#!/usr/bin/env python3
"""The engine that benchmarks compare with, llama-cpp-python, behind two jobs. Each runs in a process
of its own, so that its threads and memory do not touch our runs. Prints one JSON object.

    peer.py speed MODEL.gguf THREADS N_PROMPT N_DECODE DEPTH     N_PROMPT or N_DECODE may be 0
    peer.py nll   MODEL.gguf THREADS FILE.jsonl [LOGITS]
        lines {"ids": […], "score": [0 or 1, …]}; LOGITS gets the logits of every scored token
"""
import ctypes
import json
import random
import resource
import sys
import time

import numpy as np

import llama_cpp as peer


def quiet():
    callback = peer.llama_log_callback(lambda level, text, user: None)
    peer.llama_log_set(callback, ctypes.c_void_p(0))
    return callback


def load(path, threads, n_ctx):
    started = time.perf_counter()
    model = peer.llama_model_load_from_file(path.encode(), peer.llama_model_default_params())
    if not model:
        sys.exit(f"{path}: the peer cannot load it")
    params = peer.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = n_ctx, max(n_ctx, 512), 512
    params.n_threads = params.n_threads_batch = threads
    ctx = peer.llama_init_from_model(model, params)
    n_vocab = peer.llama_vocab_n_tokens(peer.llama_model_get_vocab(model))
    return model, ctx, n_vocab, (time.perf_counter() - started) * 1000


def decode(ctx, batch, ids, start, all_logits):
    batch.n_tokens = len(ids)
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, start + i, 1
        batch.seq_id[i][0], batch.logits[i] = 0, all_logits or i + 1 == len(ids)
    if peer.llama_decode(ctx, batch) != 0:
        sys.exit("the peer cannot decode")


def clear(ctx):
    peer.llama_memory_clear(peer.llama_get_memory(ctx), True)


def speed(path, threads, n_prompt, n_decode, depth):
    """Tokens per second after `depth` tokens of context."""
    model, ctx, n_vocab, load_ms = load(path, threads, depth + max(n_prompt, n_decode, 16) + 1)
    memory = peer.llama_get_memory(ctx)
    batch = peer.llama_batch_init(512, 0, 1)
    draw = random.Random(1)

    def run(start, n, chunk):
        """Seconds of n tokens from `start`, which replace what was there."""
        peer.llama_memory_seq_rm(memory, 0, start, -1)
        started = time.perf_counter()
        for at in range(0, n, chunk):
            ids = [draw.randrange(n_vocab) for _ in range(min(chunk, n - at))]
            decode(ctx, batch, ids, start + at, False)
            peer.llama_synchronize(ctx)
        return time.perf_counter() - started

    run(0, depth, 512)
    run(depth, 16, 16)  # for warmth
    run(depth, 4, 1)
    report = {"load_ms": load_ms, "version": peer.__version__}
    if n_prompt:
        report["prefill"] = n_prompt / run(depth, n_prompt, 512)
    if n_decode:
        report["decode"] = n_decode / run(depth, n_decode, 1)
    report["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return report


def nll(path, threads, file, logits=None):
    lines = [json.loads(line) for line in open(file, encoding="utf-8")]
    longest = max(len(line["ids"]) for line in lines)
    model, ctx, n_vocab, _ = load(path, threads, longest)
    batch = peer.llama_batch_init(longest, 0, 1)
    total = n_scored = 0
    out = open(logits, "wb") if logits else None
    for line in lines:
        ids, score = line["ids"], line.get("score") or [1] * len(line["ids"])
        clear(ctx)
        decode(ctx, batch, ids, 0, True)
        rows = np.ctypeslib.as_array(peer.llama_get_logits(ctx), shape=(len(ids), n_vocab))
        marked = np.array(score[1:], dtype=bool)
        if out:
            rows[:-1][marked].tofile(out)
        rows = rows[:-1].astype(np.float64)
        top = rows.max(axis=1)
        log_sum = top + np.log(np.exp(rows - top[:, None]).sum(axis=1))
        losses = log_sum - rows[np.arange(len(ids) - 1), ids[1:]]
        total += float(losses[marked].sum())
        n_scored += int(marked.sum())
    if out:
        out.close()
    return {"nll": total / n_scored, "perplexity": float(np.exp(total / n_scored)),
            "n_scored": n_scored, "version": peer.__version__}


if __name__ == "__main__":
    kept = quiet()
    job, path, threads, *rest = sys.argv[1:]
    if job == "speed":
        print(json.dumps(speed(path, int(threads), *map(int, rest))))
    else:
        print(json.dumps(nll(path, int(threads), *rest)))
