"""What hub_server answers to clients that send files: repositories, LFS contents whole and in parts, and
commits. Contents are checked against their digests, as on the hub, before a commit may name them."""
import base64
import hashlib
import json
import re
import socket


class Uploads:
    """The state of all pushes, and how the hub misbehaves."""

    def __init__(self):
        self.token = "hf_write"
        self.contents = {}  # SHA-256 → bytes that arrived whole and verified
        self.parts = {}  # SHA-256 → {number: (bytes, ETag)}
        self.part_bytes = None  # contents above it go in parts
        self.commits = []  # (repository, header, paths)
        self.private = set()
        self.ignored = set()  # paths that a .gitignore leaves out
        self.transfer = None
        self.cut_puts = 0  # connections that break in the middle of a part
        self.refusals = []  # (part of a path, status) of the next requests to it
        self.wrong_etags = 0
        self.lost_commits = 0  # commits that are made, and whose answer is lost
        self.places = lambda places: places  # changes what is answered about LFS


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class HubUploads:
    """The routes of the hub's origin."""

    def do_POST(self):
        self.begin()
        state = self.world.pushes
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.refuse_as_told():
            return
        if self.headers.get("Authorization") != f"Bearer {state.token}":
            self.refuse(401, "", "Invalid username or password.")
            return
        routes = ((r"/api/repos/create", self.create),
                  (r"/api/models/([^/]+/[^/]+)/preupload/main", self.preupload),
                  (r"/([^/]+/[^/]+)\.git/info/lfs/objects/batch", self.batch),
                  (r"/complete/([0-9a-f]+)", self.complete),
                  (r"/verify/([0-9a-f]+)", self.verify),
                  (r"/api/models/([^/]+/[^/]+)/commit/main", self.commit))
        for pattern, action in routes:
            if found := re.fullmatch(pattern, self.path):
                action(body, *found.groups())
                return
        self.refuse(404, "", "no such page")

    def refuse_as_told(self):
        state = self.world.pushes
        with self.world.lock:
            for refusal in state.refusals:
                if refusal[0] in self.path:
                    state.refusals.remove(refusal)
                    break
            else:
                return False
        self.refuse(refusal[1], "", "as the test wants it")
        return True

    def create(self, body):
        asked = json.loads(body)
        repo = f"{asked['organization']}/{asked['name']}"
        if repo in self.world.repos:
            self.refuse(409, "", "You already created this model repo")
            return
        self.world.add(repo, {".gitattributes": b"*.gguf filter=lfs\n"})
        if asked["private"]:
            self.world.pushes.private.add(repo)
        self.answer_json({"url": f"{self.world.url}/{repo}"})

    def preupload(self, body, repo):
        files = []
        for file in json.loads(body)["files"]:
            base64.b64decode(file["sample"], validate=True)
            is_lfs = file["path"].endswith(".gguf") or file["size"] > 10 << 20
            files.append({"path": file["path"], "uploadMode": "lfs" if is_lfs else "regular",
                          "shouldIgnore": file["path"] in self.world.pushes.ignored, "oid": None})
        self.answer_json({"files": files} if repo in self.world.repos else {})

    def batch(self, body, _repo):
        state, world = self.world.pushes, self.world
        asked = json.loads(body)
        assert asked["operation"] == "upload" and asked["hash_algo"] == "sha256"
        objects = []
        for wanted in asked["objects"]:
            oid, size = wanted["oid"], wanted["size"]
            entry = {"oid": oid, "size": size}
            if oid not in state.contents and world.content_of(oid) is None:
                entry["actions"] = {"upload": self.place(oid, size),
                                    "verify": {"href": f"{world.url}/verify/{oid}"}}
            objects.append(entry)
        answer = {"transfer": state.transfer or "multipart", "objects": state.places(objects)}
        self.answer_json(answer)

    def place(self, oid, size):
        state, world = self.world.pushes, self.world
        if state.part_bytes is None or size <= state.part_bytes:
            return {"href": f"{world.store_url}/put/{oid}", "header": {"X-Signed": "yes"}}
        state.parts[oid] = {}
        urls = {f"{i + 1:05}": f"{world.store_url}/put/{oid}/{i + 1}"
                for i in range(-(-size // state.part_bytes))}
        return {"href": f"{world.url}/complete/{oid}",
                "header": {"chunk_size": str(state.part_bytes), **urls}}

    def complete(self, body, oid):
        state = self.world.pushes
        asked, parts = json.loads(body), state.parts[oid]
        named = [(part["partNumber"], part["etag"]) for part in asked["parts"]]
        if named != [(number, parts[number][1]) for number in sorted(parts)]:
            self.refuse(400, "", "One or more of the parts could not be found")
            return
        data = b"".join(parts[number][0] for number in sorted(parts))
        if sha256(data) != oid:
            self.refuse(400, "", "the content has another digest")
            return
        state.contents[oid] = data
        self.answer_json({})

    def verify(self, body, oid):
        asked = json.loads(body)
        data = self.world.pushes.contents.get(oid)
        if data is None or asked["oid"] != oid or asked["size"] != len(data):
            self.refuse(422, "", "the content is not there")
            return
        self.answer_json({})

    def commit(self, body, repo):
        state, world = self.world.pushes, self.world
        header, *operations = [json.loads(line) for line in body.splitlines()]
        if header["value"].get("parentCommit") != world.repos[repo]["commit"]:
            self.refuse(412, "", "A commit has happened since. Please refresh and try again.")
            return
        files = dict(world.repos[repo]["files"])
        for operation in operations:
            value = operation["value"]
            if operation["key"] == "lfsFile":
                data = state.contents.get(value["oid"], world.content_of(value["oid"]))
                if data is None or len(data) != value["size"]:
                    self.refuse(400, "", "the content is not there")
                    return
                files[value["path"]] = data
            else:
                files[value["path"]] = base64.b64decode(value["content"], validate=True)
        commit = world.add(repo, files)
        state.commits.append((repo, header["value"], [one["value"]["path"] for one in operations]))
        if state.lost_commits:
            state.lost_commits -= 1
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.answer_json({"commitUrl": f"{world.url}/{repo}/commit/{commit}", "commitOid": commit})


class StoreUploads:
    """The routes of the store's origin, whose URLs need no token."""

    def do_PUT(self):
        self.begin()
        state = self.world.pushes
        found = re.fullmatch(r"/put/([0-9a-f]+)(?:/(\d+))?", self.path)
        length = int(self.headers["Content-Length"])
        with self.world.lock:
            is_cut = state.cut_puts > 0
            state.cut_puts -= is_cut
        if is_cut:
            self.rfile.read(length // 2)
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        data = self.rfile.read(length)
        if self.refuse_as_told():
            return
        if "Authorization" in self.headers:
            self.refuse(400, "", "one way to sign in only")
            return
        oid, number = found.groups()
        etag = f'"{hashlib.md5(data).hexdigest()}"'
        if number is not None:
            state.parts[oid][int(number)] = (data, etag)
        elif self.headers.get("X-Signed") != "yes" or sha256(data) != oid:
            self.refuse(400, "", "the content has another digest")
            return
        else:
            state.contents[oid] = data
        if state.wrong_etags:
            state.wrong_etags -= 1
            etag = '"other"'
        self.answer(200, b"", ETag=etag)

    refuse_as_told = HubUploads.refuse_as_told
