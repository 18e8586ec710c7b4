#!/usr/bin/env python3
"""Ollama's own Python client against `ruvllm serve`.

Usage: ollama_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import unittest

from server import Server, need_package, run_tests

ollama = need_package("ollama")

ABOUT = [{"role": "user", "content": "Tell me about yourself."}]
GREEDY = {"temperature": 0, "num_predict": 40}


def get_weather(city: str) -> str:
    """Weather of a city.

    Args:
        city: The city.
    """
    return f"rain in {city}"


class OllamaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = ollama.Client(host=cls.server.url)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_the_text_is_that_of_the_other_api_streamed_or_not(self):
        whole = self.client.chat(model="nano:latest", messages=ABOUT, options=GREEDY)
        _, chat = self.server.post("/v1/chat/completions",
                                   {"messages": ABOUT, "max_tokens": 40, "temperature": 0})
        self.assertEqual(whole.message.content, chat["choices"][0]["message"]["content"])
        self.assertEqual((whole.prompt_eval_count, whole.eval_count),
                         (chat["usage"]["prompt_tokens"], chat["usage"]["completion_tokens"]))
        self.assertTrue(whole.done and whole.done_reason == "stop")
        lines = list(self.client.chat(model="nano", messages=ABOUT, options=GREEDY, stream=True))
        self.assertEqual("".join(line.message.content for line in lines), whole.message.content)
        self.assertEqual([line.done for line in lines], [False] * (len(lines) - 1) + [True])
        self.assertGreater(lines[-1].eval_duration, 0)

    def test_generate(self):
        answer = self.client.generate(model="nano", prompt=ABOUT[0]["content"], options=GREEDY)
        chat = self.client.chat(model="nano", messages=ABOUT, options=GREEDY)
        self.assertEqual(answer.response, chat.message.content)
        raw = self.client.generate(model="nano", prompt="Once upon a time", raw=True,
                                   options={**GREEDY, "num_predict": 5})
        self.assertEqual((raw.eval_count, raw.done_reason), (5, "length"))
        self.assertEqual(self.client.generate(model="nano").done_reason, "load")

    def test_a_form(self):
        schema = {"type": "object", "properties": {"sunny": {"type": "boolean"}},
                  "required": ["sunny"], "additionalProperties": False}
        answer = self.client.chat(model="nano", messages=ABOUT, format=schema, options=GREEDY)
        self.assertRegex(answer.message.content, r'^\s*\{\s*"sunny"\s*:\s*(true|false)\s*\}\s*$')

    def test_tools(self):
        asked = [{"role": "user", "content": "What is the weather in Oslo?"}]
        tries = [self.client.chat(model="nano", messages=asked, tools=[get_weather],
                                  options={**GREEDY, "num_predict": 80}) for _ in range(1)]
        for answer in tries:
            for call in answer.message.tool_calls or []:
                self.assertEqual(call.function.name, "get_weather")
                asked += [answer.message, {"role": "tool", "tool_name": "get_weather",
                                           "content": get_weather(**call.function.arguments)}]
                self.assertTrue(self.client.chat(model="nano", messages=asked, tools=[get_weather],
                                                 options=GREEDY).done)

    def test_vectors(self):
        two = self.client.embed(model="nano", input=["one text", "another"])
        one = self.client.embed(model="nano", input="one text", dimensions=8)
        self.assertEqual(len(two.embeddings), 2)
        self.assertEqual(len(one.embeddings[0]), 8)
        old = self.client.embeddings(model="nano", prompt="one text")
        self.assertEqual(list(old.embedding), list(two.embeddings[0]))

    def test_what_the_server_has(self):
        self.assertEqual([model.model for model in self.client.list().models], ["nano"])
        self.assertEqual([model.model for model in self.client.ps().models], ["nano"])
        shown = self.client.show("nano")
        self.assertIn("completion", shown.capabilities)
        self.assertTrue(shown.modelinfo["general.architecture"])

    def test_errors(self):
        with self.assertRaises(ollama.ResponseError) as raised:
            self.client.chat(model="llama3.2", messages=ABOUT)
        self.assertEqual(raised.exception.status_code, 404)
        with self.assertRaisesRegex(ollama.ResponseError, "num_ctx"):
            self.client.chat(model="nano", messages=ABOUT, options={"num_ctx": 10 ** 6})


if __name__ == "__main__":
    run_tests()
