"""A server that speaks the protocol of a hub of models and of a registry, for tests, and that can
misbehave in the ways that networks and servers do.

Repositories are dictionaries of paths to contents. A content is bytes, or a Big: bytes that are made
as they are sent. As on the hub, large files are redirected to another origin with a signed URL, which
here is a second port.
"""
import hashlib
import http.server
import json
import os
import random
import re
import socket
import threading
import time
import urllib.parse

from hub_uploads import HubUploads, StoreUploads, Uploads

LFS_FROM = 1 << 12  # contents of this size and more are LFS files


class Big:
    """n bytes of a file on disk, sent without being read here."""

    def __init__(self, path):
        self.path = path
        self.size = os.path.getsize(path)
        self._sha256 = None

    def sha256(self):
        if self._sha256 is None:
            digest = hashlib.sha256()
            with open(self.path, "rb") as file:
                for piece in iter(lambda: file.read(1 << 20), b""):
                    digest.update(piece)
            self._sha256 = digest.hexdigest()
        return self._sha256


def size_of(content):
    return content.size if isinstance(content, Big) else len(content)


def sha256_of(content):
    return content.sha256() if isinstance(content, Big) else hashlib.sha256(content).hexdigest()


def is_lfs(content):
    return isinstance(content, Big) or len(content) >= LFS_FROM


def etag_of(content):
    """What names a content in the cache: SHA-256 of LFS files, git's SHA-1 of others."""
    if is_lfs(content):
        return sha256_of(content)
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class HubServer:
    """Both origins. Use it in a with statement."""

    def __init__(self):
        self.repos = {}  # name → {"files": {path: content}, "commit": str}
        self.token = None  # needed for private repositories, whose name has "private" in it
        self.requests = []  # (method, path, headers) in the order they came
        self.lock = threading.Lock()
        # How the server misbehaves; each is looked up by the handlers below.
        self.drops = 0  # answers with a content that end early
        self.drop_after = None  # where; None: anywhere in the answer
        self.failures = []  # (status, headers) of the next answers with a content
        self.wrong_bytes = False
        self.wrong_listing = None  # instead of the list of files
        self.no_ranges = False
        self.wrong_content_range = False
        self.endless = False
        self.packed = False
        self.redirects = 1
        self.redirect_to = None
        self.xet_only = False
        self.delay_s = 0.0  # before each piece that is sent
        self.expired = set()  # signatures that are refused
        self.pushes = Uploads()
        self.manifests = {}  # of a registry: "namespace/name:tag" → (bytes, headers)
        self.layers = {}  # of a registry: digest → content
        self._hub = self._serve(HubHandler)
        self._store = self._serve(StoreHandler)

    def _serve(self, handler):
        server = QuietServer(("127.0.0.1", 0), handler)
        server.world = self
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    @property
    def url(self):
        return f"http://127.0.0.1:{self._hub.server_address[1]}"

    @property
    def store_url(self):
        return f"http://127.0.0.1:{self._store.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for server in (self._hub, self._store):
            server.shutdown()
            server.server_close()

    def add(self, repo, files):
        """A repository, or a new commit of it; the commit's name."""
        text = repr([(path, etag_of(content)) for path, content in sorted(files.items())])
        commit = hashlib.sha1(text.encode()).hexdigest()
        old = self.repos.get(repo, {"commits": {}})
        self.repos[repo] = {"commit": commit, "files": files,
                            "commits": {**old["commits"], commit: files}}
        return commit

    def add_manifest(self, name, layers, **more):
        """A model of a registry, from pairs of a layer's kind and its content; the manifest."""
        described = []
        for kind, content in [("config", b'{"model_format": "gguf"}'), *layers]:
            self.layers[sha256_of(content)] = content
            described.append({"mediaType": "application/vnd.ollama.image." + kind,
                              "digest": "sha256:" + sha256_of(content), "size": size_of(content)})
        manifest = {"schemaVersion": 2,
                    "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                    "config": described[0], "layers": described[1:], **more}
        self.manifests[name] = (json.dumps(manifest).encode(), {})
        return manifest

    def files_at(self, repo, revision):
        """(commit, files) or None."""
        found = self.repos.get(repo)
        if found is None:
            return None
        commit = found["commit"] if revision in ("main", "v1", "refs/pr/1") else revision
        files = found["commits"].get(commit)
        return None if files is None else (commit, files)

    def content_of(self, digest):
        if digest in self.layers:
            return self.layers[digest]
        for repo in self.repos.values():
            for files in repo["commits"].values():
                for content in files.values():
                    if is_lfs(content) and sha256_of(content) == digest:
                        return content
        return None

    def take(self, name):
        """One off a counter; whether there was one."""
        with self.lock:
            left = getattr(self, name)
            if left > 0:
                setattr(self, name, left - 1)
            return left > 0

    def n_requests(self, part):
        return sum(part in path for _, path, _ in self.requests)


class QuietServer(http.server.ThreadingHTTPServer):
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # clients that end early are part of the tests


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def log_message(self, *_):
        pass

    @property
    def world(self):
        return self.server.world

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def begin(self):
        self.world.requests.append((self.command, self.path, dict(self.headers)))

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_json(self, value, status=200, **headers):
        self.answer(status, json.dumps(value).encode(), Content_Type="application/json", **headers)

    def refuse(self, status, code, message):
        self.answer(status, json.dumps({"error": message}).encode(), X_Error_Code=code,
                    X_Error_Message=message)

    def send_content(self, content, **headers):
        """The content or the range of it that was asked for, with what is to go wrong."""
        world = self.world
        with world.lock:
            failure = world.failures.pop(0) if world.failures else None
        if failure is not None:
            status, more = failure
            self.answer(status, b"", **more)
            return
        size = size_of(content)
        begin, end, status = 0, size, 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked and not world.no_ranges:
            begin = int(asked[1])
            end = min(int(asked[2]) + 1 if asked[2] else size, size)
            status = 206
            if begin >= size:
                self.answer(416, b"", Content_Range=f"bytes */{size}")
                return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        if status == 206:
            first = begin + (1 if world.wrong_content_range else 0)
            self.send_header("Content-Range", f"bytes {first}-{end - 1}/{size}")
        if world.packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Accept-Ranges", "bytes")
        if world.endless:
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        if self.command == "HEAD":
            return
        if world.take("drops"):
            length = world.drop_after
            if length is None:
                length = random.randrange(end - begin)
            self.send_bytes(content, begin, min(begin + length, end))
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_bytes(content, begin, end)
        while world.endless:
            self.wfile.write(b"more" * 1024)

    def send_bytes(self, content, begin, end):
        world = self.world
        if isinstance(content, Big) and not world.wrong_bytes and not world.delay_s:
            with open(content.path, "rb") as file:
                while begin < end:
                    begin += os.sendfile(self.connection.fileno(), file.fileno(), begin, end - begin)
            return
        while begin < end:
            piece = min(end - begin, 64 << 10)
            if isinstance(content, Big):
                with open(content.path, "rb") as file:
                    file.seek(begin)
                    data = file.read(piece)
            else:
                data = content[begin:begin + piece]
            if world.wrong_bytes:
                data = bytes(byte ^ 1 for byte in data)
            if world.delay_s:
                time.sleep(world.delay_s)
            self.wfile.write(data)
            begin += piece


class HubHandler(HubUploads, Handler):
    def do_GET(self):
        self.begin()
        path = urllib.parse.urlsplit(self.path).path
        listing = re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/([^/]+))?", path)
        resolve = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        manifest = re.fullmatch(r"/v2/([^/]+/[^/]+)/manifests/([^/]+)", path)
        blob = re.fullmatch(r"/v2/([^/]+/[^/]+)/blobs/sha256:([0-9a-f]+)", path)
        if listing:
            self.send_listing(listing[1], urllib.parse.unquote(listing[2] or "main"))
        elif resolve:
            self.resolve(resolve[1], urllib.parse.unquote(resolve[2]), urllib.parse.unquote(resolve[3]))
        elif manifest:
            self.send_manifest(manifest[1], manifest[2])
        elif blob:
            self.redirect_to_store(blob[2])
        else:
            self.refuse(404, "", "no such page")

    do_HEAD = do_GET

    def may_read(self, repo):
        token = self.world.token
        if "private" not in repo or self.headers.get("Authorization") == f"Bearer {token}":
            return True
        self.refuse(401, "RepoNotFound", "Repository not found")
        return False

    def send_listing(self, repo, revision):
        world = self.world
        if not self.may_read(repo):
            return
        if world.wrong_listing is not None:
            self.answer(200, world.wrong_listing, Content_Type="application/json")
            return
        found = world.files_at(repo, revision)
        if found is None:
            code = "RevisionNotFound" if repo in world.repos else "RepoNotFound"
            self.refuse(404, code, "Not found")
            return
        commit, files = found
        siblings = []
        for path, content in files.items():
            entry = {"rfilename": path, "size": size_of(content), "blobId": etag_of(content)[:40]}
            if is_lfs(content):
                entry["blobId"] = hashlib.sha1(sha256_of(content).encode()).hexdigest()
                entry["lfs"] = {"sha256": sha256_of(content), "size": size_of(content),
                                "pointerSize": 134}
            siblings.append(entry)
        self.answer_json({"id": repo, "modelId": repo, "sha": commit, "private": False, "tags": [],
                          "downloads": 0, "likes": 0, "siblings": siblings})

    def resolve(self, repo, revision, path):
        world = self.world
        if not self.may_read(repo):
            return
        found = world.files_at(repo, revision)
        if found is None or path not in found[1]:
            self.refuse(404, "EntryNotFound", "Entry not found")
            return
        commit, content = found[0], found[1][path]
        about = {"X_Repo_Commit": commit}
        if world.xet_only:
            self.answer(403, b"", X_Xet_Hash="0" * 64, X_Error_Message="use Xet", **about)
        elif not is_lfs(content):
            self.send_content(content, ETag=f'"{etag_of(content)}"', **about)
        else:
            self.redirect_to_store(sha256_of(content), X_Linked_Size=size_of(content),
                                   X_Linked_ETag=f'"{sha256_of(content)}"', **about)

    def redirect_to_store(self, digest, **headers):
        world = self.world
        step = int(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("n", ["1"])[0])
        signature = f"{random.getrandbits(64):016x}"
        location = f"{world.store_url}/store/{digest}?signature={signature}"
        if world.redirect_to is not None:
            location = world.redirect_to
        elif step < world.redirects:
            location = f"{urllib.parse.urlsplit(self.path).path}?n={step + 1}"
        self.answer(302, b"moved", Location=location, **headers)

    def send_manifest(self, repo, tag):
        manifest, headers = self.world.manifests.get(f"{repo}:{tag}", (None, {}))
        if manifest is None:
            self.answer_json({"errors": [{"code": "MANIFEST_UNKNOWN"}]}, 404)
        elif "private" in repo:
            self.answer_json({"errors": [{"code": "UNAUTHORIZED"}]}, 401)
        else:
            self.answer(200, manifest, **headers,
                        Content_Type="application/vnd.docker.distribution.manifest.v2+json")


class StoreHandler(StoreUploads, Handler):
    """The origin with the contents. It refuses a request that carries a token, as signed URLs do."""

    def do_GET(self):
        self.begin()
        world = self.world
        parts = urllib.parse.urlsplit(self.path)
        digest = parts.path.rsplit("/", 1)[1]
        if "Authorization" in self.headers:
            self.refuse(400, "", "one way to sign in only")
            return
        if urllib.parse.parse_qs(parts.query).get("signature", [""])[0] in world.expired:
            self.refuse(403, "", "expired")
            return
        content = world.content_of(digest)
        if content is None:
            self.refuse(404, "", "no such content")
            return
        self.send_content(content)

    do_HEAD = do_GET
