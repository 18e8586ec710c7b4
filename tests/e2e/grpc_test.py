#!/usr/bin/env python3
"""`ruvllm serve --grpc`, asked by gRPC's own Python packages (grpc/requirements.txt), and compared with
the same server's answers over HTTP. A program without gRPC must refuse the flag by name.

Usage: grpc_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import concurrent.futures
import json
import os
import re
import sys
import tempfile
import threading
import time
import unittest

from server import SKIP, Server, run_tests
from tls_test import make_certificate

try:
    import grpc
    import grpc_tools.protoc
    from grpc_health.v1 import health_pb2, health_pb2_grpc
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import \
        ProtoReflectionDescriptorDatabase
except ImportError as missing:
    print(f"skipped: {missing}; install tests/e2e/grpc/requirements.txt with pip")
    sys.exit(SKIP)

PROTOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/rpc/proto")
MADE = tempfile.TemporaryDirectory()
COMMON = os.path.join(os.path.dirname(grpc_tools.__file__), "_proto")
if grpc_tools.protoc.main(["protoc", f"-I{PROTOS}", f"-I{COMMON}", f"--python_out={MADE.name}",
                           f"--grpc_python_out={MADE.name}",
                           os.path.join(PROTOS, "ruvllm/v1/ruvllm.proto")]) != 0:
    raise RuntimeError("the service's description cannot be compiled")
sys.path.insert(0, MADE.name)
from ruvllm.v1 import ruvllm_pb2 as pb  # noqa: E402
from ruvllm.v1 import ruvllm_pb2_grpc as pb_grpc  # noqa: E402

Code = grpc.StatusCode
# Runs until it is cancelled.
ENDLESS = {"prompt": "Once upon a time", "seed": 1, "n": 100, "extra_json": '{"ignore_eos": true}'}
LONG = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class GrpcServer(Server):
    """With gRPC on a free port."""

    def __init__(self, *arguments, host="127.0.0.1"):
        super().__init__("--grpc", f"{host}:0", *arguments)

    @property
    def grpc_port(self):
        return int(re.search(r"gRPC on \S+:(\d+)", "".join(self.said)).group(1))

    def channel(self):
        return grpc.insecure_channel(f"127.0.0.1:{self.grpc_port}", LONG)


def eventually(condition):
    for _ in range(1200):
        if condition():
            return True
        time.sleep(0.05)
    return False


def user_says(text):
    return [pb.ChatMessage(role="user", content=text)]


class GrpcTest(unittest.TestCase):
    """Tests with a server of their own, or with the shared one of their class."""

    @classmethod
    def setUpClass(cls):
        cls.server = GrpcServer()
        cls.addClassCleanup(cls.server.stop)
        cls.channel = cls.server.channel()
        cls.addClassCleanup(cls.channel.close)
        cls.stub = pb_grpc.RuvllmStub(cls.channel)

    def fails(self, call):
        """The error of a call: its code, details and trailers."""
        with self.assertRaises(grpc.RpcError) as caught:
            answer = call()
            if hasattr(answer, "__iter__") and not hasattr(answer, "DESCRIPTOR"):
                list(answer)
        return caught.exception

    def is_idle(self):
        return eventually(lambda: self.server.n_running() == 0)


class Answers(GrpcTest):
    def http_events(self, path, body):
        connection = self.server.connect()
        data = json.dumps(body | {"stream": True,
                                  "stream_options": {"include_usage": True}}).encode()
        connection.sendall((f"POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: "
                            f"application/json\r\nContent-Length: {len(data)}\r\n\r\n").encode() + data)
        with connection, connection.makefile("rb") as answer:
            lines = answer.read().decode().split("\r\n\r\n", 1)[1].split("\n\n")
        events = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        self.assertEqual(events.pop(), "[DONE]")
        return [json.loads(event) for event in events]

    def test_generate_is_the_stream_of_completions(self):
        body = {"prompt": "Once upon a time", "max_tokens": 24, "seed": 9007199254740991, "temperature": 0.9,
                "stop": ["\n\n"], "n": 2, "logprobs": 2, "logit_bias": {"5": -1.5}}
        over_http = self.http_events("/v1/completions", body)
        extra = json.dumps({"logit_bias": body.pop("logit_bias")})
        over_grpc = list(self.stub.Generate(pb.GenerateRequest(**body, extra_json=extra)))

        def texts(events, get):
            found = {0: [], 1: []}
            for event in events:
                for choice in get(event, "choices"):
                    found[get(choice, "index")].append(
                        (get(choice, "text"), get(choice, "finish_reason") or ""))
            return found

        self.assertEqual(texts(over_grpc, getattr), texts(over_http, lambda o, k: o[k]))
        self.assertEqual(over_grpc[-1].usage.completion_tokens,
                         over_http[-1]["usage"]["completion_tokens"])
        probabilities = [p for e in over_http for c in e["choices"] if c["index"] == 1 and c["logprobs"]
                         for p in c["logprobs"]["token_logprobs"]]
        self.assertEqual([p for e in over_grpc for c in e.choices if c.index == 1 and
                          "token_logprobs" in c.logprobs for p in c.logprobs["token_logprobs"]],
                         probabilities)
        self.assertTrue(probabilities)

    def test_chat_is_the_stream_of_chat_completions(self):
        over_http = self.http_events("/v1/chat/completions", {
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Tell me ä €!"}],
            "max_tokens": 40, "temperature": 0})
        messages = [pb.ChatMessage(role="system", content="Be brief.")] + user_says("Tell me ä €!")
        over_grpc = list(self.stub.Chat(pb.ChatRequest(messages=messages, max_tokens=40, temperature=0)))
        self.assertEqual([c.delta.content for e in over_grpc for c in e.choices],
                         [c["delta"].get("content", "") for e in over_http for c in e["choices"]])
        self.assertEqual(over_grpc[-2].choices[0].finish_reason,
                         over_http[-2]["choices"][0]["finish_reason"])
        self.assertEqual(over_grpc[-1].usage.total_tokens, over_http[-1]["usage"]["total_tokens"])
        self.assertRegex(over_grpc[0].id, "^chatcmpl-")

    def test_embed_tokenize_and_detokenize(self):
        texts = ["a first text", "another one"]
        status, http = self.server.post("/v1/embeddings", {"input": texts, "pooling": "mean"})
        self.assertEqual(status, 200)
        answer = self.stub.Embed(pb.EmbedRequest(input=texts, pooling="mean"))
        self.assertEqual([list(e.embedding) for e in answer.data], [e["embedding"] for e in http["data"]])
        self.assertEqual(answer.usage.prompt_tokens, http["usage"]["prompt_tokens"])

        text = "words, numbers 123 and ü " * 20_000  # an answer in pieces
        body = {"content": text, "with_spans": True, "return_token_strs": True}
        status, http = self.server.post("/tokenize", body)
        self.assertEqual(status, 200)
        answer = self.stub.Tokenize(pb.TokenizeRequest(**body))
        self.assertEqual(list(answer.tokens), http["tokens"])
        self.assertEqual(list(answer.token_strs), http["token_strs"])
        self.assertEqual([list(span) for span in answer.spans], http["spans"])
        self.assertEqual(self.stub.Detokenize(pb.DetokenizeRequest(tokens=answer.tokens)).content, text)
        counted = self.stub.Tokenize(pb.TokenizeRequest(messages=user_says("hi"), count_only=True))
        self.assertGreater(counted.count, 0)

    def test_forms_and_tools_come_as_json(self):
        schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"],
                  "additionalProperties": False}
        answer = self.stub.Generate(pb.GenerateRequest(prompt="x", json_schema_json=json.dumps(schema),
                                                       max_tokens=60, temperature=0))
        text = "".join(c.text for e in answer for c in e.choices)
        self.assertIn(json.loads(text)["ok"], (True, False))

    def test_many_calls_at_once(self):
        def one(i):
            answer = self.stub.Generate(pb.GenerateRequest(prompt=f"number {i % 4}", max_tokens=8,
                                                           temperature=0))
            return i % 4, "".join(c.text for e in answer for c in e.choices)
        with concurrent.futures.ThreadPoolExecutor(32) as threads:
            found = set(threads.map(one, range(32)))
        self.assertEqual(len(found), 4)  # the same prompt, the same text

    def test_metadata_names_the_request(self):
        call = self.stub.Tokenize.with_call(pb.TokenizeRequest(content="x"),
                                            metadata=[("x-request-id", "mine-1")])[1]
        self.assertIn(("x-request-id", "mine-1"), list(call.initial_metadata()))
        self.assertTrue(eventually(lambda: any("Tokenize" in line or "/tokenize" in line
                                               for line in self.server.said)))


class Refusals(GrpcTest):
    def test_errors_come_by_name(self):
        error = self.fails(lambda: self.stub.Generate(pb.GenerateRequest(prompt="x", temperature=-1)))
        self.assertEqual(error.code(), Code.INVALID_ARGUMENT)
        self.assertIn("temperature", error.details())
        trailer = json.loads(dict(error.trailing_metadata())["error-bin"])["error"]
        self.assertEqual(trailer["param"], "temperature")
        status, http = self.server.post("/v1/completions", {"prompt": "x", "temperature": -1})
        self.assertEqual((status, http["error"]), (400, trailer))

        refused = {
            "unheard": pb.GenerateRequest(prompt="x", extra_json='{"unheard": 1}'),
            "prompt": pb.GenerateRequest(prompt="x", extra_json='{"prompt": "y"}'),
            "stream": pb.GenerateRequest(prompt="x", extra_json='{"stream": false}'),
            "extra_json": pb.GenerateRequest(prompt="x", extra_json='{"n": 1}, "a": {}'),
            "json_schema_json": pb.GenerateRequest(prompt="x", json_schema_json="{"),
            "top_p": pb.GenerateRequest(prompt="x", top_p=float("nan"))}
        for name, request in refused.items():
            error = self.fails(lambda: self.stub.Generate(request))
            self.assertEqual((name, error.code()), (name, Code.INVALID_ARGUMENT))
            self.assertIn(name, error.details())
        error = self.fails(lambda: self.stub.Generate(pb.GenerateRequest()))
        self.assertIn("prompt", error.details())
        error = self.fails(lambda: self.stub.Generate(pb.GenerateRequest(prompt="x", model="none")))
        self.assertEqual(error.code(), Code.NOT_FOUND)
        for call, request in ((self.stub.Embed, pb.EmbedRequest(
                input=["x"], extra_json='{"encoding_format": "base64"}')),
                              (self.stub.Tokenize, pb.TokenizeRequest(
                                  content="x", extra_json='{"with_pieces": true}'))):
            error = self.fails(lambda: call(request))
            self.assertIn("not possible over gRPC", error.details())

    def test_long_messages_are_refused(self):
        error = self.fails(lambda: self.stub.Tokenize(pb.TokenizeRequest(content="x" * (9 << 20))))
        self.assertEqual(error.code(), Code.RESOURCE_EXHAUSTED)
        self.assertEqual(self.stub.Tokenize(pb.TokenizeRequest(content="x")).count, 1)

    def test_a_cancel_frees_the_engine(self):
        call = self.stub.Generate(pb.GenerateRequest(**ENDLESS))
        next(call)
        self.assertGreater(self.server.n_running(), 0)
        call.cancel()
        self.assertTrue(self.is_idle())

    def test_a_deadline_frees_the_engine(self):
        error = self.fails(lambda: self.stub.Generate(pb.GenerateRequest(**ENDLESS), timeout=0.5))
        self.assertEqual(error.code(), Code.DEADLINE_EXCEEDED)
        self.assertTrue(self.is_idle())

    def test_the_end_of_time_has_its_code(self):
        error = self.fails(lambda: self.stub.Generate(pb.GenerateRequest(**ENDLESS, timeout_ms=100)))
        self.assertEqual(error.code(), Code.DEADLINE_EXCEEDED)
        self.assertTrue(self.is_idle())

    def test_a_client_that_reads_nothing_is_given_up(self):
        # Its window stays small, so that it reads nothing ahead.
        options = LONG + [("grpc.http2.bdp_probe", 0)]
        with grpc.insecure_channel(f"127.0.0.1:{self.server.grpc_port}", options) as channel:
            call = pb_grpc.RuvllmStub(channel).Generate(pb.GenerateRequest(**ENDLESS))
            next(call)
            self.assertTrue(self.is_idle())
            with self.assertRaises(grpc.RpcError) as caught:
                list(call)
            self.assertEqual(caught.exception.code(), Code.RESOURCE_EXHAUSTED)

    def test_bytes_that_are_no_message(self):
        raw = self.channel.unary_unary("/ruvllm.v1.Ruvllm/Tokenize", request_serializer=lambda b: b,
                                       response_deserializer=lambda b: b)
        for data in (b"\xff" * 100, b"\x12\x02\xff\xfe"):
            self.assertEqual(self.fails(lambda: raw(data)).code(), Code.UNIMPLEMENTED)  # gRPC's choice
        other = self.channel.unary_unary("/ruvllm.v1.Ruvllm/Other", request_serializer=lambda b: b,
                                         response_deserializer=lambda b: b)
        self.assertEqual(self.fails(lambda: other(b"")).code(), Code.UNIMPLEMENTED)


class Standards(GrpcTest):
    def test_health_says_what_ready_says(self):
        health = health_pb2_grpc.HealthStub(self.channel)
        serving = health_pb2.HealthCheckResponse.SERVING
        for name in ("", "ruvllm.v1.Ruvllm"):
            watch = health.Watch(health_pb2.HealthCheckRequest(service=name))
            self.assertTrue(any(answer.status == serving for answer in watch))
            watch.cancel()
            self.assertEqual(health.Check(health_pb2.HealthCheckRequest(service=name)).status, serving)
        error = self.fails(lambda: health.Check(health_pb2.HealthCheckRequest(service="other")))
        self.assertEqual(error.code(), Code.NOT_FOUND)

    def test_reflection_shows_the_service(self):
        found = ProtoReflectionDescriptorDatabase(self.channel)
        self.assertIn("ruvllm.v1.Ruvllm", found.get_services())
        file = found.FindFileContainingSymbol("ruvllm.v1.Ruvllm")
        self.assertEqual([m.name for m in file.service[0].method],
                         ["Generate", "Chat", "Embed", "Tokenize", "Detokenize"])


class Operation(unittest.TestCase):
    def code_of(self, call):
        try:
            call()
            return Code.OK
        except grpc.RpcError as error:
            return error.code()

    def test_keys_have_scopes_and_limits(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("one key-1 scopes=infer requests=2\nwatcher key-2 scopes=observe\n")
            file.flush()
            with GrpcServer("--api-key-file", file.name) as server, server.channel() as channel:
                stub = pb_grpc.RuvllmStub(channel)

                def ask(*metadata):
                    return self.code_of(lambda: stub.Tokenize(pb.TokenizeRequest(content="x"),
                                                              metadata=metadata))
                self.assertEqual(ask(), Code.UNAUTHENTICATED)
                self.assertEqual(ask(("authorization", "Bearer wrong")), Code.UNAUTHENTICATED)
                self.assertEqual(ask(("x-api-key", "key-2")), Code.PERMISSION_DENIED)
                self.assertEqual(ask(("authorization", "Bearer key-1")), Code.OK)
                self.assertEqual(ask(("x-api-key", "key-1")), Code.OK)
                self.assertEqual(ask(("x-api-key", "key-1")), Code.RESOURCE_EXHAUSTED)
                # Health asks for none.
                health = health_pb2_grpc.HealthStub(channel)
                health.Check(health_pb2.HealthCheckRequest())

    def test_tls(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = make_certificate(folder, "grpc")
            with GrpcServer("--tls-cert", certificate, "--tls-key", key) as server:
                with open(certificate, "rb") as file:
                    trusted = grpc.ssl_channel_credentials(file.read())
                where = f"localhost:{server.grpc_port}"
                with grpc.secure_channel(where, trusted) as channel:
                    stub = pb_grpc.RuvllmStub(channel)
                    self.assertEqual(stub.Tokenize(pb.TokenizeRequest(content="x")).count, 1)
                with server.channel() as channel:
                    stub = pb_grpc.RuvllmStub(channel)
                    self.assertEqual(Code.UNAVAILABLE, self.code_of(
                        lambda: stub.Tokenize(pb.TokenizeRequest(content="x"))))

    def test_wrong_addresses_are_refused(self):
        def refusal(*arguments):
            with self.assertRaises(RuntimeError) as caught:
                Server(*arguments).stop()
            return str(caught.exception)
        self.assertIn("--grpc 0.0.0.0 lets other machines", refusal("--grpc", "0.0.0.0:0"))
        self.assertIn("HOST:PORT", refusal("--grpc", "here"))
        with GrpcServer() as server:
            self.assertIn("cannot listen", refusal("--grpc", f"127.0.0.1:{server.grpc_port}"))

    def test_a_stop_lets_answers_end(self):
        server = GrpcServer()
        with server.channel() as channel:
            stub = pb_grpc.RuvllmStub(channel)
            watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
            next(watch)
            call = stub.Generate(pb.GenerateRequest(prompt="x", max_tokens=40, temperature=0,
                                                    extra_json='{"ignore_eos": true}'))
            first = next(call)
            stopper = threading.Thread(target=server.stop)
            stopper.start()
            rest = list(call)
            stopper.join()
            self.assertEqual(rest[-1].usage.completion_tokens, 40)
            self.assertEqual(first.id, rest[-1].id)
        self.assertEqual(server.process.returncode, 0)

    def test_a_stop_cuts_answers_that_take_longer(self):
        server = GrpcServer()
        with server.channel() as channel:
            stub = pb_grpc.RuvllmStub(channel)
            call = stub.Generate(pb.GenerateRequest(**ENDLESS))
            next(call)
            stopper = threading.Thread(target=server.stop)
            stopper.start()
            self.assertIn(self.code_of(lambda: list(call)), (Code.UNAVAILABLE, Code.CANCELLED))
            stopper.join()
        self.assertEqual(server.process.returncode, 0)


if __name__ == "__main__":
    run_tests()
