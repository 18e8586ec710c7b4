"""A client of /v1/completions that costs the measured machine little: while an answer streams it
only keeps the bytes and when they came; events are parsed when the stream has ended.
"""
import asyncio
import bisect
import json
import re
import time
from dataclasses import dataclass, field

WORD = re.compile(r"w(\d+)")


@dataclass
class Answer:
    """Times are seconds on time.perf_counter; `times[i]` is when `counts[i]` tokens came."""
    sent: float
    ended: float
    times: list = field(default_factory=list)
    counts: list = field(default_factory=list)
    tokens: list = field(default_factory=list)  # of a counting model, whose words tell their ids
    text: str = ""
    n_prompt: int = 0
    n_cached: int = 0
    usage: dict = field(default_factory=dict)
    finish: str = ""
    error: str = ""

    @property
    def first_ms(self):
        return 1e3 * (self.times[0] - self.sent)

    def gaps_ms(self, begin=0.0, end=float("inf")):
        """Waits between two arrivals that both lie in the window."""
        inside = [t for t in self.times if begin <= t <= end]
        return [1e3 * (b - a) for a, b in zip(inside, inside[1:])]

    def n_between(self, begin, end):
        return sum(n for t, n in zip(self.times, self.counts) if begin <= t <= end)

    @property
    def n_tokens(self):
        return sum(self.counts)


def unchunked(raw, begin):
    """The body, and of each chunk where it begins there and where in the raw bytes."""
    body, begins = bytearray(), []
    while True:
        line_end = raw.find(b"\r\n", begin)
        if line_end < 0:
            return bytes(body), begins
        size = int(raw[begin:line_end].split(b";")[0] or b"0", 16)
        if size == 0:
            return bytes(body), begins
        begins.append((len(body), line_end + 2))
        body += raw[line_end + 2:line_end + 2 + size]
        begin = line_end + 2 + size + 2


class Stream(asyncio.Protocol):
    """One request on a connection of its own. `run` may be cancelled: the connection is closed and
    `answer` tells what came until then."""

    def __init__(self, port, prompt, n_tokens, **fields):
        body = {"model": "m", "prompt": prompt, "max_tokens": n_tokens, "temperature": 0,
                "stream": True, "stream_options": {"include_usage": True}, **fields}
        data = json.dumps(body, separators=(",", ":")).encode()
        self.port = port
        self.request = (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data)
                        ) + data
        self.raw, self.offsets, self.arrivals = bytearray(), [], []
        self.n_events = 0
        self.closed = None
        self.sent = self.ended = 0.0

    async def run(self):
        loop = asyncio.get_running_loop()
        self.closed = loop.create_future()
        transport, _ = await loop.create_connection(lambda: self, "127.0.0.1", self.port)
        try:
            self.sent = time.perf_counter()
            transport.write(self.request)
            await self.closed
        finally:
            self.ended = time.perf_counter()
            transport.abort()
        return self.answer()

    def data_received(self, data):
        self.arrivals.append(time.perf_counter())
        self.raw += data
        self.offsets.append(len(self.raw))
        self.n_events += data.count(b"data: ")
        if b"data: [DONE]" in data:  # some servers keep the connection
            self.connection_lost(None)

    def connection_lost(self, _):
        if not self.closed.done():
            self.closed.set_result(None)

    async def until(self, n_events):
        """Waits until so many events came."""
        while self.n_events < n_events and not self.ended:
            await asyncio.sleep(0.002)

    def arrival(self, raw_end):
        at = bisect.bisect_left(self.offsets, raw_end)
        return self.arrivals[min(at, len(self.arrivals) - 1)]

    def answer(self):
        answer = Answer(self.sent, self.ended or time.perf_counter())
        head_end = self.raw.find(b"\r\n\r\n")
        if head_end < 0:
            answer.error = "no answer"
            return answer
        head = bytes(self.raw[:head_end]).lower()
        status = head.split(b" ", 2)[1]
        if b"chunked" in head:
            body, begins = unchunked(self.raw, head_end + 4)
        else:
            body, begins = bytes(self.raw[head_end + 4:]), [(0, head_end + 4)]
        if status != b"200":
            answer.error = f"{status.decode()} {body[:300].decode(errors='replace')}"
            return answer
        self.read_events(body, begins, answer)
        return answer

    def read_events(self, body, begins, answer):
        position = 0
        for event in body.split(b"\n\n"):
            position += len(event) + 2
            if not event.startswith(b"data: ") or event == b"data: [DONE]":
                if event.startswith(b"error"):
                    answer.error = event[:300].decode(errors="replace")
                continue
            try:
                content = json.loads(event[6:])
            except ValueError:
                continue  # cut off by a cancel
            in_body, in_raw = begins[bisect.bisect_left(begins, (position, 0)) - 1]
            read_event(content, self.arrival(in_raw + position - in_body), answer)


def read_event(content, arrived, answer):
    if "error" in content:
        answer.error = str(content["error"])[:300]
        return
    for choice in content.get("choices") or ():
        if text := choice.get("text"):
            tokens = [int(x) for x in WORD.findall(text)]
            answer.times.append(arrived)
            answer.counts.append(len(tokens) or 1)
            answer.tokens += tokens
            answer.text += text
        answer.finish = choice.get("finish_reason") or answer.finish
    if usage := content.get("usage"):
        answer.usage = usage
        answer.n_prompt = usage.get("prompt_tokens", 0)
        details = usage.get("prompt_tokens_details") or {}
        answer.n_cached = details.get("cached_tokens", answer.n_cached)
    if timings := content.get("timings"):
        answer.n_cached = timings.get("cache_n", answer.n_cached)


async def ask(port, prompt, n_tokens, **fields):
    """The whole answer. Raises RuntimeError when the server refuses."""
    answer = await Stream(port, prompt, n_tokens, **fields).run()
    if answer.error:
        raise RuntimeError(answer.error)
    return answer


async def get_json(port, path, method="GET", body=None):
    """(status, JSON or None) of one plain request."""
    data = json.dumps(body).encode() if body is not None else b""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
                     .encode() + data)
        raw = bytearray()
        head_end, wanted = -1, None
        while piece := await reader.read(1 << 16):
            raw += piece
            if head_end < 0 and (head_end := raw.find(b"\r\n\r\n")) >= 0:
                length = re.search(rb"content-length: (\d+)", bytes(raw[:head_end]).lower())
                wanted = head_end + 4 + int(length.group(1)) if length else None
            if wanted is not None and len(raw) >= wanted:
                break
    finally:
        writer.close()
    status = int(raw.split(b" ", 2)[1])
    body = bytes(raw[head_end + 4:])
    if b"chunked" in bytes(raw[:head_end]).lower():
        body, _ = unchunked(raw, head_end + 4)
    try:
        return status, json.loads(body)
    except ValueError:
        return status, None
