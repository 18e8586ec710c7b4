"""Starts `ruvllm serve` for tests, and asks it over plain sockets."""
import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import unittest
import urllib.error
import urllib.request

START_TIMEOUT_S = 60
SKIP = 77


# What the person that runs the tests has set for the program must not reach it.
for name in [name for name in os.environ if name.startswith("RUVLLM_")]:
    del os.environ[name]
os.environ["RUVLLM_CONFIG"] = "off"


class Server:
    """A running server on a free port. Use it in a with statement."""

    binary = ""
    model = ""

    def __init__(self, *arguments):
        command = [Server.binary, "serve", "--alias", "nano", *map(str, arguments)]
        if "--socket-file" not in arguments:
            command += ["--port", "0"]
        if Server.model:
            command += ["--model", Server.model]
        self.said = []
        self._listening = threading.Event()
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()
        if not self._listening.wait(START_TIMEOUT_S) or not self.where:
            self.process.kill()
            self.process.wait()
            self.process.stderr.close()
            raise RuntimeError("the server did not start: " + "".join(self.said))

    where = ""  # what it says that it listens on
    port = 0

    def _read_stderr(self):
        for line in self.process.stderr:
            self.said.append(line)
            if line.startswith("listening on "):
                self.where = line.removeprefix("listening on ").strip()
                if self.where.startswith(("http://", "https://")):
                    self.port = int(self.where.rsplit(":", 1)[1])
                self._listening.set()
        self._listening.set()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        is_running = self.process.poll() is None
        code = self.stop()
        if is_running and code != 0 and kind is None:
            raise AssertionError(f"the server ended with code {code}: {''.join(self.said[-5:])}")

    def stop(self, how=signal.SIGTERM):
        """The exit code after a signal."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(timeout=60)
        self._reader.join(timeout=10)
        self.process.stderr.close()
        return code

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)

    def post(self, path, body):
        """(status, JSON) of a body given as JSON or as bytes."""
        return self.ask("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode())

    def ask(self, method, path, data=None):
        """(status, JSON) of a request with the bytes of a body, or none."""
        request = urllib.request.Request(self.url + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def n_running(self):
        load = self.get("/health")["load"]
        return load["n_running"] + load["n_waiting"]

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def open_stream(self, path, body):
        """A socket that has sent the request and received the first event: of an answer without any
        text, as of control tokens only, that is the last one."""
        connection = self.connect()
        data = json.dumps(body).encode()
        head = (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(data)}\r\n\r\n")
        connection.sendall(head.encode() + data)
        seen = b""
        while b'"finish_reason":' not in seen:
            more = connection.recv(65536)
            if not more:
                raise RuntimeError(f"the stream ended early: {seen!r}")
            seen += more
        return connection


def find_model(source):
    """The built-in model, or the one it is made from; None when neither is here."""
    data = os.environ.get("RUV_DATA_DIR") or os.path.join(source, "..", "shared", "data")
    for path in (os.path.join(source, "models", "ruvltra-nano-q8_0.gguf"),
                 os.path.join(data, "trained", "nano", "ruvltra-nano-f16.gguf")):
        if os.path.exists(path):
            return path
    return None


def run_tests():
    """The tests of the program that is run, with the binary and model that its arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    Server.binary = arguments.binary
    Server.model = find_model(arguments.source)
    if not Server.model:
        print("skipped: there is no model; models/ruvltra-nano-q8_0.gguf is missing")
        sys.exit(SKIP)
    unittest.main(argv=[sys.argv[0], "-v", *arguments.tests])


def need_package(name):
    """The package, or the end with the code of a skipped test."""
    try:
        return __import__(name)
    except ImportError:
        print(f"skipped: the Python package '{name}' is missing; "
              "install tests/e2e/requirements.txt with pip")
        sys.exit(SKIP)
