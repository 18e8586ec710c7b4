#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets to tests/fuzz/corpus/<reader>/: small valid files that use
much of each format, from which mutation starts. Standard library only.

(The seeds of chat_request come from the server's request cases.)"""
import base64
import json
import math
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
PACK = {U8: "<B", I8: "<b", U16: "<H", I16: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<?",
        U64: "<Q", I64: "<q", F64: "<d"}


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value(kind, x):
    if kind == STRING:
        return text(x)
    if kind == ARRAY:
        item, values = x
        return struct.pack("<IQ", item, len(values)) + b"".join(value(item, v) for v in values)
    return struct.pack(PACK[kind], x)


def gguf(metadata, tensors, version=3, alignment=32):
    """tensors: (name, dimensions, type id, bytes)."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, kind, x in metadata:
        out += text(key) + struct.pack("<I", kind) + value(kind, x)
    offset, body = 0, b""
    for name, dims, kind, data in tensors:
        out += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        out += struct.pack("<IQ", kind, offset)
        data += bytes(-len(data) % alignment)
        body, offset = body + data, offset + len(data)
    return out + bytes(-len(out) % alignment) + body


ARCH = [("general.architecture", STRING, "qwen2"), ("qwen2.block_count", U32, 1),
        ("qwen2.embedding_length", U64, 8), ("qwen2.attention.layer_norm_rms_epsilon", F32, 1e-6),
        ("general.file_type", U32, 0)]
BPE = [("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, "qwen2"),
       ("tokenizer.ggml.tokens", ARRAY, (STRING, ["a", "b", "ab", "Ġ", "<|end|>", "Ġab"])),
       ("tokenizer.ggml.token_type", ARRAY, (I32, [1, 1, 1, 1, 3, 1])),
       ("tokenizer.ggml.merges", ARRAY, (STRING, ["a b", "Ġ ab"])),
       ("tokenizer.ggml.eos_token_id", U32, 4), ("tokenizer.ggml.add_bos_token", BOOL, False),
       ("tokenizer.chat_template", STRING, "{% for m in messages %}{{ m.content }}{% endfor %}")]
PIECES = [("tokenizer.ggml.model", STRING, "llama"),
          ("tokenizer.ggml.tokens", ARRAY, (STRING, ["<unk>", "<s>", "</s>", "<0x0A>", "▁a", "b"])),
          ("tokenizer.ggml.scores", ARRAY, (F32, [0, 0, 0, 0, -1.5, -2])),
          ("tokenizer.ggml.token_type", ARRAY, (I32, [2, 3, 3, 6, 1, 1])),
          ("tokenizer.ggml.bos_token_id", U32, 1), ("tokenizer.ggml.unknown_token_id", U32, 0)]
KINDS = [("k.u8", U8, 1), ("k.i8", I8, -1), ("k.u16", U16, 2), ("k.i16", I16, -2), ("k.i64", I64, -3),
         ("k.f64", F64, 1.5), ("k.bool", BOOL, True), ("k.bools", ARRAY, (BOOL, [True, False])),
         ("k.empty", ARRAY, (STRING, [])), ("k.f64s", ARRAY, (F64, [1.0, 2.0]))]
F32S = bytes(range(128))


def gguf_seeds():
    plain = [("token_embd.weight", [8, 4], 0, F32S), ("output_norm.weight", [8], 0, F32S[:32])]
    quants = [("a", [32], 2, bytes(18)), ("b", [32, 2], 8, bytes(68)), ("c", [256], 12, bytes(144)),
              ("d", [256], 14, bytes(210)), ("e", [2, 2, 2], 1, bytes(16))]
    yield "bpe", gguf(ARCH + BPE, plain)
    yield "pieces", gguf(ARCH + PIECES, plain)
    yield "kinds", gguf(ARCH + KINDS, [])
    yield "quants", gguf(ARCH, quants)
    yield "v2", gguf(ARCH, plain, version=2)
    yield "v1", b"GGUF" + struct.pack("<III", 1, 0, 0)
    yield "aligned", gguf(ARCH + [("general.alignment", U32, 64)], plain, alignment=64)
    yield "split", gguf(ARCH + [("split.no", U16, 0), ("split.count", U16, 2),
                                ("split.tensors.count", I32, 4)], plain)


def imatrix_seeds():
    sums, counts = struct.pack("<8f", *range(8)), struct.pack("<2f", 3, 0)
    keys = [("general.type", STRING, "imatrix"), ("imatrix.datasets", ARRAY, (STRING, ["a.txt"])),
            ("imatrix.chunk_count", U32, 2), ("imatrix.chunk_size", U32, 512)]
    dense = [("blk.0.ffn_up.weight.in_sum2", [8], 0, sums),
             ("blk.0.ffn_up.weight.counts", [1, 1], 0, counts[:4])]
    experts = [("blk.0.ffn_up_exps.weight.in_sum2", [4, 2], 0, sums),
               ("blk.0.ffn_up_exps.weight.counts", [1, 2], 0, counts)]
    yield "gguf", gguf(keys, dense + experts)
    yield "model", gguf(ARCH, dense)
    name = b"blk.0.ffn_up.weight"
    entry = struct.pack("<i", len(name)) + name + struct.pack("<ii", 2, 8) + sums
    yield "dat", struct.pack("<i", 1) + entry + struct.pack("<ii", 2, 5) + b"a.txt"
    yield "dat_alone", struct.pack("<i", 1) + entry


def ggmf_seeds():
    def file(version, kind, tensors):
        out = b"fmgg" + struct.pack("<5I", version, 8, 4, 1, kind)
        for name, dims, of, data in tensors:
            raw = name.encode()
            out += struct.pack(f"<{3 + len(dims)}I", len(dims), len(raw), of, *dims) + raw + data
        return out

    plain = [("emb.weight", (4, 8), 0, bytes(128)), ("blocks.0.ln0.bias", (4,), 1, bytes(8)),
             ("blocks.0.att.x_rwkvag", (4, 1, 6), 0, bytes(96))]
    yield "floats", file(100, 0, plain)
    yield "blocks", file(101, 7, plain + [("head.weight", (32, 2), 7, bytes(44)),
                                          ("blocks.0.ffn.key.weight", (64, 1), 9, bytes(68))])


def safetensors_seeds():
    header = {"__metadata__": {"format": "pt"},
              "model.norm.weight": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
              "lm_head.weight": {"dtype": "BF16", "shape": [2, 4], "data_offsets": [16, 32]},
              "e": {"dtype": "I64", "shape": [0, 3], "data_offsets": [32, 32]}}
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    yield "two", struct.pack("<Q", len(raw)) + raw + bytes(32)
    yield "index", json.dumps({"metadata": {"total_size": 32}, "weight_map": {
        "model.norm.weight": "model-00001-of-00002.safetensors",
        "lm_head.weight": "model-00002-of-00002.safetensors"}}).encode()
    names = ["1.1.linear.bias", "2.2.weight", "medusa_heads.blocks.0.layers.1.weight",
             "lm_heads.1.weight", "token_map"]
    header = {name: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]}
              for i, name in enumerate(names)}
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    yield "heads", struct.pack("<Q", len(raw)) + raw + bytes(4 * len(names))
    for file in ("eagle", "medusa"):
        cases = json.loads((CORPUS.parent.parent / f"golden/heads/{file}.json").read_text())
        for case in cases:
            yield f"config_{file}_{case['name']}", json.dumps(case["head"]["config"]).encode()
    for folder in sorted((CORPUS.parent.parent / "golden/models").iterdir()):
        yield f"config_{folder.name}", (folder / "config.json").read_bytes()


def foreign_seeds():
    folder = CORPUS.parent.parent / "golden/foreign"
    for name, settings in json.loads((folder / "settings.json").read_text()).items():
        yield name, json.dumps(settings).encode() + b"\0" + (folder / f"{name}.safetensors").read_bytes()


def tokenizer_json_seeds():
    added = [{"id": 5, "content": "<s>", "special": True, "lstrip": False, "rstrip": True,
              "single_word": False, "normalized": False}]
    bpe = {"version": "1.0", "added_tokens": added, "normalizer": {"type": "NFC"},
           "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
               {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}| ?\\p{L}+|\\s+(?!\\S)|\\s+"},
                "behavior": "Isolated", "invert": False},
               {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]},
           "decoder": {"type": "ByteLevel"},
           "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġab": 4},
                     "merges": [["a", "b"], "Ġ ab"], "ignore_merges": False,
                     "byte_fallback": False}}
    pieces = {"added_tokens": [{"id": i, "content": t, "special": True}
                               for i, t in enumerate(("<unk>", "<s>", "</s>"))],
              "normalizer": {"type": "Sequence", "normalizers": [
                  {"type": "Prepend", "prepend": "▁"},
                  {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
              "post_processor": {"type": "TemplateProcessing", "single": [
                  {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                  "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
              "decoder": {"type": "Sequence", "decoders": [
                  {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                  {"type": "ByteFallback"}, {"type": "Fuse"},
                  {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
              "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True,
                        "byte_fallback": True, "merges": ["▁ a"], "vocab": {
                            "<unk>": 0, "<s>": 1, "</s>": 2, "<0x0A>": 3, "▁": 4, "a": 5, "▁a": 6}}}
    config = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "add_bos_token": True,
              "chat_template": "{{ messages[0].content }}"}
    unigram = {"added_tokens": [{"id": 2, "content": "</s>", "special": True}],
               "normalizer": {"type": "Sequence", "normalizers": [
                   {"type": "Nmt"}, {"type": "NFKC"}, {"type": "Strip", "strip_left": True},
                   {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]},
               "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                   {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"},
                   {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}]},
               "decoder": {"type": "Metaspace", "replacement": "▁"},
               "model": {"type": "Unigram", "unk_id": 0, "vocab": [
                   ["<unk>", 0.0], ["▁", -2.0122928619384766], ["</s>", 0], ["a", -3.5], ["▁He", -4]]}}
    words = {"normalizer": {"type": "BertNormalizer", "clean_text": True, "strip_accents": None,
                            "handle_chinese_chars": True, "lowercase": True},
             "pre_tokenizer": {"type": "BertPreTokenizer"},
             "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
             "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                       "max_input_chars_per_word": 20, "vocab": {
                           "[UNK]": 0, "hello": 1, ",": 2, "wo": 3, "##rld": 4}}}
    yield "bpe", json.dumps(bpe).encode()
    yield "unigram", json.dumps(unigram).encode()
    yield "words", json.dumps(words).encode()
    yield "pieces", json.dumps(pieces).encode() + b"\0" + json.dumps(config).encode()


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def sentencepiece_model_seeds():
    pieces = b"".join(
        message(1, message(1, piece.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) +
                varint(3 << 3) + varint(kind))
        for piece, score, kind in (("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3), ("<0x0A>", 0, 6),
                                   ("▁", -1, 1), ("l", -2, 1), ("ll", -3, 1), ("▁He", -4, 1),
                                   ("<tool>", 0, 4), ("old", -5, 5)))
    for name, kind in (("unigram", 1), ("bpe", 2)):
        trainer = varint(3 << 3) + varint(kind) + varint(35 << 3) + varint(kind - 1)
        normalizer = message(1, b"identity") + varint(4 << 3) + varint(kind - 1)
        yield name, pieces + message(2, trainer) + message(3, normalizer)
    charsmap = struct.pack("<I", 4) + bytes(8)
    yield "charsmap", pieces + message(3, message(2, charsmap))


def tiktoken_ranks_seeds():
    tokens = [b"H", b"e", b"l", b"o", b"ll", b" ", b"He", b"llo", b"Hello", bytes([0xC3]), b"1"]
    yield "gaps", b"".join(base64.b64encode(token) + b" %d\n" % (rank + rank // 5)
                           for rank, token in enumerate(tokens))


def rwkv_vocab_seeds():
    yield "literals", (b"1 '\\x00' 1\n2 b'\\xff\\\\' 2\r\n3 '\\x80\xc3\xa9' 4\n5 \" 'a' \" 5\n"
                       b"6 'Hello' 5\n7 '\\u3042\\U0001f600' 7\n")


def tokenizer_seeds():
    yield "words", "Hello, wörld! It's 12345 o'clock  \n\n\tx".encode()
    yield "scripts", "日本語 мир 👩‍👩‍👧 é e\u0301 \u00a0x\u200b\ufeff".encode()
    yield "special", "<s> <|end|></s> <pad>".encode()
    yield "bytes", bytes(range(256))


def template_seeds():
    yield "chatml", (b"{%- for m in messages %}{{- '<|im_start|>' + m['role'] + '\\n' + (m.content or '')"
                     b" + '<|im_end|>\\n' -}}{% endfor %}{% if add_generation_prompt %}x{% endif %}")
    yield "macros", (b"{% macro f(a, b=2) %}{{ a ~ b }}{% endmacro %}{% set ns = namespace(n=0) %}"
                     b"{% for k, v in d.items() %}{% set ns.n = ns.n + 1 %}{{ f(k, v) }}{% endfor %}"
                     b"{{ ns.n }}{{ loop is defined }}")
    yield "filters", (b"{{ s | upper | trim }}{{ l | sort | join(', ') }}{{ tools | tojson(indent=2) }}"
                      b"{{ messages | selectattr('role', 'equalto', 'user') | list | length }}"
                      b"{{ l[1:] }}{{ l[::-1] }}{{ '%05.2f' | format(n) }}")
    yield "raises", b"{% if not tools %}{{ raise_exception('no tools') }}{% endif %}{# a note #}"
    yield "nested", b"{{ " + b"(" * 40 + b"1" + b")" * 40 + b" }}{{ not not n ** 2 // 3 % 2 >= 1 }}"
    yield "blocks", (b"{% set x | trim %} {{ s }} {% endset %}{% filter upper %}{{ x }}{% endfilter %}"
                     b"{% with a = 1 %}{% generation %}{{ a }}{% endgeneration %}{% endwith %}"
                     b"{% call(q) f(1) %}{{ q }}{% endcall %}{% raw %}{{ }}{% endraw %}")
    yield "loops", (b"{% for m in messages if m.role recursive %}{{ loop.index }}{{ loop.previtem }}"
                    b"{{ loop.nextitem.role }}{{ loop.cycle(1, 2) }}{% if loop.last %}{% break %}{% endif %}"
                    b"{% if loop.depth < 3 %}{{ loop([m]) }}{% endif %}{% else %}none{% endfor %}")
    yield "formats", (b"{{ '%-8s|%+05d|%x|%r' % (s, n, 255, l) }}{{ '{:>8}|{0!r}|{x:,.2f}'.format(s, x=2) }}"
                      b"{{ s | wordwrap(5, true, '|') }}{{ 5000 | filesizeformat }}{{ d | xmlattr }}"
                      b"{{ s.expandtabs(4).title().swapcase() }}{{ s | center(20) | indent(2, true) }}")
    yield "groups", (b"{{ messages | groupby('role') | map('first') | list }}{{ l | batch(2, 'x') | list }}"
                     b"{{ l | slice(2) | list }}{{ d | dictsort(true, 'value') }}{{ l | unique | sum }}"
                     b"{{ l | map('string') | join('-') }}{{ dict.fromkeys(l, 0) }}{{ l[::-2] }}{{ s[-3:] }}")
    yield "unset", b"{% for i in l %}{{ s }}{% set s = i %}{% endfor %}{% set s %}{{ s }}{% endset %}{{ s ~ n }}"
    yield "calls", b"{{ s.split(' ')[0].replace('t', 'T') }}{{ strftime_now('%d %b %Y') }}{{ range(3) }}"
    yield "numbers", (b"{{ 10**40 // 7 % 12345678901234567890 }}{{ (2**99)|round(-3) }}{{ 1e300|int }}"
                      b"{{ '%d|%x' % (9**50, 3**80) }}{{ 0xffffffffffffffffffff / 3 }}{{ 5.real }}"
                      b"{{ [10**20, 1e20]|sort }}{{ s[:10**20] }}{{ '9' * 30|int }}{{ 2.5|round(-1, 'ceil') }}")
    yield "dates", b"{{ strftime_now('%G-W%V %-d %_5H %^a %#p %Ey %012F %s %5Q') }}"
    yield "lazy", (b"{% macro m(a) %}{{ self }}{% endmacro %}{{ m.arguments }}{{ l|map('unique')|first }}"
                   b"{% set g = l|map('string') %}{% for x in g if x in g %}{{ x }}{% endfor %}")


def json_seeds():
    yield "kinds", b' {"a": [null, true, false, -1, 1.5e-3, "x\\n\\u00e9\\ud83d\\ude00"], "b": {}, "": []}\n'
    yield "numbers", (b"[0,-0,-0.0,1e15,1e-5,2.2250738585072011e-308,1e-400,9007199254740993,18446744073709551615,"
                      b"18446744073709551616,-9223372036854775809,1.7976931348623157e308]")
    yield "twice", b'{"a":1,"b":2,"a":{"a":[3]}}'
    yield "wide", ("{" + ",".join(f'"k{i}":{i}' for i in range(40)) + "}").encode()
    yield "deep", b"[" * 63 + b"{}" + b"]" * 63
    yield "utf8", b'\xef\xbb\xbf["' + "é日😀\x7f".encode() + b'"]'
    yield "broken", b'{"a" 1}'


def registry_manifest_seeds():
    def layer(kind, digit, size):
        return {"mediaType": "application/vnd.ollama.image." + kind, "digest": "sha256:" + digit * 64,
                "size": size}
    plain = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
             "config": layer("json", "0", 485),
             "layers": [layer("model", "a", 1 << 30), layer("template", "b", 1482),
                        layer("params", "c", 96), layer("license", "0", 485)]}
    yield "layers", json.dumps(plain).encode()
    yield "listed", json.dumps({"manifests": [{"runner": "mlx", "digest": "sha256:" + "1" * 64},
                                              {"runner": "ollama", "digest": "sha256:" + "2" * 64}]}).encode()
    yield "list", json.dumps({"manifests": [{"runner": "llamacpp", **plain}]}).encode()
    yield "name", b"ollama:127.0.0.1:5000/library/tiny-1.5:q4_K_M"


def upload_answers_seeds():
    href = {"href": "https://store.example/x?signature=1"}
    entry = {"oid": "a" * 64, "size": 250}
    parts = {"chunk_size": "100", **{f"{i:05}": f"https://store.example/{i}" for i in (1, 2, 3)}}
    yield "modes", (b'{"files": [{"path": "a.gguf", "uploadMode": "lfs", "shouldIgnore": false},'
                    b' {"path": "b", "uploadMode": "regular"}]}')
    yield "whole", json.dumps({"transfer": "basic", "objects": [
        {**entry, "actions": {"upload": {**href, "header": {"X-A": "b"}}, "verify": href}}]}).encode()
    yield "parts", json.dumps({"transfer": "multipart", "objects": [
        entry, {**entry, "actions": {"upload": {**href, "header": parts}}}]}).encode()
    yield "refused", json.dumps({"objects": [{**entry, "error": {"code": 422, "message": "no"}}]}).encode()
    yield "commit", json.dumps({"commitOid": "b" * 40, "commitUrl": "https://hub.example/c"}).encode()


def packed_file_seeds():
    """Header, a byte for the payload's length in blocks less one, directory: see the target."""
    block, entry = 2 << 20, "<H1sBB5Q"

    def packed(n_blocks, *matrices, distances=()):
        directory = bytes(8 * (n_blocks - 1))
        for i, (n_bytes, offset) in enumerate(matrices):
            directory += struct.pack(entry, 1, bytes([97 + i]), 8, 16, 2, 32, 5, n_bytes, offset)
        directory += struct.pack("<QB", 9, len(distances))
        for dtype, n_bytes in distances:
            directory += struct.pack("<BI", dtype, n_bytes)
        header = struct.pack("<8s7Q", b"RUVPACK2", len(matrices), 1, 2, n_blocks * block,
                             len(directory), 0, 0)
        return header + bytes([n_blocks - 1]) + directory

    yield "none", packed(1)
    yield "one", packed(2, (block, block))
    yield "three", packed(2, (4096, block), (0, 2 * block), (block - 4096, block + 4096))
    yield "behind", packed(2, (block, block + 4096))
    yield "distances", packed(2, (block, block), distances=[(8, 512), (1, 1 << 20)])


def session_file_seeds():
    """A byte for the target (1: make hashes right), then a session's file."""
    def session(messages, user=b"", name=b"a", model=b"m", sealed=0):
        label = struct.pack("<4q3I", 5, 6, 2, 40, len(user), len(name), len(model))
        label += user + name + model
        head = struct.pack("<8s2I", b"RUVSESS1", sealed, len(label)) + bytes(56)
        return b"\1" + head + struct.pack("<Q", len(messages)) + label + messages

    yield "plain", session(b'[{"role":"user","content":"Hi"}]', b"ann", b"trip-2.x")
    yield "empty", session(b"")
    yield "sealed", session(bytes(40), sealed=1)
    yield "name", session(b"[]", name=b"../a")


def page_store_seeds():
    """A byte for the target (1: make hashes right, 2: append, 4: states of 700 bytes), then a
    segment of 64-byte pages."""
    def record(slot, parent, scope=b"", cell=7, has_state=0):
        label = struct.pack("<2q", 1 << 32 | slot, parent) + bytes(16)
        label += struct.pack("<16Q2I", *range(cell, cell + 16), len(scope), has_state) + scope
        state = bytes(range(256)) * 5 if has_state else b""
        return b"RUVPAGE2" + bytes(56) + label.ljust(512, b"\0") + bytes(range(64)) + state

    def segment(*records, number=1, sealed=0, version=2, n_state=0):
        head = struct.pack("<8sIIQQ", b"RUVPAGES", version, sealed, number, 64) + bytes(56)
        head = (head + struct.pack("<Q", 4) + b"fuzz").ljust(496, b"\0")
        return head + struct.pack("<2Q", n_state, 0) + b"".join(records)

    chain = [record(0, -1, b"s"), record(1, 1 << 32), record(2, 1 << 32 | 1)]
    yield "none", b"\1" + segment()
    yield "chain", b"\3" + segment(*chain)
    yield "torn", b"\3" + segment(*chain)[:-1]
    yield "ring", b"\1" + segment(record(0, 1 << 32 | 1), record(1, 1 << 32))
    yield "sealed", b"\1" + segment(record(0, -1), sealed=1)
    yield "rows", b"\3" + segment(record(0, -1, cell=1 << 63), record(1, 1 << 32, cell=1 << 62))
    yield "earlier", b"\1" + segment(version=1)
    yield "newer", b"\1" + segment(version=3)
    yield "damaged", b"\0" + segment(*chain)
    states = [record(0, -1, b"s", has_state=1), record(3, 1 << 32), record(4, 1 << 32 | 3, has_state=1)]
    yield "states", b"\7" + segment(*states, version=3, n_state=700)
    yield "torn_state", b"\7" + segment(*states, version=3, n_state=700)[:-700]
    yield "stateless", b"\3" + segment(*states)


# As in src/net/fuzz_route_body.cpp.
ROUTES = [("POST", "/v1/chat/completions"), ("POST", "/v1/completions"), ("POST", "/tokenize"),
          ("POST", "/detokenize"), ("POST", "/apply-template"), ("PUT", "/v1/sessions/s"),
          ("GET", "/v1/sessions"), ("GET", "/v1/models/x"), ("POST", "/v1/embeddings"),
          ("POST", "/v1/rerank"), ("POST", "/v1/score"), ("POST", "/v1/messages"),
          ("POST", "/v1/messages/count_tokens"), ("POST", "/v1/responses"), ("POST", "/api/chat"),
          ("POST", "/api/generate"), ("POST", "/api/embed"), ("POST", "/api/show"),
          ("POST", "/infill")]


def recorded_requests():
    """(file, name, method, path, body) of the server's request cases."""
    for file in sorted((CORPUS.parent.parent / "cases" / "http").glob("*.json")):
        for case in json.loads(file.read_text(encoding="utf-8")):
            asked = case["request"]
            body = asked.get("raw")
            if body is None and "body" in asked:
                body = json.dumps(asked["body"], ensure_ascii=False)
            body = None if body is None else body.replace('"scripted"', '"m"').encode()
            yield file.stem, case["name"], asked.get("method", "POST"), asked["path"], body


def route_body_seeds():
    """A byte for the route, then a body; one of each set of fields."""
    seen = set()
    for _, _, method, path, body in recorded_requests():
        path = path.replace("/v1/tokenize", "/tokenize").split("?")[0]
        if (method, path) not in ROUTES or body is None or len(body) > 600:
            continue
        try:
            fields = frozenset(json.loads(body))
        except (ValueError, TypeError):
            fields = body
        if (path, fields) not in seen:
            seen.add((path, fields))
            kind = path.split("/")[-1] if ROUTES.index((method, path)) > 7 else "case"
            yield f"{kind}_{len(seen)}", bytes([ROUTES.index((method, path))]) + body
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "Hi"}]
    yield "session", bytes([5]) + json.dumps({"messages": messages}).encode()
    turn = {"model": "m", "session": "s", "messages": messages[1:]}
    yield "turn", bytes([0]) + json.dumps(turn).encode()
    yield "query", bytes([6]) + b"user=u&after=a%2E&limit=3"


def http_seeds():
    """A byte for how it is cut, then what a client sends over one connection."""
    def request(method, path, body, extra=""):
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer key\r\n{extra}"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + (body or b"")

    talks = {}
    for file, _, method, path, body in recorded_requests():
        if body is None or len(body) < 600:
            talks.setdefault(file, []).append(request(method, path, body))
    for file, requests in talks.items():
        for i in range(0, min(len(requests), 24), 6):
            yield f"{file}_{i // 6}", bytes([i]) + b"".join(requests[i:i + 6])
    chunks = b'7\r\n{"conte\r\nb;x=y\r\nnt":"Hello"\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n'
    yield "chunked", b"\7" + request("POST", "/tokenize", None, "Transfer-Encoding: chunked\r\n") + chunks
    yield "expects", b"\0" + request("POST", "/tokenize", b'{"content":"a"}', "Expect: 100-continue\r\n")
    yield "old", b"\1GET /health HTTP/1.0\r\n\r\n"
    yield "pages", b"\2\r\n" + request("GET", "/v1/models", None, "Origin: http://localhost:3\r\n") * 3
    yield "ends", b"\3" + request("HEAD", "/health", None, "Connection: close\r\n")


def http2_seeds():
    """A byte for how it is cut, then the frames of a client after its preface; HPACK without
    compression."""
    def frame(kind, flags, stream, payload=b""):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
            ">I", stream) + payload

    def fields(method, path, *more):
        head = ((":method", method), (":scheme", "http"), (":authority", "localhost"), (":path", path),
                ("authorization", "Bearer key"), *more)
        return b"".join(b"\0" + bytes([len(name)]) + name.encode() + bytes([len(text)]) + text.encode()
                        for name, text in head)

    def request(stream, method, path, body=None):
        if body is None:
            return frame(1, 5, stream, fields(method, path))
        length = ("content-length", str(len(body)))
        return frame(1, 4, stream, fields(method, path, length)) + frame(0, 1, stream, body)

    settings = frame(4, 0, 0) + frame(4, 1, 0)
    talks = {}
    for file, _, method, path, body in recorded_requests():
        if (body is None or len(body) < 600) and len(path) < 127:
            talks.setdefault(file, []).append((method, path, body))
    for file, requests in talks.items():
        for i in range(0, min(len(requests), 24), 6):
            yield f"{file}_{i // 6}", bytes([i]) + settings + b"".join(
                request(2 * k + 1, *one) for k, one in enumerate(requests[i:i + 6]))
    quick = fields("GET", "/health")
    yield "parts", b"\7" + settings + frame(1, 1, 1, quick[:9]) + frame(9, 0, 1, quick[9:20]) + frame(
        9, 4, 1, quick[20:])
    yield "resets", b"\0" + settings + b"".join(
        frame(1, 5, i, quick) + frame(3, 0, i, struct.pack(">I", 8)) for i in (1, 3, 5))
    yield "windows", b"\1" + frame(4, 0, 0, struct.pack(">HI", 4, 0)) + request(
        1, "GET", "/v1/models") + frame(8, 0, 1, struct.pack(">I", 20)) + frame(
            8, 0, 0, struct.pack(">I", 1 << 20)) + frame(4, 0, 0, struct.pack(">HI", 4, 65535))
    yield "others", b"\2" + settings + frame(6, 0, 0, b"12345678") + frame(2, 0, 3, bytes(5)) + frame(
        1, 0x2D, 1, b"\3" + bytes(5) + quick + bytes(3)) + frame(7, 0, 0, bytes(8))


def schema_seeds():
    """A byte with the draft, a schema, a zero byte, a document."""
    cases = (CORPUS.parents[1] / "cases/grammar/schemas.jsonl").read_text().splitlines()
    for i, line in enumerate(cases[::60]):
        case = json.loads(line)
        documents = case["valid"] if i % 3 else case["invalid"]
        if documents:
            schema = json.dumps(case["schema"], separators=(",", ":"))
            yield f"case_{i}", b"\4" + schema.encode() + b"\0" + documents[0].encode()
    for name, schema, document in (
            ("distinct", {"type": "array", "items": {"enum": [1, 2, "a"]}, "uniqueItems": True,
                          "minItems": 3}, [2, 1, "a"]),
            ("tree", {"properties": {"n": {"$ref": "#"}}, "unevaluatedProperties": False,
                      "maxProperties": 1}, {"n": {"n": {}}}),
            ("choice", {"oneOf": [{"required": ["a"]}, {"minProperties": 2}],
                        "if": {"required": ["b"]}, "then": {"dependentRequired": {"b": ["c"]}}},
             {"b": 1, "c": 2}),
            ("numbers", {"multipleOf": 0.5, "minimum": -3, "exclusiveMaximum": 12,
                         "not": {"type": "integer"}}, -2.5),
            ("texts", {"items": {"pattern": "^[a-c]{2,}$|\\d", "minLength": 2, "format": "uuid"},
                       "patternProperties": {"^x": False}}, ["ab1"]),
            ("items", {"prefixItems": [{"type": "string"}], "items": {"maximum": 3},
                       "contains": {"const": 2}, "maxContains": 1, "unevaluatedItems": False},
             ["", 2, 1])):
        yield name, b"\4" + json.dumps(schema).encode() + b"\0" + json.dumps(
            document, separators=(",", ":")).encode()


def adapter_seeds():
    def tensors(*names):
        header, data = {}, b""
        for name, shape in names:
            n = 4 * math.prod(shape)
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + n]}
            data += bytes(n)
        raw = json.dumps(header).encode()
        return struct.pack("<Q", len(raw)) + raw + data

    def folder(kind, config, *names):
        raw = json.dumps(config).encode()
        return bytes([kind]) + struct.pack("<H", len(raw)) + raw + tensors(*names)

    q = "model.layers.0.self_attn.q_proj"
    peft = [(f"base_model.model.{q}.lora_A.weight", [2, 4]),
            (f"base_model.model.{q}.lora_B.default.weight", [6, 2])]
    yield "peft", folder(2, {"peft_type": "LORA", "r": 2, "lora_alpha": 3, "use_rslora": True,
                             "alpha_pattern": {"q_proj": 5}, "rank_pattern": {f"^{q}": 2}}, *peft)
    yield "peft_dora", folder(2, {"peft_type": "LORA", "r": 2, "use_dora": True}, *peft,
                              (f"base_model.model.{q}.lora_magnitude_vector", [6, 1]))
    embd = "base_model.model.model.embed_tokens"
    yield "peft_ends", folder(2, {"peft_type": "LORA", "r": 2, "modules_to_save": ["lm_head"]},
                              (f"{embd}.base_layer.weight", [5, 4]), (f"{embd}.lora_embedding_A", [2, 5]),
                              (f"{embd}.lora_embedding_B", [4, 2]), ("base_model.model.lm_head.weight", [5, 4]))
    experts = "base_model.model.model.layers.0.mlp.experts"
    yield "peft_experts", folder(
        2, {"peft_type": "LORA", "r": 2, "peft_version": "0.20.1",
            "target_parameters": ["mlp.experts.gate_up_proj", "experts.down_proj"]},
        (f"{experts}.base_layer.lora_A.weight", [6, 4]), (f"{experts}.base_layer.lora_B.weight", [10, 6]),
        (f"{experts}.lora_A.weight", [6, 5]), (f"{experts}.lora_B.weight", [4, 6]))
    switch = "model.layers.0.mlp.switch_mlp.up_proj"
    yield "mlx_experts", folder(1, {"lora_parameters": {"rank": 2, "scale": 10.0}},
                                (f"{switch}.lora_a", [3, 2, 4]), (f"{switch}.lora_b", [3, 5, 2]))
    yield "mlx", folder(1, {"lora_parameters": {"rank": 2, "alpha": 4, "scale": 10.0}},
                        (f"{q}.lora_a", [4, 2]), (f"{q}.lora_b", [2, 6]))
    yield "mlx_dora", folder(1, {"lora_parameters": {"rank": 2, "scale": 10.0}, "fine_tune_type": "dora"},
                             (f"{q}.lora_a", [4, 2]), (f"{q}.lora_b", [2, 6]), (f"{q}.m", [6, 1]))
    yield "gguf", b"\0" + gguf([("general.type", STRING, "adapter"), ("adapter.type", STRING, "lora"),
                                ("adapter.lora.alpha", F32, 3.0)],
                               [("blk.0.attn_q.weight.lora_a", [4, 2], 0, bytes(32)),
                                ("blk.0.attn_q.weight.lora_b", [2, 6], 0, bytes(48))])
    yield "gguf_embd", b"\0" + gguf([("general.type", STRING, "adapter"), ("adapter.type", STRING, "lora"),
                                     ("adapter.lora.alpha", F32, 3.0)],
                                    [("token_embd.weight.lora_a", [2, 5], 0, bytes(40)),
                                     ("token_embd.weight.lora_b", [2, 4], 0, bytes(32))])
    yield "gguf_experts", b"\0" + gguf([("general.type", STRING, "adapter"), ("adapter.type", STRING, "lora"),
                                        ("adapter.lora.alpha", F32, 3.0)],
                                       [("blk.0.ffn_up_exps.weight.lora_a", [4, 2, 3], 0, bytes(96)),
                                        ("blk.0.ffn_up_exps.weight.lora_b", [2, 5, 3], 0, bytes(120))])
    yield "control_vector", b"\0" + gguf(
        [("general.architecture", STRING, "controlvector"), ("controlvector.model_hint", STRING, "llama"),
         ("controlvector.layer_count", U32, 2)],
        [("direction.1", [4], 0, bytes(16)), ("direction.3", [4], 0, bytes(16))])


def main():
    for reader, seeds in (("gguf", gguf_seeds), ("imatrix", imatrix_seeds), ("ggmf", ggmf_seeds),
                          ("safetensors", safetensors_seeds), ("foreign", foreign_seeds),
                          ("tokenizer_json", tokenizer_json_seeds), ("tokenizer", tokenizer_seeds),
                          ("template", template_seeds), ("packed_file", packed_file_seeds),
                          ("sentencepiece_model", sentencepiece_model_seeds),
                          ("tiktoken_ranks", tiktoken_ranks_seeds),
                          ("rwkv_vocab", rwkv_vocab_seeds),
                          ("page_store", page_store_seeds),
                          ("session_file", session_file_seeds), ("json", json_seeds),
                          ("registry_manifest", registry_manifest_seeds),
                          ("upload_answers", upload_answers_seeds),
                          ("route_body", route_body_seeds), ("http", http_seeds),
                          ("http2", http2_seeds),
                          ("adapter", adapter_seeds), ("schema", schema_seeds)):
        folder = CORPUS / reader
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in seeds():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
