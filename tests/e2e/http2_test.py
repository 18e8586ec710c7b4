#!/usr/bin/env python3
"""`ruvllm serve` over HTTP/2, asked by curl and by httpx: many streams of one connection, answers that
are those of HTTP/1.1, requests that are cancelled.

Usage: http2_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import asyncio
import json
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

from server import SKIP, Server, need_package, run_tests
from tls_test import CHAT, HI, make_certificate

httpx = need_package("httpx")
need_package("h2")


def comparable(text):
    """An answer without what differs each time: ids, times and measured durations."""
    return re.sub(r'"(id|created|[a-z_]*_(ms|per_second))":("[^"]*"|[0-9.e+-]+)', r'"\1":0', text)


class Http2Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.certificate, key = make_certificate(folder.name, "http2")
        cls.plain = Server()
        cls.addClassCleanup(cls.plain.stop)
        cls.secure = Server("--tls-cert", cls.certificate, "--tls-key", key)
        cls.addClassCleanup(cls.secure.stop)

    def clients(self):
        """One over TLS, which chooses HTTP/2, and one that begins with it."""
        context = ssl.create_default_context(cafile=self.certificate)
        yield httpx.AsyncClient(base_url=f"https://localhost:{self.secure.port}", http1=False, http2=True,
                                verify=context, timeout=120)
        yield httpx.AsyncClient(base_url=f"http://localhost:{self.plain.port}", http1=False, http2=True,
                                timeout=120)

    def each(self, test):
        async def run(client):
            async with client:
                await test(client)
        for client in self.clients():
            asyncio.run(run(client))

    def test_answers_are_those_of_http_1(self):
        async def test(client):
            for stream in (False, True):
                body = {"messages": HI, "max_tokens": 12, "seed": 1, "stream": stream}
                answer = await client.post(CHAT, json=body)
                self.assertEqual((answer.status_code, answer.http_version), (200, "HTTP/2"), answer.text)
                async with httpx.AsyncClient(timeout=120) as old:
                    expected = await old.post(self.plain.url + CHAT, json=body)
                self.assertEqual(expected.http_version, "HTTP/1.1")
                if stream:
                    self.assertEqual(comparable(answer.text), comparable(expected.text))
                    self.assertTrue(answer.text.endswith("data: [DONE]\n\n"))
                else:
                    self.assertEqual(answer.json()["choices"], expected.json()["choices"])
        self.each(test)

    def test_fifty_at_once_on_one_connection(self):
        async def test(client):
            answers = await asyncio.gather(*(client.post(CHAT, json={
                "messages": HI, "max_tokens": 4, "seed": 1, "stream": i % 2 == 0}) for i in range(50)))
            self.assertEqual([answer.status_code for answer in answers], [200] * 50)
            self.assertEqual(len({comparable(answer.text) for answer in answers[::2]}), 1)
        self.each(test)

    def test_large_bodies(self):
        async def test(client):
            for n in (100_000, 3_000_000):
                answer = await client.post("/tokenize", json={"content": "a b " * (n // 4)})
                self.assertEqual(answer.status_code, 200)
                self.assertGreaterEqual(len(answer.json()["tokens"]), n // 8)
            answer = await client.post("/tokenize", json={"content": "a" * 9_000_000})
            self.assertEqual(answer.status_code, 413, answer.text)
            self.assertEqual((await client.get("/health")).status_code, 200)
        self.each(test)

    def test_a_reset_cancels_its_request_only(self):
        async def test(client):
            body = {"messages": HI, "max_tokens": 100_000, "stream": True, "ignore_eos": True}
            async with client.stream("POST", CHAT, json={**body, "max_tokens": 200}) as kept:
                async with client.stream("POST", CHAT, json=body) as left:
                    await anext(left.aiter_lines())
                text = "".join([piece async for piece in kept.aiter_text()])
            self.assertTrue(text.endswith("data: [DONE]\n\n"), text[-300:])
            until = time.monotonic() + 60
            while (load := (await client.get("/health")).json()["load"])["n_running"]:
                self.assertLess(time.monotonic(), until, load)
                await asyncio.sleep(0.01)
        self.each(test)

    @unittest.skipUnless(shutil.which("curl"), "the program curl is missing")
    def test_curl(self):
        body = json.dumps({"messages": HI, "max_tokens": 12, "seed": 1})
        expected = self.plain.post(CHAT, body.encode())[1]["choices"]
        for options in (["--http2-prior-knowledge", f"http://localhost:{self.plain.port}{CHAT}"],
                        ["--http2", "--cacert", self.certificate,
                         f"https://localhost:{self.secure.port}{CHAT}"]):
            done = subprocess.run(["curl", "-sS", "-w", "\\n%{http_version}", "-d", body, "-H",
                                   "Content-Type: application/json", *options],
                                  capture_output=True, text=True, timeout=120, check=True)
            text, version = done.stdout.rsplit("\n", 1)
            self.assertEqual(version, "2")
            self.assertEqual(json.loads(text)["choices"], expected)


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        print("skipped: the program openssl is missing")
        sys.exit(SKIP)
    run_tests()
