#!/usr/bin/env python3
"""`ruvllm serve` over TLS, asked by Python's ssl module and OpenAI's client; wrong and hostile
clients; certificates that change. The certificates are made here by the program `openssl`.

Usage: tls_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

from server import SKIP, Server, run_tests

try:
    import openai
except ImportError:
    openai = None

CHAT = "/v1/chat/completions"
HI = [{"role": "user", "content": "hi"}]


def make_certificate(folder, name, *, kind=("-newkey", "ec", "-pkeyopt",
                                            "ec_paramgen_curve:prime256v1"), key_options=("-nodes",)):
    """Paths of a certificate of `name` for 127.0.0.1 and of its key."""
    certificate, key = (os.path.join(folder, f"{name}.{part}") for part in ("crt", "key"))
    subprocess.run(["openssl", "req", "-x509", *kind, *key_options, "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=IP:127.0.0.1,DNS:localhost"],
                   check=True, capture_output=True, timeout=60)
    return certificate, key


class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.certificate, cls.key = make_certificate(cls.folder.name, "first")

    def server(self, *arguments):
        return Server("--tls-cert", self.certificate, "--tls-key", self.key, *arguments)

    def context(self, certificate=None):
        return ssl.create_default_context(cafile=certificate or self.certificate)

    def connect(self, server, context=None):
        return (context or self.context()).wrap_socket(server.connect(), server_hostname="localhost")

    def ask(self, server, method, path, body=None, context=None):
        connection = http.client.HTTPSConnection("localhost", server.port, timeout=120,
                                                 context=context or self.context())
        try:
            connection.request(method, path, body if isinstance(body, (bytes, type(None)))
                               else json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class Answers(TlsTest):
    def test_the_same_answers_as_without(self):
        body = {"messages": HI, "max_tokens": 12, "seed": 1}
        with Server() as plain:
            expected = plain.post(CHAT, body)[1]["choices"]
        with self.server() as server:
            self.assertTrue(server.where.startswith("https://127.0.0.1:"), server.where)
            status, text = self.ask(server, "POST", CHAT, body)
            self.assertEqual(status, 200)
            self.assertEqual(json.loads(text)["choices"], expected)

    def test_both_versions_and_rsa(self):
        certificate, key = make_certificate(self.folder.name, "rsa", kind=("-newkey", "rsa:2048"))
        with Server("--tls-cert", certificate, "--tls-key", key) as server:
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                context = self.context(certificate)
                context.minimum_version = context.maximum_version = version
                self.assertEqual(self.ask(server, "GET", "/health", context=context)[0], 200)

    def test_a_connection_is_kept_and_says_its_protocol(self):
        context = self.context()
        context.set_alpn_protocols(["other", "http/1.1"])
        with self.server() as server, self.connect(server, context) as client:
            self.assertEqual(client.selected_alpn_protocol(), "http/1.1")
            for _ in range(3):
                client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(client.recv(65536).startswith(b"HTTP/1.1 200"))
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            # ssl raises where the end of the stream is not TLS's own.
            text = b"".join(iter(lambda: client.recv(65536), b""))
            self.assertTrue(text.startswith(b"HTTP/1.1 200"))

    def test_bodies_of_all_sizes_in_pieces_of_all_sizes(self):
        with self.server() as server:
            for n in (0, 1, 16_383, 16_384, 16_385, 200_000, 3_000_000):
                body = json.dumps({"content": "a b " * (n // 4)}).encode()
                with self.connect(server) as client:
                    client.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\n"
                                   b"Content-Type: application/json\r\nConnection: close\r\n"
                                   b"Content-Length: %d\r\n\r\n" % len(body))
                    step = max(1, len(body) // 7)
                    for at in range(0, len(body), step):
                        client.sendall(body[at:at + step])
                    answer = http.client.HTTPResponse(client)
                    answer.begin()
                    text = answer.read()
                self.assertEqual(answer.status, 200, (n, text[:300]))
                self.assertGreaterEqual(len(json.loads(text)["tokens"]), n // 8)

    def test_a_byte_a_record(self):
        with self.server() as server, self.connect(server) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n":
                client.sendall(bytes([byte]))
            self.assertTrue(client.recv(65536).startswith(b"HTTP/1.1 200"))

    @unittest.skipIf(openai is None, "the package openai is missing")
    def test_openais_client_streams(self):
        with self.server("--api-key", "secret") as server:
            client = openai.OpenAI(base_url=f"https://localhost:{server.port}/v1", api_key="secret",
                                   http_client=openai.DefaultHttpxClient(verify=self.context()))
            with client:
                pieces = list(client.chat.completions.create(model="nano", messages=HI, max_tokens=20,
                                                             stream=True))
            self.assertTrue(pieces[-1].choices[0].finish_reason)

    def test_many_at_once(self):
        outcomes = []
        with self.server() as server:
            def one(i):
                status, text = self.ask(server, "POST", "/tokenize", {"content": f"word {i}"})
                outcomes.append((status, bool(json.loads(text)["tokens"])))
            threads = [threading.Thread(target=one, args=(i,)) for i in range(64)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(outcomes, [(200, True)] * 64)

    def test_a_client_that_leaves_ends_its_answer(self):
        with self.server() as server:
            body = json.dumps({"messages": HI, "max_tokens": 100_000, "stream": True,
                               "ignore_eos": True}).encode()
            client = self.connect(server)
            client.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n" % (CHAT.encode(), len(body)) + body)
            client.recv(65536)
            client.close()
            for _ in range(400):
                load = json.loads(self.ask(server, "GET", "/health")[1])["load"]
                if load["n_running"] + load["n_waiting"] == 0:
                    break
                time.sleep(0.05)
            self.assertEqual(load["n_running"] + load["n_waiting"], 0)


class WrongClients(TlsTest):
    def test_http_without_tls_is_told_so(self):
        with self.server() as server, server.connect() as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = b"".join(iter(lambda: client.recv(65536), b""))
            self.assertTrue(text.startswith(b"HTTP/1.1 400"), text)
            self.assertIn(b"https_required", text)

    def test_old_versions_are_refused(self):
        context = self.context()
        context.set_ciphers("ALL:@SECLEVEL=0")
        try:
            with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
                context.minimum_version = ssl.TLSVersion.TLSv1
                context.maximum_version = ssl.TLSVersion.TLSv1_1
        except ValueError:
            self.skipTest("this OpenSSL cannot ask for TLS 1.1")
        with self.server() as server:
            with self.assertRaises(ssl.SSLError):
                self.connect(server, context)
            self.assertEqual(self.ask(server, "GET", "/health")[0], 200)

    def test_hostile_bytes_end_their_connection_only(self):
        hello = bytes.fromhex("160301") + struct.pack(">H", 512)
        with self.server() as server, self.connect(server) as beside:
            for bytes_sent in (b"\x00" * 4096, b"\xff" * 4096, hello + os.urandom(512), hello,
                               b"\x16\x03\x01\x00\x00", b"\x15\x03\x03\x00\x02\x02\x28",
                               b"\x16\x03\x01\xff\xff" + b"\x01" * 70_000, b"\x80\x2e\x01\x00\x02",
                               os.urandom(1 << 16)):
                with server.connect() as client:
                    try:
                        client.sendall(bytes_sent)
                        client.shutdown(socket.SHUT_WR)
                        while client.recv(65536):
                            pass
                    except OSError:
                        pass
            # Random bytes inside an agreed connection, and no more than a piece of a record.
            for garbage in (b"\x17\x03\x03\x40\x00" + os.urandom(100), os.urandom(3000)):
                inside = self.connect(server)
                raw = socket.socket(fileno=os.dup(inside.fileno()))
                with inside, raw:
                    raw.sendall(garbage)
            beside.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertTrue(beside.recv(65536).startswith(b"HTTP/1.1 200"))

    def test_those_that_begin_and_say_nothing_do_not_keep_others_out(self):
        with self.server("--max-connections", "8") as server:
            silent = [server.connect() for _ in range(20)]
            try:
                for client in silent[::2]:
                    try:
                        client.sendall(b"\x16\x03\x01")
                    except OSError:
                        pass
                self.assertEqual(self.ask(server, "GET", "/health")[0], 200)
            finally:
                for client in silent:
                    client.close()

    def test_a_server_stops_while_clients_are_in_their_handshake(self):
        with self.server() as server:
            clients = [server.connect() for _ in range(5)]
            for client in clients:
                client.sendall(b"\x16\x03\x01\x02\x00\x01")
        for client in clients:
            client.close()


class Certificates(TlsTest):
    def refused(self, expected, *arguments):
        with self.assertRaisesRegex(RuntimeError, expected):
            Server(*arguments)

    def test_wrong_ones_are_refused_by_name(self):
        folder = self.folder.name
        other, other_key = make_certificate(folder, "other")
        locked, locked_key = make_certificate(folder, "locked", key_options=("-passout", "pass:1234"))
        empty = os.path.join(folder, "empty")
        with open(empty, "wb"):
            pass
        for expected, certificate, key in (
                ("nothing.crt: ", os.path.join(folder, "nothing.crt"), self.key),
                ("nothing.key: ", self.certificate, os.path.join(folder, "nothing.key")),
                ("empty: no certificate in PEM", empty, self.key),
                ("empty: no private key in PEM", self.certificate, empty),
                ("first.key: no certificate", self.key, self.key),
                ("other.key: no private key .* of .*first.crt", self.certificate, other_key),
                ("locked.key: no private key", locked, locked_key),
                (f"{folder}: ", folder, self.key)):
            self.refused(expected, "--tls-cert", certificate, "--tls-key", key)
        self.refused("go together", "--tls-cert", other)
        self.refused("go together", "--tls-key", other_key)
        self.refused("takes no --tls-cert", "--socket-file", os.path.join(folder, "s"), "--tls-cert",
                     self.certificate, "--tls-key", self.key)

    def test_a_renewed_one_is_read_on_sighup_and_a_wrong_one_is_not(self):
        folder = os.path.join(self.folder.name, "renewed")
        os.mkdir(folder)
        paths = make_certificate(folder, "live")
        with Server("--tls-cert", paths[0], "--tls-key", paths[1]) as server:
            def serial():
                text = ssl.get_server_certificate(("127.0.0.1", server.port), timeout=60)
                return ssl.PEM_cert_to_DER_cert(text)

            def reload(expected):
                n_said = len(server.said)
                server.process.send_signal(signal.SIGHUP)
                for _ in range(200):
                    if any(expected in line for line in server.said[n_said:]):
                        return
                    time.sleep(0.05)
                self.fail("".join(server.said))

            first = serial()
            with self.connect(server, self.context(paths[0])) as kept:
                make_certificate(folder, "live")
                reload("CN = live, until")
                second = serial()
                self.assertNotEqual(first, second)
                shutil.copy(self.key, paths[1])
                reload("stays as it was")
                self.assertEqual(serial(), second)
                kept.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(kept.recv(65536).startswith(b"HTTP/1.1 200"))


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        print("skipped: the program openssl is missing")
        sys.exit(SKIP)
    run_tests()
