#!/usr/bin/env python3
"""Anthropic's own Python client against `ruvllm serve`.

Usage: anthropic_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import unittest

from server import Server, need_package, run_tests

anthropic = need_package("anthropic")

ABOUT = [{"role": "user", "content": "Tell me about yourself."}]
WEATHER = {"name": "get_weather", "description": "Weather of a city.",
           "input_schema": {"type": "object", "properties": {"city": {"type": "string"}},
                            "required": ["city"]}}


class MessagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--temperature", "0")
        cls.client = anthropic.Anthropic(base_url=cls.server.url, api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()

    def create(self, **fields):
        body = {"model": "nano", "max_tokens": 40, "messages": ABOUT}
        return self.client.messages.create(**{**body, **fields})

    def test_the_text_is_that_of_the_other_api(self):
        message = self.create()
        _, chat = self.server.post("/v1/chat/completions",
                                   {"messages": ABOUT, "max_tokens": 40})
        self.assertEqual(message.content[0].text, chat["choices"][0]["message"]["content"])
        usage = message.usage
        self.assertEqual(usage.input_tokens + usage.cache_read_input_tokens,
                         chat["usage"]["prompt_tokens"])
        self.assertEqual(usage.output_tokens, chat["usage"]["completion_tokens"])
        self.assertEqual(message.stop_reason, "end_turn")

    def test_a_stream_is_the_whole(self):
        for fields in ({}, {"max_tokens": 3}, {"stop_sequences": ["small"]},
                       {"system": [{"type": "text", "text": "Be brief."}]},
                       {"tools": [WEATHER], "tool_choice": {"type": "any"},
                        "messages": [{"role": "user", "content": "What is the weather in Oslo?"}]}):
            whole = self.create(**fields)
            body = {"model": "nano", "max_tokens": 40, "messages": ABOUT, **fields}
            with self.client.messages.stream(**body) as stream:
                text = "".join(stream.text_stream)
                final = stream.get_final_message()
            self.assertEqual((final.stop_reason, final.stop_sequence),
                             (whole.stop_reason, whole.stop_sequence), fields)
            self.assertEqual([block.type for block in final.content],
                             [block.type for block in whole.content])
            for streamed, block in zip(final.content, whole.content):
                if block.type == "text":
                    self.assertEqual(streamed.text, block.text)
                    self.assertEqual(text, block.text)
                else:
                    self.assertEqual((streamed.name, streamed.input), (block.name, block.input))
            self.assertEqual(final.usage.output_tokens, whole.usage.output_tokens)

    def test_stop_reasons(self):
        self.assertEqual(self.create(max_tokens=3).stop_reason, "max_tokens")
        stopped = self.create(stop_sequences=["never", "small"])
        self.assertEqual((stopped.stop_reason, stopped.stop_sequence), ("stop_sequence", "small"))
        self.assertNotIn("small", stopped.content[0].text)

    def test_calls_and_results(self):
        asked = [{"role": "user", "content": "What is the weather in Oslo?"}]
        first = self.create(tools=[WEATHER], tool_choice={"type": "tool", "name": "get_weather"},
                            messages=asked)
        self.assertEqual(first.stop_reason, "tool_use")
        call = [block for block in first.content if block.type == "tool_use"][0]
        self.assertEqual(set(call.input), {"city"})
        asked += [{"role": "assistant", "content": first.content},
                  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id,
                                                "content": "rain"}]}]
        second = self.create(tools=[WEATHER], messages=asked)
        self.assertIn(second.stop_reason, ("end_turn", "max_tokens", "tool_use"))

    # Newer clients ask the server to keep a thread; they continue without where it is refused.
    def test_the_tool_runner(self):
        if not hasattr(self.client.beta.messages, "tool_runner"):
            self.skipTest(f"anthropic {anthropic.__version__} has no tool runner")
        called = []

        @anthropic.beta_tool
        def get_weather(city: str) -> str:
            """Weather of a city."""
            called.append(city)
            return "rain"
        runner = self.client.beta.messages.tool_runner(
            model="nano", max_tokens=60, tools=[get_weather], max_iterations=2,
            messages=[{"role": "user", "content": "What is the weather in Oslo?"}])
        self.assertEqual(runner.until_done().role, "assistant")
        self.assertTrue(called)

    def test_counting(self):
        counted = self.client.messages.count_tokens(model="nano", messages=ABOUT, system="Be brief.")
        usage = self.create(system="Be brief.").usage
        self.assertEqual(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens)

    def test_errors_have_their_classes(self):
        with self.assertRaisesRegex(anthropic.BadRequestError, "messages.0..content.0..type"):
            self.create(messages=[{"role": "user", "content": [{"type": "image", "source": {}}]}])
        with self.assertRaises(anthropic.NotFoundError):
            self.create(model="claude-3-5-haiku-latest")
        with Server("--api-key", "secret") as server:
            with anthropic.Anthropic(base_url=server.url, api_key="wrong", max_retries=0) as client:
                with self.assertRaises(anthropic.AuthenticationError):
                    client.messages.create(model="nano", max_tokens=3, messages=ABOUT)
            with anthropic.Anthropic(base_url=server.url, api_key="secret", max_retries=0) as client:
                self.assertTrue(client.messages.create(model="nano", max_tokens=3, messages=ABOUT))


if __name__ == "__main__":
    run_tests()
