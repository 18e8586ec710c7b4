#!/usr/bin/env python3
"""Damaged configs and GGUF files of every family's golden models: the program computes, or refuses with
a message; it neither crashes, nor hangs, nor takes more memory than a limit.

    hostile_models.py --binary build/release/apps/ruvllm/ruvllm --source . [--count 400] [--seed 1]

A config gets up to three values that do not belong there; a GGUF file has bytes of its first 6000
changed, or loses its end. Drafting heads of files of their own are tried beside their models. Standard
library only.
"""
import argparse
import json
import math
import pathlib
import random
import resource
import struct
import subprocess
import sys
import tempfile

VALUES = [0, -1, 1, 2, 3, 2**31 - 1, 2**31, 2**53, 2**63 - 1, -2**63, 1e308, -1e308, 0.5, 1e-30, None,
          True, False, "x", "", [], {}, [0], [1] * 5, [-1] * 3, [2**40], {"a": 1}, "NaN", [["a"]],
          [1e300] * 4]
HEAD_BYTES = 6000
MEMORY_BYTES = 6 << 30
SECONDS = 60  # a hundred times what a case takes


def write_folder(folder, case, config):
    """The case with this config and weights of zeros."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    header, end = {}, 0
    for name, *_, shape, _, _ in case["tensors"]:
        begin, end = end, end + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))


def damaged_config(config, d):
    config = json.loads(json.dumps(config))
    for _ in range(d.choice((1, 1, 2, 3))):
        key = d.choice(sorted(config))
        if key not in ("model_type", "architectures") or d.random() < 0.2:
            config[key] = d.choice(VALUES)
    return config


def damaged_file(file, d):
    file = bytearray(file)
    for _ in range(d.choice((1, 2, 4))):
        at = d.randrange(8, min(len(file), HEAD_BYTES))
        file[at] = d.choice((0, 1, 255, 128, file[at] ^ 1 << d.randrange(8)))
    return file[:d.randrange(len(file))] if d.random() < 0.1 else file


class Program:
    def __init__(self, binary):
        self.binary = binary

    def call(self, *arguments):
        limit = (MEMORY_BYTES, MEMORY_BYTES)
        return subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True,
                              errors="replace", timeout=SECONDS,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))

    def fault(self, path, model=None):
        """What is wrong with the program's way to take this model, or this head for a model; empty:
        nothing."""
        cached = ["--packed-cache", "off"]
        calls = [["info", "--model", path]]
        if model is None:
            calls.append(["logits", "--model", path, "--ids", "1,2,3", *cached])
        else:
            calls.append(["run", "--model", model, "--draft-model", path, *cached, "text"])
        for command in calls:
            try:
                done = self.call(*command)
            except subprocess.TimeoutExpired:
                return f"{command[0]}: no answer in {SECONDS} s"
            if done.returncode not in (0, 1):
                return f"{command[0]}: exit code {done.returncode}: {done.stderr[-200:]}"
            if done.returncode and not (done.stderr + done.stdout).strip():
                return f"{command[0]}: exit code 1 without a message"
        return ""


def damaged_heads(args, program, d, scratch):
    """Faults of heads with damaged configs, and of files whose header is damaged."""
    folder_of_cases = args.source / "tests/golden/heads"
    cases = [case for name in ("eagle", "medusa")
             for case in json.loads((folder_of_cases / f"{name}.json").read_text())]
    model, folder, faults = scratch / "model", scratch / "head", []
    for number in range(args.heads):
        case = d.choice(cases)
        write_folder(model, case, case["config"])
        config = case["head"]["config"]
        write_folder(folder, case["head"], config if number % 2 else damaged_config(config, d))
        if number % 2:
            weights = folder / "model.safetensors"
            weights.write_bytes(damaged_file(weights.read_bytes(), d))
        fault = program.fault(folder, model)
        if fault:
            faults.append(f"head {number} of seed {args.seed}: {fault}\n  {json.dumps(config)}")
    return faults


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--binary", required=True)
    p.add_argument("--source", type=pathlib.Path, required=True)
    p.add_argument("--count", type=int, default=400, help="damaged models")
    p.add_argument("--heads", type=int, default=40, help="damaged heads")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    program, d, faults = Program(args.binary), random.Random(args.seed), []
    families = {path.stem: [case for case in json.loads(path.read_text()) if "refused_by" not in case]
                for path in sorted((args.source / "tests/golden/families").glob("*.json"))}
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch:
        folder, file = pathlib.Path(scratch) / "model", pathlib.Path(scratch) / "model.gguf"
        for number in range(args.count):
            family = d.choice(sorted(families))
            case = d.choice(families[family])
            as_file = number % 2 == 1
            config = case["config"] if as_file else damaged_config(case["config"], d)
            write_folder(folder, case, config)
            if as_file:
                made = program.call("quantize", "--model", folder, "--out", file, "--type", "f32",
                                    "--force")
                if made.returncode:
                    continue  # such a family has no GGUF files
                file.write_bytes(damaged_file(file.read_bytes(), d))
            fault = program.fault(file if as_file else folder)
            if fault:
                faults.append(f"{family}, {number} of seed {args.seed}: {fault}\n  {json.dumps(config)}")
        faults += damaged_heads(args, program, d, pathlib.Path(scratch))
    print("\n".join(faults))
    print(f"{args.count} damaged models of {len(families)} families and {args.heads} damaged heads, "
          f"{len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
