"""What the benchmark's figures stand on: the oracle beside a slow one, streams cut anywhere.

    python -m unittest discover -s bench/serve
"""
import json
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from client import Stream  # noqa: E402
from goals.fairness import shares  # noqa: E402
from oracle import PrefixOracle  # noqa: E402
from traces import TRACES, answer_to  # noqa: E402


def slow_common(a, b):
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


class Oracle(unittest.TestCase):
    def test_equals_a_search_of_everything(self):
        rng, oracle, seen = random.Random(1), PrefixOracle(), []
        for _ in range(300):
            prompt = [rng.choice((0, 1, 255, 256, 70000)) for _ in range(rng.randint(1, 12))]
            slow = max((slow_common(prompt, s) for s in seen), default=0)
            self.assertEqual(oracle.shareable(prompt), min(slow, len(prompt) - 1))
            oracle.add(prompt, [5, 6])
            seen.append(prompt + [5])


class Traces(unittest.TestCase):
    def test_histories_hold_the_answers(self):
        trace = TRACES["chat"](3, 100000)
        for request in trace:
            if request.after >= 0:
                before = trace[request.after]
                whole = before.prompt + answer_to(before.prompt, before.n_answer)
                self.assertEqual(request.prompt[:len(whole)], whole)

    def test_answers_stay_in_the_vocabulary(self):
        for name, make in TRACES.items():
            for i, request in enumerate(make(3, 100000)):
                self.assertLess(request.after, i, name)
                self.assertTrue(all(0 <= t < 100000 for t in request.prompt), name)
                self.assertLess(answer_to(request.prompt, request.n_answer)[-1], 100000, name)


def event(**content):
    return f"data: {json.dumps(content)}\n\n".encode()


class Events(unittest.TestCase):
    body = (event(choices=[{"text": " w7"}]) + event(choices=[{"text": " w8 w9"}]) +
            event(choices=[], usage={"prompt_tokens": 5,
                                     "prompt_tokens_details": {"cached_tokens": 4}}) +
            b"data: [DONE]\n\n")

    def read(self, raw, n_cut):
        stream = Stream(0, [1], 1)
        stream.sent = 0.0
        for i, begin in enumerate(range(0, len(raw), n_cut)):
            stream.raw += raw[begin:begin + n_cut]
            stream.offsets.append(len(stream.raw))
            stream.arrivals.append(1.0 + i)
        stream.ended = 99.0
        return stream.answer()

    def test_however_it_is_cut(self):
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in
                          (self.body[:20], self.body[20:200], self.body[200:], b""))
        for head, rest in ((b"Transfer-Encoding: chunked\r\n", chunks), (b"", self.body)):
            raw = b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + rest
            for n_cut in (1, 7, 64, 5000):
                answer = self.read(raw, n_cut)
                self.assertEqual(answer.tokens, [7, 8, 9])
                self.assertEqual(answer.counts, [1, 2])
                self.assertEqual((answer.n_prompt, answer.n_cached), (5, 4))
                self.assertLessEqual(answer.times[0], answer.times[1])
                if n_cut == 1 and not head:
                    first_end = raw.index(b"\n\n", raw.index(b"w7")) + 2
                    self.assertEqual(answer.times[0], float(first_end))

    def test_a_stream_that_was_left(self):
        raw = b"HTTP/1.1 200 OK\r\n\r\n" + self.body[:60]
        self.assertEqual(self.read(raw, 10).tokens, [7])

    def test_refusals(self):
        answer = self.read(b"HTTP/1.1 429 Too Many\r\n\r\nlater", 100)
        self.assertTrue(answer.error.startswith("429"))


class Fairness(unittest.TestCase):
    def test_what_is_left_of_a_step_is_the_prompts(self):
        # 100 steps of 18 ms, of which the streams need 10: 8 ms each for a prompt that takes 800.
        found = shares(800.0, 1800.0, 100, 10.0, 12.0, 24.0)
        self.assertAlmostEqual(found["step"], 1.8)
        self.assertAlmostEqual(found["least"], 2.25)
        self.assertAlmostEqual(found["stretch"], 2.25)
        self.assertAlmostEqual(found["own_stretch"], 1)
        self.assertAlmostEqual(found["p99_ratio"], 2)

    def test_streams_that_stand_still(self):
        found = shares(800.0, 800.0, 0, None, None, 800.0)
        self.assertEqual((found["own_stretch"], found["least"], found["p99_ratio"]),
                         (1, None, None))


if __name__ == "__main__":
    unittest.main()
