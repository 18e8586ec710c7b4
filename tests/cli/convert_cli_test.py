#!/usr/bin/env python3
"""`ruvllm convert` as a user calls it: both ways, what it refuses, and that nothing is left of that.

Usage: convert_cli_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import json
import os
import random
import struct
import sys
import tempfile
import unittest

from program import Program, call, call_json

SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "vocab_size": 48, "max_position_embeddings": 64}
CONFIG = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "rms_norm_eps": 1e-06,
          "rope_theta": 10000.0, "tie_word_embeddings": True, **SIZES}


def shapes():
    n, n_ff, n_kv = 32, 64, 16
    named = {"model.embed_tokens.weight": [48, n], "model.norm.weight": [n]}
    for i in range(2):
        layer = f"model.layers.{i}"
        for name, rows in (("q", n), ("k", n_kv), ("v", n_kv)):
            named[f"{layer}.self_attn.{name}_proj.weight"] = [rows, n]
            named[f"{layer}.self_attn.{name}_proj.bias"] = [rows]
        named |= {f"{layer}.self_attn.o_proj.weight": [n, n],
                  f"{layer}.mlp.gate_proj.weight": [n_ff, n],
                  f"{layer}.mlp.up_proj.weight": [n_ff, n],
                  f"{layer}.mlp.down_proj.weight": [n, n_ff],
                  f"{layer}.input_layernorm.weight": [n],
                  f"{layer}.post_attention_layernorm.weight": [n]}
    return named


def write_model(folder):
    rng, header, data = random.Random(1), {}, b""
    for name, shape in shapes().items():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        numbers = struct.pack(f"<{count}f", *(rng.uniform(-0.5, 0.5) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header).encode()
    os.mkdir(folder)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(CONFIG, file)


def tensors_in(path):
    """{name: (shape, bytes)} of a safetensors file."""
    with open(path, "rb") as file:
        content = file.read()
    n = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + n])
    header.pop("__metadata__", None)
    data = content[8 + n:]
    return {name: (t["shape"], data[slice(*t["data_offsets"])]) for name, t in header.items()}


class Convert(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = temporary.name
        self.first, self.file = self.path("first"), self.path("model.gguf")
        self.last = self.path("last")
        write_model(self.first)

    def path(self, name):
        return os.path.join(self.root, name)

    def assert_fails(self, *arguments, says, code=1):
        done = call("convert", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(says, done.stderr)

    def logits(self, model):
        return call("logits", "--model", model, "--ids", "1,2,3", "--packed-cache", "off").stdout

    def test_both_ways_give_the_same_folder(self):
        made = call_json("convert", self.first, self.file, "--json")
        self.assertEqual(made["n_tensors"], len(shapes()))
        made = call_json("convert", self.file, self.last, "--json")
        self.assertEqual(made["kind"], "Qwen2ForCausalLM")
        self.assertEqual(tensors_in(os.path.join(self.first, "model.safetensors")),
                         tensors_in(os.path.join(self.last, "model.safetensors")))
        with open(os.path.join(self.last, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        self.assertEqual({key: config[key] for key in CONFIG}, CONFIG)
        self.assertIsInstance(config["rope_theta"], float)
        self.assertIsInstance(config["hidden_size"], int)
        self.assertEqual(self.logits(self.first), self.logits(self.last))
        self.assertFalse([name for name in os.listdir(self.root) if "partial" in name])

    def test_types_and_shards(self):
        done = call("convert", self.first, self.file, "--type", "bf16")
        self.assertEqual(done.returncode, 0, done.stderr)
        made = call_json("convert", self.file, self.last, "--shard-size", "4k", "--json")
        self.assertGreater(made["n_files"], 2)
        with open(os.path.join(self.last, "model.safetensors.index.json"), encoding="utf-8") as file:
            index = json.load(file)
        self.assertEqual(index["weight_map"].keys(), shapes().keys())
        self.assertEqual(self.logits(self.file), self.logits(self.last))

    def test_blocks_need_a_type(self):
        done = call("quantize", self.first, self.file, "q8_0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_fails(self.file, self.last, says="--dequantize")
        self.assertEqual(sorted(os.listdir(self.root)), ["first", "model.gguf"])
        done = call("convert", self.file, self.last, "--dequantize", "f32")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_wrong_calls(self):
        self.assert_fails(self.first, says="IN OUT", code=2)
        self.assert_fails(self.first, self.file, "--type", "q4_k_m", says="as-is", code=2)
        self.assert_fails(self.first, self.file, "--dequantize", "f16", says="--dequantize")
        self.assertEqual(call("convert", self.first, self.file).returncode, 0)
        self.assert_fails(self.file, self.last, "--type", "f16", says="--type")
        self.assert_fails(self.file, self.first, says="--force")
        self.assert_fails(self.first, self.file, says="--force")
        self.assert_fails(self.file, self.file, says="folder")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    Program.binary, Program.source = arguments.binary, arguments.source
    unittest.main(argv=[sys.argv[0], *arguments.names], verbosity=2)


if __name__ == "__main__":
    main()
