"""The vocabularies of the test data, each with the package that is its reference ("peer"). Where a
file has no package that reads it, the peer is built from its tables and the published pipeline.
"""
import base64
import json
import os
import pathlib
import re
import struct
from dataclasses import dataclass, field
from typing import Callable

import sentencepiece
import tiktoken
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

SEPARATOR = "\n__ggml_vocab_test__\n"
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
          r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
PATTERNS = {"cl100k_base": CL100K, "qwen": QWEN}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


def default_data():
    source = pathlib.Path(__file__).resolve().parents[2]
    return pathlib.Path(os.environ.get("RUV_DATA_DIR") or source / ".." / "shared" / "data")


@dataclass
class Vocabulary:
    name: str
    path: pathlib.Path
    peer: Callable
    cases: Callable
    arguments: list = field(default_factory=list)
    decode_arguments: list = field(default_factory=list)

    @staticmethod
    def pieces(peer):
        """Texts of some tokens, to make strings of."""
        return peer.pieces()


class HuggingFace:
    name = "tokenizers"

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def encode(self, texts):
        return [e.ids for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)]

    def decode(self, ids):
        return self.tokenizer.decode_batch(ids, skip_special_tokens=False)

    def pieces(self):
        known = [self.tokenizer.id_to_token(i) for i in range(self.tokenizer.get_vocab_size())]
        added = [t.content for t in self.tokenizer.get_added_tokens_decoder().values()]
        return [text for text in known if text] + added * (1 + len(known) // (20 * len(added) or 1))


class TikToken:
    name = "tiktoken"

    def __init__(self, path, pattern):
        ranks = {}
        for line in path.read_bytes().splitlines():
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        self.encoding = tiktoken.Encoding(path.stem, pat_str=pattern, mergeable_ranks=ranks,
                                          special_tokens={})
        self.texts = [token.decode(errors="ignore") for token in ranks]

    def encode(self, texts):
        return self.encoding.encode_ordinary_batch(texts, num_threads=2)

    def decode(self, ids):
        return [self.encoding.decode_bytes(one).decode(errors="replace") for one in ids]

    def pieces(self):
        return [text for text in self.texts if text]


class SentencePiece:
    name = "sentencepiece"

    def __init__(self, model, own=()):
        """own: (text, id, eats white space after it) of tokens that cut a text into sections, each
        with its prefix, as llama tokenizers of other packages have them."""
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.own = {text: (number, eats) for text, number, eats in own}
        self.cuts = re.compile("|".join(map(re.escape, sorted(self.own, key=len, reverse=True))))

    def encode(self, texts):
        if not self.own:
            return self.processor.encode(texts)
        return [self._encode_sections(text) for text in texts]

    def _encode_sections(self, text):
        out, at = [], 0
        for found in self.cuts.finditer(text):
            if found.start() < at:
                continue
            out += self.processor.encode(text[at:found.start()])
            number, eats = self.own[found.group()]
            out.append(number)
            at = found.end()
            while eats and at < len(text) and text[at].isspace() and text[at] not in "\x1c\x1d\x1e\x1f":
                at += 1
        return out + (self.processor.encode(text[at:]) if at < len(text) else [])

    def decode(self, ids):
        return [self.processor.decode(one) for one in ids]

    def pieces(self):
        return [self.processor.id_to_piece(i) for i in range(self.processor.vocab_size())]


class LongestMatch:
    """RWKV's rule: at each place the longest token of the bytes."""
    name = "longest match"

    def __init__(self, path):
        self.tokens, self.ids = {0: b""}, {}
        for line in path.read_text().splitlines():
            number, literal = line[:line.rindex(" ")].split(" ", 1)
            token = eval(literal)  # the file is a published one
            token = token.encode() if isinstance(token, str) else token
            self.tokens[int(number)] = token
            self.ids[token] = int(number)
        # Lengths worth trying, by the first two bytes.
        self.lengths = {}
        for token in self.ids:
            self.lengths.setdefault(token[:2], set()).add(len(token))
        self.lengths = {key: sorted(value, reverse=True) for key, value in self.lengths.items()}

    def encode(self, texts):
        return [self._encode(text.encode()) for text in texts]

    def _encode(self, data):
        out, at, ids, lengths = [], 0, self.ids, self.lengths
        while at < len(data):
            for length in lengths.get(data[at:at + 2], ()):
                found = ids.get(data[at:at + length])
                if found is not None and at + length <= len(data):
                    break
            else:
                length, found = 1, ids[data[at:at + 1]]
            out.append(found)
            at += length
        return out

    def decode(self, ids):
        return [b"".join(self.tokens[i] for i in one).decode(errors="replace") for one in ids]

    def pieces(self):
        return [text for text in (t.decode(errors="ignore") for t in self.ids) if text]


def json_cases(path):
    return lambda: json.loads(path.read_text())["cases"] if path.exists() else []


def text_cases(path):
    """Texts in .inp, their ids in .out, a line each."""
    def read():
        if not pathlib.Path(f"{path}.inp").exists():
            return []
        texts = pathlib.Path(f"{path}.inp").read_text().split(SEPARATOR)
        lines = pathlib.Path(f"{path}.out").read_text().split("\n")
        return [{"text": text, "ids": [int(i) for i in line.split()]}
                for text, line in zip(texts, lines)]
    return read


class Gguf:
    """The tables of a GGUF file, read when asked for."""

    def __init__(self, path):
        import gguf
        reader = gguf.GGUFReader(path)
        self.tables = {key.removeprefix("tokenizer.ggml."): f.contents()
                       for key, f in reader.fields.items() if key.startswith("tokenizer.ggml.")}
        self.tokens, self.types = self.tables["tokens"], self.tables["token_type"]

    def user_defined(self):
        return [AddedToken(text, normalized=False) for i, (text, kind) in
                enumerate(zip(self.tokens, self.types))
                if kind == USER_DEFINED and text != f"[PAD{i}]"]


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def byte_level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def byte_pipelines():
    digits = pre_tokenizers.Digits
    return {
        "gpt-2": (None, [byte_level(True)]),
        "gpt-neox": (normalizers.NFC(), [byte_level(True)]),
        "falcon": (None, [pre_tokenizers.Punctuation("contiguous"), byte_level(True),
                          digits(False), split("[0-9][0-9][0-9]")]),
        "starcoder": (None, [digits(True), byte_level(True)]),
        "deepseek-coder": (None, [split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"),
                                  split("[一-龥ࠀ-一가-퟿]+"), digits(True), byte_level(False)]),
    }


def byte_bpe_peer(path, name):
    file = Gguf(path)
    merges = [tuple(merge.split(" ")) for merge in file.tables["merges"]]
    vocabulary = {text: i for i, text in enumerate(file.tokens)}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.normalizer, steps = byte_pipelines()[name]
    tokenizer.normalizer = tokenizer.normalizer or normalizers.Sequence([])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(file.user_defined())
    return HuggingFace(tokenizer)


def bert_peer(path):
    file = Gguf(path)
    vocabulary = {}
    for i, (text, kind) in enumerate(zip(file.tokens, file.types)):
        if kind == NORMAL and not (text[0] == "[" and text[-1] == "]" and len(text) > 2):
            text = text[1:] if text[0] == "▁" else "##" + text
        vocabulary[text] = i
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=True)
    return HuggingFace(tokenizer)


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def message(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def sentencepiece_peer(path):
    """A BPE model of the file's pieces: identity normalisation, dummy prefix, byte fallback."""
    file = Gguf(path)
    out, own = b"", []
    for i, (text, score, kind) in enumerate(zip(file.tokens, file.tables["scores"], file.types)):
        if kind == USER_DEFINED or text == f"[PAD{i}]":
            if kind == USER_DEFINED and text != f"[PAD{i}]":
                own.append((text, i, "phi-3" in path))
            kind = UNUSED
        if text == "<unk>":
            kind = UNKNOWN
        piece = message(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score)
        out += message(1, piece + varint(3 << 3) + varint(kind))
    trainer = varint(3 << 3) + varint(2) + varint(35 << 3) + varint(1)
    normalizer = message(1, b"identity") + varint(3 << 3) + b"\1" + varint(4 << 3) + b"\0"
    return SentencePiece(out + message(2, trainer) + message(3, normalizer), own)


def all_of(data):
    """In order of speed: what is slow comes last."""
    found = []
    folders = data / "tokenizers"
    for path in sorted((folders / "tiktoken").glob("*.tiktoken")):
        found.append(Vocabulary(f"tiktoken/{path.stem}", path,
                                lambda p=path: TikToken(p, PATTERNS[p.stem]),
                                json_cases(path.with_suffix(".cases.json"))))
    qwen2 = folders / "tiktoken" / "ggml-vocab-qwen2.gguf"
    found.append(Vocabulary("tiktoken/qwen2-cases", folders / "tiktoken" / "qwen.tiktoken",
                            lambda: TikToken(folders / "tiktoken" / "qwen.tiktoken", QWEN),
                            text_cases(qwen2)))
    seen = set()
    for path in sorted([*(folders / "hf").glob("*/tokenizer.json"),
                        *(data / "models").glob("*/tokenizer.json"),
                        *(data / "trained").glob("*/tokenizer.json")]):
        if path.read_bytes() in seen:
            continue
        seen.add(path.read_bytes())
        found.append(Vocabulary(f"hf/{path.parent.name}", path,
                                lambda p=path: HuggingFace(tokenizers.Tokenizer.from_file(str(p))),
                                json_cases(path.with_name("cases.json")), ["--special"],
                                ["--special"]))
    for path in sorted((folders / "sentencepiece").glob("*.model")):
        found.append(Vocabulary(f"sentencepiece/{path.stem}", path,
                                lambda p=path: SentencePiece(p.read_bytes()),
                                json_cases(path.with_suffix(".cases.json"))))
    for path in sorted((folders / "ggml-vocab").glob("*.gguf")):
        name = path.stem.removeprefix("ggml-vocab-")
        if name in byte_pipelines():
            peer = lambda p=path, n=name: byte_bpe_peer(str(p), n)
        elif name == "bert-bge":
            peer = lambda p=path: bert_peer(str(p))
        else:
            peer = lambda p=path: sentencepiece_peer(str(p))
        found.append(Vocabulary(f"gguf/{name}", path, peer, text_cases(path)))
    for path in sorted((folders / "rwkv-world").glob("*.txt")):
        found.append(Vocabulary("rwkv-world", path, lambda p=path: LongestMatch(p),
                                json_cases(path.with_name("cases.json"))))
    return [v for v in found if v.path.exists()]
