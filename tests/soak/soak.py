#!/usr/bin/env python3
"""Hours of mixed traffic at one `ruvllm serve`: chats of several turns in all its APIs, streams that
are hung up (20 %), requests that are malformed (20 %), too long (10 %) or too late, forms, tenants,
kept responses, a cache folder that fills up. Prints the server's memory every 10 s and fails when it
grows after warm-up, when the answer to a fixed question changes, or when the server ends. Not part
of CI: it takes long on purpose.

Usage: soak.py --binary RUVLLM --source FOLDER [--minutes 120] [--clients 4] [--max-slope 2]
Exit code 0: nothing grew; 1: it did, or something else was wrong; 77: no model to test with.
"""
import argparse
import json
import os
import random
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from server import Server, find_model

SKIP = 77
SAMPLE_S = 10
CHAT = "/v1/chat/completions"
RAW = "/v1/completions"
SYSTEM = "You answer in short sentences, and you always stay friendly and exact. "
WORDS = ("river stone seven apple garden question winter music paper light table number "
         "friend window story green bread city").split()
FIXED = {"model": "nano", "prompt": "Once upon a time, there was a small", "max_tokens": 24, "temperature": 0}


def rss_kib(pid):
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def slope_kib_per_minute(samples):
    """Of the line through (seconds, KiB) with the least squared error."""
    n = len(samples)
    mean_x = sum(x for x, _ in samples) / n
    mean_y = sum(y for _, y in samples) / n
    spread = sum((x - mean_x) ** 2 for x, _ in samples)
    return 60 * sum((x - mean_x) * (y - mean_y) for x, y in samples) / spread if spread else 0.0


class Traffic:
    """Clients that ask at random until they are told to stop."""

    def __init__(self, server, n_clients, seed, pause_s):
        self.server = server
        self.pause_s = pause_s
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.counts = {}
        self.wrong = []
        self.fixed_text = None
        self.threads = [threading.Thread(target=self._client, args=(seed + i,), daemon=True)
                        for i in range(n_clients)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(timeout=120)

    def _count(self, kind, fault=None):
        with self.lock:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if fault:
                self.wrong.append(f"{kind}: {fault}")

    def _client(self, seed):
        rng = random.Random(seed)
        kinds = [(self.chat, 3), (self.fixed, 4), (self.hang_up, 8), (self.malformed, 8),
                 (self.too_long, 4), (self.too_late, 2), (self.many, 1), (self.messages, 2),
                 (self.respond, 2), (self.in_background, 2), (self.ollama, 2), (self.form, 2)]
        asks = [ask for ask, weight in kinds for _ in range(weight)]
        while not self.stopping.is_set():
            ask = rng.choice(asks)
            try:
                ask(rng)
            except (OSError, ValueError, RuntimeError) as error:
                if not self.stopping.is_set():
                    self._count(ask.__name__, repr(error))
                    time.sleep(0.5)
            self.stopping.wait(rng.uniform(0, 2 * self.pause_s))

    def _expect(self, kind, answer, allowed):
        status, body = answer
        self._count(kind, None if status in allowed else f"status {status}: {str(body)[:200]}")
        return body

    def _terms(self, rng):
        return {"user": f"tenant {rng.randrange(2000)}" if rng.random() < 0.5 else "a",
                "priority": rng.choice(["low", "normal", "high", "critical"]),
                "temperature": rng.choice([0, 0.9]), "max_tokens": rng.randrange(1, 48)}

    def chat(self, rng):
        """A few turns, each of which begins with all that was said before."""
        messages = [{"role": "system", "content": SYSTEM * rng.randrange(1, 5)}]
        terms = self._terms(rng)
        for _ in range(rng.randrange(1, 4)):
            messages.append({"role": "user", "content": " ".join(rng.choices(WORDS, k=8)) + "?"})
            body = self._expect("chat", self.server.post(CHAT, {"model": "nano", "messages": messages,
                                                          **terms}),
                                {200, 429})
            if "choices" not in body:
                return
            messages.append({"role": "assistant",
                             "content": body["choices"][0]["message"]["content"] or ""})

    def fixed(self, _rng):
        body = self._expect("fixed", self.server.post(RAW, FIXED), {200, 429})
        if "choices" not in body:
            return
        text = body["choices"][0]["text"]
        with self.lock:
            if self.fixed_text is None:
                self.fixed_text = text
            if text != self.fixed_text:
                self.wrong.append(f"fixed: '{text}' was '{self.fixed_text}'")

    def hang_up(self, rng):
        body = {"model": "nano", "prompt": " ".join(rng.choices(WORDS, k=rng.randrange(1, 150))),
                "stream": True, "ignore_eos": True, "max_tokens": 400}
        with self.server.open_stream(RAW, body) as connection:
            if rng.random() < 0.5:
                self._read_more(connection)
        self._count("hang_up")

    @staticmethod
    def _read_more(connection):
        connection.settimeout(1)
        try:
            connection.recv(4096)
        except socket.timeout:
            pass  # there is no more

    def malformed(self, rng):
        bodies = [b"{", b"", b"[]", b'{"messages": 3}', b'{"messages": [{"role": "user"}]}',
                  b'{"prompt": "a", "max_tokens": -4}', b'{"prompt": "\xff\xfe"}', b"\0" * 100,
                  b'{"prompt": "a", "temperature": "hot"}', b"[" * 5000]
        if rng.random() < 0.7:
            self._expect("malformed", self.server.post(rng.choice([CHAT, RAW]), rng.choice(bodies)),
                         {400, 413, 422})
            return
        with self.server.connect() as connection:
            connection.sendall(rng.choice([b"GARBAGE\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Le",
                                           b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n"]))
            self._read_more(connection)
        self._count("malformed")

    def too_long(self, rng):
        prompt = " ".join(rng.choices(WORDS, k=3000))
        self._expect("too_long", self.server.post(RAW, {"model": "nano", "prompt": prompt}), {400, 413})

    def too_late(self, rng):
        body = {"model": "nano", "prompt": " ".join(rng.choices(WORDS, k=200)),
                "timeout_ms": rng.randrange(1, 30), "ignore_eos": True, "max_tokens": 300}
        self._expect("too_late", self.server.post(RAW, body), {200, 408, 429, 503, 504})

    def _turn(self, rng):
        return {"role": "user", "content": " ".join(rng.choices(WORDS, k=8)) + "?"}

    def messages(self, rng):
        self._expect("messages", self.server.post("/v1/messages", {
            "model": "nano", "system": SYSTEM, "messages": [self._turn(rng)],
            "max_tokens": rng.randrange(1, 32)}), {200, 429})

    def respond(self, rng):
        """A response, one that continues it, and the end of the first."""
        terms = {"model": "nano", "max_output_tokens": rng.randrange(16, 32)}
        body = self._expect("respond", self.server.post("/v1/responses", {
            **terms, "input": [self._turn(rng)]}), {200, 429})
        if "id" not in body:
            return
        self._expect("respond", self.server.post("/v1/responses", {
            **terms, "input": "And then?", "previous_response_id": body["id"]}), {200, 429})
        if rng.random() < 0.5:
            self._expect("respond", self.server.ask("DELETE", f"/v1/responses/{body['id']}"), {200})

    def in_background(self, rng):
        body = self._expect("in_background", self.server.post("/v1/responses", {
            "model": "nano", "input": [self._turn(rng)], "background": True,
            "max_output_tokens": 300}), {200, 429})
        if "id" in body and rng.random() < 0.8:
            self._expect("in_background", self.server.post(f"/v1/responses/{body['id']}/cancel", {}),
                         {200, 400})

    def ollama(self, rng):
        self._expect("ollama", self.server.post("/api/chat", {
            "model": "nano", "messages": [self._turn(rng)], "stream": False,
            "options": {"num_predict": rng.randrange(1, 32)}}), {200, 429, 503})

    def form(self, rng):
        """An answer in a form that is new to the server, so that it compiles one."""
        name = f"name{rng.randrange(10000)}"
        schema = {"type": "object", "properties": {name: {"type": "integer", "maximum": 99}},
                  "required": [name], "additionalProperties": False}
        body = self._expect("form", self.server.post(CHAT, {
            "model": "nano", "messages": [self._turn(rng)], "max_tokens": 60,
            "response_format": {"type": "json_schema",
                                "json_schema": {"name": "it", "schema": schema}}}), {200, 429})
        if "choices" in body and body["choices"][0]["finish_reason"] == "stop":
            content = json.loads(body["choices"][0]["message"]["content"])
            if list(content) != [name]:
                raise ValueError(f"{content} has not the form with {name}")

    def many(self, rng):
        body = {"model": "nano", "prompt": " ".join(rng.choices(WORDS, k=20)), "n": 6, **self._terms(rng)}
        self._expect("many", self.server.post(RAW, body), {200, 429})


def watch(server, traffic, minutes):
    """(seconds, KiB) of the server's memory until the time is over or the server ended."""
    samples = []
    begin = time.monotonic()
    while time.monotonic() - begin < 60 * minutes and server.process.poll() is None:
        time.sleep(SAMPLE_S)
        if server.process.poll() is not None:
            break
        at = time.monotonic() - begin
        samples.append((at, rss_kib(server.process.pid)))
        with traffic.lock:
            counts = " ".join(f"{kind} {n}" for kind, n in sorted(traffic.counts.items()))
            n_wrong = len(traffic.wrong)
        print(f"{at:7.0f} s  {samples[-1][1] / 1024:8.1f} MiB  wrong {n_wrong}  {counts}", flush=True)
    return samples


def main():
    parser = argparse.ArgumentParser(description="Mixed traffic for hours; memory must not grow.")
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0, metavar="SECONDS",
                        help="mean pause of a client between two requests (default 0)")
    parser.add_argument("--warm-up", type=float, default=0.4, metavar="SHARE",
                        help="of the samples that do not count (default 0.4)")
    parser.add_argument("--max-slope", type=float, default=2, metavar="MIB",
                        help="MiB that memory may grow in an hour (default 2)")
    arguments = parser.parse_args()
    Server.binary = arguments.binary
    Server.model = find_model(arguments.source) or ""
    if not Server.model:
        print("skipped: the built-in model is not here")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="ruv-soak-") as folder:
        # Small enough that pages go from memory and from disk all the time.
        with Server("--parallel", 3, "--threads", 1, "--cache-dir", folder, "--cache-disk", 64,
                    "--cache-tokens", 4096) as server:
            traffic = Traffic(server, arguments.clients, arguments.seed, arguments.pause)
            traffic.start()
            samples = watch(server, traffic, arguments.minutes)
            ended = server.process.poll()
            traffic.stop()
            load = server.get("/health")["load"] if ended is None else None
        disk = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    warm = samples[int(len(samples) * arguments.warm_up):]
    for fault in traffic.wrong[:20]:
        print("wrong:", fault)
    if ended is not None:
        print(f"the server ended with code {ended}:", "".join(server.said[-20:]))
        return 1
    slope = 60 * slope_kib_per_minute(warm) / 1024 if len(warm) > 2 else float("nan")
    print(json.dumps({"minutes": arguments.minutes, "requests": sum(traffic.counts.values()),
                      "rss_mib": round(samples[-1][1] / 1024, 1), "slope_mib_per_hour": round(slope, 2),
                      "disk_mib": round(disk / 2**20, 1), "wrong": len(traffic.wrong),
                      "load": load}))
    return 1 if traffic.wrong or not slope <= arguments.max_slope else 0


if __name__ == "__main__":
    sys.exit(main())
