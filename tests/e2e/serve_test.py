#!/usr/bin/env python3
"""Tests of `ruvllm serve`: the real binary and model, asked by OpenAI's client, curl and sockets.

Usage: serve_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import concurrent.futures
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from server import Server, need_package, run_tests

openai = need_package("openai")

USER = [{"role": "user", "content": "Tell me about yourself."}]
CHAT = "/v1/chat/completions"
RAW = "/v1/completions"
# Work for a long time: many answers that nothing ends but the context.
ENDLESS = {"model": "nano", "prompt": "Once upon a time", "ignore_eos": True, "seed": 1, "n": 100,
           "stream": True}


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--parallel", 4)
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.stop()

    def chat(self, **fields):
        body = {"model": "nano", "messages": USER, "max_tokens": 24, "seed": 7}
        return self.client.chat.completions.create(**{**body, **fields})

    def raw(self, **fields):
        body = {"model": "nano", "prompt": "Once upon a time", "max_tokens": 24, "seed": 7}
        return self.client.completions.create(**{**body, **fields})

    def streamed(self, **fields):
        """(text, finish reason, usage) of a streamed chat."""
        text, finish, usage = "", None, None
        for chunk in self.chat(stream=True, stream_options={"include_usage": True}, **fields):
            if chunk.usage:
                self.assertEqual(chunk.choices, [])
                usage = chunk.usage
                continue
            choice = chunk.choices[0]
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
        return text, finish, usage

    def refused(self, path, body, status, code, param=None, says=""):
        got, answer = self.server.post(path, body)
        self.assertEqual(got, status, answer)
        error = answer["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertEqual((error["code"], error["param"]), (code, param), error)
        self.assertIn(says, error["message"])
        return error["message"]


class Answers(ServeTest):
    def test_models(self):
        models = self.client.models.list().data
        self.assertEqual([model.id for model in models], ["nano"])
        self.assertEqual(self.client.models.retrieve("nano").object, "model")
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("gpt-4")

    def test_chat_shape_and_usage(self):
        answer = self.chat(logprobs=True)
        self.assertEqual(answer.object, "chat.completion")
        self.assertEqual(answer.model, "nano")
        choice = answer.choices[0]
        self.assertEqual((choice.index, choice.message.role), (0, "assistant"))
        self.assertTrue(choice.message.content)
        self.assertIn(choice.finish_reason, ("stop", "length"))
        usage = answer.usage
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        self.assertLessEqual(usage.completion_tokens, 24)
        self.assertGreater(usage.prompt_tokens, 5)

    def test_usage_and_bytes_are_those_of_the_command_line(self):
        done = subprocess.run(
            [Server.binary, "run", "--model", Server.model, "--json", "--prompt",
             USER[0]["content"], "--max-tokens", "24", "--seed", "7", "--temperature", "1",
             "--top-p", "1", "--top-k", "0", "--min-p", "0"],
            capture_output=True, text=True, timeout=60, check=True)
        direct = json.loads(done.stdout)
        answer = self.chat()
        self.assertEqual(answer.choices[0].message.content, direct["text"])
        self.assertEqual(answer.choices[0].finish_reason, direct["finish_reason"])
        self.assertEqual(answer.usage.prompt_tokens, len(direct["prompt_ids"]))
        self.assertEqual(answer.usage.completion_tokens,
                         direct["timings"]["n_generated_tokens"])

    def test_prompt_tokens(self):
        self.assertEqual(self.raw(prompt=[10, 11, 12, 13]).usage.prompt_tokens, 4)
        self.assertEqual(self.raw().usage.prompt_tokens,
                         len(self.token_ids("Once upon a time", "--bos")))
        # Control tokens written out in a raw prompt are control tokens.
        self.assertEqual(self.raw(prompt="<|im_start|>user").usage.prompt_tokens,
                         len(self.token_ids("<|im_start|>user", "--bos", "--special")))

    def test_stream_equals_whole(self):
        whole = self.chat(temperature=0.9)
        text, finish, usage = self.streamed(temperature=0.9)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(finish, whole.choices[0].finish_reason)
        # Guesses may differ: how many were right is not part of the answer.
        for count in ("prompt_tokens", "completion_tokens", "total_tokens"):
            self.assertEqual(getattr(usage, count), getattr(whole.usage, count))

    def test_max_tokens(self):
        for n in (1, 5, 17):
            answer = self.raw(max_tokens=n, extra_body={"ignore_eos": True})
            self.assertEqual(answer.usage.completion_tokens, n)
            self.assertEqual(answer.choices[0].finish_reason, "length")
        answer = self.client.chat.completions.create(
            model="nano", messages=USER, max_completion_tokens=3, extra_body={"ignore_eos": True})
        self.assertEqual(answer.usage.completion_tokens, 3)

    def test_seed_repeats_and_varies(self):
        hot = {"temperature": 1.5, "max_tokens": 32, "extra_body": {"ignore_eos": True}}
        texts = [self.raw(seed=seed, **hot).choices[0].text for seed in (1, 1, 2, 3)]
        self.assertEqual(texts[0], texts[1])
        self.assertGreater(len(set(texts)), 1)

    def test_several_answers_use_following_seeds(self):
        hot = {"temperature": 1.2, "max_tokens": 16}
        several = self.raw(n=3, seed=50, **hot)
        self.assertEqual([choice.index for choice in several.choices], [0, 1, 2])
        single = [self.raw(seed=50 + i, **hot) for i in range(3)]
        self.assertEqual([choice.text for choice in several.choices],
                         [answer.choices[0].text for answer in single])
        self.assertEqual(several.usage.prompt_tokens, single[0].usage.prompt_tokens)
        self.assertEqual(several.usage.completion_tokens,
                         sum(answer.usage.completion_tokens for answer in single))

    def test_the_best_of_several_answers(self):
        fields = {"prompt": "Once", "temperature": 1.0, "max_tokens": 12}
        single = [self.raw(**fields, seed=seed, logprobs=0) for seed in range(5, 13)]

        def mean(answer):
            scores = answer.choices[0].logprobs.token_logprobs
            return sum(scores) / len(scores) if scores else -math.inf

        best = sorted(single, key=mean, reverse=True)[:3]
        several = self.raw(**fields, seed=5, best_of=8, n=3)
        self.assertEqual([choice.text for choice in several.choices],
                         [answer.choices[0].text for answer in best])
        self.assertEqual([choice.index for choice in several.choices], [0, 1, 2])
        self.assertEqual(several.usage.completion_tokens,
                         sum(answer.usage.completion_tokens for answer in single))
        self.assertIsNone(several.choices[0].logprobs)

    def test_several_prompts(self):
        both = self.raw(prompt=["One day", "The cat"], temperature=0)
        self.assertEqual([choice.text for choice in both.choices],
                         [self.raw(prompt=prompt, temperature=0).choices[0].text
                          for prompt in ("One day", "The cat")])

    def test_stop(self):
        whole = self.raw(temperature=0, max_tokens=40).choices[0].text
        self.assertGreater(len(whole), 12)
        middle = whole[len(whole) // 2:len(whole) // 2 + 3]
        for stop in (middle, ["never said by it", middle]):
            cut = self.raw(temperature=0, max_tokens=40, stop=stop).choices[0]
            self.assertEqual(cut.text, whole[:whole.index(middle)])
            self.assertEqual(cut.finish_reason, "stop")

    def test_echo(self):
        plain = self.raw(temperature=0).choices[0].text
        self.assertEqual(self.raw(temperature=0, echo=True).choices[0].text,
                         "Once upon a time" + plain)

    def test_chat_logprobs(self):
        answer = self.chat(logprobs=True, top_logprobs=3, temperature=0, max_tokens=8)
        content = answer.choices[0].logprobs.content
        self.assertGreater(len(content), 0)
        self.assertLessEqual(len(content), answer.usage.completion_tokens)
        text = b""
        for entry in content:
            self.assertEqual(len(entry.top_logprobs), 3)
            values = [other.logprob for other in entry.top_logprobs]
            self.assertEqual(values, sorted(values, reverse=True))
            # Greedy: the chosen token is the likeliest.
            self.assertEqual(entry.token, entry.top_logprobs[0].token)
            self.assertAlmostEqual(entry.logprob, values[0])
            self.assertLessEqual(sum(map(math.exp, values)), 1.0001)
            text += bytes(entry.bytes)
        self.assertIn(answer.choices[0].message.content, text.decode("utf-8", "replace"))

    def test_streamed_logprobs_equal_whole(self):
        fields = {"logprobs": True, "top_logprobs": 2, "temperature": 1}
        whole = self.chat(**fields).choices[0].logprobs.content
        parts = []
        for chunk in self.chat(stream=True, **fields):
            if chunk.choices[0].logprobs:
                parts += chunk.choices[0].logprobs.content
        self.assertEqual(parts, whole)

    def test_completion_logprobs(self):
        logprobs = self.raw(logprobs=2, temperature=0, max_tokens=6).choices[0].logprobs
        n = len(logprobs.tokens)
        self.assertGreater(n, 0)
        for name in ("token_logprobs", "top_logprobs", "text_offset"):
            self.assertEqual(len(getattr(logprobs, name)), n)
        self.assertEqual(logprobs.text_offset[0], 0)
        for token, top in zip(logprobs.tokens, logprobs.top_logprobs):
            self.assertIn(token, top)

    def test_scores_of_a_prompt_are_those_of_the_answer(self):
        prompt = self.token_ids("Once upon a time")
        answer = self.raw(prompt=prompt, logprobs=2, temperature=0, max_tokens=6,
                          extra_body={"ignore_eos": True}).choices[0]
        written = answer.logprobs
        whole = prompt + self.token_ids(answer.text)
        self.assertEqual(len(whole), len(prompt) + 6)
        for n_tokens in (0, 1):
            scored = self.raw(prompt=whole, echo=True, logprobs=2, max_tokens=n_tokens,
                              temperature=0)
            logprobs = scored.choices[0].logprobs
            self.assertEqual(scored.usage.prompt_tokens_details.cached_tokens, 0)
            self.assertEqual(len(logprobs.tokens), len(whole) + n_tokens)
            self.assertIsNone(logprobs.token_logprobs[0])
            self.assertIsNone(logprobs.top_logprobs[0])
            of_answer = slice(len(prompt), len(whole))
            self.assertEqual(logprobs.token_logprobs[of_answer], written.token_logprobs)
            self.assertEqual(logprobs.top_logprobs[of_answer], written.top_logprobs)
            for token, offset in zip(logprobs.tokens, logprobs.text_offset):
                self.assertTrue(scored.choices[0].text[offset:].startswith(token))
        listed = self.raw(prompt=whole, max_tokens=1, extra_body={"prompt_logprobs": 2})
        places = listed.choices[0].model_extra["prompt_logprobs"]
        self.assertIsNone(places[0])
        for id_, logprob, place in zip(whole[1:], logprobs.token_logprobs[1:], places[1:]):
            self.assertEqual(place[str(id_)]["logprob"], logprob)
            self.assertLessEqual(len(place), 3)

    def test_logit_bias_bans_and_forces(self):
        prompt = "Once upon a time"
        free = self.raw(temperature=0, max_tokens=1).choices[0].text
        first = self.token_ids(prompt + free)[-1]
        banned = self.raw(temperature=0, max_tokens=1, logit_bias={str(first): -100})
        self.assertNotEqual(banned.choices[0].text, free)
        # 100 outweighs every logit: one token, again and again.
        forced = self.token_ids(" the")[-1]
        piece = self.raw(temperature=0, max_tokens=1, logit_bias={str(forced): 100})
        self.assertEqual(piece.choices[0].text.strip(), "the")
        again = self.raw(temperature=0, max_tokens=4, logit_bias={str(forced): 100})
        self.assertEqual(again.choices[0].text, piece.choices[0].text * 4)

    def token_ids(self, text, *flags):
        """The ids of a text, by the program's own tokenizer."""
        done = subprocess.run(
            [Server.binary, "tokenize", "--model", Server.model, "--jsonl", *flags],
            input=json.dumps({"text": text}) + "\n", capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["ids"]

    def test_penalties_reach_the_engine(self):
        plain = self.raw(temperature=0, max_tokens=40, extra_body={"ignore_eos": True})
        other = self.raw(temperature=0, max_tokens=40, frequency_penalty=2, presence_penalty=2,
                         extra_body={"ignore_eos": True, "repetition_penalty": 1.5})
        self.assertNotEqual(plain.choices[0].text, other.choices[0].text)


class Texts(ServeTest):
    """Token healing, tokens and templates over HTTP."""

    def ask(self, path, **body):
        status, answer = self.server.post(path, body)
        self.assertEqual(status, 200, answer)
        return answer

    def continued(self, prompt, healing, **fields):
        extra = {"token_healing": healing, "ignore_eos": True}
        return self.client.completions.create(
            model="nano", prompt=prompt, temperature=0, **{"max_tokens": 12, **fields},
            extra_body=extra)

    def test_healing_finishes_the_word(self):
        start = "Once upon a"
        whole = self.continued(start, False, max_tokens=20).choices[0].text
        healed, plain = 0, 0
        for cut in range(1, 16):
            prompt, rest = start + whole[:cut], whole[cut:cut + 12]
            healed += self.continued(prompt, True).choices[0].text.startswith(rest)
            plain += self.continued(prompt, False).choices[0].text.startswith(rest)
        self.assertEqual(healed, 15)
        self.assertLess(plain, 15)

    def test_healing_in_every_form_of_an_answer(self):
        prompt = "Once upon a ti"
        one = self.continued(prompt, True)
        text = one.choices[0].text
        self.assertTrue(text.startswith("me"), text)
        self.assertEqual(one.usage.prompt_tokens, self.continued(prompt, False).usage.prompt_tokens)
        self.assertEqual(one.usage.completion_tokens, 12)
        echoed = self.continued(prompt, True, echo=True).choices[0].text
        self.assertEqual(echoed, prompt + text)
        streamed = "".join(chunk.choices[0].text
                           for chunk in self.continued(prompt, True, stream=True))
        self.assertEqual(streamed, text)
        several = self.continued([prompt, "Once upon"], True, n=2).choices
        self.assertEqual([several[0].text, several[1].text], [text, text])
        stopped = self.continued(prompt, True, stop=[text[3:6]]).choices[0].text
        self.assertEqual(stopped, text[:3])
        logprobs = self.continued(prompt, True, logprobs=1).choices[0].logprobs
        self.assertEqual(logprobs.tokens[0], " time")
        self.assertEqual(logprobs.text_offset[:2], [-3, 2])

    def test_a_chat_goes_on_with_its_last_message(self):
        whole = self.chat(temperature=0, max_tokens=20).choices[0].message.content
        cut = whole.index(" ") + 3

        def goes_on(**extra):
            answer = self.chat(messages=USER + [{"role": "assistant", "content": whole[:cut]}],
                               temperature=0, max_tokens=20,
                               extra_body={"continue_final_message": True, **extra})
            return answer.choices[0].message.content

        self.assertTrue(whole.startswith(whole[:cut] + goes_on(token_healing=True)[:8]))
        self.refused(CHAT, {"model": "nano", "messages": USER, "token_healing": True}, 400,
                     "invalid_value", "token_healing", "continue_final_message")

    def test_tokenize_and_back(self):
        text = "Tell me about caf\u00e9s <|im_end|> \U0001f600"
        ids = self.ask("/tokenize", content=text)["tokens"]
        self.assertEqual(self.ask("/detokenize", tokens=ids)["content"], text)
        plain = self.ask("/v1/tokenize", content=text, parse_special=False)["tokens"]
        self.assertGreater(len(plain), len(ids))
        self.assertEqual(self.ask("/v1/detokenize", tokens=plain)["prompt"], text)
        self.assertEqual(self.ask("/tokenize", prompt=text, count_only=True),
                         {"count": len(ids), "max_model_len": self.ask(
                             "/tokenize", content="a")["max_model_len"]})
        pieces = self.ask("/tokenize", content=text, with_pieces=True)["tokens"]
        self.assertEqual([piece["id"] for piece in pieces], ids)
        joined = b"".join(bytes(p["piece"]) if isinstance(p["piece"], list)
                          else p["piece"].encode() for p in pieces)
        self.assertEqual(joined.decode(), text)
        spans = self.ask("/tokenize", content=text, with_spans=True)["spans"]
        self.assertEqual((spans[0][0], spans[-1][1]), (0, len(text.encode())))
        self.refused("/detokenize", {"tokens": [10**6]}, 400, "invalid_value", "tokens", "1000000")

    def test_template(self):
        prompt = self.ask("/apply-template", messages=USER)["prompt"]
        self.assertIn(USER[0]["content"], prompt)
        ids = self.ask("/tokenize", messages=USER)["tokens"]
        self.assertEqual(self.ask("/tokenize", content=prompt)["tokens"], ids)
        self.assertEqual(len(ids), self.chat().usage.prompt_tokens)
        closed = self.ask("/apply-template", messages=USER, add_generation_prompt=False)["prompt"]
        self.assertTrue(prompt.startswith(closed) and prompt != closed)
        open_end = USER + [{"role": "assistant", "content": "I am "}]
        self.assertTrue(self.ask("/apply-template", messages=open_end, continue_final_message=True)
                        ["prompt"].endswith("I am "))
        tools = [{"type": "function", "function": {"name": "find_it", "parameters": {}}}]
        self.assertIn("find_it", self.ask("/apply-template", messages=USER, tools=tools)["prompt"])
        self.refused("/apply-template", {"messages": [{"content": "Hi"}]}, 400, "missing_field",
                     "messages[0].role")


class Refusals(ServeTest):
    def body(self, **fields):
        return {"model": "nano", "messages": USER, "max_tokens": 4, **fields}

    def test_fields(self):
        self.refused(CHAT, self.body(temprature=1), 400, "unknown_field", "temprature",
                     "temprature")
        self.refused(CHAT, self.body(tools=[{"type": "function"}]), 400, "missing_field",
                     "tools[0].function", "is required")
        self.refused(CHAT, self.body(response_format={"type": "xml"}), 400,
                     "invalid_value", "response_format.type")
        self.refused(CHAT, self.body(temperature=-1), 400, "invalid_value", "temperature")
        self.refused(CHAT, self.body(samplers=["infill", "top_k"]), 400, "invalid_value",
                     says="infill needs top_k")
        self.refused(CHAT, self.body(samplers=["typ_p", "typical_p"]), 400, "invalid_value",
                     says="typical_p comes twice")
        self.refused(CHAT, self.body(samplers=["top_k"], mirostat=2), 400, "invalid_value",
                     says="mirostat")
        self.refused(CHAT, self.body(logit_bias={"99999999": 1}), 400, "invalid_value",
                     "logit_bias")
        self.refused(CHAT, self.body(model="gpt-4"), 404, "model_not_found", "model")
        with self.assertRaises(openai.BadRequestError) as raised:
            self.chat(top_logprobs=2)
        self.assertEqual(raised.exception.param, "top_logprobs")

    def test_bodies(self):
        self.refused(CHAT, b'{"model": ', 400, "invalid_body", says="offset")
        self.refused(CHAT, b'{"model": "\xff\xfe"}', 400, "invalid_body")
        self.refused(CHAT, b"[" * 100_000, 400, "invalid_body")
        self.refused(CHAT, b'{"seed": 1e999}', 400, "invalid_body")

    def test_long_prompt_names_both_numbers(self):
        n_ctx = 128
        with Server("--ctx", n_ctx) as server:
            status, answer = server.post(RAW, {"model": "nano", "prompt": [5] * n_ctx})
            self.assertEqual((status, answer["error"]["code"]),
                             (400, "context_length_exceeded"))
            self.assertEqual(answer["error"]["message"].count(str(n_ctx)), 2)
            status, answer = server.post(RAW, {"model": "nano", "prompt": [5] * (n_ctx - 1)})
            self.assertEqual(status, 200)
            self.assertEqual(answer["usage"]["total_tokens"], n_ctx)
            status, answer = server.post(CHAT, self.body(
                messages=[{"role": "user", "content": "word " * 500}]))
            self.assertEqual(answer["error"]["code"], "context_length_exceeded")
            self.assertIn(str(n_ctx), answer["error"]["message"])

    def test_user_text_is_no_control_token(self):
        """Control tokens written by a user are plain text: more tokens than the real one."""
        short = self.chat(messages=[{"role": "user", "content": ""}]).usage.prompt_tokens
        long = self.chat(messages=[{"role": "user", "content": "<|im_end|>"}]).usage.prompt_tokens
        self.assertGreater(long, short + 1)


PERSON = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20},
                                           "age": {"type": "integer", "minimum": 0, "maximum": 120}},
          "required": ["name", "age"], "additionalProperties": False}
TOOLS = [{"type": "function",
          "function": {"name": "get_weather", "description": "The weather of a city",
                       "parameters": {"type": "object", "required": ["city", "unit"],
                                      "properties": {"city": {"type": "string", "maxLength": 20},
                                                     "unit": {"enum": ["c", "f"]}},
                                      "additionalProperties": False}}},
         {"type": "function", "function": {"name": "stop"}}]
WEATHER = [{"role": "user", "content": "What is the weather in Paris?"}]


class Forms(ServeTest):
    def person(self, text):
        value = json.loads(text)
        self.assertEqual(set(value), {"name", "age"})
        self.assertLessEqual(value["age"], 120)

    def test_schemas_under_all_names(self):
        named = {"type": "json_schema", "json_schema": {"name": "person", "strict": True,
                                                        "schema": PERSON}}
        whole = self.chat(max_tokens=200, response_format=named).choices[0]
        self.assertEqual(whole.finish_reason, "stop")
        self.person(whole.message.content)
        self.assertEqual(self.streamed(max_tokens=200, response_format=named)[0],
                         whole.message.content)
        for other in ({"guided_json": PERSON}, {"structured_outputs": {"json": PERSON}},
                      {"json_schema": PERSON}, {"format": PERSON}):
            again = self.chat(max_tokens=200, extra_body=other).choices[0].message.content
            self.assertEqual(again, whole.message.content)

    def test_the_client_parses_its_own_types(self):
        import typing

        import pydantic

        class Animal(pydantic.BaseModel):
            name: typing.Literal["cat", "dog"]
            legs: typing.Literal[2, 4]
            tame: bool | None

        done = self.client.chat.completions.parse(model="nano", messages=USER, max_tokens=200,
                                                  seed=5, response_format=Animal)
        self.assertEqual(done.choices[0].finish_reason, "stop")
        self.assertIsInstance(done.choices[0].message.parsed, Animal)

    def test_grammars_patterns_and_choices(self):
        for fields, texts in (({"guided_regex": "(yes|no)!"}, {"yes!", "no!"}),
                              ({"guided_choice": ["red", "blue"]}, {"red", "blue"}),
                              ({"grammar": 'root ::= "a" | "bc"'}, {"a", "bc"}),
                              ({"guided_grammar": 'start: "a" | "bc"'}, {"a", "bc"})):
            self.assertIn(self.chat(extra_body=fields).choices[0].message.content, texts)
            self.assertIn(self.raw(extra_body=fields).choices[0].text, texts)

    def test_answers_that_are_cut_off_say_so(self):
        cut = self.chat(max_tokens=3, response_format={"type": "json_object"}).choices[0]
        self.assertEqual(cut.finish_reason, "length")

    def test_answers_that_are_cut_off_are_repaired_on_request(self):
        named = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}
        asked = {"max_tokens": 6, "response_format": named}
        cut = self.chat(**asked).choices[0]
        self.assertRaises(ValueError, json.loads, cut.message.content)
        whole = self.chat(**asked, extra_body={"repair": True})
        choice = whole.choices[0]
        self.person(choice.message.content)
        self.assertEqual(choice.finish_reason, "length")
        self.assertEqual(whole.usage.completion_tokens, 6)
        [warning] = choice.model_extra["warnings"]
        self.assertEqual(warning["type"], "repaired")
        self.assertTrue(cut.message.content.startswith(
            choice.message.content.encode()[:warning["offset"]].decode()))
        text, finish, _ = self.streamed(**asked, extra_body={"repair": True})
        self.assertEqual((text, finish), (choice.message.content, "length"))
        raw = self.raw(max_tokens=6, extra_body={"repair": True, "guided_json": PERSON}).choices[0]
        self.person(raw.text)
        self.assertEqual(raw.model_extra["warnings"][0]["type"], "repaired")
        long = {"repair": True, "guided_json": {"type": "string", "minLength": 100000}}
        lost = self.chat(max_tokens=6, extra_body=long).choices[0]
        self.assertEqual(lost.model_extra["warnings"][0]["type"], "not_repaired")

    def test_many_forms_at_once_are_not_mixed(self):
        def ask(i):
            return self.chat(extra_body={"guided_regex": f"answer {i}[a-z]{{2}}"}, seed=i)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for i, done in enumerate(pool.map(ask, range(16))):
                self.assertRegex(done.choices[0].message.content, f"^answer {i}[a-z]{{2}}$")

    def test_answers_list_what_a_schema_asks_in_vain(self):
        schema = {"type": "string", "format": "phone-number", "maxLength": 4}
        whole = self.chat(max_tokens=50, extra_body={"guided_json": schema})
        notes = whole.model_extra["form_notes"]
        self.assertEqual([(note["pointer"], note["keyword"]) for note in notes],
                         [("#/format", "format")])
        last = [chunk for chunk in self.chat(max_tokens=50, stream=True,
                                             extra_body={"guided_json": schema})][-1]
        self.assertEqual(last.model_extra["form_notes"], notes)
        held = self.chat(max_tokens=50, extra_body={"guided_json": {"type": "null"}})
        self.assertNotIn("form_notes", held.model_extra)

    def test_wrong_forms_are_refused_by_name(self):
        for fields, words in (({"guided_json": {"type": "nothing"}}, "#/type"),
                              ({"guided_json": {"pattern": "(a)\\1"}}, "#/pattern"),
                              ({"guided_regex": "("}, "guided_regex"),
                              ({"grammar": "root ::= x"}, "x"),
                              ({"guided_json": {"minimum": 3, "maximum": 2, "type": "number"}},
                               "no value")):
            with self.assertRaises(openai.BadRequestError) as caught:
                self.chat(extra_body=fields)
            self.assertIn(words, str(caught.exception))


class Tools(ServeTest):
    def ask(self, **fields):
        return self.chat(messages=WEATHER, tools=TOOLS, max_tokens=150, **fields).choices[0]

    def test_required_calls_follow_their_schemas(self):
        for seed in range(4):
            choice = self.ask(tool_choice="required", seed=seed, temperature=1.2)
            self.assertEqual(choice.finish_reason, "tool_calls")
            for call in choice.message.tool_calls:
                arguments = json.loads(call.function.arguments)
                if call.function.name == "get_weather":
                    self.assertEqual(set(arguments), {"city", "unit"})
                    self.assertIn(arguments["unit"], ("c", "f"))

    def test_one_function_can_be_named(self):
        named = {"type": "function", "function": {"name": "stop"}}
        calls = self.ask(tool_choice=named, parallel_tool_calls=False).message.tool_calls
        self.assertEqual([call.function.name for call in calls], ["stop"])

    def test_none_calls_none(self):
        self.assertIsNone(self.ask(tool_choice="none").message.tool_calls)

    def test_streamed_calls_are_those_of_the_whole(self):
        whole = self.ask(tool_choice="required").message.tool_calls[0].function
        name, arguments = "", ""
        for chunk in self.chat(messages=WEATHER, tools=TOOLS, tool_choice="required", stream=True,
                               max_tokens=150):
            for call in (chunk.choices[0].delta.tool_calls or []) if chunk.choices else []:
                name += (call.function.name or "") if call.index == 0 else ""
                arguments += (call.function.arguments or "") if call.index == 0 else ""
        self.assertEqual((name, arguments), (whole.name, whole.arguments))

    def test_a_schema_beside_tools_gives_calls_or_a_value(self):
        form = {"response_format": {"type": "json_object", "schema": {"enum": ["rain", "sun"]}}}
        nothing = {"type": "object", "additionalProperties": False}
        tools = [{"type": "function", "function": {"name": "stop", "parameters": nothing}}]
        kinds = set()
        for seed in range(24):  # so hot that the model does not know what it prefers
            choice = self.chat(messages=WEATHER, tools=tools, parallel_tool_calls=False, seed=seed,
                               temperature=20, max_tokens=150, **form).choices[0]
            calls = choice.message.tool_calls or []
            self.assertEqual(choice.finish_reason, "tool_calls" if calls else "stop")
            if calls:
                self.assertEqual([json.loads(call.function.arguments) for call in calls], [{}])
            else:
                self.assertIn(json.loads(choice.message.content), ("rain", "sun"))
            kinds.add(choice.finish_reason)
        self.assertEqual(kinds, {"tool_calls", "stop"})
        self.assertTrue(self.ask(tool_choice="required", **form).message.tool_calls)

    def test_results_go_back_to_the_model(self):
        calls = self.ask(tool_choice="required", parallel_tool_calls=False).message
        talk = WEATHER + [calls.model_dump(exclude_none=True),
                          {"role": "tool", "tool_call_id": calls.tool_calls[0].id,
                           "content": "{\"degrees\": 18446744073709551616123}"}]
        done = self.chat(messages=talk, tools=TOOLS, tool_choice="none")
        self.assertIsNotNone(done.choices[0].message.content)


class Connections(ServeTest):
    def test_concurrent_streams_are_not_mixed(self):
        jobs = [{"prompt": prompt, "seed": seed, "temperature": 1, "max_tokens": 120,
                 "extra_body": {"ignore_eos": True}}
                for seed, prompt in enumerate(("Once upon a time", "The sun", "I like", "Dogs"))]

        def read(job):
            return "".join(chunk.choices[0].text for chunk in self.raw(stream=True, **job))

        solo = [read(job) for job in jobs]
        self.assertEqual(len(set(solo)), len(solo))
        with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
            together = list(pool.map(read, jobs))
        self.assertEqual(together, solo)

    def wait_until_idle(self, limit_s):
        """Seconds until nothing runs or waits, or None."""
        start = time.monotonic()
        while time.monotonic() - start < limit_s:
            if self.server.n_running() == 0:
                return time.monotonic() - start
            time.sleep(0.005)
        return None

    def closing_stops(self, body, path=RAW):
        """Closing the connection frees the engine within 250 ms. Another program may hold the
        processor meanwhile, so one of five attempts has to do it."""
        last = None
        for _ in range(5):
            if body.get("stream"):
                connection = self.server.open_stream(path, body)
            else:
                connection = self.server.connect()
                data = json.dumps(body).encode()
                connection.sendall(b"POST " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\n"
                                   b"Content-Type: application/json\r\nContent-Length: " +
                                   str(len(data)).encode() + b"\r\n\r\n" + data)
            deadline = time.monotonic() + 20
            while self.server.n_running() < body["n"] // 2:
                self.assertLess(time.monotonic(), deadline, "the work does not begin")
                time.sleep(0.005)
            connection.close()
            last = self.wait_until_idle(20)
            self.assertIsNotNone(last, "the work goes on")
            if last <= 0.25:
                return
        self.fail(f"the last attempt took {last * 1000:.0f} ms")

    def test_closing_a_stream_stops_its_work(self):
        self.closing_stops(ENDLESS)

    def test_closing_a_waiting_request_stops_its_work(self):
        self.closing_stops({**ENDLESS, "stream": False})

    def test_closing_one_leaves_the_other_unchanged(self):
        job = {"prompt": "The old man", "seed": 3, "max_tokens": 200,
               "extra_body": {"ignore_eos": True}}
        solo = self.raw(**job).choices[0].text
        leaving = self.server.open_stream(RAW, ENDLESS)
        text = ""
        for i, chunk in enumerate(self.raw(stream=True, **job)):
            text += chunk.choices[0].text
            if i == 20:
                leaving.close()
        self.assertEqual(text, solo)
        self.assertIsNotNone(self.wait_until_idle(20))

    def test_client_that_stops_reading_is_given_up(self):
        connection = self.server.open_stream(RAW, {**ENDLESS, "logprobs": 20})
        # Nothing is read until the server has given up.
        while self.server.n_running() > 0:
            time.sleep(0.02)
        seen = b""
        while more := connection.recv(1 << 20):
            seen = (seen + more)[-4096:]
            if seen.endswith(b"0\r\n\r\n"):
                break
        connection.close()
        self.assertIn(b'"code":"client_too_slow"', seen)

    def test_garbage_and_cut_requests_do_no_harm(self):
        for data in (b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/completions",
                     b"POST " + RAW.encode() + b" HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
                     b"POST " + RAW.encode() + b" HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                     b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n"):
            connection = self.server.connect()
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
            if answer:
                self.assertRegex(answer, rb"^HTTP/1.1 4\d\d ")
            connection.close()
        self.assertEqual(self.server.get("/health")["status"], "ok")

    @unittest.skipUnless(shutil.which("curl"), "curl is missing")
    def test_curl(self):
        body = json.dumps({"model": "nano", "messages": USER, "max_tokens": 5, "stream": True})
        done = subprocess.run(
            ["curl", "-sSN", "-i", self.server.url + CHAT, "-H", "Content-Type: application/json",
             "-d", body], capture_output=True, text=True, timeout=60, check=True)
        head, text = done.stdout.split("\n\n", 1)
        self.assertIn("200 OK", head)
        self.assertIn("text/event-stream", head)
        events = [event for event in text.split("\n\n") if event.strip()]
        for event in events:
            self.assertTrue(event.startswith("data: "), event)
        self.assertEqual(events[-1], "data: [DONE]")
        first = json.loads(events[0][6:])
        self.assertEqual(first["choices"][0]["delta"]["role"], "assistant")
        # A body of more than a megabyte makes curl ask with "Expect: 100-continue".
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"model": "nano", "prompt": "word " * 300_000, "max_tokens": 1}, file)
            file.flush()
            done = subprocess.run(
                ["curl", "-sS", self.server.url + RAW, "-H", "Content-Type: application/json",
                 "--data-binary", "@" + file.name],
                capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "context_length_exceeded")


class Life(unittest.TestCase):
    def test_signals_end_it_cleanly(self):
        for how in (signal.SIGTERM, signal.SIGINT):
            server = Server()
            self.assertEqual(server.get("/health")["status"], "ok")
            self.assertEqual(server.stop(how), 0)

    def test_running_answers_are_ended_by_the_stop(self):
        server = Server()
        connection = server.open_stream(RAW, ENDLESS)
        self.assertEqual(server.stop(), 0)
        connection.close()

    def test_port_in_use(self):
        with Server() as server:
            done = subprocess.run([Server.binary, "serve", "--port", str(server.port), "--model",
                                   Server.model], capture_output=True, text=True, timeout=60,
                                  check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(str(server.port), done.stderr)

    def test_cache_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a", "b")
            body = {"model": "nano", "prompt": "Once upon a time " * 8, "max_tokens": 2}
            reused = []
            for _ in range(2):
                with Server("--cache-dir", path) as server:
                    usage = server.post(RAW, body)[1]["usage"]
                    reused.append(usage["prompt_tokens_details"]["cached_tokens"])
            self.assertEqual(reused[0], 0)
            self.assertGreaterEqual(reused[1], 16)

    def test_api_key(self):
        with Server("--api-key", "secret") as server:
            for key, good in (("secret", True), ("wrong", False)):
                client = openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0)
                if good:
                    self.assertEqual(client.models.list().data[0].id, "nano")
                else:
                    with self.assertRaises(openai.AuthenticationError):
                        client.models.list()
                client.close()
            self.assertEqual(server.get("/health")["status"], "ok")

    def test_wrong_calls(self):
        for arguments, code in ((["--port", "70000"], 2), (["--host", "nowhere", "--no-key"], 1),
                                (["--host", "0.0.0.0"], 1),
                                (["--model", "/none.gguf"], 1), (["--nonsense"], 2)):
            done = subprocess.run([Server.binary, "serve", "--model", Server.model, "--port", "0",
                                   *arguments] if "--model" not in arguments else
                                  [Server.binary, "serve", *arguments],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertTrue(done.stderr)


if __name__ == "__main__":
    run_tests()
