#!/usr/bin/env python3
"""Snapshots of a memory in a store of objects: in moto's server, which speaks S3 over HTTP as a
process of its own and keeps objects in its memory. It checks signatures where a test says so.

Usage: memory_s3_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import argparse
import hashlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from program import Program, call, environment  # noqa: E402
from server import need_package  # noqa: E402

need_package("moto")
boto3 = need_package("boto3")
SKIP = 77
KEYS = {"AWS_ACCESS_KEY_ID": "tinsel", "AWS_SECRET_ACCESS_KEY": "garland", "AWS_REGION": "eu-west-1"}


class Moto:
    """A server on a free port."""

    def __init__(self, **variables):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ, **variables))
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("moto did not start")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def client(self, service="s3", key=("tinsel", "garland")):
        return boto3.client(service, endpoint_url=self.url, region_name="eu-west-1",
                            aws_access_key_id=key[0], aws_secret_access_key=key[1])


class Snapshots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.moto = Moto()
        cls.addClassCleanup(cls.moto.stop)
        cls.s3 = cls.moto.client()
        cls.s3.create_bucket(Bucket="kept",
                             CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.env = dict(KEYS, AWS_ENDPOINT_URL=self.moto.url)
        self.prefix = self.id().rsplit(".", 1)[1]
        self.url = f"s3://kept/{self.prefix}"
        self.store = self.path("store")
        ship = self.path("ship.md")
        pathlib.Path(ship).write_text("# The ship\n\nIts cook is called Quillfeather.\n")
        self.memory("add", ship, "--store", self.store)

    def path(self, name):
        return os.path.join(self.folder, name)

    def memory(self, *arguments, code=0, env=None):
        made = call("memory", *arguments, env=self.env if env is None else env)
        self.assertEqual(made.returncode, code, made.stdout + made.stderr)
        self.assertNotIn("garland", made.stdout + made.stderr)
        return made

    def refused(self, words, *arguments, code=1, env=None):
        self.assertIn(words, self.memory(*arguments, code=code, env=env).stderr)

    def export(self, store):
        return self.memory("export", "--vectors", "--store", store).stdout

    def names(self):
        listed = self.s3.list_objects_v2(Bucket="kept", Prefix=self.prefix + "/")
        return [one["Key"] for one in listed.get("Contents", [])]

    def test_a_snapshot_is_restored_as_it_was(self):
        made = json.loads(self.memory("backup", self.url, "--store", self.store, "--json").stdout)
        self.assertGreater(made["n_files"], 2)
        self.assertEqual(os.listdir(self.folder).count("store"), 1)
        self.assertEqual([name for name in os.listdir(self.folder) if "snapshot" in name], [])
        manifest = json.loads(self.s3.get_object(Bucket="kept", Key=f"{self.prefix}/manifest.json")
                              ["Body"].read())
        pieces = [piece for file in manifest["files"] for piece in file["pieces"]]
        self.assertEqual(sum(piece["n_bytes"] for piece in pieces), made["n_bytes"])
        for piece in pieces:
            body = self.s3.get_object(Bucket="kept", Key=f"{self.prefix}/{piece['name']}")["Body"].read()
            self.assertEqual(hashlib.sha256(body).hexdigest(), piece["sha256"])
        self.memory("restore", self.url, self.path("back"))
        self.assertEqual(self.export(self.path("back")), self.export(self.store))
        self.refused("exists", "restore", self.url, self.path("back"))
        self.refused("has a snapshot already", "backup", self.url, "--store", self.store)

    def test_what_was_changed_is_not_restored(self):
        self.memory("backup", self.url, "--store", self.store)
        for name in self.names():
            body = self.s3.get_object(Bucket="kept", Key=name)["Body"].read()
            wrongs = (body[:-1], body + b"x", body[:-1] + bytes([body[-1] ^ 1]))
            if name.endswith(".json"):
                wrongs = (body[:-2], body + b"}", body.replace(b'"sha256":"', b'"sha256":"0', 1))
            for wrong in wrongs:
                self.s3.put_object(Bucket="kept", Key=name, Body=wrong)
                made = call("memory", "restore", self.url, self.path("back"), env=self.env)
                self.assertEqual(made.returncode, 1, (name, wrong[-20:]))
                self.assertFalse(os.path.exists(self.path("back")))
                self.assertFalse(os.path.exists(self.path("back.partial")))
            self.s3.put_object(Bucket="kept", Key=name, Body=body)
        self.memory("restore", self.url, self.path("back"))

    def test_names_of_a_manifest_stay_in_the_folder(self):
        self.memory("backup", self.url, "--store", self.store)
        key = f"{self.prefix}/manifest.json"
        manifest = json.loads(self.s3.get_object(Bucket="kept", Key=key)["Body"].read())
        first = manifest["files"][0]["path"]
        for path in ("../out", "/out", "a/../../out", "a//b", "", ".", "a\\b", "a\0b",
                     manifest["files"][1]["path"]):
            manifest["files"][0]["path"] = path
            self.s3.put_object(Bucket="kept", Key=key, Body=json.dumps(manifest).encode())
            self.refused("manifest.json: 'path'", "restore", self.url, self.path("back"))
        manifest["files"][0]["path"] = first
        manifest["files"][0]["pieces"][0]["name"] = "../other"
        self.s3.put_object(Bucket="kept", Key=key, Body=json.dumps(manifest).encode())
        self.refused("'name'", "restore", self.url, self.path("back"))
        self.assertEqual([name for name in os.listdir(self.folder) if "out" in name], [])

    def test_an_upload_that_was_cut_off_is_no_snapshot(self):
        self.memory("backup", self.url, "--store", self.store)
        self.s3.delete_object(Bucket="kept", Key=f"{self.prefix}/manifest.json")
        self.refused("NoSuchKey", "restore", self.url, self.path("back"))
        n_killed = 0
        for wait in (0.02, 0.05, 0.1, 0.15):
            process = subprocess.Popen(
                [Program.binary, "memory", "backup", self.url, "--store", self.store],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(**self.env))
            time.sleep(wait)
            process.send_signal(signal.SIGKILL)
            n_killed += process.wait() == -signal.SIGKILL
            if f"{self.prefix}/manifest.json" in self.names():
                break
            self.refused("NoSuchKey", "restore", self.url, self.path("back"))
        self.assertGreater(n_killed, 0)
        if f"{self.prefix}/manifest.json" not in self.names():
            self.memory("backup", self.url, "--store", self.store)
        self.memory("restore", self.url, self.path("back"))
        self.assertEqual(self.export(self.path("back")), self.export(self.store))

    def test_what_does_not_work_is_named(self):
        target = ("--store", self.store)
        self.refused("make the bucket first", "backup", "s3://absent/here", *target)
        self.refused("NoSuchKey", "restore", "s3://kept/absent", self.path("back"))
        self.refused("give s3://BUCKET/PREFIX", "backup", "s3://kept", *target)
        self.refused("give s3://BUCKET/PREFIX", "backup", "s3://kept/a/../b", *target)
        self.refused("only s3://", "backup", "gs://kept/here", *target, code=2)
        self.refused("restore: give", "restore", self.path("here"), self.path("back"), code=2)
        self.refused("takes no --store", "restore", self.url, self.path("back"), *target, code=2)
        without = {"AWS_ENDPOINT_URL": self.moto.url}
        self.refused("AWS_ACCESS_KEY_ID", "backup", self.url, *target, env=without)
        self.refused("AWS_SESSION_TOKEN", "backup", self.url, *target,
                     env=dict(self.env, AWS_SESSION_TOKEN="x"))
        self.refused("AWS_ENDPOINT_URL", "backup", self.url, *target,
                     env=dict(self.env, AWS_ENDPOINT_URL="ftp://host"))
        self.refused("127.0.0.1:9", "backup", self.url, *target,
                     env=dict(self.env, AWS_ENDPOINT_URL="http://127.0.0.1:9"))

    def test_signatures_are_those_that_the_service_computes(self):
        """moto checks them after as many calls as are needed to make a user."""
        moto = Moto(INITIAL_NO_AUTH_ACTION_COUNT="4")
        self.addCleanup(moto.stop)
        iam = moto.client("iam")
        iam.create_user(UserName="ann")
        iam.put_user_policy(UserName="ann", PolicyName="all", PolicyDocument=json.dumps(
            {"Version": "2012-10-17",
             "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}))
        key = iam.create_access_key(UserName="ann")["AccessKey"]
        made = (key["AccessKeyId"], key["SecretAccessKey"])
        moto.client(key=made).create_bucket(
            Bucket="kept", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        env = {"AWS_ENDPOINT_URL": moto.url, "AWS_REGION": "eu-west-1",
               "AWS_ACCESS_KEY_ID": made[0], "AWS_SECRET_ACCESS_KEY": made[1]}
        wrong = dict(env, AWS_SECRET_ACCESS_KEY="wrong")
        self.refused("HTTP 403", "backup", self.url, "--store", self.store, env=wrong)
        self.memory("backup", self.url, "--store", self.store, env=env)
        self.refused("HTTP 403", "restore", self.url, self.path("back"), env=wrong)
        self.memory("restore", self.url, self.path("back"), env=env)
        self.assertEqual(self.export(self.path("back")), self.export(self.store))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    Program.binary, Program.source = arguments.binary, arguments.source
    Program.model = Program.find_model()
    if not Program.model:
        print("skipped: there is no model; models/ruvltra-nano-q8_0.gguf is missing")
        sys.exit(SKIP)
    unittest.main(argv=[sys.argv[0], "-v", *arguments.names])


if __name__ == "__main__":
    main()
