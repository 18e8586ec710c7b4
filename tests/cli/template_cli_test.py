#!/usr/bin/env python3
"""Tests of `ruvllm template` through the real binary: capabilities, messages, errors with their place.

Usage: template_cli_test.py --binary RUVLLM --source FOLDER
"""
import argparse
import json
import os
import sys
import tempfile
import unittest

from program import Program, call, call_json

CHATML = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
          "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


class TemplateTest(unittest.TestCase):
    def with_file(self, content, suffix):
        with tempfile.NamedTemporaryFile(delete=False, suffix=suffix) as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        self.addCleanup(os.unlink, file.name)
        return file.name

    def template(self, content):
        return self.with_file(content, ".jinja")

    def rendered(self, template, given, *arguments):
        return call("template", "--file", self.template(template), "--messages", "-", *arguments,
                    text=given if isinstance(given, str) else json.dumps(given))

    def assert_fails(self, done, code, *says):
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        for part in says:
            self.assertIn(part, done.stderr)


class Capabilities(TemplateTest):
    def test_for_people(self):
        done = call("template", "--file", self.template(CHATML))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = dict(line.split("  ", 1) for line in done.stdout.splitlines())
        rows = {name: value.strip() for name, value in rows.items()}
        self.assertEqual(rows["content"], "text")
        self.assertEqual(rows["system role"], "yes")
        self.assertEqual(rows["tools"], "no")
        self.assertEqual(rows["thinking switch"], "no")

    def test_for_programs(self):
        out = call_json("template", "--file", self.template(CHATML), "--json")
        self.assertTrue(out["renders"] and out["system_role"] and out["generation_prompt"])
        self.assertFalse(out["tools"] or out["content_parts"] or out["alternating_roles"])
        self.assertIsNone(out["reasoning_field"])
        thinking = "{{ messages[0].content }}{% if enable_thinking %}<think>{% endif %}{{ tools }}"
        out = call_json("template", "--file", self.template(thinking), "--json")
        self.assertEqual(out["thinking_switch"], "enable_thinking")
        self.assertTrue(out["tools"])

    def test_of_the_model(self):
        out = call_json("template", "--model", Program.model, "--json")
        self.assertTrue(out["renders"] and out["generation_prompt"])


class ResponseTemplates(TemplateTest):
    def folder(self, response_template):
        """A model without tokens: enough to show its templates."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        head = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        config = {"architectures": ["LlamaForCausalLM"], "hidden_size": 4, "intermediate_size": 4,
                  "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 2}
        files = {"config.json": json.dumps(config).encode(),
                 "model.safetensors": len(head).to_bytes(8, "little") + head + bytes(4),
                 "tokenizer_config.json": json.dumps({
                     "chat_template": CHATML, "response_template": response_template}).encode()}
        for name, content in files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        return folder

    SPEC = {"start_anchor": "assistant\n", "fields": {
        "thinking": {"open": "<muse>", "close": "</muse>"},
        "tool_calls": {"open_pattern": r"\s*<call:(?P<tool>\w+)>", "close": "</call>",
                       "repeats": True, "content": "json",
                       "transform": {"function": {"name": "{tool}", "arguments": "{content}"}}}}}

    def test_says_how_calls_are_written(self):
        out = call_json("template", "--model", self.folder(self.SPEC), "--json")
        self.assertEqual(out["calls_in_answers"],
                         {"format": "response_template", "found": "from the response template"})
        self.assertEqual(out["reasoning_end"], "</muse>")

    def test_an_unknown_version_is_named(self):
        done = call("template", "--model", self.folder({**self.SPEC, "version": 3}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not used: response_template: version: is 3", done.stderr)
        self.assertRegex(done.stdout, "calls in answers +unknown")


class Messages(TemplateTest):
    def test_array_as_a_server_takes_it(self):
        done = self.rendered(CHATML, [{"role": "user", "content": [{"type": "text", "text": "Hü"}]}])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout,
                         "<|im_start|>user\nHü<|im_end|>\n<|im_start|>assistant\n")

    def test_object_is_the_context(self):
        done = self.rendered("{{ bos_token }}{{ x }}{{ messages[0].content[0].text }}",
                             {"messages": [{"content": [{"text": "t"}]}], "x": 1, "bos_token": "B"})
        self.assertEqual(done.stdout, "B1t")

    def test_null_is_none(self):
        done = self.rendered("{{ bos_token }}{{ eos_token is none }}",
                             {"messages": [], "bos_token": None, "eos_token": None})
        self.assertEqual(done.stdout, "NoneTrue")

    def test_from_a_file(self):
        path = self.with_file(json.dumps([{"role": "user", "content": "a"}]), ".json")
        done = call("template", "--file", self.template(CHATML), "--messages", path)
        self.assertIn("user\na<|im_end|>", done.stdout)

    def test_parts(self):
        done = self.rendered("<s>{% generation %}{{ messages[0].content }}!{% endgeneration %}",
                             {"messages": [{"content": "<s>"}]}, "--json")
        self.assertEqual(json.loads(done.stdout), {
            "text": "<s><s>!",
            "parts": [{"text": "<s>", "from_user": False, "assistant": False},
                      {"text": "<s>", "from_user": True, "assistant": True},
                      {"text": "!", "from_user": False, "assistant": True}]})


class Errors(TemplateTest):
    def test_place_with_a_caret(self):
        done = self.rendered("first\nsay {{ x.y }} now\n", {})
        self.assert_fails(done, 1, "line 2, column 9: 'x' is undefined")
        lines = done.stderr.splitlines()
        self.assertEqual(lines[1], "    2 | say {{ x.y }} now")
        self.assertEqual(lines[2], "      |         ^")

    def test_parse_error_with_a_caret(self):
        for arguments in ((), ("--json",), ("--messages", "-")):
            done = call("template", "--file", self.template("é {% if x %}\r\n{{ 'a }}"), *arguments,
                        text="[]")
            self.assert_fails(done, 1, "line 2, column 4: this string is not closed")
            self.assertEqual(done.stderr.splitlines()[2], "      |    ^")

    def test_columns_count_characters_where_they_show(self):
        done = self.rendered("äöü{{ [1, 2 }}", {})
        self.assert_fails(done, 1, "unexpected '}', expected ']'")
        self.assertEqual(done.stderr.splitlines()[2], "      |             ^")

    def test_long_lines_are_cut_around_the_place(self):
        done = self.rendered("x" * 5000 + "{{ a.b.c }}" + "é" * 5000, {})
        self.assert_fails(done, 1, "column 5005")
        lines = done.stderr.splitlines()
        self.assertLess(len(lines[1]), 160)
        self.assertEqual(lines[1][lines[2].index("^")], ".")

    def test_raised_by_the_template(self):
        done = self.rendered("{% if not tools %}{{ raise_exception('give tools') }}{% endif %}", {})
        self.assert_fails(done, 1, "give tools", "line 1, column 37")

    def test_wrong_messages(self):
        path = self.template(CHATML)
        for given, says in (("{", "stdin"), ("[5]", "'messages[0]' must be an object"),
                            ('[{"role": "user", "content": 5}]', "'messages[0].content' must be"),
                            ("7", "expected an array of messages"),
                            ('[{"content": "x"}]', "'messages[0].role' is required"),
                            ('{"bos_token": 5}', '"bos_token" must be a text')):
            with self.subTest(given):
                done = call("template", "--file", path, "--messages", "-", text=given)
                self.assert_fails(done, 1, "stdin", says)
        self.assert_fails(call("template", "--file", path, "--messages", "/no/such.json"), 1,
                          "/no/such.json")

    def test_wrong_calls(self):
        path = self.template(CHATML)
        for arguments in (("--jsonl", "--json"), ("--jsonl", "--messages", "-"),
                          ("--messages",), ("--now", "never")):
            with self.subTest(arguments):
                self.assert_fails(call("template", "--file", path, *arguments), 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    arguments, rest = parser.parse_known_args()
    Program.binary, Program.source = arguments.binary, arguments.source
    Program.model = Program.find_model()
    if not Program.model:
        print("no model to test with")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
