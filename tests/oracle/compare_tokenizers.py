#!/usr/bin/env python3
"""Compares our tokenizers with `tokenizers` and `sentencepiece` on random and mixed text.

Writes cases (texts, the ids or word ends that the packages give) to a file and runs the test
TokenizerJson.OracleCases of format_tests on it.

  compare_tokenizers.py --tests build/release/src/format/format_tests --folder <tokenizer folder> ...
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

import sentencepiece
from tokenizers import Regex, Tokenizer, pre_tokenizers

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
SCHEMES = {
    "gpt-2": [GPT2],
    "llama-bpe": [CONTRACTIONS + "|" + LEAD + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL],
    "qwen2": [CONTRACTIONS + "|" + LEAD + r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL],
    "qwen35": [CONTRACTIONS + "|" + LEAD +
               r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + TAIL],
    "gpt-4o": [LEAD + UPPER + "*" + LOWER + "+" + CONTRACTIONS + "?|" + LEAD + UPPER + "+" + LOWER +
               "*" + CONTRACTIONS + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + TAIL],
    "tekken": [LEAD + UPPER + "*" + LOWER + "+|" + LEAD + UPPER + "+" + LOWER +
               r"*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + TAIL],
    "starcoder": [r"\p{N}", GPT2],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
    "deepseek-v3": [
        r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        .replace('\\"', '"') + r"| ?[\p{P}\p{S}]+[\r\n]*" + TAIL],
}
WORDS = ["Hello", "world", "don't", "I'LL", "we'Ve", "it'ſ", "  ", "\n", "\r\n", "\t", " \n ", "\n\n\n",
         "123", "12345678", "½²", "नमस्ते", "ក្រុម", "日本語", "ひらがなカタカナ", "한국어", "Привет", "مرحبا",
         "🧑‍🚀", "🇩🇪", "e\u0301", "\u0301\u0323", "Å", "ǅungla", "ʰʱ", "camelCaseHTTPServer", "/usr/bin/",
         "!!!", "...\n", "$€", "`x`", "<|im_end|>", "<s>", "</s>", "\u00a0", "\u3000", "\u200b", "\ufeff",
         "aA日Bb", "A日", "日A", "'", "'s", "'S", " 's", "_", "-", "x_y-z", "=", "==", " (", ")\r\n", "°",
         "ａｂｃ", "１２３", "。", "，", "—", "ტექსტი", "ⅷ", "٣٤", "\u2028", "\x85", "\x00", "\x1b[0m"]


def random_text(rng):
    # Characters of later Unicode versions than ours have another class there.
    return "".join(c for c in random_characters(rng) if unicodedata.category(c) != "Cn")


def random_characters(rng):
    kind = rng.randrange(4)
    if kind == 0:
        return "".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 12)))
    if kind == 1:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 12)))
    if kind == 2:
        return "".join(chr(rng.choice([rng.randrange(32, 127), rng.randrange(0x80, 0x3000),
                                       rng.randrange(0x3000, 0xD800), rng.randrange(0x1F300, 0x1FAFF),
                                       0x20, 0x0A]))
                       for _ in range(rng.randrange(1, 30)))
    return "".join(rng.choice(" \n\r\ta1A'.é\u0301日") for _ in range(rng.randrange(1, 20)))


def word_ends(patterns, text):
    # Offsets of the package count characters; ours count bytes.
    steps = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    words = pre_tokenizers.Sequence(steps).pre_tokenize_str(text)
    return [len(text[:end].encode()) for _, (_, end) in words]


def write_cases(out, folders, pieces, n, rng):
    texts = [random_text(rng) for _ in range(n)]
    for patterns in SCHEMES.values():
        for text in texts:
            case = {"patterns": patterns, "text": text, "ends": word_ends(patterns, text)}
            out.write(json.dumps(case) + "\n")
    for folder in folders:
        tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        for text in texts:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            out.write(json.dumps({"folder": folder, "text": text, "ids": ids}) + "\n")
    for pair in pieces:
        gguf, model = pair.split("=")
        processor = sentencepiece.SentencePieceProcessor(model_file=model)
        for text in texts:
            # Control tokens are text to sentencepiece; U+0000 ends its texts.
            if "<s>" in text or "</s>" in text or "\0" in text:
                continue
            ids = processor.encode(text)
            out.write(json.dumps({"folder": gguf, "text": text, "ids": ids}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", required=True, help="the binary format_tests")
    parser.add_argument("--folder", action="append", default=[], help="holds a tokenizer.json")
    parser.add_argument("--pieces", action="append", default=[],
                        help="vocab.gguf=sentencepiece.model with the same pieces")
    parser.add_argument("--count", type=int, default=2000, help="texts")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as out:
        write_cases(out, args.folder, args.pieces, args.count, random.Random(args.seed))
        out.flush()
        environment = dict(os.environ, RUV_TOKENIZER_CASES=out.name)
        command = [args.tests, "--gtest_filter=TokenizerJson.OracleCases"]
        sys.exit(subprocess.run(command, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
