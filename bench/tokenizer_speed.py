#!/usr/bin/env python3
"""Our tokenizers beside `tokenizers`, `tiktoken` and `sentencepiece` on the same files in the same
run: each vocabulary × kind of text, 1 MB, one thread, the first call of a fresh process. The sides
take turns; medians are compared.

    build/venv/bin/python bench/tokenizer_speed.py --binary build/release/apps/ruvllm/ruvllm --readme
    build/venv/bin/python bench/tokenizer_speed.py --binary … --only phi-2 --rounds 5

Prints a Markdown table (MB/s of ours, in brackets how many times the peer's), appends one JSON line
per vocabulary and kind to bench/results/tokenizers-<machine>.jsonl, and with --readme puts the table
between the marks tokenizers:begin and tokenizers:end of docs/speed.md.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests" / "oracle"))
BEGIN, END = "<!-- tokenizers:begin -->", "<!-- tokenizers:end -->"
SIZE = 1_000_000
# Vocabularies whose peer is a package's own reader of the same file.
SHOWN = ("tiktoken/cl100k_base", "tiktoken/qwen", "hf/phi-2", "hf/roberta-base", "hf/nano", "hf/moe",
         "hf/llama2", "hf/t5-small", "hf/bert-uncased-m2v", "sentencepiece/llama2",
         "sentencepiece/mistral-v3", "sentencepiece/sp-test-unigram-en")
FAMILY = "👨‍👩‍👧‍👦"


def filled(texts):
    """1 MB of whole characters of the texts, again from the beginning where they are shorter."""
    text = "".join(texts)
    while len(text.encode()) < SIZE:
        text += text
    return text.encode()[:SIZE].decode(errors="ignore")


def kinds_of_text(data):
    """{name: 1 MB}."""
    stdlib = pathlib.Path(os.__file__).parent
    code = [path.read_text(errors="replace") for path in sorted(stdlib.glob("*.py"))]
    objects = [path.read_text() for path in sorted((data / "function_calling").rglob("*.json*"))]
    japanese = (data / "text" / "wagahaiwa_nekodearu.txt").read_text()
    chinese = re.sub(r"[\u3040-\u30ff]", "", japanese)  # ideographs and signs only
    wikitext = next((data / "eval" / "wikitext-2").glob("*.txt")).read_text()
    return {"English": filled([wikitext]),
            "verse": filled([(data / "text" / "tinyshakespeare_train.txt").read_text()]),
            "code": filled(code), "JSON": filled(objects), "Chinese": filled([chinese]),
            "Japanese": filled([japanese]), "one letter": filled(["a" * SIZE]),
            "spaces": filled([" " * SIZE]), "dots": filled(["." * SIZE]),
            "ZWJ emoji": filled([FAMILY])}


def peer_main(vocabulary_name, path):
    """One call of the peer in this process; prints load_ms, first_ms, n_tokens."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["RAYON_NUM_THREADS"] = "1"
    import vocabularies
    found = {v.name: v for v in vocabularies.all_of(vocabularies.default_data())}[vocabulary_name]
    text = pathlib.Path(path).read_text()
    begin = time.perf_counter()
    peer = found.peer()
    loaded = time.perf_counter()
    if peer.name == "tokenizers":
        n_tokens = len(peer.tokenizer.encode(text, add_special_tokens=False).ids)
    elif peer.name == "tiktoken":
        n_tokens = len(peer.encoding.encode_ordinary(text))
    else:
        n_tokens = len(peer.processor.encode(text))
    ended = time.perf_counter()
    print(json.dumps({"peer": peer.name, "load_ms": 1e3 * (loaded - begin),
                      "first_ms": 1e3 * (ended - loaded), "n_tokens": n_tokens}))


def call_json(command, limit_s):
    """The object that the call prints, or why there is none: "slow" or "crashed"."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                              timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return "slow"
    return "crashed" if done.returncode else json.loads(done.stdout)


def measure(vocabulary, path, args):
    """Medians of both sides, who take turns."""
    sides = {"ours": [args.binary, "tokenize", "--model", vocabulary.path, "--file", path, "--time",
                      "--threads", 1, *vocabulary.arguments],
             "peer": [sys.executable, __file__, "--peer", vocabulary.name, "--text", path]}
    runs = {name: [] for name in sides}
    failed = {}
    for turn in range(args.rounds):
        for name in sorted(sides, reverse=turn % 2 == 1):
            run = failed.get(name) or call_json(sides[name], args.limit)
            if isinstance(run, str):
                failed[name] = run
            else:
                runs[name].append(run)
    if "ours" in failed:
        sys.exit(f"{sides['ours']}: {failed['ours']}")
    out = {"n_bytes": path.stat().st_size, "n_tokens": runs["ours"][0]["n_tokens"],
           "rounds": args.rounds}
    for name, found in runs.items():
        if found:
            first = statistics.median(run["first_ms"] for run in found)
            out[name] = {"mb_s": out["n_bytes"] / 1e3 / first,
                         "load_ms": statistics.median(run["load_ms"] for run in found),
                         "first_ms": [round(run["first_ms"], 2) for run in found]}
    if "peer" in failed:
        out["peer_failed"] = failed["peer"]
    elif runs["peer"]:
        out["peer"]["name"] = runs["peer"][0]["peer"]
        out["same_count"] = runs["peer"][0]["n_tokens"] == out["n_tokens"]
        out["ratio"] = out["ours"]["mb_s"] / out["peer"]["mb_s"]
    return out


def cell(result):
    ratio = f" ({result['ratio']:.0f}×)" if "ratio" in result else ""
    if "peer_failed" in result:
        ratio = f" (peer {result['peer_failed']})"
    return f"{result['ours']['mb_s']:.0f}{ratio}" + ("" if result.get("same_count", True) else " !")


def table(results, about):
    kinds = list(next(iter(results.values())))
    lines = [f"MB/s, in brackets how many times the peer's; 1 MB each, one thread, first call of a "
             f"process; {about['cpu']}, commit {about['commit']}.", "",
             "| vocabulary | peer | load, ms | " + " | ".join(kinds) + " |",
             "|" + "---|" * (3 + len(kinds))]
    for name, row in results.items():
        some = list(row.values())
        peer = next((r["peer"]["name"] for r in some if "peer" in r), "")
        load = statistics.median(r["ours"]["load_ms"] for r in some)
        lines.append(f"| {name} | {peer} | {load:.0f} | " +
                     " | ".join(cell(row[kind]) for kind in kinds) + " |")
    return "\n".join(lines) + "\n"


def circumstances():
    names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, text=True,
                            capture_output=True, check=True).stdout.strip()
    return {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": commit,
            "cpu": names[0] if names else "", "cores": os.cpu_count()}


def put_into_readme(text):
    path = ROOT / "docs/speed.md"
    readme = path.read_text()
    if BEGIN not in readme:
        sys.exit(f"docs/speed.md has no {BEGIN} … {END}")
    before, rest = readme.split(BEGIN, 1)
    path.write_text(before + BEGIN + "\n" + text + END + rest.split(END, 1)[1])


def run(args):
    import vocabularies
    data = vocabularies.default_data()
    about = circumstances()
    machine = re.sub(r"[^a-z0-9]+", "-", about["cpu"].lower()).strip("-") or "machine"
    results = {}
    with tempfile.TemporaryDirectory() as folder, \
            open(HERE / "results" / f"tokenizers-{machine}.jsonl", "a") as lines:
        files = {}
        for kind, text in kinds_of_text(data).items():
            files[kind] = pathlib.Path(folder) / f"{kind.replace(' ', '_')}.txt"
            files[kind].write_text(text)
        for vocabulary in vocabularies.all_of(data):
            if vocabulary.name not in SHOWN or not any(o in vocabulary.name for o in args.only or [""]):
                continue
            row = results[vocabulary.name] = {}
            for kind, path in files.items():
                row[kind] = measure(vocabulary, path, args)
                lines.write(json.dumps({"vocabulary": vocabulary.name, "text": kind, **about,
                                        **row[kind]}) + "\n")
                print(vocabulary.name, kind, cell(row[kind]), file=sys.stderr)
    text = table(results, about)
    text = text.replace("process; ", f"process; slow: more than {args.limit:.0f} s; ")
    print(text)
    if args.readme:
        put_into_readme(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", help="the program ruvllm")
    parser.add_argument("--only", action="append", help="vocabularies whose name holds this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60, help="seconds a side may take")
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--text", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        peer_main(args.peer, args.text)
    elif args.binary:
        run(args)
    else:
        parser.error("--binary is missing")


if __name__ == "__main__":
    main()
