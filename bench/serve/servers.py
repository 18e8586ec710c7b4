"""The servers that take turns: ours, llama.cpp's and ik_llama.cpp's, each started as it is fastest
on the same model file, with the same threads, contexts and numbers of streams.
"""
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

START_S = 120


@dataclass(frozen=True)
class Settings:
    n_streams: int = 1
    n_ctx: int = 2048  # of one stream
    kept: int = 65536  # tokens that ours keeps in memory; the others may keep 8 GiB, their default
    folder: str = ""  # of what outlives the process: our page store, others' saved slots
    drafts: bool = False  # others: speculation from the text itself
    watched: bool = False  # /metrics is there, which others do not have by default
    logs: bool = False  # ours: requests are logged as JSON, in a file too


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as r:
            return r.status == 200
    except (OSError, urllib.error.URLError):
        return False


class Running:
    """A server's process, until the `with` ends. `without_cache` and `without_drafts` are fields
    of a request that switch these off where the server has them. `log`: a file that it writes to,
    which lives as long."""

    def __init__(self, name, command, without_cache, without_drafts, log=None):
        self.name, self.port = name, int(command[command.index("--port") + 1])
        self.without_cache, self.without_drafts = without_cache, without_drafts
        self.log_file = log
        self.log = tempfile.TemporaryFile()
        self.child = subprocess.Popen([str(c) for c in command], stdout=self.log,
                                      stderr=subprocess.STDOUT)
        self.begin = time.perf_counter()

    def __enter__(self):
        while not answers(self.port):
            if self.child.poll() is not None or time.perf_counter() - self.begin > START_S:
                self.child.kill()
                raise RuntimeError(f"{self.name} did not start:\n{self.last_words()}")
            time.sleep(0.02)
        self.start_s = time.perf_counter() - self.begin
        return self

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self):
        """As a power cut: no chance to write anything."""
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def last_words(self):
        self.log.seek(max(0, self.log.seek(0, os.SEEK_END) - 3000))
        return self.log.read().decode(errors="replace")

    def rss_bytes(self):
        """Resident memory that is no mapped file: model files are read as they are needed."""
        with open(f"/proc/{self.child.pid}/status") as f:
            return 1024 * next(int(x.split()[1]) for x in f if x.startswith("RssAnon:"))


class Ours:
    """Keys and values in f16, as the others keep theirs; a user's default is int8."""
    name = "ours"
    touches_late = True  # memory of contexts: when they are used first
    switches = {"cache_prompt": False}, {"speculative": False}

    def __init__(self, binary, packed):
        self.binary, self.packed = binary, packed
        self.flags = subprocess.run([binary, "serve", "--help"], capture_output=True,
                                    text=True).stdout
        self.version = None

    def start(self, model, threads, settings):
        command = [self.binary, "serve", "--alias", "m", "--port", free_port(), "--threads",
                   threads, "--packed-cache", self.packed, "--ctx", settings.n_ctx, "--parallel",
                   settings.n_streams, "--kv", "f16", *(["--model", model] if model else [])]
        if "--cache-tokens" in self.flags:
            command += ["--cache-tokens", max(settings.kept, settings.n_ctx * settings.n_streams)]
        if settings.folder:
            command += ["--cache-dir", settings.folder]
        log = tempfile.NamedTemporaryFile(prefix="ruv-bench-") if settings.logs else None
        if "--log-file" in self.flags:
            command += ["--log", "json", "--log-file", log.name] if log else ["--log", "off"]
        return Running(self.name, command, *self.switches, log=log)


class LlamaServer:
    """llama.cpp's server: flash attention, its prompt store in memory as it is by default."""
    name = "llama.cpp"
    touches_late = False
    fast = ("--flash-attn", "on")
    drafting = ("--spec-default",)

    def __init__(self, binary):
        self.binary = binary
        done = subprocess.run([binary, "--version"], capture_output=True, text=True)
        lines = [x for x in (done.stderr + done.stdout).splitlines() if x.startswith("version")]
        self.version = lines[0].split(":", 1)[1].strip() if lines else None

    def start(self, model, threads, settings):
        command = [self.binary, "--model", model, "--port", free_port(), "--threads", threads,
                   "--ctx-size", settings.n_ctx * settings.n_streams, "--parallel",
                   settings.n_streams, *self.fast]
        if settings.folder:
            command += ["--slot-save-path", settings.folder]
        if settings.drafts:
            command += self.drafting
        if settings.watched:
            command += ["--metrics"]
        return Running(self.name, command, {"cache_prompt": False}, {})


class IkServer(LlamaServer):
    """ik_llama.cpp's server, with its weights repacked at load."""
    name = "ik_llama.cpp"
    fast = ("--flash-attn", "on", "--run-time-repack")
    drafting = ("--spec-type", "suffix")


def all_sides(binary, packed, llama, ik):
    """{name: side} of those whose binary is given."""
    sides = [Ours(binary, packed)]
    sides += [LlamaServer(llama)] if llama else []
    sides += [IkServer(ik)] if ik else []
    return {side.name: side for side in sides}


def folder_bytes(folder):
    return sum(p.stat().st_size for p in pathlib.Path(folder).rglob("*") if p.is_file())
