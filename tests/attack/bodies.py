"""The worst bodies found for each route: wide, deep and long ones, as bytes made when asked for."""
import json

LIMIT = 8 << 20  # the server's limit of a body


def filled(head, piece, tail, size):
    """head, as many pieces as fit into `size` bytes, tail."""
    n = max(0, size - len(head) - len(tail)) // len(piece)
    return head + piece * n + tail


def wide_object(head, tail, size):
    """An object with as many distinct keys as fit."""
    keys = []
    used = len(head) + len(tail)
    i = 0
    while used < size - 16:
        keys.append(b'"%x":1' % i)
        used += len(keys[-1]) + 1
        i += 1
    return head + b",".join(keys) + tail


def message(text):
    return b'{"model":"nano","max_tokens":1,"messages":[{"role":"user","content":"' + text + b'"}]}'


def worst_bodies(size):
    """(name, method, path, function that makes the body) for bodies of about `size` bytes."""
    chat, complete = "/v1/chat/completions", "/v1/completions"
    ask = b'{"model":"nano","max_tokens":1,'
    rows = []
    for path in ("/tokenize", "/apply-template", "/detokenize", chat, complete):
        rows += [
            ("unknown keys", path, lambda: wide_object(b'{"x":{', b"}}", size)),
            ("deep", path, lambda: b"[" * size),
            ("deep objects", path, lambda: filled(b"", b'{"a":', b"", size)),
            ("ones", path, lambda: filled(b'{"x":[1', b",1", b"]}", size)),
            ("empty objects", path, lambda: filled(b'{"x":[{}', b",{}", b"]}", size)),
            ("empty texts", path, lambda: filled(b'{"x":[""', b',""', b"]}", size)),
            ("fractions", path, lambda: filled(b'{"x":[1e-7', b",1e-7", b"]}", size)),
            ("one long number", path, lambda: filled(b'{"x":', b"1", b"}", size)),
            ("one long key", path, lambda: filled(b'{"', b"k", b'":1}', size)),
            ("escaped key", path, lambda: filled(b'{"', b"\\u0000", b'":1}', size)),
            ("not UTF-8", path, lambda: filled(b'{"x":"', b"\xff", b'"}', size)),
            ("open text", path, lambda: filled(b'{"x":"', b"a", b"", size)),
            ("spaces", path, lambda: filled(b"", b" ", b"{}", size)),
        ]
    for letters in (b"a", b"1", b" ", b"\\n", b"the cat ", "日本".encode(), b"\\ud83d\\ude00", b"."):
        rows += [
            ("text of " + letters.decode(), "/tokenize",
             lambda letters=letters: filled(b'{"content":"', letters, b'"}', size)),
            ("counted text of " + letters.decode(), "/tokenize",
             lambda letters=letters: filled(b'{"count_only":true,"content":"', letters, b'"}', size)),
            ("prompt of " + letters.decode(), complete,
             lambda letters=letters: filled(ask + b'"prompt":"', letters, b'"}', size)),
            ("message of " + letters.decode(), chat,
             lambda letters=letters: message(filled(b"", letters, b"", size - 100))),
        ]
    everything = b'{"with_pieces":true,"return_token_strs":true,"with_spans":true,"content":"'
    rows += [
        ("all about digits", "/tokenize", lambda: filled(everything, b"1", b'"}', size)),
        ("all about letters", "/tokenize", lambda: filled(everything, b"xq", b'"}', size)),
        ("messages", chat, lambda: filled(
            b'{"model":"nano","messages":[{"role":"user","content":""}',
            b',{"role":"user","content":""}', b"]}", size)),
        ("message parts", chat, lambda: filled(
            b'{"model":"nano","messages":[{"role":"user","content":[{"type":"text","text":""}',
            b',{"type":"text","text":""}', b"]}]}", size)),
        ("messages", "/apply-template", lambda: filled(
            b'{"messages":[{"role":"user","content":""}', b',{"role":"user","content":""}', b"]}",
            size)),
        ("tools", "/apply-template", lambda: filled(
            b'{"messages":[{"role":"user","content":"a"}],"tools":[{}', b",{}", b"]}", size)),
        ("variables", "/apply-template", lambda: wide_object(
            b'{"messages":[{"role":"user","content":"a"}],"chat_template_kwargs":{', b"}}", size)),
        ("ids", complete, lambda: filled(ask + b'"prompt":[1', b",1", b"]}", size)),
        ("lists of ids", complete, lambda: filled(ask + b'"prompt":[[1]', b",[1]", b"]}", size)),
        ("ids", "/detokenize", lambda: filled(b'{"tokens":[1', b",1", b"]}", size)),
        ("stop texts", complete, lambda: filled(
            ask + b'"prompt":"a","stop":["b"', b',"b"', b"]}", size)),
        ("long stop texts", complete, lambda: ask + b'"prompt":"a","stop":[' + b",".join(
            [b'"' + b"z" * (size // 17) + b'"'] * 16) + b"]}"),
        ("biases", complete, lambda: wide_object(ask + b'"prompt":"a","logit_bias":{', b"}}", size)),
        ("metadata", complete, lambda: wide_object(
            ask + b'"prompt":"a","metadata":{', b"}}", size)),
    ]
    return [(name, "POST", path, make) for name, path, make in rows] + [
        ("session of messages", "PUT", "/v1/sessions/s", lambda: filled(
            b'{"messages":[{"role":"user","content":""}', b',{"role":"user","content":""}', b"]}",
            size)),
        ("session of one message", "PUT", "/v1/sessions/s", lambda: filled(
            b'{"messages":[{"role":"user","content":"', b"a", b'"}]}', size)),
    ]


def small_request():
    return json.dumps({"model": "nano", "prompt": "a", "max_tokens": 1}).encode()
