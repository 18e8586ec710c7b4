#!/usr/bin/env python3
"""Tests of the routes of `ruvllm serve` that give vectors: the real binary and model, asked by
OpenAI's client.

Usage: embeddings_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import base64
import concurrent.futures
import json
import math
import struct
import subprocess

from serve_test import ServeTest
from server import Server, run_tests


class Embeddings(ServeTest):
    PATH = "/v1/embeddings"

    def token_ids(self, text):
        """The ids of a text, by the program's own tokenizer."""
        done = subprocess.run(
            [Server.binary, "tokenize", "--model", Server.model, "--jsonl", "--bos"],
            input=json.dumps({"text": text}) + "\n", capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["ids"]

    def embed(self, texts, **fields):
        made = self.client.embeddings.create(model="nano", input=texts, **fields)
        self.assertEqual([one.index for one in made.data], list(range(len(made.data))))
        return [one.embedding for one in made.data]

    def test_encodings_and_kinds_of_input_give_the_same_numbers(self):
        texts = ["Tell me about boats.", "ünïcode"]
        made = self.embed(texts, encoding_format="float")
        self.assertEqual(self.embed(texts), made)  # the client asks for base64
        body = {"model": "nano", "input": texts, "encoding_format": "base64"}
        coded = self.server.post(self.PATH, body)[1]["data"][0]["embedding"]
        raw = base64.b64decode(coded)
        self.assertEqual(list(struct.unpack(f"<{len(raw) // 4}f", raw)), made[0])
        ids = [self.token_ids(text) for text in texts]
        self.assertEqual(self.embed(ids), made)
        self.assertEqual(self.embed(ids[0]), made[:1])
        self.assertEqual(self.embed(texts[1]), made[1:])
        for vector in made:
            self.assertAlmostEqual(math.hypot(*vector), 1, places=5)

    def test_numbers_are_those_of_the_command_line(self):
        done = subprocess.run([Server.binary, "embed", "--model", Server.model, "--pooling", "mean",
                               "--dimensions", "8", "--json", "one", "two words"],
                              capture_output=True, text=True, timeout=60, check=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        made = self.client.embeddings.create(model="nano", input=["one", "two words"], dimensions=8,
                                             extra_body={"pooling": "mean"})
        for line, one in zip(lines, made.data, strict=True):
            # The same float32 numbers, whose digits may be as few as tell them apart.
            self.assertEqual(struct.pack("<8f", *line["embedding"]), struct.pack("<8f", *one.embedding))
        self.assertEqual(made.usage.prompt_tokens, sum(line["n_tokens"] for line in lines))
        self.assertEqual(made.usage.total_tokens, made.usage.prompt_tokens)

    def test_many_texts_beside_an_answer(self):
        texts = [f"text {i} " + "word " * (i % 7) for i in range(200)]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answer = pool.submit(self.chat)
            made = self.embed(texts)
            answer.result()
        self.assertEqual(self.embed(texts[77]), [made[77]])

    def test_refusals(self):
        body = {"model": "nano", "input": "x"}
        width = len(self.embed("x")[0])
        for more, code, param, says in (
                ({"dimensions": width + 1}, "invalid_value", "dimensions", f"{width}"),
                ({"input": ["x", "word " * 3000]}, "context_length_exceeded", "input", "input[1]"),
                ({"input": [1, 1 << 20]}, "invalid_value", "input", "vocabulary"),
                ({"prompt_name": "query"}, "invalid_value", "prompt_name", "no prompt 'query'"),
                ({"input_type": "query"}, "unknown_field", "input_type", "")):
            self.refused(self.PATH, {**body, **more}, 400, code, param, says)
        cut = self.client.embeddings.create(model="nano", input="word " * 3000,
                                            extra_body={"truncate_prompt_tokens": 5})
        self.assertEqual(cut.usage.prompt_tokens, 5)

    def test_the_model_says_how(self):
        said = self.server.get("/v1/models")["data"][0]["embedding"]
        self.assertEqual((said["pooling"], said["pooling_is_stated"]), ("last", False))
        self.assertEqual(said["dimensions"], len(self.embed("x")[0]))

    def test_scores_are_cosines_of_vectors(self):
        texts = ["Boats float.", "Boats float on water.", "ünïcode"]
        body = {"model": "nano", "text_1": texts[0], "text_2": texts}
        status, answer = self.server.post("/v1/score", body)
        self.assertEqual(status, 200, answer)
        self.assertEqual([one["index"] for one in answer["data"]], [0, 1, 2])
        made = self.embed(texts)
        for one, vector in zip(answer["data"], made, strict=True):
            cosine = sum(a * b for a, b in zip(made[0], vector, strict=True))
            self.assertAlmostEqual(one["score"], cosine, places=5)
        # A text that occurs twice is computed once.
        self.assertEqual(answer["usage"]["prompt_tokens"],
                         sum(len(self.token_ids(text)) for text in texts))

    def test_a_model_that_names_no_pooling_ranks_nothing(self):
        self.refused("/v1/rerank", {"model": "nano", "query": "q", "documents": ["a"]}, 400,
                     "unsupported", "model", "they name no pooling")


if __name__ == "__main__":
    run_tests()
