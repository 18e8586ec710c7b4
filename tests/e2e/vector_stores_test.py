#!/usr/bin/env python3
"""Files, vector stores and documents of `ruvllm serve --memory`: the real binary and model, asked by
OpenAI's client.

Usage: vector_stores_test.py --binary RUVLLM --source FOLDER [TestName]...
"""
import io
import tempfile
import threading
import unittest

from server import Server, need_package, run_tests

openai = need_package("openai")

SHIP = b"# The ship\n\nIt sails on Tuesday.\n\n## Crew\n\nThe cook is called Quillfeather.\n"
BREAD = b"We baked bread with rye that nobody had ground, and sold it before noon."


class VectorStores(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.start()
        self.addCleanup(self.stop)

    def start(self):
        self.server = Server("--memory", self.folder.name)
        self.client = openai.OpenAI(base_url=f"{self.server.where}/v1", api_key="none", max_retries=0)

    def stop(self):
        self.client.close()
        self.server.__exit__(None, None, None)

    def upload(self, name, content):
        return self.client.files.create(file=(name, io.BytesIO(content)), purpose="assistants")

    def found(self, store, query, **fields):
        page = self.client.vector_stores.search(store, query=query, **fields)
        return [(one.filename, one.content[0].text) for one in page.data]

    def test_files(self):
        ship = self.upload("ship.md", SHIP)
        bread = self.upload("br\u00f6d \"rye\".txt", BREAD)
        self.assertEqual((ship.bytes, ship.filename, ship.purpose), (len(SHIP), "ship.md", "assistants"))
        self.assertEqual([one.id for one in self.client.files.list(limit=1)], [bread.id, ship.id])
        self.assertEqual(self.client.files.retrieve(ship.id), ship)
        self.assertEqual(self.client.files.content(ship.id).content, SHIP)
        self.assertTrue(self.client.files.delete(ship.id).deleted)
        with self.assertRaises(openai.NotFoundError):
            self.client.files.retrieve(ship.id)
        for name, content in (("a.pdf", b"x"), ("a.txt", b"%PDF-1.7"), ("a.docx", b"PK")):
            with self.assertRaisesRegex(openai.BadRequestError, "not read here"):
                self.upload(name, content)
        with self.assertRaisesRegex(openai.BadRequestError, "byte 3: .* not UTF-8"):
            self.upload("page.html", b"<p>\xff")
        with self.assertRaises(openai.BadRequestError):
            self.client.files.create(file=("a.txt", b"a"), purpose="fine-tune")

    def test_files_come_in_batches(self):
        ship, bread = self.upload("ship.md", SHIP), self.upload("bread.txt", BREAD)
        store = self.client.vector_stores.create(name="both").id
        batches = self.client.vector_stores.file_batches
        batch = batches.create_and_poll(store, file_ids=[ship.id, bread.id], attributes={"year": 2020})
        self.assertEqual((batch.status, batch.file_counts.completed, batch.file_counts.total),
                         ("completed", 2, 2))
        self.assertEqual(batches.retrieve(batch.id, vector_store_id=store), batch)
        self.assertEqual(batches.cancel(batch.id, vector_store_id=store).status, "completed")
        listed = batches.list_files(batch.id, vector_store_id=store, order="asc")
        self.assertEqual([(one.id, one.attributes) for one in listed],
                         [(ship.id, {"year": 2020}), (bread.id, {"year": 2020})])
        self.assertEqual(list(batches.list_files(batch.id, vector_store_id=store, filter="failed")), [])
        one = batches.create(store, files=[{"file_id": ship.id, "attributes": {"year": 1999}}])
        self.assertEqual([file.id for file in batches.list_files(one.id, vector_store_id=store)], [ship.id])
        only = self.found(store, "cook", filters={"type": "eq", "key": "year", "value": 1999})
        self.assertEqual({name for name, _ in only}, {"ship.md"})
        sent = batches.upload_and_poll(store, files=[("sea.txt", io.BytesIO(b"The sea was wide."))])
        self.assertEqual(sent.file_counts.completed, 1)
        self.assertIn("sea.txt", [name for name, _ in self.found(store, "sea")])
        for wrong in ({"file_ids": []}, {"file_ids": [ship.id], "files": [{"file_id": ship.id}]},
                      {"files": [{"file_id": ship.id}, {"file_id": ship.id}]}, {"files": [{}]},
                      {"files": [{"file_id": ship.id, "x": 1}]}):
            with self.assertRaises(openai.BadRequestError):
                batches.create(store, **{k: v for k, v in wrong.items()})
        with self.assertRaises(openai.NotFoundError):
            batches.create(store, file_ids=["file-unknown"])
        other = self.client.vector_stores.create(name="other").id
        with self.assertRaises(openai.NotFoundError):
            batches.retrieve(batch.id, vector_store_id=other)
        self.stop()
        self.start()
        self.assertEqual(self.client.vector_stores.file_batches.retrieve(batch.id, vector_store_id=store), batch)
        self.client.vector_stores.delete(store)
        with self.assertRaises(openai.NotFoundError):
            self.client.vector_stores.file_batches.retrieve(batch.id, vector_store_id=store)

    def test_pages_of_html_are_read(self):
        store = self.client.vector_stores.create(name="pages")
        page = b"<meta charset=latin1><h1>Caf\xe9</h1><p>Rye &amp; wheat.<script>no()</script>"
        file = self.upload("page.htm", page)
        self.assertEqual(self.client.files.content(file.id).content, page)
        self.client.vector_stores.files.create_and_poll(file.id, vector_store_id=store.id)
        self.assertEqual(self.found(store.id, "rye"), [("page.htm", "Caf\u00e9\n\nRye & wheat.")])

    def test_a_store_finds_what_its_files_say(self):
        stores = self.client.vector_stores
        store = stores.create(name="notes", expires_after={"anchor": "last_active_at", "days": 3},
                              metadata={"of": "ann"})
        self.assertEqual((store.status, store.file_counts.total), ("completed", 0))
        ship = stores.files.upload_and_poll(vector_store_id=store.id, file=("ship.md", SHIP),
                                            attributes={"year": 2020})
        self.assertEqual((ship.status, ship.attributes), ("completed", {"year": 2020}))
        bread = self.upload("bread.txt", BREAD)
        static = {"type": "static", "static": {"max_chunk_size_tokens": 100, "chunk_overlap_tokens": 20}}
        added = stores.files.create_and_poll(bread.id, vector_store_id=store.id, chunking_strategy=static,
                                             attributes={"year": 2021, "draft": True})
        self.assertEqual(added.chunking_strategy.static.max_chunk_size_tokens, 100)
        self.assertEqual(self.found(store.id, "Quillfeather")[0],
                         ("ship.md", "## Crew\n\nThe cook is called Quillfeather."))
        self.assertEqual(self.found(store.id, ["rye"], max_num_results=1), [("bread.txt", BREAD.decode())])
        recent = {"type": "and", "filters": [{"type": "gte", "key": "year", "value": 2021},
                                             {"type": "ne", "key": "draft", "value": False}]}
        self.assertEqual({name for name, _ in self.found(store.id, "Quillfeather", filters=recent)},
                         {"bread.txt"})
        stores.files.update(bread.id, vector_store_id=store.id, attributes={"year": 1999})
        self.assertEqual(self.found(store.id, "rye", filters=recent), [])
        self.assertEqual(stores.retrieve(store.id).file_counts.completed, 2)
        self.assertEqual([one.id for one in stores.files.list(store.id, limit=1)], [bread.id, ship.id])
        text = stores.files.content(ship.id, vector_store_id=store.id).data[0].text
        self.assertEqual(text, SHIP.decode())
        self.assertTrue(stores.files.delete(ship.id, vector_store_id=store.id).deleted)
        self.assertNotIn("ship.md", {name for name, _ in self.found(store.id, "Quillfeather")})
        self.assertTrue(stores.delete(store.id).deleted)
        with self.assertRaises(openai.NotFoundError):
            self.found(store.id, "rye")

    def test_what_is_not_taken_is_named(self):
        store = self.client.vector_stores.create()
        for fields in ({"rewrite_query": True}, {"ranking_options": {"ranker": "default-2024-11-15"}},
                       {"filters": {"type": "like", "key": "a", "value": "b"}}, {"max_num_results": 51}):
            with self.assertRaisesRegex(openai.BadRequestError, next(iter(fields))):
                self.found(store.id, "a", **fields)

    def test_stores_survive_a_restart(self):
        ship = self.upload("ship.md", SHIP)
        store = self.client.vector_stores.create(name="notes", file_ids=[ship.id])
        self.assertEqual(store.file_counts.completed, 1)
        before = self.found(store.id, "who cooks?")
        self.stop()
        self.start()
        self.assertEqual([one.name for one in self.client.vector_stores.list()], ["notes"])
        self.assertEqual(self.found(store.id, "who cooks?"), before)

    def test_searches_while_files_come_and_a_store_goes(self):
        store = self.client.vector_stores.create(name="busy")
        other = self.client.vector_stores.create(name="gone", file_ids=[self.upload("b.txt", BREAD).id])
        failures = []

        def search(which):
            try:
                for _ in range(20):
                    self.found(which, "bread")
            except openai.NotFoundError:
                if which != other.id:
                    failures.append("a store that is there was not found")
            except openai.OpenAIError as error:
                failures.append(str(error))
        threads = [threading.Thread(target=search, args=(which,)) for which in (store.id, other.id) * 2]
        for thread in threads:
            thread.start()
        for i in range(5):
            self.client.vector_stores.files.upload_and_poll(
                vector_store_id=store.id, file=(f"{i}.txt", BREAD + str(i).encode()))
        self.client.vector_stores.delete(other.id)
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(self.client.vector_stores.retrieve(store.id).file_counts.completed, 5)


if __name__ == "__main__":
    run_tests()
