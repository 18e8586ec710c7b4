"""Runs the ruvllm binary for tests: plain calls, and calls at a pseudo-terminal."""
import json
import os
import pty
import select
import subprocess
import time

MODEL_FILE = "ruvltra-nano-q8_0.gguf"
TIMEOUT_S = 120


class Program:
    """The binary under test and the model that tests use."""

    binary = ""
    source = ""
    model = ""

    @classmethod
    def find_model(cls):
        """The built-in model, or the one it is made from; empty when neither is here."""
        data = os.environ.get("RUV_DATA_DIR") or os.path.join(cls.source, "..", "shared", "data")
        for path in (os.path.join(cls.source, "models", MODEL_FILE),
                     os.path.join(data, "trained", "nano", "ruvltra-nano-f16.gguf")):
            if os.path.exists(path):
                return path
        return ""


def environment(**changes):
    """Without what the person that runs the tests has set for the program."""
    env = {key: value for key, value in os.environ.items()
           if key not in ("RUV_ISA", "NO_COLOR") and not key.startswith("RUVLLM_")}
    env["RUVLLM_CONFIG"] = "off"
    env.update(changes)
    return env


def call(*arguments, text="", env=None):
    """The finished call: returncode, stdout, stderr (texts)."""
    return subprocess.run([Program.binary, *map(str, arguments)], input=text, capture_output=True,
                          encoding="utf-8", timeout=TIMEOUT_S, env=environment(**(env or {})),
                          check=False)


def call_json(*arguments, code=0):
    """The one JSON object that a call prints, and nothing else on stdout."""
    done = call(*arguments)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert done.stdout.count("\n") == 1, done.stdout[:500]
    return json.loads(done.stdout)


def call_lines(lines, *arguments):
    """JSON objects in, JSON objects out, one a line."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    done = call(*arguments, text=text)
    return done, [json.loads(line) for line in done.stdout.splitlines()]


class Terminal:
    """The program at a pseudo-terminal, with what it wrote so far."""

    def __init__(self, *arguments, **env):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = environment(**{"TERM": "xterm", "LC_ALL": "C.UTF-8", **env})
            os.execve(Program.binary, [Program.binary, *map(str, arguments)], env)

    def send(self, data):
        os.write(self.fd, data)

    def wait_for(self, what, timeout_s=60):
        """Reads until `what` (bytes) was written after the last thing waited for."""
        deadline = time.monotonic() + timeout_s
        while what not in self.seen:
            assert time.monotonic() < deadline, f"no {what!r} in {self.seen!r}"
            if not self._read(0.1):
                assert what in self.seen, f"ended without {what!r}: {self.seen!r}"
        before, self.seen = self.seen.split(what, 1)
        return before

    def wait_for_more(self, n_bytes, timeout_s=60):
        """Reads until n_bytes more were written."""
        deadline = time.monotonic() + timeout_s
        while len(self.seen) < n_bytes:
            assert time.monotonic() < deadline, f"only {self.seen!r}"
            assert self._read(0.1), f"ended: {self.seen!r}"

    def close(self, timeout_s=30):
        """Reads to the end; the exit code (negative: the signal)."""
        deadline = time.monotonic() + timeout_s
        while self._read(0.1):
            assert time.monotonic() < deadline, f"does not end: {self.seen!r}"
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)

    def _read(self, timeout_s):
        """False when the program has closed the terminal."""
        if not select.select([self.fd], [], [], timeout_s)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # EIO: Linux's way to say that the other side is closed
            return False
        self.seen += data
        return bool(data)
