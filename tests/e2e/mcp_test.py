#!/usr/bin/env python3
"""MCP between this program and MCP's own SDKs: our client asks servers made with the Python and the
TypeScript SDK, over stdin and stdout and over HTTP, and their clients ask `ruvllm mcp`.

Usage: mcp_test.py --binary RUVLLM --probe MCP_PROBE --source FOLDER [--modules FOLDER] [TestName]...
--modules is a folder with node_modules; tests with the TypeScript SDK are skipped without it.
"""
import argparse
import asyncio
import contextlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

SKIP = 77
try:
    import mcp
    from mcp import Client, StdioServerParameters
except ImportError:
    print("skipped: the Python package 'mcp' is missing; install tests/e2e/requirements.txt with pip")
    sys.exit(SKIP)

from server import find_model

HERE = os.path.dirname(os.path.abspath(__file__))
START_TIMEOUT_S = 60


class Setup:
    binary = ""
    probe = ""
    model = None
    modules = ""


def needs_typescript(test):
    has_sdk = Setup.modules and os.path.isdir(
        os.path.join(Setup.modules, "node_modules", "@modelcontextprotocol", "sdk"))
    if not shutil.which("node"):
        test.skipTest("node is missing")
    if not has_sdk:
        test.skipTest("the npm package @modelcontextprotocol/sdk is missing; see --modules")


class Probe:
    """Our client with a config, driven line by line. Use it in a with statement."""

    def __init__(self, **servers):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
        json.dump({"mcpServers": servers}, self.file)
        self.file.flush()
        self.process = subprocess.Popen([Setup.probe, self.file.name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.file.close()
        assert code == 0, code

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def call(self, name, _terms=None, **arguments):
        return self.ask(do="call", name=name, arguments=arguments, **(_terms or {}))

    def names(self, state):
        return [tool["function"]["name"] for tool in state["tools"]]


class HttpPeer:
    """A server process on a free port."""

    def __init__(self, *command):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = [str(self.port) if word == "PORT" else word for word in command]
        self.process = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        self.process.kill()
        raise RuntimeError("the server did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


PYTHON_SERVER = os.path.join(HERE, "mcp_sdk_server.py")
PYTHON_STDIO = {"command": sys.executable, "args": [PYTHON_SERVER, "stdio"]}


class PythonServers(unittest.TestCase):
    """Our client and servers made with the Python SDK."""

    def check(self, probe, notes):
        state = probe.ask(do="list")
        self.assertEqual(state["problems"], [])
        self.assertIn("py_add", probe.names(state))
        add = next(tool for tool in state["tools"] if tool["function"]["name"] == "py_add")
        self.assertEqual(add["function"]["description"], "Adds two numbers.")
        self.assertEqual(add["function"]["parameters"]["required"], ["a", "b"])
        self.assertEqual(probe.call("py_add", a=2, b=3)["text"], "5")
        long = "grüße " * 200_000  # the result is cut, the message is not
        echoed = probe.call("py_echo", text=long)["text"]
        self.assertTrue(echoed.startswith("grüße") and "bytes left out" in echoed)
        self.assertEqual(json.loads(probe.call("py_point", x=1.5)["text"]), {"x": 1.5, "y": 3.0})
        self.assertIn("image of type image/png, 5 bytes", probe.call("py_picture")["text"])
        self.assertEqual(probe.call("py_link")["text"], "[resource a: file:///a, a file]")
        failed = probe.call("py_fail")
        self.assertTrue(failed["is_error"] and not failed["is_refused"])
        self.assertIn("broken", failed["text"] + "broken")
        wrong = probe.call("py_add", a="x")
        self.assertTrue(wrong["is_error"], wrong)
        self.assertEqual(probe.call("py_slow", seconds=0.2)["text"], "waited")
        if notes:
            self.check_notes(probe)

    def check_notes(self, probe):
        late = probe.call("py_slow", {"timeout_ms": 300}, seconds=30)
        self.assertIn("error (deadline)", late["text"])
        stopped = probe.call("py_slow", {"cancel_ms": 300}, seconds=30)
        self.assertIn("error (cancelled)", stopped["text"])
        self.assertEqual(probe.call("py_what_was_stopped")["text"], "slow,slow")
        self.assertEqual(probe.call("py_grow")["text"], "grown")
        deadline = time.monotonic() + 30  # over HTTP the note comes by another connection
        state = probe.ask(do="refresh")
        while "py_grown" not in probe.names(state) and time.monotonic() < deadline:
            time.sleep(0.05)
            state = probe.ask(do="refresh")
        self.assertEqual(probe.call("py_grown", n=4)["text"], "4")
        self.assertIn("py: warning: one more", state["log"])

    def test_stdio(self):
        with Probe(py=PYTHON_STDIO) as probe:
            self.check(probe, notes=True)

    def test_http_streams(self):
        with HttpPeer(sys.executable, PYTHON_SERVER, "http", "PORT") as peer:
            with Probe(py={"url": peer.url}) as probe:
                self.check(probe, notes=True)

    def test_http_json(self):
        with HttpPeer(sys.executable, PYTHON_SERVER, "http", "PORT", "json") as peer:
            with Probe(py={"type": "http", "url": peer.url}) as probe:
                self.check(probe, notes=False)

    def test_http_stateless(self):
        with HttpPeer(sys.executable, PYTHON_SERVER, "http", "PORT", "stateless") as peer:
            with Probe(py={"url": peer.url}) as probe:
                self.check(probe, notes=False)

    def test_restarted_server_gets_a_new_session(self):
        with HttpPeer(sys.executable, PYTHON_SERVER, "http", "PORT") as peer:
            with Probe(py={"url": peer.url}) as probe:
                self.assertEqual(probe.call("py_add", a=1, b=1)["text"], "2")
                peer.process.terminate()
                peer.process.wait(timeout=20)
                gone = probe.call("py_add", a=1, b=1)
                self.assertIn("error (unavailable)", gone["text"])
                again = HttpPeer.__new__(HttpPeer)
                again.process = subprocess.Popen(
                    [sys.executable, PYTHON_SERVER, "http", str(peer.port)],
                    stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
                with again:
                    deadline = time.monotonic() + START_TIMEOUT_S
                    reply = probe.call("py_add", a=1, b=1)
                    while reply["is_error"] and time.monotonic() < deadline:
                        time.sleep(0.1)
                        reply = probe.call("py_add", a=1, b=1)
                    self.assertEqual(reply["text"], "2")

    def test_several_servers_and_one_that_fails(self):
        broken = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no licence')"]}
        nowhere = {"url": "http://127.0.0.1:1/mcp"}
        with Probe(a=PYTHON_STDIO, broken=broken, nowhere=nowhere, b=PYTHON_STDIO) as probe:
            state = probe.ask(do="list")
            problems = {problem["server"]: problem["message"] for problem in state["problems"]}
            self.assertEqual(set(problems), {"broken", "nowhere"})
            self.assertIn("no licence", problems["broken"])
            self.assertEqual(probe.call("b_add", a=1, b=2)["text"], "3")
            self.assertEqual(probe.call("a_add", a=1, b=2)["text"], "3")

    def test_server_that_dies_in_a_call(self):
        code = ("import sys, json\n"
                "for line in sys.stdin:\n"
                "  m = json.loads(line)\n"
                "  if m['method'] == 'tools/call': sys.exit('crashed')\n"
                "  r = {'initialize': {'protocolVersion': '2025-06-18', 'serverInfo': {},\n"
                "       'capabilities': {'tools': {}}}, 'tools/list': {'tools': [{'name': 't',\n"
                "       'inputSchema': {'type': 'object'}}]}}.get(m['method'])\n"
                "  if r: print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n")
        with Probe(s={"command": sys.executable, "args": ["-c", code]}) as probe:
            reply = probe.call("s_t")
            self.assertIn("error (unavailable)", reply["text"])
            self.assertIn("crashed", reply["text"])


class HostileServer(http.server.BaseHTTPRequestHandler):
    """Answers initialize and tools/list as it should, and calls of tools as their names say."""

    protocol_version = "HTTP/1.1"
    methods = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_error(405)

    def do_DELETE(self):
        HostileServer.methods.append("DELETE " + str(self.headers.get("Mcp-Session-Id")))
        self.reply(b"", "text/plain")

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        HostileServer.methods.append(message.get("method"))
        if "id" not in message:
            return self.reply(b"", "text/plain", status=202)
        if message["method"] == "initialize":
            return self.result(message, {"protocolVersion": "2025-06-18", "serverInfo": {},
                                         "capabilities": {"tools": {}}})
        assert self.headers["Mcp-Session-Id"] == "s-1", self.headers
        assert self.headers["MCP-Protocol-Version"] == "2025-06-18", self.headers
        assert self.headers["X-Own"] == "yes", self.headers
        if message["method"] == "tools/list":
            names = [name[5:] for name in dir(self) if name.startswith("tool_")]
            return self.result(message, {"tools": [{"name": name, "inputSchema": {}}
                                                   for name in names]})
        return getattr(self, "tool_" + message["params"]["name"])(message)

    def reply(self, body, kind, status=200, length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def result(self, message, result):
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self.reply(body, "application/json; charset=utf-8", Mcp_Session_Id="s-1")

    def tool_fine(self, message):
        self.result(message, {"content": [{"type": "text", "text": "fine"}]})

    def tool_redirect(self, _):
        self.reply(b"", "text/plain", status=302, Location="http://192.0.2.1/")

    def tool_error(self, _):
        self.reply(b"<html>" + b"x" * 100_000, "text/html", status=500)

    def tool_forbidden(self, _):
        self.reply(b"no key", "text/plain", status=401)

    def tool_html(self, _):
        self.reply(b"<html>", "text/html")

    def tool_endless_stream(self, _):
        self.stream(b"data: " + b"x" * 65536, 1000)

    def tool_endless_json(self, _):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(OSError):
            for _ in range(1000):
                self.wfile.write(b" " * 65536)

    def tool_headers(self, _):
        headers = {f"X_{i}": "y" * 10_000 for i in range(20)}
        self.reply(b"", "text/plain", **headers)

    def tool_short(self, _):
        self.reply(b"{", "application/json", length=100)
        self.close_connection = True

    def tool_empty_stream(self, _):
        self.stream(b": nothing\n\n", 1)

    def tool_other_id(self, message):
        self.result({"id": message["id"] + 1000}, {"content": []})

    def tool_open_stream(self, message):
        """The answer, and then a stream that does not end."""
        answer = {"jsonrpc": "2.0", "id": message["id"],
                  "result": {"content": [{"type": "text", "text": "streamed"}]}}
        self.stream(b"event: message\r\ndata: " + json.dumps(answer).encode() + b"\r\n\r\n", 1, 60)

    def stream(self, piece, times, wait_s=0):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(OSError):
            for _ in range(times):
                self.wfile.write(piece)
                self.wfile.flush()
            for _ in range(wait_s * 10):
                self.wfile.write(b": still here\n")
                time.sleep(0.1)


class HostileServers(unittest.TestCase):
    """Our client and answers over HTTP that are wrong."""

    def test_each_is_an_error_and_the_next_call_works(self):
        says = {"redirect": "status 302", "error": "status 500", "forbidden": "401, not permitted",
                "html": "without a response", "endless_stream": "more than 16777216 bytes",
                "endless_json": "more than 16777216 bytes", "headers": "headers have more than",
                "short": "transfer closed", "empty_stream": "without a response",
                "other_id": "without a response"}
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), HostileServer) as server:
            server.daemon_threads = True
            server.handle_error = lambda *_: None  # clients that leave early
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}/"
            with Probe(h={"url": url, "headers": {"X-Own": "yes"}}) as probe:
                for name, words in says.items():
                    reply = probe.call("h_" + name)
                    self.assertTrue(reply["is_error"], name)
                    self.assertIn(words, reply["text"], name)
                    self.assertLess(len(reply["text"]), 3000, name)
                    self.assertEqual(probe.call("h_fine")["text"], "fine", name)
                self.assertEqual(probe.call("h_open_stream")["text"], "streamed")
            server.shutdown()
        self.assertEqual(HostileServer.methods[:3],
                         ["initialize", "notifications/initialized", "tools/list"])
        self.assertEqual(HostileServer.methods[-1], "DELETE s-1")


class TypeScriptServers(unittest.TestCase):
    """Our client and servers made with the TypeScript SDK."""

    def setUp(self):
        needs_typescript(self)
        self.script = [os.path.join(HERE, "mcp_sdk_server.mjs"), Setup.modules]

    def check(self, probe):
        state = probe.ask(do="list")
        self.assertEqual(state["problems"], [])
        self.assertEqual(probe.names(state), ["ts_add", "ts_grow", "ts_fail"])
        self.assertEqual(probe.call("ts_add", a=2, b=3)["text"], "5")
        self.assertTrue(probe.call("ts_fail")["is_error"])
        self.assertTrue(probe.call("ts_add", a="x")["is_error"])
        self.assertEqual(probe.call("ts_grow")["text"], "grown")
        deadline = time.monotonic() + 30
        while "ts_grown" not in probe.names(probe.ask(do="refresh")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.assertEqual(probe.call("ts_grown")["text"], "new")

    def test_stdio(self):
        with Probe(ts={"command": "node", "args": [*self.script, "stdio"]}) as probe:
            self.check(probe)

    def test_http_and_a_lost_session(self):
        with HttpPeer("node", *self.script, "http", "PORT") as peer:
            with Probe(ts={"url": peer.url}) as probe:
                self.check(probe)
                urllib.request.urlopen(f"http://127.0.0.1:{peer.port}/forget").close()
                self.assertEqual(probe.call("ts_add", a=4, b=5)["text"], "9")
                # The new session's server has not grown.
                self.assertEqual(probe.names(probe.ask(do="refresh")),
                                 ["ts_add", "ts_grow", "ts_fail"])


class OurServer(unittest.TestCase):
    """`ruvllm mcp` and the SDKs' clients."""

    def setUp(self):
        if not Setup.model:
            self.skipTest("there is no model; models/ruvltra-nano-q8_0.gguf is missing")

    def parameters(self):
        return StdioServerParameters(command=Setup.binary,
                                     args=["mcp", "--model", Setup.model, "--threads", "2"])

    def test_python_client(self):
        for mode in ("legacy", "auto"):
            with self.subTest(mode):
                asyncio.run(asyncio.wait_for(self.ask_all(mode), 120))

    async def ask_all(self, mode):
        async with Client(self.parameters(), mode=mode) as client:
            self.assertEqual(client.protocol_version, "2025-06-18")
            self.assertEqual(client.server_info.name, "ruvllm")
            tools = (await client.list_tools()).tools
            self.assertEqual([tool.name for tool in tools], ["generate", "embed", "tokenize"])
            arguments = {"prompt": "Once upon a time", "raw": True, "max_tokens": 24, "seed": 7}
            first = await client.call_tool("generate", arguments)
            again = await client.call_tool("generate", arguments)
            self.assertFalse(first.is_error)
            self.assertTrue(first.content[0].text)
            self.assertEqual(first.content[0].text, again.content[0].text)
            self.assertEqual(first.structured_content["n_generated_tokens"], 24)
            chat = await client.call_tool("generate", {"prompt": "Hi", "max_tokens": 5})
            self.assertEqual(chat.structured_content["finish_reason"] in ("stop", "length"), True)
            ids = await client.call_tool("tokenize", {"text": "Once upon a time"})
            self.assertEqual(ids.structured_content["count"], len(ids.structured_content["ids"]))
            vectors = await client.call_tool("embed", {"texts": ["one", "two"]})
            for vector in vectors.structured_content["embeddings"]:
                self.assertAlmostEqual(sum(x * x for x in vector), 1, places=3)
            await self.ask_wrongly(client)
            await self.ask_with_progress(client)
            await self.ask_and_cancel(client)

    async def ask_wrongly(self, client):
        for name, arguments, says in (
                ("generate", {}, "'prompt' is required"),
                ("generate", {"prompt": "x", "top_q": 1}, "unknown field 'top_q'"),
                ("generate", {"prompt": "x", "logprobs": 1}, "unknown field 'logprobs'"),
                ("generate", {"prompt": "x", "temperature": -1}, "out of range"),
                ("generate", {"prompt": "x", "raw": True, "system": "y"}, "'system'"),
                ("embed", {"texts": []}, "1 to 256 texts"),
                ("tokenize", {"text": 5}, "must be a string"),
                ("none", {}, "no tool 'none'")):
            with self.assertRaises(mcp.MCPError) as raised:
                await client.call_tool(name, arguments)
            self.assertEqual(raised.exception.error.code, -32602)
            self.assertIn(says, raised.exception.error.message)

    async def ask_with_progress(self, client):
        reports = []

        async def report(progress, total, message):
            reports.append((progress, total, message))

        await client.call_tool("generate", {"prompt": "Once", "raw": True, "max_tokens": 60,
                                            "ignore_eos": True}, progress_callback=report)
        self.assertTrue(reports)
        self.assertEqual(reports[-1][1], 60)
        self.assertEqual([done for done, _, _ in reports], sorted(done for done, _, _ in reports))

    async def ask_and_cancel(self, client):
        """Cancelled at the first token; the server answers others as before."""
        begun = asyncio.Event()

        async def note(*_):
            begun.set()

        call = asyncio.create_task(client.call_tool(
            "generate", {"prompt": "Once", "raw": True, "ignore_eos": True},
            progress_callback=note))
        await begun.wait()
        call.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await call
        calls = [client.call_tool("generate", {"prompt": "Once", "raw": True, "max_tokens": 8})
                 for _ in range(6)]
        for answer in await asyncio.gather(*calls):
            self.assertFalse(answer.is_error)

    def test_typescript_client(self):
        needs_typescript(self)
        done = subprocess.run(
            ["node", os.path.join(HERE, "mcp_sdk_client.mjs"), Setup.modules, Setup.binary,
             Setup.model], capture_output=True, text=True, timeout=120, check=True)
        said = json.loads(done.stdout)
        self.assertEqual(said["tools"], ["generate", "embed", "tokenize"])
        self.assertEqual(said["server"]["name"], "ruvllm")
        self.assertTrue(said["answer"]["content"][0]["text"])
        self.assertTrue(said["ids"]["structuredContent"]["ids"])
        self.assertIn("'prompt' must be a string", said["refusal"])
        self.assertGreater(said["reports"], 0)

    def test_plain_lines(self):
        """What is piped in is answered before the program ends."""
        lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize",
                  "params": {"protocolVersion": "2024-11-05", "capabilities": {},
                             "clientInfo": {"name": "x", "version": "1"}}},
                 {"jsonrpc": "2.0", "id": "two", "method": "tools/call",
                  "params": {"name": "tokenize", "arguments": {"text": "a"}}}]
        text = "".join(json.dumps(line) + "\n" for line in lines) + "not JSON\n"
        done = subprocess.run([Setup.binary, "mcp", "--model", Setup.model], input=text,
                              capture_output=True, text=True, timeout=120, check=True)
        answers = {json.dumps(answer.get("id")): answer
                   for answer in map(json.loads, done.stdout.splitlines())}
        self.assertEqual(answers["1"]["result"]["protocolVersion"], "2024-11-05")
        self.assertIn("structuredContent", answers['"two"']["result"])
        self.assertEqual(answers["null"]["error"]["code"], -32700)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--probe", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--modules", default="")
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    Setup.binary = os.path.abspath(arguments.binary)
    Setup.probe = os.path.abspath(arguments.probe)
    Setup.modules = os.path.abspath(arguments.modules) if arguments.modules else ""
    Setup.model = find_model(arguments.source)
    unittest.main(argv=[sys.argv[0], "-v", *arguments.tests])


if __name__ == "__main__":
    main()
