"""The engines that bench/compare.py lets take turns. Each is a class whose `measure` runs one
process and returns {"prefill": tokens/s, "decode": tokens/s, …}, and whose `version` names it. None:
it does not know the model's architecture.
"""
import json
import pathlib
import subprocess
import sys
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent


@dataclass(frozen=True)
class Work:
    """What one run does: tokens after `depth` tokens of context; 0 skips a kind."""
    threads: int
    n_prompt: int
    n_decode: int
    depth: int


def call_json(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode and "unknown model architecture" in done.stderr:
        return None
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def read_gb_s(binary, threads):
    """How fast memory is read right now; the rate drifts by a factor of two."""
    return call_json(binary, "bench", "--reads", "-t", threads)["read_gb_s"]


class Ours:
    name = "ours"

    def __init__(self, binary, packed):
        self.binary, self.packed = binary, packed
        self.version = None

    def measure(self, file, work):
        report = call_json(self.binary, "bench", "--model", file, "-p", work.n_prompt, "-n",
                           work.n_decode, "-d", work.depth, "-t", work.threads, "-r", 1, "--packed-cache",
                           self.packed, "--json")
        speeds = {kind: report[kind]["tokens_per_s"] for kind in ("prefill", "decode")
                  if report[kind]}
        shares = {kind: report[kind]["limit_fraction"] for kind in speeds}
        return {**speeds, "shares": shares, "report": report}


class LlamaCpp:
    """llama-cpp-python, by its C interface, in a process of its own."""
    name = "llama.cpp"

    def __init__(self):
        self.version = subprocess.run(
            [sys.executable, "-c", "import llama_cpp; print(llama_cpp.__version__)"],
            capture_output=True, text=True, check=True).stdout.strip()

    def measure(self, file, work):
        return call_json(sys.executable, HERE / "peer.py", "speed", file, work.threads,
                         work.n_prompt, work.n_decode, work.depth)


class IkLlama:
    """ik_llama.cpp's llama-bench with its fast settings: flash attention, weights repacked at load.
    It has no prefill at a depth."""
    name = "ik_llama.cpp"

    def __init__(self, binary):
        self.binary = binary
        self.version = None

    def measure(self, file, work):
        command = [self.binary, "-m", file, "-t", work.threads, "-r", 1, "-fa", 1, "-rtr", 1,
                   "-mmp", 0, "-v", "-o", "json"]
        if work.depth:
            command += ["-p", 0, "-n", 0, "-gp", f"{work.depth},{work.n_decode}"]
        else:
            command += ["-p", work.n_prompt, "-n", work.n_decode]
        rows = call_json(*command)
        if rows is None:
            return None
        self.version = rows[0]["build_commit"]
        speeds = {}
        for row in rows:
            is_prefill = row["n_gen"] == 0
            speeds["prefill" if is_prefill else "decode"] = row["avg_ts"]
        return speeds
