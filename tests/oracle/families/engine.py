"""What the program makes of a folder or a GGUF file: one process per model."""
import json
import subprocess

import numpy as np

TIMEOUT_SECONDS = 60


class Answer:
    """rows: logits of all positions for each prompt, or None; message: the program's refusal;
    fault: why neither counts (a signal, a time-out, an exit code it does not document)."""

    def __init__(self, rows=None, message="", fault=""):
        self.rows, self.message, self.fault = rows, message, fault


class Engine:
    def __init__(self, binary):
        self.binary = str(binary)

    def call(self, *arguments):
        """(stdout, message, fault)"""
        command = [self.binary, *map(str, arguments)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_SECONDS, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return "", "", f"no answer in {TIMEOUT_SECONDS} s"
        if done.returncode not in (0, 1):
            return "", "", f"exit code {done.returncode}: {done.stderr[-300:]}"
        if done.returncode == 1 and not done.stderr.strip():
            return "", "", "exit code 1 without a message"
        return done.stdout, done.stderr.strip() if done.returncode else "", ""

    def logits(self, path, prompts, gives="logits", second=0, source=0, adapters=()):
        """gives: hidden, of an encoder its states; scores, of a classifier one row. source: ids of a
        prompt that are a text to be answered. adapters: folders of PEFT."""
        ids = [word for prompt in prompts for word in ("--ids", ",".join(map(str, prompt)))]
        out, message, fault = self.call("logits", "--model", path, "--packed-cache", "off", "--kv",
                                        "f16", "--threads", 1, "--json", "--all",
                                        *[f"--{gives}"] * (gives != "logits"),
                                        *["--second", second] * (second > 0),
                                        *["--source", source] * (source > 0),
                                        *[word for path in adapters for word in ("--lora", path)],
                                        *ids)
        if message or fault:
            return Answer(message=message, fault=fault)
        lines = out.splitlines()
        if len(lines) != len(prompts):
            return Answer(fault=f"{len(lines)} answers to {len(prompts)} prompts")
        rows = [np.array(json.loads(line)[gives], dtype=np.float64) for line in lines]
        return Answer(rows)

    def quantize(self, folder, out, kind):
        _, message, fault = self.call("quantize", "--model", folder, "--out", out, "--type", kind,
                                      "--force")
        return Answer(message=message, fault=fault)
