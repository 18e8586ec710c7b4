#!/usr/bin/env python3
"""OpenAI's own Python client against the Responses API of `ruvllm serve`.

Usage: responses_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import contextlib
import signal
import tempfile
import time
import unittest

from server import Server, need_package, run_tests

openai = need_package("openai")

ABOUT = "Tell me about yourself."
WEATHER = {"type": "function", "name": "get_weather", "description": "Weather of a city.",
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}},
                          "required": ["city"], "additionalProperties": False}, "strict": True}


def ended(client, response_id):
    """The response once it has ended."""
    while True:
        response = client.responses.retrieve(response_id)
        if response.status not in ("queued", "in_progress"):
            return response
        time.sleep(0.02)


@contextlib.contextmanager
def one_at_a_time(*arguments):
    """A server that generates one answer at a time, and its client."""
    with Server("--temperature", "0", "--parallel", "1", *arguments) as server:
        with openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as client:
            yield server, client


# Each takes a while, so that the last of several waits.
LONG = {"model": "nano", "input": ABOUT, "background": True, "max_output_tokens": 400,
        "extra_body": {"ignore_eos": True}}
# At random, so that nothing of it can be drafted: a hundred take far longer than asking for them.
LONGER = {**LONG, "max_output_tokens": 900, "temperature": 1}


class ResponsesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--temperature", "0")
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()

    def create(self, **fields):
        return self.client.responses.create(**{"model": "nano", "input": ABOUT,
                                               "max_output_tokens": 40, **fields})

    def test_the_text_is_that_of_the_other_api(self):
        response = self.create()
        _, chat = self.server.post("/v1/chat/completions",
                                   {"messages": [{"role": "user", "content": ABOUT}],
                                    "max_tokens": 40})
        self.assertEqual(response.output_text, chat["choices"][0]["message"]["content"])
        self.assertEqual((response.usage.input_tokens, response.usage.output_tokens),
                         (chat["usage"]["prompt_tokens"], chat["usage"]["completion_tokens"]))
        self.assertEqual(response.status, "completed")

    def test_a_stream_is_the_whole(self):
        for fields in ({}, {"max_output_tokens": 3}, {"instructions": "Be brief."},
                       {"input": "What is the weather in Oslo?", "tools": [WEATHER],
                        "tool_choice": "required"},
                       {"text": {"format": {"type": "json_schema", "name": "n", "schema": {
                           "type": "object", "properties": {"sunny": {"type": "boolean"}},
                           "required": ["sunny"], "additionalProperties": False}}}}):
            whole = self.create(**fields)
            body = {"model": "nano", "input": ABOUT, "max_output_tokens": 40, **fields}
            events = list(self.client.responses.create(**body, stream=True))
            self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
            last = events[-1].response
            self.assertEqual(events[-1].type, "response." + whole.status)
            self.assertEqual((last.status, last.output_text, last.usage.output_tokens),
                             (whole.status, whole.output_text, whole.usage.output_tokens))
            self.assertEqual([item.type for item in last.output],
                             [item.type for item in whole.output])
            text = "".join(event.delta for event in events
                           if event.type == "response.output_text.delta")
            self.assertEqual(text, whole.output_text)
            for streamed, item in zip(last.output, whole.output):
                if item.type == "function_call":
                    self.assertEqual((streamed.name, streamed.arguments),
                                     (item.name, item.arguments))

    def test_answers_are_kept_and_continued(self):
        first = self.create(input="hi")
        again = self.client.responses.retrieve(first.id)
        self.assertEqual((again.output_text, again.status), (first.output_text, "completed"))
        items = self.client.responses.input_items.list(first.id).data
        self.assertEqual(items[0].content[0].text, "hi")
        second = self.create(previous_response_id=first.id)
        by_hand = self.create(store=False, input=[
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": first.output_text},
            {"role": "user", "content": ABOUT}])
        self.assertEqual((second.output_text, second.usage.input_tokens),
                         (by_hand.output_text, by_hand.usage.input_tokens))
        self.assertGreater(second.usage.input_tokens_details.cached_tokens, 0)
        self.client.responses.delete(first.id)
        for act in (lambda: self.client.responses.retrieve(first.id),
                    lambda: self.create(previous_response_id=first.id),
                    lambda: self.client.responses.retrieve(by_hand.id)):
            with self.assertRaises(openai.NotFoundError):
                act()

    def test_items_come_in_pages(self):
        texts = [f"text {i}" for i in range(5)]
        first = self.create(input=[{"role": "user", "content": text} for text in texts],
                            max_output_tokens=1)
        items = self.client.responses.input_items
        for order, expected in (("asc", texts), ("desc", texts[::-1])):
            seen = [item.content for item in items.list(first.id, limit=2, order=order)]
            self.assertEqual(seen, expected)
        page = items.list(first.id, limit=4)
        self.assertTrue(page.has_more)
        last = items.list(first.id, limit=4, after=page.last_id)
        self.assertEqual([item.content for item in last.data], texts[:1])
        for wrong in ({"limit": 0}, {"limit": 101}, {"order": "up"}, {"after": "x"}):
            with self.assertRaisesRegex(openai.BadRequestError, list(wrong)[0]):
                items.list(first.id, **wrong)

    def test_kept_answers_survive_a_killed_server(self):
        with tempfile.TemporaryDirectory() as folder:
            with Server("--temperature", "0", "--cache-dir", folder) as server:
                with openai.OpenAI(base_url=server.url + "/v1", api_key="none",
                                   max_retries=0) as client:
                    body = {"model": "nano", "input": "hi", "max_output_tokens": 20}
                    first = client.responses.create(**body)
                    streamed = list(client.responses.create(**body, stream=True))[-1].response
                    deleted = client.responses.create(**body)
                    client.responses.delete(deleted.id)
                    server.stop(signal.SIGKILL)
            with Server("--temperature", "0", "--cache-dir", folder) as server:
                with openai.OpenAI(base_url=server.url + "/v1", api_key="none",
                                   max_retries=0) as client:
                    for kept in (first, streamed):
                        self.assertEqual(client.responses.retrieve(kept.id), kept)
                        items = client.responses.input_items.list(kept.id).data
                        self.assertEqual(items[0].content[0].text, "hi")
                        second = client.responses.create(**{
                            **body, "input": ABOUT, "previous_response_id": kept.id})
                        by_hand = self.create(store=False, max_output_tokens=20, input=[
                            {"role": "user", "content": "hi"},
                            {"role": "assistant", "content": kept.output_text},
                            {"role": "user", "content": ABOUT}])
                        self.assertEqual(second.output_text, by_hand.output_text)
                    with self.assertRaises(openai.NotFoundError):
                        client.responses.retrieve(deleted.id)

    def test_in_the_background(self):
        waited = self.create()
        first = self.create(background=True)
        self.assertIn(first.status, ("queued", "in_progress"))
        response = ended(self.client, first.id)
        self.assertEqual((response.id, response.status, response.background),
                         (first.id, waited.status, True))
        self.assertEqual((response.output_text, response.usage.output_tokens),
                         (waited.output_text, waited.usage.output_tokens))
        self.assertEqual(self.client.responses.cancel(first.id), response)
        with self.assertRaisesRegex(openai.BadRequestError, "background"):
            self.client.responses.cancel(waited.id)
        items = self.client.responses.input_items.list(first.id).data
        self.assertEqual(items[0].content[0].text, ABOUT)
        second = self.create(previous_response_id=first.id, input="And?")
        self.assertGreater(second.usage.input_tokens, response.usage.input_tokens)

    def test_a_background_stream_is_read_again(self):
        whole = self.create()
        seen = []
        with self.create(background=True, stream=True) as stream:
            for event in stream:
                seen.append(event)
                if event.type == "response.output_text.delta":
                    break
        response_id = seen[0].response.id
        rest = self.client.responses.retrieve(response_id, stream=True,
                                              starting_after=seen[-1].sequence_number)
        seen += list(rest)
        self.assertEqual([event.sequence_number for event in seen], list(range(len(seen))))
        self.assertEqual(seen[-1].response, ended(self.client, response_id))
        self.assertEqual(seen[-1].response.output_text, whole.output_text)
        again = list(self.client.responses.retrieve(response_id, stream=True))
        self.assertEqual(again, seen)
        with self.assertRaisesRegex(openai.BadRequestError, "starting_after"):
            self.client.responses.retrieve(response_id, stream=True, starting_after=len(seen))
        with self.assertRaisesRegex(openai.BadRequestError, "stream"):
            self.client.responses.retrieve(whole.id, stream=True)

    def test_background_responses_are_cancelled(self):
        with one_at_a_time() as (server, client):
            several = [client.responses.create(**LONG) for _ in range(10)]
            last = client.responses.cancel(several[-1].id)
            self.assertEqual((last.status, last.output_text), ("cancelled", ""))
            self.assertEqual(client.responses.cancel(last.id), last)
            self.assertEqual(client.responses.retrieve(last.id), last)
            with self.assertRaisesRegex(openai.BadRequestError, "previous_response_id"):
                client.responses.create(model="nano", input="x", previous_response_id=last.id)
            client.responses.delete(several[-2].id)
            with self.assertRaises(openai.NotFoundError):
                client.responses.retrieve(several[-2].id)
            for response in several[:-2]:
                self.assertIn(client.responses.cancel(response.id).status,
                              ("cancelled", "incomplete"))
            while server.n_running() > 0:
                time.sleep(0.02)

    def test_background_responses_do_not_stay_in_progress(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            with tempfile.TemporaryDirectory() as folder:
                with one_at_a_time("--cache-dir", folder) as (server, client):
                    several = [client.responses.create(**LONGER) for _ in range(100)]
                    first = ended(client, several[0].id)
                    cancelled = client.responses.cancel(several[-1].id)
                    server.stop(how)
                with one_at_a_time("--cache-dir", folder) as (server, client):
                    self.assertEqual(client.responses.retrieve(first.id), first)
                    self.assertEqual(client.responses.retrieve(cancelled.id), cancelled)
                    self.assertEqual(cancelled.status, "cancelled")
                    rest = [client.responses.retrieve(one.id) for one in several[:-1]]
                    self.assertLessEqual({one.status for one in rest}, {"incomplete", "failed"})
                    self.assertEqual(rest[-1].error.code, "server_stopped")
                    self.assertEqual(client.responses.cancel(rest[-1].id), rest[-1])

    def test_calls_and_results(self):
        first = self.create(input="What is the weather in Oslo?", tools=[WEATHER],
                            tool_choice={"type": "function", "name": "get_weather"})
        call = [item for item in first.output if item.type == "function_call"][0]
        second = self.create(previous_response_id=first.id, tools=[WEATHER], input=[
            {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}])
        self.assertIn(second.status, ("completed", "incomplete"))

    def test_refusals(self):
        for fields, says in (({"background": True, "store": False}, "background"),
                             ({"tools": [{"type": "web_search"}]}, "web_search"),
                             ({"truncation": "auto"}, "truncation"),
                             ({"input": [{"type": "item_reference", "id": "x"}]},
                              "item_reference")):
            with self.assertRaisesRegex(openai.BadRequestError, says):
                self.create(**fields)


if __name__ == "__main__":
    run_tests()
