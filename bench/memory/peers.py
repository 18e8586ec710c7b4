"""Vector indexes with one interface, for compare_indexes.py.

An index is built from float32 vectors, whose ids count from 0, by L2. It has `build_seconds`, the
efs that it takes (None: it has no such number), and
  search(queries, ef)         seconds of all by one thread, and the ids found
  each(queries, ef)           microseconds of each query, and the ids found
  among(queries, ids, ef)     the ids found among these alone; None where it cannot
  save()                      bytes on disk
  load()                      seconds, from files that the system has in memory
  memory()                    bytes of a process that has searched and not built; None: not known
  read_bytes                  what a search of the last ef read from files by calls
A peer that is not installed, or not whole, is named with the reason and left out.
"""
import importlib
import json
import pathlib
import subprocess
import time

K = 10
EFS = (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class Missing(Exception):
    """An index that cannot be measured here."""


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing(str(error)) from error


def folder_bytes(folder):
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file())


class Index:
    efs = EFS
    # An index that compares with everything is asked fewer queries.
    most_queries = 2000
    read_bytes = 0

    def timed(self, act, *arguments):
        start = time.perf_counter()
        made = act(*arguments)
        return time.perf_counter() - start, made

    def search(self, queries, ef):
        return self.timed(lambda: [self.one(query, ef) for query in queries])

    def each(self, queries, ef):
        taken, found = [], []
        for query in queries:
            seconds, ids = self.timed(self.one, query, ef)
            taken.append(seconds * 1e6)
            found.append(ids)
        return taken, found

    def among(self, queries, ids, ef):
        return None

    def memory(self):
        return None

    def close(self):
        pass


class Ours(Index):
    form = ("form=graph", "codes=none")

    def __init__(self, options, folder, vectors, queries):
        self.folder = folder
        vectors.tofile(folder / "vectors")
        queries.tofile(folder / "queries")
        self.bench, self.n_dims = options.bench, vectors.shape[1]
        self.start(folder / "vectors")
        self.build_seconds = self.answer()["build_seconds"]

    def start(self, vectors):
        command = [self.bench, vectors, self.folder / "queries", "threads=2", "ef=stdin",
                   "folder=%s" % (self.folder / "index"), "n_dims=%d" % self.n_dims, "k=%d" % K,
                   *self.form]
        self.process = subprocess.Popen(list(map(str, command)), text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Missing("ruv_bench_memory ended with %s" % self.process.wait())
        return json.loads(line)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer()

    def search(self, queries, ef):
        answer = self.ask("search %d" % ef)
        self.read_bytes = answer["read_bytes"]
        return answer["seconds"], answer["found"]

    def each(self, queries, ef):
        answer = self.ask("each %d" % ef)
        return answer["us"], answer["found"]

    def among(self, queries, ids, ef):
        path = self.folder / "among"
        ids.astype("i8").tofile(path)
        return self.ask("among %s %d" % (path, ef))["found"]

    def save(self):
        return folder_bytes(self.folder / "index")

    def load(self):
        return self.ask("load")["load_seconds"]

    def memory(self):
        self.close()
        self.start("-")
        self.answer()
        self.ask("search 64")
        status = pathlib.Path("/proc/%d/status" % self.process.pid).read_text()
        kib = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
        return int(kib[0]) * 1024 if kib else None

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ours(codes_of):
    class Coded(Ours):
        name = "RuvLLM, " + ("float32" if codes_of == "none" else codes_of)
        form = ("form=graph", "codes=" + codes_of)

    return Coded


class Disk(Ours):
    """Blocks are read as they are needed; those of the system's cache cost a call."""
    name = "RuvLLM, on disk"
    form = ("form=disk", "cache=1048576")


class Hnswlib(Index):
    name = "hnswlib"

    def __init__(self, options, folder, vectors, queries):
        self.module, self.path = module("hnswlib"), str(folder / "hnswlib")
        self.n_dims = vectors.shape[1]
        self.index = self.module.Index("l2", self.n_dims)
        self.index.init_index(len(vectors), M=16, ef_construction=200)
        self.build_seconds = self.timed(lambda: self.index.add_items(vectors, num_threads=2))[0]

    def search(self, queries, ef, **more):
        self.index.set_ef(ef)
        seconds, found = self.timed(
            lambda: self.index.knn_query(queries, k=K, num_threads=1, **more)[0])
        return seconds, found.tolist()

    def one(self, query, ef):
        self.index.set_ef(ef)
        return self.index.knn_query(query, k=K, num_threads=1)[0][0].tolist()

    def among(self, queries, ids, ef):
        allowed, found = set(ids.tolist()), []
        self.index.set_ef(ef)
        for query in queries:
            try:
                found.append(self.index.knn_query(query, k=K, num_threads=1,
                                                  filter=allowed.__contains__)[0][0].tolist())
            except RuntimeError:  # fewer than k were found
                found.append([])
        return found

    def save(self):
        self.index.save_index(self.path)
        return pathlib.Path(self.path).stat().st_size

    def load(self):
        self.index = self.module.Index("l2", self.n_dims)
        return self.timed(self.index.load_index, self.path)[0]


class Faiss(Index):
    name = "faiss HNSW"

    def __init__(self, options, folder, vectors, queries):
        self.module, self.path = module("faiss"), str(folder / "faiss")
        self.index = self.module.IndexHNSWFlat(vectors.shape[1], 16)
        self.index.hnsw.efConstruction = 200
        self.module.omp_set_num_threads(2)
        self.build_seconds = self.timed(self.index.add, vectors)[0]
        self.module.omp_set_num_threads(1)

    def search(self, queries, ef):
        self.index.hnsw.efSearch = ef
        seconds, found = self.timed(lambda: self.index.search(queries, K)[1])
        return seconds, found.tolist()

    def one(self, query, ef):
        return self.search(query[None], ef)[1][0]

    def among(self, queries, ids, ef):
        selected = self.module.IDSelectorBatch(ids)
        asked = self.module.SearchParametersHNSW(sel=selected, efSearch=ef)
        return self.index.search(queries, K, params=asked)[1].tolist()

    def save(self):
        self.module.write_index(self.index, self.path)
        return pathlib.Path(self.path).stat().st_size

    def load(self):
        seconds, self.index = self.timed(self.module.read_index, self.path)
        return seconds


class Usearch(Index):
    name = "usearch"

    def __init__(self, options, folder, vectors, queries):
        numpy = module("numpy")
        self.path = str(folder / "usearch")
        self.index = module("usearch.index").Index(ndim=vectors.shape[1], metric="l2sq",
                                                   dtype="f32", connectivity=16,
                                                   expansion_add=200)
        self.build_seconds = self.timed(
            lambda: self.index.add(numpy.arange(len(vectors)), vectors, threads=2))[0]

    def search(self, queries, ef):
        self.index.expansion_search = ef
        seconds, found = self.timed(lambda: self.index.search(queries, K, threads=1).keys)
        return seconds, found.tolist()

    def one(self, query, ef):
        self.index.expansion_search = ef
        return self.index.search(query, K, threads=1).keys.tolist()

    def save(self):
        self.index.save(self.path)
        return pathlib.Path(self.path).stat().st_size

    def load(self):
        self.index.reset()
        return self.timed(self.index.load, self.path)[0]


class SqliteVec(Index):
    """Compares with everything. apsw, as Python's own module may be built without extensions."""
    name = "sqlite-vec"
    efs, most_queries = (None,), 50

    def __init__(self, options, folder, vectors, queries):
        self.apsw, self.vec = module("apsw"), module("sqlite_vec")
        self.path = str(folder / "sqlite")
        self.open()
        self.db.execute("create virtual table v using vec0(vector float[%d])" % vectors.shape[1])
        self.build_seconds = self.timed(self.fill, vectors)[0]

    def fill(self, vectors):
        with self.db:
            self.db.executemany("insert into v(rowid, vector) values (?, ?)",
                                ((i, row.tobytes()) for i, row in enumerate(vectors)))

    def open(self):
        self.db = self.apsw.Connection(self.path)
        self.db.enable_load_extension(True)
        self.db.load_extension(self.vec.loadable_path())

    def rows(self, more, *arguments):
        return [row[0] for row in self.db.execute(
            "select rowid from v where vector match ? and k = %d%s" % (K, more), arguments)]

    def one(self, query, ef):
        return self.rows("", query.tobytes())

    def among(self, queries, ids, ef):
        listed = json.dumps(ids.tolist())
        return [self.rows(" and rowid in (select value from json_each(?))", query.tobytes(), listed)
                for query in queries]

    def save(self):
        return pathlib.Path(self.path).stat().st_size

    def load(self):
        self.db.close()
        return self.timed(lambda: (self.open(), list(self.db.execute("select count(*) from v"))))[0]

    def close(self):
        self.db.close()


class Lance(Index):
    """One partition, a graph with 8-bit codes; as many again measured in float32."""
    name = "lancedb IVF_HNSW_SQ"
    most_queries = 500

    def __init__(self, options, folder, vectors, queries):
        self.lance, pyarrow = module("lancedb"), module("pyarrow")
        self.path = str(folder / "lance")
        flat = pyarrow.array(vectors.ravel())
        rows = pyarrow.table({
            "id": pyarrow.array(range(len(vectors))),
            "vector": pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])})
        self.build_seconds = self.timed(self.make, rows)[0]

    def make(self, rows):
        self.table = self.lance.connect(self.path).create_table("t", rows)
        index = module("lancedb.index")
        self.table.create_index("vector", config=index.HnswSq(
            distance_type="l2", num_partitions=1, m=16, ef_construction=200))
        self.table.create_index("id", config=index.BTree())
        self.table.wait_for_index(["vector_idx", "id_idx"])

    def ask(self, query, ef):
        return (self.table.search(query).limit(K).ef(max(ef, 2 * K)).nprobes(1).refine_factor(2)
                .select(["id", "_distance"]))

    def one(self, query, ef):
        return self.ask(query, ef).to_arrow()["id"].to_pylist()

    def among(self, queries, ids, ef):
        listed = "id in (%s)" % ",".join(map(str, ids.tolist()))
        return [self.ask(query, ef).where(listed, prefilter=True).to_arrow()["id"].to_pylist()
                for query in queries[:20]]

    def save(self):
        return folder_bytes(self.path)

    def load(self):
        seconds, self.table = self.timed(lambda: self.lance.connect(self.path).open_table("t"))
        return seconds


class Duck(Index):
    """Its HNSW is an extension that is downloaded; without it, it compares with everything."""
    name = "duckdb vss"

    def __init__(self, options, folder, vectors, queries):
        self.duckdb = module("duckdb")
        self.path, self.n_dims = str(folder / "duckdb"), vectors.shape[1]
        try:
            self.open()
        except self.duckdb.Error as error:
            raise Missing("vss: " + str(error).splitlines()[0]) from error
        self.build_seconds = self.timed(self.fill, vectors)[0]

    def open(self):
        self.db = self.duckdb.connect(self.path)
        self.db.execute("INSTALL vss")
        self.db.execute("LOAD vss")
        self.db.execute("SET threads = 2; SET hnsw_enable_experimental_persistence = true")

    def fill(self, vectors):
        pyarrow = module("pyarrow")
        flat = pyarrow.array(vectors.ravel())
        rows = pyarrow.table({"id": pyarrow.array(range(len(vectors))),
                              "v": pyarrow.FixedSizeListArray.from_arrays(flat, self.n_dims)})
        self.db.register("rows", rows)
        self.db.execute("CREATE TABLE t AS SELECT id, v::FLOAT[%d] v FROM rows" % self.n_dims)
        self.db.execute("CREATE INDEX i ON t USING HNSW (v) WITH "
                        "(metric = 'l2sq', M = 16, ef_construction = 200)")

    def one(self, query, ef):
        self.db.execute("SET hnsw_ef_search = %d" % ef)
        return [row[0] for row in self.db.execute(
            "SELECT id FROM t ORDER BY array_distance(v, ?::FLOAT[%d]) LIMIT %d"
            % (self.n_dims, K), [query.tolist()]).fetchall()]

    def save(self):
        self.db.execute("CHECKPOINT")
        return pathlib.Path(self.path).stat().st_size

    def load(self):
        self.db.close()
        return self.timed(self.open)[0]


KINDS = {"none": ours("none"), "f16": ours("f16"), "int8": ours("int8"), "int4": ours("int4"),
         "product": ours("product"), "binary": ours("binary"), "disk": Disk, "hnswlib": Hnswlib, "faiss": Faiss,
         "usearch": Usearch, "sqlite-vec": SqliteVec, "lancedb": Lance, "duckdb": Duck}
