"""What forms cost a server: tokens per second of answers that are held to a schema beside the same
number of free tokens, with one stream and with eight, on a model with the shape of Llama 3.2 1B,
random weights and a real vocabulary.

    bench/grammar/serving.py --build build/release --vocabulary qwen.tiktoken --folder models

The schema is a list of records that has no end within the answer. Rounds are pairs of a free and a
held answer, in turns first; the median of the ratios of their times is shown with its quartiles,
and beside it free answers against themselves. `drafts` says whether tokens that the form forces are
guessed ahead; the comparison of one step with one step is without. Needs the packages of
bench/requirements.txt."""
import argparse
import base64
import concurrent.futures
import json
import pathlib
import statistics
import sys
import time
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(SOURCE / "bench"), str(SOURCE / "bench" / "serve")]

import random_gguf  # noqa: E402
from servers import Running, free_port  # noqa: E402

KIND = "q4_0"
NO_DRAFTS = {"speculative": False}
SHAPE = random_gguf.SHAPES["llama-3.2-1b"]._replace(n_vocab=151936)  # with Qwen's vocabulary
SCHEMA = {"type": "array", "minItems": 10000, "items": {
    "type": "object", "additionalProperties": False,
    "required": ["name", "kind", "count", "tags"],
    "properties": {"name": {"type": "string", "maxLength": 40},
                   "kind": {"enum": ["first", "second", "third"]},
                   "count": {"type": "integer", "minimum": 0, "maximum": 9999},
                   "tags": {"type": "array", "maxItems": 4,
                            "items": {"type": "string", "maxLength": 12}}}}}


def byte_letters():
    """GPT-2's letters for bytes: printable ones stand for themselves, others come from 256 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in plain]
    letters = {b: chr(b) for b in plain}
    letters.update({b: chr(256 + i) for i, b in enumerate(others)})
    return letters


def merge_of(token, ranks):
    """The two parts that byte pair encoding joins last."""
    parts = [bytes([b]) for b in token]
    while len(parts) > 2:
        pairs = [ranks.get(a + b, 1 << 30) for a, b in zip(parts, parts[1:])]
        at = min(range(len(pairs)), key=pairs.__getitem__)
        parts[at:at + 2] = [parts[at] + parts[at + 1]]
    return parts


def add_vocabulary(writer, path):
    lines = [line.split() for line in path.read_bytes().splitlines() if line]
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    letters = byte_letters()
    spell = lambda text: "".join(letters[b] for b in text)
    tokens = sorted(ranks, key=ranks.get)
    merges = [" ".join(map(spell, merge_of(token, ranks))) for token in tokens if len(token) > 1]
    names = [spell(token) for token in tokens]
    kinds = [1] * len(names)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    special += [f"<|unused_{i}|>" for i in range(SHAPE.n_vocab - len(names) - len(special))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(names + special)
    writer.add_token_types(kinds + [3] * len(special))
    writer.add_token_merges(merges)
    writer.add_eos_token_id(len(names))


def make_model(folder, vocabulary, binary):
    """The model, made when absent."""
    path = folder / f"forms-1b-{KIND}.gguf"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / "forms-1b-f16.gguf"
    print("writing a model of 1B weights …", file=sys.stderr)
    random_gguf.write(whole, SHAPE, "f16", "random weights", lambda w: add_vocabulary(w, vocabulary),
                      random_gguf.F16Block().add)
    random_gguf.quantise(binary, whole, KIND, path)
    whole.unlink()
    return path


class Asker:
    def __init__(self, port, n_streams, n_tokens, drafts):
        self.url = f"http://127.0.0.1:{port}/v1/completions"
        self.n_streams, self.n_tokens, self.drafts = n_streams, n_tokens, drafts

    def one(self, stream, held):
        body = {"model": "forms", "prompt": f"Stream {stream}:", "max_tokens": self.n_tokens,
                "seed": stream, "temperature": 1, "ignore_eos": True, **self.drafts}
        if held:
            body["response_format"] = {"type": "json_schema",
                                       "json_schema": {"name": "list", "schema": SCHEMA}}
        request = urllib.request.Request(self.url, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as response:
            answer = json.load(response)
        n = answer["usage"]["completion_tokens"]
        assert n == self.n_tokens, answer["choices"][0]

    def seconds(self, held):
        begin = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(self.n_streams) as pool:
            list(pool.map(lambda stream: self.one(stream, held), range(self.n_streams)))
        return time.perf_counter() - begin


def ratios(asker, rounds):
    """Pairs of (held to free, free to free) in time."""
    held, same = [], []
    for i in range(rounds):
        order = [True, False, False] if i % 2 == 0 else [False, False, True]
        times = [(kind, asker.seconds(kind)) for kind in order]
        free = [t for kind, t in times if not kind]
        held.append(next(t for kind, t in times if kind) / statistics.mean(free))
        same.append(free[0] / free[1])
    return held, same


def shown(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "release")
    parser.add_argument("--vocabulary", type=pathlib.Path, required=True, help="a tiktoken file")
    parser.add_argument("--folder", type=pathlib.Path, required=True, help="where the model is kept")
    parser.add_argument("--tokens", type=int, default=64, help="of an answer")
    parser.add_argument("--rounds", type=int, default=8)
    args = parser.parse_args()
    binary = args.build / "apps" / "ruvllm" / "ruvllm"
    model = make_model(args.folder, args.vocabulary, binary)
    command = [binary, "serve", "--model", model, "--packed-cache", "off", "--parallel", "8",
               "--ctx", "1024", "--alias", "forms", "--port", str(free_port())]
    print("| streams | drafts | time held / free | free / free |\n| --: | --- | --- | --- |")
    with Running("ruvllm", command, {}, NO_DRAFTS) as server:
        for n_streams in (1, 8):
            for drafts in (False, True):
                asker = Asker(server.port, n_streams, args.tokens,
                              {} if drafts else server.without_drafts)
                asker.seconds(True), asker.seconds(False)  # the form is found, memory touched
                held, same = ratios(asker, args.rounds)
                print(f"| {n_streams} | {'on' if drafts else 'off'} | {shown(held)} | "
                      f"{shown(same)} |", flush=True)


if __name__ == "__main__":
    main()
