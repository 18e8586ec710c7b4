#!/usr/bin/env python3
"""The kinds of holes that servers of language models had, tried on this one: each request gets a
clean error or a plain answer, and the server answers the next one. docs/safety.md names the test of
each kind. All traffic is on 127.0.0.1; there are no bounds of time but the client's.

    tests/attack/attack_classes.py --binary build/release/apps/ruvllm/ruvllm --source .
"""
import base64
import gzip
import hashlib
import json
import os
import pickle
import socket
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "..", "e2e")]
from client import ask, connect, head, read_answer, resident_bytes  # noqa: E402
from server import Server, run_tests  # noqa: E402

CHAT, COMPLETE = "/v1/chat/completions", "/v1/completions"
HI = [{"role": "user", "content": "hi"}]
SECRET = "a-key-of-ann"


def post(server, path, body, extra=""):
    """(status, JSON or text) of a body given as JSON or as bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    status, answer, _ = ask(server.port, "POST", path, data, extra)
    try:
        return status, json.loads(answer)
    except ValueError:
        return status, answer.decode(errors="replace")


def chat(**fields):
    return {"messages": HI, "max_tokens": 4, **fields}


def raw(server, data):
    """All that comes back for these bytes until the server closes the connection, which it must."""
    with connect(server.port) as connection:
        connection.sendall(data)
        seen = b""
        try:
            while more := connection.recv(65536):
                seen += more
        except ConnectionError:
            pass
        return seen


class ClassTest(unittest.TestCase):
    """Tests of one server, which must be alive and well after each."""

    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Server(*[str(argument).replace("FOLDER", cls.folder.name)
                              for argument in cls.arguments])

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        cls.folder.cleanup()
        assert code == 0, f"the server ended with code {code}"

    def tearDown(self):
        self.assertIsNone(self.server.process.poll(), "the server died")
        self.assertEqual(ask(self.server.port, "GET", "/health")[0], 200)
        status, answer = post(self.server, COMPLETE, {"prompt": "a", "max_tokens": 1},
                              f"X-Api-Key: {SECRET}\r\n")
        self.assertEqual(status, 200, answer)

    def assert_error(self, path, body, status=400, param=None, extra=""):
        """The answer is an error of the API's form, and quotes little of what was sent."""
        found, answer = post(self.server, path, body, extra)
        shown = str(body)[:200]
        self.assertEqual(found, status, f"{path} {shown}: {answer}")
        error = answer["error"] if isinstance(answer, dict) else {}
        message = error if isinstance(error, str) else error.get("message", "")
        self.assertTrue(message, f"{path} {shown}: {answer}")
        self.assertLess(len(message), 2000, f"{path} {shown}")
        if param is not None:
            self.assertEqual(error.get("param"), param, f"{path} {shown}: {answer}")

    def assert_answered(self, path, body, statuses=(200, 400)):
        status, answer = post(self.server, path, body)
        self.assertIn(status, statuses, f"{path} {str(body)[:200]}: {str(answer)[:500]}")
        return status


class Framing(ClassTest):
    """Requests that a proxy before the server could read differently."""

    # Behind each of these heads lies a whole request, which must not be answered.
    HEADS = [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: 4, 5\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: -4\r\n",
        "Content-Length: 0x4\r\n",
        "Content-Length: 4a\r\n",
        "Content-Length: \r\n",
        "Content-Length: 18446744073709551620\r\n",
        "Content-Length : 4\r\n",
        "Content-Length: 4\r\n Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: identity, chunked\r\n",
        "Transfer-Encoding: \x0bchunked\r\n",
        "Transfer-Encoding: chunked\x0b\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "X: y\nTransfer-Encoding: chunked\r\n",
        "X: y\rTransfer-Encoding: chunked\r\n",
        "X\x00: y\r\nContent-Length: 4\r\n",
        "Content\\Length: 4\r\nContent-Length: 5\r\nContent-Length: 4\r\n",
        "Host: elsewhere\r\nContent-Length: 4\r\n",
    ]

    def assert_one_refusal(self, data, statuses=(b"400", b"413", b"501")):
        seen = raw(self.server, data)
        self.assertEqual(seen.count(b"HTTP/1.1 "), 1, f"{data[:200]!r}: {seen!r}")
        self.assertIn(seen.split(b" ")[1], statuses, f"{data[:200]!r}: {seen!r}")
        self.assertNotIn(b'"nano"', seen)

    def test_smuggled_requests(self):
        inner = head("GET", "/v1/models")
        for fields in self.HEADS:
            start = f"POST /tokenize HTTP/1.1\r\nHost: 127.0.0.1\r\n{fields}\r\n".encode("latin-1")
            self.assert_one_refusal(start + b"0\r\n\r\n" + inner)

    def test_chunks(self):
        inner = head("GET", "/v1/models")
        start = head("POST", "/tokenize", extra="Transfer-Encoding: chunked\r\n")
        for chunk in (b"-1\r\n", b"0x2\r\n{}\r\n", b"ffffffffffffffffff\r\n", b"2\n{}\r\n", b"\r\n",
                      b"2\r\n{}X\r\n", b"g\r\n", b"+2\r\n{}\r\n"):
            self.assert_one_refusal(start + chunk + b"0\r\n\r\n" + inner)

    def test_other_protocols(self):
        for data in (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                     b"GET /v1/models HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
                     b"CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
                     b"GET /v1/models\r\n\r\n"):
            seen = raw(self.server, data)
            self.assertNotIn(b'"nano"', seen)
            self.assertNotIn(b"HTTP/1.1 200", seen)
        for upgrade in ("h2c", "websocket"):
            status, _, _ = ask(self.server.port, "GET", "/v1/models", extra=(
                f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {upgrade}\r\n"
                "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"))
            self.assertEqual(status, 200)

    def test_floods_of_headers(self):
        for flood in ("a:\r\n" * 15_000, "Cookie: x\r\n" * 5000, "x" * 1_000_000,
                      "X-Api-Key: " + "k" * 500_000 + "\r\n",
                      "".join(f"x{i}: y\r\n" for i in range(100_000))):
            before = resident_bytes(self.server.process.pid)
            data = head("GET", "/v1/models", extra=flood)
            status = 0
            with connect(self.server.port) as connection:
                try:
                    connection.sendall(data)
                except ConnectionError:
                    pass  # refused before its end
                status = read_answer(connection)[0]
            self.assertIn(status, (0, 200, 400, 431))
            self.assertLess(resident_bytes(self.server.process.pid), before + (64 << 20))


class Bodies(ClassTest):
    def test_a_compressed_body_is_not_unpacked(self):
        before = resident_bytes(self.server.process.pid)
        bomb = gzip.compress(b" " * (256 << 20), 9)
        for encoding in ("gzip", "deflate", "br", "zstd"):
            self.assert_error("/tokenize", bomb, extra=f"Content-Encoding: {encoding}\r\n")
        self.assertLess(resident_bytes(self.server.process.pid), before + (64 << 20))

    def test_json_that_readers_disagree_on(self):
        for body in (b'\xef\xbb\xbf{"content":"a"}', b'{"content":"a"}{}', b'{"content":"a",}',
                     b"{'content':'a'}", b'{"content":NaN}', b'{"content":"\xff"}', b"[]", b"1", b"",
                     b'{"content":"a"}\x00', b'{"content":"\x01"}', b'{"content":"\\ud800"}',
                     b'{"count_only":1e999,"content":"a"}', b'// x\n{"content":"a"}'):
            self.assert_answered("/tokenize", body)
        # The last of equal names counts, and only that one.
        status, answer = post(self.server, "/tokenize", b'{"content":"a","content":"b c d"}')
        self.assertEqual((status, answer),
                         (200, post(self.server, "/tokenize", {"content": "b c d"})[1]))

    def test_nesting(self):
        for n in (101, 10_000, 1_000_000):
            self.assert_error(CHAT, b'{"metadata":' + b"[" * n + b"]" * n + b"}")
            self.assert_error(CHAT, b'{"metadata":' + b'{"a":' * n + b"1" + b"}" * n + b"}")

    def test_numbers_out_of_range(self):
        rows = [("n", 10**6), ("n", -1), ("n", 2**63), ("max_tokens", -5), ("max_tokens", 2**64),
                ("top_k", 2**70), ("temperature", -1e308), ("seed", 2**64), ("min_tokens", -1),
                ("prompt_logprobs", 10**6), ("truncate_prompt_tokens", -2), ("timeout_ms", 2**64),
                ("timeout_ms", -1), ("thinking_token_budget", -2), ("top_logprobs", 10**9),
                ("dry_allowed_length", -1), ("repetition_window", -1), ("min_cache_tokens", -1),
                ("priority", 10**9), ("n_discard", -10**9), ("n_keep", -2), ("n_keep", 2**64),
                ("n_cache_reuse", 10**9), ("t_max_predict_ms", -2), ("n_indent", -1)]
        for field, value in rows:
            body = {**chat(), field: value}
            if field == "top_logprobs":
                body["logprobs"] = True
            self.assert_error(CHAT, body, param=field)
        self.assert_error(CHAT, b'{"messages":[{"role":"user","content":"a"}],"temperature":1e999}')
        self.assert_error(COMPLETE, {"prompt": "a", "best_of": 10**6}, param="best_of")
        self.assert_error(COMPLETE, {"prompt": ["a"] * 128, "n": 128})
        self.assert_error(COMPLETE, {"prompt": [-1]})
        self.assert_error(COMPLETE, {"prompt": [2**31 - 1]})

    def test_long_lists(self):
        self.assert_error(CHAT, chat(stop=["x"] * 100_000), param="stop")
        self.assert_error(CHAT, chat(logit_bias={str(i): 1 for i in range(200_000)}))
        self.assert_error(CHAT, chat(logit_bias={"4294967296": 1}), param="logit_bias")
        self.assert_error(CHAT, chat(stop_token_ids=list(range(100_000))), param="stop_token_ids")
        self.assert_error(CHAT, chat(bad_words=["x"] * 100_000), param="bad_words")
        self.assert_error(CHAT, chat(allowed_token_ids=[1] * 1_000_000))
        self.assert_error(CHAT, chat(user="u" * 100_000), param="user")
        self.assert_error(CHAT, chat(cache_salt="a\0b"), param="cache_salt")
        self.assert_answered(CHAT, chat(stop=["z" * 400_000] * 16))

    def test_what_is_empty(self):
        for prompt in ("", [], [[]], [""], None, {}, [None]):
            self.assert_error(COMPLETE, {"prompt": prompt, "max_tokens": 1})
        for messages in ([], None, [{}], [{"role": "user"}], [{"role": "user", "content": None}],
                         [{"role": "assistant"}]):
            self.assert_error(CHAT, {"messages": messages})
        for inputs in ([], [[]], None):
            self.assert_error("/v1/embeddings", {"input": inputs})
        self.assert_answered(CHAT, {"messages": [{"role": "user", "content": ""}], "max_tokens": 1})

    def test_a_page_of_an_error_is_not_one_of_html(self):
        script = "<script>alert(1)</script>"
        for method, path, body in (("GET", f"/{script}", None), ("GET", f"/v1/models/{script}", None),
                                   ("POST", CHAT, json.dumps(chat(model=script)).encode()),
                                   ("POST", CHAT, json.dumps({script: 1}).encode()),
                                   ("GET", "/v1/models", None), ("GET", "/metrics", None)):
            data = head(method, path, None if body is None else len(body),
                        extra="Connection: close\r\n") + (body or b"")
            headers = raw(self.server, data).split(b"\r\n\r\n")[0].lower()
            self.assertNotIn(b"text/html", headers)
            self.assertIn(b"x-content-type-options: nosniff", headers)


class Files(ClassTest):
    """What makes a server read, fetch or run what it should not."""

    arguments = ("--cache-dir", "FOLDER/cache")

    def test_names_of_sessions_are_no_paths(self):
        def files():
            return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.folder.name)
                          for name in names if not folder.startswith(inside))
        inside = os.path.join(self.folder.name, "cache")
        body = json.dumps({"messages": HI}).encode()
        before = files()
        for name in ("..", ".", "..%2f..%2fx", "%2e%2e/x", "a%2fb", "a/b", "..%5cx", "a%00b", "%00",
                     "%2fetc%2fpasswd", "%c0%ae%c0%ae%2fx", "x" * 10_000, "%0a", "a%0d%0ab", "%ff"):
            for method, data in (("PUT", body), ("GET", None), ("DELETE", None)):
                status, answer, _ = ask(self.server.port, method, f"/v1/sessions/{name}", data)
                self.assertIn(status, (400, 404, 405), f"{method} {name[:50]}")
                self.assertNotIn(self.folder.name.encode(), answer)
        self.assertEqual(files(), before)
        for name in ("../x", "/etc/passwd", "a\0b", "", "x" * 10_000):
            status, answer = post(self.server, CHAT, chat(session=name))
            self.assertEqual(status, 400, answer)

    def test_models_are_named_and_not_read_from_paths(self):
        real = os.path.abspath(Server.model)
        for name in ("../../etc/passwd", "/etc/passwd", "file:///etc/passwd", real, "nano/../nano",
                     "hf://user/model", "http://127.0.0.1:1/x.gguf", "nano\0", "x" * 100_000):
            for path, body in ((CHAT, chat(model=name)), ("/v1/models/load", {"model": name}),
                               ("/v1/models/unload", {"model": name}), ("/api/show", {"model": name}),
                               ("/v1/embeddings", {"model": name, "input": "a"}),
                               ("/v1/messages", {"model": name, "messages": HI, "max_tokens": 1}),
                               ("/v1/responses", {"model": name, "input": "a"})):
                status, answer = post(self.server, path, body)
                self.assertIn(status, (400, 404), f"{path} {name[:50]}: {answer}")
                self.assertNotIn("root:", str(answer))
        for name in ("..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", ".."):
            self.assertEqual(ask(self.server.port, "GET", f"/v1/models/{name}")[0], 404)

    def test_there_are_no_routes_that_take_files(self):
        for method, path in (
                ("POST", "/api/pull"), ("POST", "/api/push"), ("POST", "/api/create"),
                ("POST", "/api/copy"), ("DELETE", "/api/delete"),
                ("POST", "/api/blobs/sha256:" + "0" * 64), ("HEAD", "/api/blobs/sha256:..%2fx"),
                ("POST", "/slots/0?action=save"), ("GET", "/slots"),
                ("POST", "/load_lora_adapter_from_tensors"),
                ("POST", "/update_weights_from_disk"), ("POST", "/collective_rpc"),
                ("POST", "/v1/audio/transcriptions"), ("GET", "/docs/../x"),
                ("GET", "/..%2f..%2f..%2fetc%2fpasswd"), ("GET", "/index.html"), ("POST", "/rpc")):
            body = b'{"name": "x", "filename": "../x", "model": "x"}' if method == "POST" else None
            status, answer, _ = ask(self.server.port, method, path, body) if method != "HEAD" else (
                int(raw(self.server, head("HEAD", path, extra="Connection: close\r\n"))
                    .split(b" ")[1]), b"", 0)
            self.assertEqual(status, 404, f"{method} {path}: {answer[:200]}")

    def test_adapters_are_not_loaded_from_anywhere(self):
        """The server was started without a folder for them."""
        for path in ("/etc/passwd", "../x", "", "\x00", "a" * 5000):
            body = json.dumps({"lora_name": "x", "lora_path": path}).encode()
            status, answer, _ = ask(self.server.port, "POST", "/v1/load_lora_adapter", body)
            self.assertEqual(status, 403, answer[:200])

    def test_no_files_are_kept_without_a_folder(self):
        """The server was started without --memory."""
        for method, path in (("POST", "/v1/files"), ("GET", "/v1/files"), ("GET", "/v1/files/x"),
                             ("POST", "/v1/vector_stores"), ("DELETE", "/v1/vector_stores/x")):
            status, answer, _ = ask(self.server.port, method, path, b"{}" if method == "POST" else None)
            self.assertEqual(status, 400, answer[:200])
            self.assertIn(b"--memory", answer)
        self.assertEqual(ask(self.server.port, "GET", "/v1/files/..%2fx")[0], 404)

    def test_nothing_is_learned_without_a_folder(self):
        """The server was started without --learn."""
        body = json.dumps({"instance": "../x", "prompt": "a", "correction": "b"}).encode()
        for path, sent in (("/v1/feedback", body), ("/v1/feedback/undo", b'{"instance": "../x"}')):
            status, answer, _ = ask(self.server.port, "POST", path, sent)
            self.assertEqual(status, 400, answer[:200])
            self.assertIn(b"--learn", answer)

    def test_nothing_is_fetched(self):
        """Media, which this server does not take, are neither downloaded nor read from disk."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(1)
            heard = []

            def listen():
                try:
                    heard.append(listener.accept())
                except TimeoutError:
                    pass

            thread = threading.Thread(target=listen)
            thread.start()
            here = f"http://127.0.0.1:{listener.getsockname()[1]}/x.png"
            for url in (here, "file:///etc/passwd", "http://169.254.169.254/latest/meta-data/",
                        "gopher://127.0.0.1:1/", "data:image/png;base64,AAAA", "/etc/passwd"):
                for path, part in (
                        (CHAT, {"type": "image_url", "image_url": {"url": url}}),
                        (CHAT, {"type": "video_url", "video_url": {"url": url}}),
                        (CHAT, {"type": "input_audio", "input_audio": {"data": url, "format": "wav"}}),
                        (CHAT, {"type": "file", "file": {"file_data": url}}),
                        ("/v1/messages", {"type": "image", "source": {"type": "url", "url": url}}),
                        ("/v1/messages", {"type": "document", "source": {"type": "url", "url": url}}),
                        ("/v1/responses", {"type": "input_image", "image_url": url}),
                        ("/v1/responses", {"type": "input_file", "file_url": url})):
                    message = [{"role": "user", "content": [part]}]
                    body = ({"input": message} if path == "/v1/responses" else
                            {"messages": message, "max_tokens": 1})
                    status, answer = post(self.server, path, body)
                    self.assertEqual(status, 400, f"{path} {part}: {answer}")
                    self.assertNotIn("root:", str(answer))
                for path, body in (
                        ("/api/chat", {"messages": [{**HI[0], "images": [url]}]}),
                        ("/api/generate", {"prompt": "a", "images": [url]}),
                        ("/v1/responses", {"input": "a", "tools": [
                            {"type": "mcp", "server_label": "x", "server_url": url}]}),
                        (CHAT, chat(response_format={"type": "json_schema", "json_schema": {
                            "name": "x", "schema": {"$ref": url}}}))):
                    status, answer = post(self.server, path, {"model": "nano", "stream": False, **body})
                    self.assertEqual(status, 400, f"{path} {url}: {answer}")
            thread.join()
            self.assertEqual(heard, [])

    def test_nothing_that_was_pickled_is_read(self):
        class Bomb:
            def __reduce__(self):
                return os.mkdir, (os.path.join(tempfile.gettempdir(), "ruv-pickle"),)
        data = base64.b64encode(pickle.dumps(Bomb())).decode()
        for field in ("prompt_embeds", "lora_request", "logits_processors", "input_embeds", "image_data",
                      "custom_logit_processor", "kv_transfer_params", "mm_processor_kwargs"):
            self.assert_error(CHAT, chat(**{field: data}), param=field)
            self.assert_error(COMPLETE, {"prompt": "a", field: data}, param=field)
        self.assertFalse(os.path.exists(os.path.join(tempfile.gettempdir(), "ruv-pickle")))


class Memory(ClassTest):
    """Documents that clients send, names and filters of which are theirs."""

    arguments = ("--memory", "FOLDER/memory")

    def files(self):
        inside = os.path.join(self.folder.name, "memory")
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.folder.name)
                      for name in names if not folder.startswith(inside))

    def test_names_of_documents_are_no_paths(self):
        for name in ("../../x", "/etc/passwd", "..", "a\\b", "vs_x", "catalog.db", "a%2fb", "x" * 4096):
            body = {"name": name, "text": "The cook is called Quillfeather."}
            self.assert_answered("/v1/memory/documents", body, (200,))
        for name in ("a\0b", "", " ", "x" * 4097, 3, None, ["a"]):
            self.assert_error("/v1/memory/documents", {"name": name, "text": "a"})
        for name in ("..%2f..%2fx", "%2fetc%2fpasswd", "%00", "%ff"):
            status, answer, _ = ask(self.server.port, "DELETE", f"/v1/memory/documents/{name}")
            self.assertIn(status, (200, 404, 400), answer)
            self.assertNotIn(self.folder.name.encode(), answer)
        self.assertEqual(self.files(), [])

    def test_a_query_is_no_program(self):
        """Neither SQL nor the language of FTS5."""
        post(self.server, "/v1/memory/documents", {"name": "kept", "text": "Kept words.", "metadata": {"a": 1}})
        for words in ("' OR 1=1 --", '" OR "', "words*", "NEAR(a b)", "a AND NOT", "text : a", "^a", "(((",
                      "\0", "?1", "); DROP TABLE chunks; --", "-" * 10_000, "a " * 20_000):
            for mode in ("words", "hybrid"):
                self.assert_answered("/v1/memory/search", {"query": words, "mode": mode})
            key = {"type": "eq", "key": words, "value": words}
            self.assert_answered("/v1/memory/search", {"query": "kept", "filter": key})
            self.assert_answered("/v1/memory/search", {"query": "kept", "metadata": {words: words}})
        status, answer = post(self.server, "/v1/memory/search", {"query": "kept", "mode": "words"})
        self.assertEqual((status, answer["data"][0]["document"]), (200, "kept"))

    def test_filters(self):
        deep = {"type": "eq", "key": "a", "value": 1}
        for _ in range(40):
            deep = {"type": "and", "filters": [deep, deep]} if len(str(deep)) < 2000 else {
                "type": "or", "filters": [deep]}
        wide = {"type": "in", "key": "a", "value": list(range(100_000))}
        for value in (deep, wide, [], "a", {"type": "and"}, {"type": "and", "filters": [[]]},
                      {"type": "gt", "key": "a", "value": 1e308}, {"type": "gt", "key": "a", "value": 10**400}):
            self.assert_answered("/v1/memory/search", {"query": "a", "mode": "words", "filter": value})

    def upload(self, data, type_="multipart/form-data; boundary=x"):
        extra = f"Content-Length: {len(data)}\r\nContent-Type: {type_}\r\nConnection: close\r\n"
        sent = head("POST", "/v1/files", extra=extra) + data
        status, answer = raw(self.server, sent).split(b"\r\n\r\n", 1)
        return int(status.split(b" ")[1]), json.loads(answer)

    def form(self, name, content, purpose=b"assistants"):
        return (b"--x\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\n" + purpose +
                b"\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name +
                b"\"\r\n\r\n" + content + b"\r\n--x--\r\n")

    def test_forms(self):
        for name in (b"../../x", b"/etc/passwd", b"..", b"catalog.db", "\u202e.md".encode(), b"a\\b"):
            status, answer = self.upload(self.form(name, b"text"))
            self.assertEqual(status, 200, answer)
            self.assertTrue(answer["id"].startswith("file-"))
        self.assertEqual(self.files(), [])
        good = self.form(b"a.md", b"text")
        for data in (b"", b"--x", b"--x--", b"--x\r\n" * 10_000, good[:-9], good.replace(b"--x", b"--y"),
                     self.form(b"a.md", b"\xff\xfe"), self.form(b"a.pdf", b"%PDF"),
                     self.form(b"", b"a"), self.form(b"x" * 5000, b"a"), self.form(b"a.md", b"a", b"batch"),
                     b"--x\r\n" + b"A: b\r\n" * 50_000 + b"\r\n\r\n--x--",
                     b"\r\n--" * 100_000, b"\r\n--x" * 100_000):
            status, answer = self.upload(data)
            self.assertEqual(status, 400, (data[:60], answer))
        for type_ in ("multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=" +
                      "x" * 71, "text/plain", "multipart/mixed; boundary=x"):
            self.assertEqual(self.upload(good, type_)[0], 400, type_)

    def test_ids_of_stores_are_no_paths(self):
        for name in ("..", "../memory", "..%2fmemory", "memory", "%2fetc", "vs_", "%00", "vs_x%2f..%2fmemory"):
            for method, end in (("GET", ""), ("DELETE", ""), ("GET", "/files"), ("POST", "/search"),
                                ("POST", "/files"), ("DELETE", "/files/..")):
                body = b'{"query": "a", "file_id": "../x"}' if method == "POST" else None
                status, answer, _ = ask(self.server.port, method, f"/v1/vector_stores/{name}{end}", body)
                self.assertIn(status, (400, 404, 405), answer)
                self.assertNotIn(self.folder.name.encode(), answer)

    def test_long_texts_and_lists(self):
        self.assert_answered("/v1/memory/documents", {"name": "a", "text": "#" * 100_000}, (200, 400, 503))
        self.assert_answered("/v1/memory/documents", {"name": "a", "text": "# a\n" * 20_000},
                             (200, 400, 503))
        metadata = {str(i): i for i in range(20_000)}
        self.assert_answered("/v1/memory/documents", {"name": "b", "text": "b", "metadata": metadata})
        for query in ("limit=-1", "limit=99999999999999999999", "after=%00", "user=" + "x" * 5000, "limit="):
            status, answer, _ = ask(self.server.port, "GET", f"/v1/memory/documents?{query}")
            self.assertIn(status, (200, 400), answer)


def nested(n, inner=None):
    schema = inner or {"type": "string"}
    for _ in range(n):
        schema = {"type": "array", "items": schema}
    return schema


def doubling(n):
    """Each definition has the one before it twice."""
    return {"$defs": {"d0": {"const": 1}, **{
        f"d{i}": {"type": "array", "prefixItems": [{"$ref": f"#/$defs/d{i - 1}"}] * 2, "minItems": 2}
        for i in range(1, n)}}, "$ref": f"#/$defs/d{n - 1}"}


class Forms(ClassTest):
    """Schemas, grammars and patterns that want more than there is."""

    SCHEMAS = [
        nested(40), doubling(24), {"$ref": "#"}, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"allOf": [{"$ref": "#"}]}, {"anyOf": [{"type": "object", "properties": {str(i): {}}}
                                               for i in range(2000)]},
        {"type": "string", "minLength": 10**18}, {"type": "string", "maxLength": 2**64},
        {"type": "array", "minItems": 10**18, "uniqueItems": True},
        {"type": "number", "multipleOf": 1e-300}, {"type": "integer", "minimum": -2**80, "maximum": 2**80},
        {"type": "string", "pattern": "(a+)+$"}, {"type": "string", "pattern": "\\N"},
        {"type": "string", "pattern": "(" * 60_000 + ")" * 60_000},
        {"type": "string", "pattern": "(((a{1,999}){1,999}){1,999})"}, {"type": "string", "pattern": None},
        {"type": "something"}, {"type": 5}, {"enum": []}, {"enum": list(range(20_000))},
        {"properties": []}, {"required": 5}, {"not": {"not": {"not": {}}}},
        {"type": "object", "patternProperties": {"^(.*a){30}$": {}, "^(.*b){30}$": {}}},
        {"type": "object", "minProperties": 10**9}, {"format": "x" * 100_000}, {"$ref": "x" * 100_000}]
    GRAMMARS = [
        "root ::= " + "(" * 60_000 + '"a"' + ")" * 60_000, "root ::= root", "root ::= root root | \"a\"",
        "root ::= a\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(20_000)), "root ::= undefined",
        'root ::= "a"{1000000}', 'root ::= ("a"{1,1000}){1,1000}', "root ::= [", 'root ::= "a', "",
        "root ::= " + " ".join(['"a"?'] * 20_000), "%llguidance {}\nstart: /(/", "%llguidance {}",
        "start: start\n", "root ::= [^\\x00-\\U0010FFFF]", "root ::= \"\\U00110000\"", "root ::= <[9999999]>"]
    PATTERNS = [
        "(a+)+$", "(a|a)*b", "(x+x+)+y", "(" * 60_000, "[", "a{1000000000}", "(?=.*a)(?=.*b)(?=.*c).{100}",
        "((((.{0,99}){0,99}){0,99}){0,99})", "\\", "(?<a>", "\\p{Nope}", "(?i)" * 1000, "[\\d-z]", "a**"]

    def test_schemas(self):
        for schema in self.SCHEMAS:
            self.assert_answered(CHAT, chat(json_schema=schema))
            self.assert_answered(CHAT, chat(tools=[{"type": "function", "function": {
                "name": "f", "parameters": schema}}], tool_choice="required"))

    def test_grammars_and_patterns(self):
        for grammar in self.GRAMMARS:
            self.assert_answered(CHAT, chat(grammar=grammar))
        for pattern in self.PATTERNS:
            self.assert_answered(CHAT, chat(guided_regex=pattern))

    def test_tags_and_choices(self):
        tag = {"type": "const_string", "value": "a"}
        for _ in range(30):
            tag = {"type": "sequence", "elements": [tag, tag]} if len(json.dumps(tag)) < 500_000 else tag
        for value in ({"type": "structural_tag", "format": tag}, {"type": "structural_tag"}, {}, 5):
            self.assert_answered(CHAT, chat(structural_tag=value))
        self.assert_answered(CHAT, chat(guided_choice=[str(i) * 10 for i in range(20_000)]))
        self.assert_error(CHAT, chat(guided_choice=[]))

    def test_tools(self):
        def tool(**function):
            return chat(tools=[{"type": "function", "function": function}], tool_choice="required")
        for function in ({}, {"name": ""}, {"name": 5}, {"name": "x" * 100_000}, {"name": "a b\n<|im_end|>"},
                         {"name": "f", "parameters": 5}, {"name": "f", "parameters": []},
                         {"name": "f", "parameters": {"type": "object", "properties": {
                             "a": {"type": "weird", "pattern": "["}}}}):
            self.assert_answered(CHAT, tool(**function))
        for fields in ({"tools": 5}, {"tools": [5]}, {"tools": [{}]}, {"tool_choice": "required"},
                       {"tool_choice": {"type": "function", "function": {"name": "none"}}}):
            self.assert_error(CHAT, chat(**fields))
        self.assert_answered(CHAT, chat(tools=[{"type": "function", "function": {
            "name": f"f{i}", "parameters": {"type": "object"}}} for i in range(3000)]))

    def test_variables_of_the_template(self):
        names = ("messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "tokenize",
                 "raise_exception", "range", "namespace", "strftime_now", "loop", "self", "__class__",
                 "chat_template", "enable_thinking")
        for name in names:
            for value in ([], {}, 10**18, "<|im_end|>", None, True):
                self.assert_answered(CHAT, chat(chat_template_kwargs={name: value}))
        self.assert_error(CHAT, chat(chat_template="{% for x in range(1000000000) %}{% endfor %}"),
                          param="chat_template")
        self.assert_error("/apply-template", {"messages": HI, "chat_template": "{{ x }}"},
                          param="chat_template")


class Keys(ClassTest):
    """Requests without a key, with a wrong one, and with another user's."""

    arguments = ("--api-key-file", "FOLDER/keys", "--cache-dir", "FOLDER/cache", "--lenient",
                 "--log-file", "FOLDER/log", "--memory", "FOLDER/memory")
    OTHER = "a-key-of-bob"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        with open(os.path.join(cls.folder.name, "keys"), "w", encoding="utf-8") as file:
            file.write(f"ann {SECRET}\nbob {cls.OTHER}\n")
        cls.server = Server(*[argument.replace("FOLDER", cls.folder.name)
                              for argument in cls.arguments])

    def key(self, key):
        return f"Authorization: Bearer {key}\r\n"

    # The page's files say nothing of the server or its models.
    OPEN = ("/health", "/ready", "/", "/page.js", "/page-prose.js", "/page-temml.js", "/page-views.js")

    def test_every_route_asks_for_a_key(self):
        _, document, _ = ask(self.server.port, "GET", "/openapi.json", extra=self.key(SECRET))
        n = 0
        for path, operations in json.loads(document)["paths"].items():
            for method in operations:
                body = b"{}" if method in ("post", "put") else None
                path = path.replace("{", "").replace("}", "")
                status, answer, _ = ask(self.server.port, method.upper(), path, body)
                self.assertEqual(status, 200 if path in self.OPEN else 401,
                                 f"{method} {path}")
                n += 1
        self.assertGreater(n, 30)

    def test_no_form_of_a_path_goes_round_the_key(self):
        for path in ("//v1/models", "/v1//models", "/./v1/models", "/health/../v1/models",
                     "/health/..%2fv1/models", "/health%2f..%2fv1%2fmodels", "/v1/models;x=1",
                     "/v1/models%20", "/v1/models%00", "/V1/MODELS", "/v1/models/", "/models",
                     "/v1/%6dodels", "/%76%31/models", "http://127.0.0.1/v1/models",
                     "/v1/models?x=/health", "/v1/models#/health", "/v1/models/?/health", "/health/models",
                     "/v1/health/../models", "/ready/v1/models", "\\v1\\models", "/health\\..\\v1\\models"):
            for method in ("GET", "HEAD", "get", "OPTIONS", "POST"):
                for extra in ("", "X-Original-URL: /health\r\n", "X-Rewrite-URL: /health\r\n",
                              "X-HTTP-Method-Override: GET\r\n", "X-Forwarded-For: 127.0.0.1\r\n"):
                    seen = raw(self.server, head(method, path, extra=extra + "Connection: close\r\n"))
                    self.assertIn(seen.split(b" ")[1], (b"400", b"401", b"403", b"404", b"405"),
                                  f"{method} {path}: {seen[:200]}")
                    self.assertNotIn(b'"nano"', seen)

    def test_keys_that_are_nearly_right(self):
        wrong = [SECRET[:-1], SECRET + "x", SECRET[1:], SECRET.upper(), SECRET + SECRET, "", "ann",
                 f"ann {SECRET}", f"sha256:{hashlib.sha256(SECRET.encode()).hexdigest()}",
                 hashlib.sha256(SECRET.encode()).hexdigest(), SECRET + "%00", f'"{SECRET}"', "null",
                 SECRET[:6], "x" * 60_000]
        for key in wrong:
            for extra in (self.key(key), f"X-Api-Key: {key}\r\n"):
                self.assertEqual(ask(self.server.port, "GET", "/v1/models", extra=extra)[0], 401, key[:50])
        basic = base64.b64encode(f"ann:{SECRET}".encode()).decode()
        for path, extra in (("/v1/models", f"Authorization: Basic {basic}\r\n"),
                            ("/v1/models", f"Authorization: {SECRET}\r\n"),
                            ("/v1/models", f"Cookie: key={SECRET}\r\n"),
                            (f"/v1/models?key={SECRET}", ""), (f"/v1/models?api_key={SECRET}", "")):
            self.assertEqual(ask(self.server.port, "GET", path, extra=extra)[0], 401, path + extra)
        self.assertEqual(ask(self.server.port, "GET", "/v1/models", extra=self.key(SECRET))[0], 200)

    def cached_tokens(self, key, text, **fields):
        status, answer = post(self.server, COMPLETE, {"prompt": text, "max_tokens": 1, **fields},
                              self.key(key))
        self.assertEqual(status, 200, answer)
        return answer["usage"]["prompt_tokens_details"]["cached_tokens"]

    def test_keys_share_no_cached_prefixes(self):
        """Else the time of an answer tells what others asked."""
        text = "The password of the vault is under the third stone. " * 4
        self.assertEqual(self.cached_tokens(SECRET, text), 0)
        self.assertGreater(self.cached_tokens(SECRET, text), 0)
        self.assertEqual(self.cached_tokens(self.OTHER, text), 0)
        other = text.replace("third", "fourth")
        self.cached_tokens(SECRET, other, user="u")
        for user in ("u", "ann", "ann/u", "../ann/u", "bob/../ann/u"):
            self.assertEqual(self.cached_tokens(self.OTHER, other, user=user), 0, user)
        salted = text.replace("third", "fifth")
        self.cached_tokens(SECRET, salted, cache_salt="s")
        self.assertLess(self.cached_tokens(SECRET, salted), 16)

    def test_keys_see_no_sessions_of_each_other(self):
        body = json.dumps({"messages": HI}).encode()
        self.assertEqual(ask(self.server.port, "PUT", "/v1/sessions/mine", body, self.key(SECRET))[0], 200)
        for path in ("/v1/sessions/mine", "/v1/sessions/mine?user=ann", "/v1/sessions/mine?user=ann%2f"):
            self.assertEqual(ask(self.server.port, "GET", path, extra=self.key(self.OTHER))[0], 404, path)
        _, listed, _ = ask(self.server.port, "GET", "/v1/sessions", extra=self.key(self.OTHER))
        self.assertNotIn(b"mine", listed)
        said = HI[-1]["content"]
        for key, names in ((SECRET, ["mine"]), (self.OTHER, [])):
            for words in (said, "' OR 1=1 --", "NEAR(a b)"):
                status, answer = post(self.server, "/v1/sessions/search", {"query": words}, self.key(key))
                self.assertEqual((status, [one["name"] for one in answer["data"]]), (200, names), words)
        for user in ("ann", "ann/", "../ann/"):
            body = {"query": said, "user": user}
            _, answer = post(self.server, "/v1/sessions/search", body, self.key(self.OTHER))
            self.assertEqual(answer["data"], [], user)
        for name in ("adapter:x", "\0", "' OR 1=1", "a" * 5000):
            body = {"query": said, "adapter": name}
            _, answer = post(self.server, "/v1/sessions/search", body, self.key(SECRET))
            self.assertEqual(answer.get("data", []), [], name)

    def test_keys_see_no_documents_of_each_other(self):
        document = {"name": "mine", "text": "The vault opens at noon."}
        self.assertEqual(post(self.server, "/v1/memory/documents", document, self.key(SECRET))[0], 200)
        for user in ({}, {"user": "ann"}, {"user": "ann/"}, {"user": "../ann/"}, {"user": "bob/../ann/"}):
            body = {"query": "vault noon", "mode": "words", **user}
            status, answer = post(self.server, "/v1/memory/search", body, self.key(self.OTHER))
            self.assertEqual((status, answer["data"]), (200, []), user)
        own = {"query": "vault", "mode": "words"}
        _, answer = post(self.server, "/v1/memory/search", own, self.key(SECRET))
        self.assertEqual(len(answer["data"]), 1)
        for path in ("/v1/memory/documents", "/v1/memory/documents?user=ann", "/v1/memory/stats"):
            _, listed, _ = ask(self.server.port, "GET", path, extra=self.key(self.OTHER))
            self.assertNotIn(b"mine", listed)
        status, _, _ = ask(self.server.port, "DELETE", "/v1/memory/documents/mine", extra=self.key(self.OTHER))
        self.assertEqual(status, 404)
        status, store = post(self.server, "/v1/vector_stores", {"name": "mine"}, self.key(SECRET))
        self.assertEqual(status, 200, store)
        for method, end in (("GET", ""), ("DELETE", ""), ("GET", "/files"), ("POST", "/search"), ("POST", "")):
            body = b'{"query": "a"}' if end else b'{"name": "taken"}'
            status, _, _ = ask(self.server.port, method, f"/v1/vector_stores/{store['id']}{end}",
                               body if method == "POST" else None, self.key(self.OTHER))
            self.assertEqual(status, 404, method + end)
        for path in ("/v1/vector_stores", "/v1/files"):
            _, listed, _ = ask(self.server.port, "GET", path, extra=self.key(self.OTHER))
            self.assertEqual(json.loads(listed)["data"], [])

    def test_nothing_of_a_request_adds_lines_to_a_log_or_headers_to_an_answer(self):
        evil = "x\r\nSet-Cookie: a=b\r\n\r\n\x1bc{\"status\": 200}\u2028"
        for name in (evil, "a\nb", "\x00"):
            data = json.dumps(chat(**{name: 1, "user": evil[:100]})).encode()
            seen = raw(self.server, head("POST", CHAT, len(data), self.key(SECRET) +
                                         "Connection: close\r\n") + data)
            headers = seen.split(b"\r\n\r\n")[0]
            self.assertIn(b"X-Ignored-Fields: ", headers)
            self.assertNotIn(b"\nSet-Cookie", headers)
            self.assertNotIn(b"\x1b", headers)
        for path in ("/a%0d%0aSet-Cookie:%20b", "/%1b%5b2J", "/%e2%80%a8%0a{}"):
            seen = raw(self.server, head("GET", path, extra=(
                "X-Request-Id: a%0d%0ab\r\nConnection: close\r\n")))
            self.assertNotIn(b"\nSet-Cookie", seen.split(b"\r\n\r\n")[0])
        ask(self.server.port, "GET", "/health", extra="X-Request-Id: the-last\r\n")
        path = os.path.join(self.folder.name, "log")
        for _ in range(1000):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if "the-last" in text:
                break
            time.sleep(0.05)
        for line in text.split("\n")[:-1]:
            self.assertIn("time", json.loads(line))
        for line in self.server.said:
            self.assertTrue(line.rstrip("\n").isprintable(), repr(line))
            self.assertNotIn(SECRET, line)
        self.assertNotIn(SECRET, text)


if __name__ == "__main__":
    run_tests()
