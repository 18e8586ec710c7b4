#!/usr/bin/env python3
"""Vector indexes beside each other: building, and searches a second at equal recall.

Usage: compare_indexes.py --bench RUV_BENCH_MEMORY [--sets 100000x128,100000x768]
                          [--mnist t10k-images-idx3-ubyte.gz] [--rounds 3] [--write FILE]

Sets are drawn: points around 1000 centres, with a seed. Each index is built with two threads, M = 16
and 200 nodes looked at. Then all take turns: a round searches 2000 queries, one thread, in each index
with each ef; the median of the rounds counts. Between two efs the logarithm of the speed is taken to
be linear in that of the share that is missed. --write puts the table between the marks of FILE.
"""
import argparse
import gzip
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import faiss
import hnswlib
import numpy
import usearch.index

EFS = (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
K = 10
MARKS = ("<!-- indexes: begin -->", "<!-- indexes: end -->")


def drawn(n, n_dims, n_queries):
    rng = numpy.random.default_rng(1)
    centres = rng.normal(size=(1000, n_dims)).astype("f4")

    def points(count):
        noise = rng.normal(size=(count, n_dims)).astype("f4")
        return centres[rng.integers(0, len(centres), count)] + numpy.float32(0.6) * noise

    return points(n), points(n_queries)


def mnist(path, n_queries):
    raw = gzip.open(path).read()[16:]
    images = numpy.frombuffer(raw, dtype="u1").reshape(-1, 784).astype("f4")
    return images[:-n_queries], images[-n_queries:]


class Ours:
    def __init__(self, options, folder, vectors, queries):
        command = [options.bench, folder / "vectors", folder / "queries", "threads=2", "ef=stdin"]
        command += ["n_dims=%d" % vectors.shape[1], "k=%d" % K, *self.extra]
        self.process = subprocess.Popen(list(map(str, command)), text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        built = json.loads(self.process.stdout.readline())
        self.build_seconds, self.n_bytes = built["build_seconds"], built["bytes"]

    def search(self, queries, ef):
        self.process.stdin.write("%d\n" % ef)
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer["seconds"], answer["found"]


class Float(Ours):
    name, extra = "RuvLLM, float32", ()


class Codes(Ours):
    name, extra = "RuvLLM, int8 and float32", ("codes=int8",)


class Hnswlib:
    name = "hnswlib"

    def __init__(self, options, folder, vectors, queries):
        self.index = hnswlib.Index("l2", vectors.shape[1])
        self.index.init_index(len(vectors), M=16, ef_construction=200)
        start = time.perf_counter()
        self.index.add_items(vectors, num_threads=2)
        self.build_seconds = time.perf_counter() - start

    def search(self, queries, ef):
        self.index.set_ef(ef)
        start = time.perf_counter()
        found = self.index.knn_query(queries, k=K, num_threads=1)[0]
        return time.perf_counter() - start, found


class Faiss:
    name = "faiss HNSW " + faiss.__version__

    def __init__(self, options, folder, vectors, queries):
        self.index = faiss.IndexHNSWFlat(vectors.shape[1], 16)
        self.index.hnsw.efConstruction = 200
        faiss.omp_set_num_threads(2)
        start = time.perf_counter()
        self.index.add(vectors)
        self.build_seconds = time.perf_counter() - start

    def search(self, queries, ef):
        faiss.omp_set_num_threads(1)
        self.index.hnsw.efSearch = ef
        start = time.perf_counter()
        found = self.index.search(queries, K)[1]
        return time.perf_counter() - start, found


class Usearch:
    name = "usearch " + usearch.__version__

    def __init__(self, options, folder, vectors, queries):
        self.index = usearch.index.Index(ndim=vectors.shape[1], metric="l2sq", dtype="f32",
                                         connectivity=16, expansion_add=200)
        start = time.perf_counter()
        self.index.add(numpy.arange(len(vectors)), vectors, threads=2)
        self.build_seconds = time.perf_counter() - start

    def search(self, queries, ef):
        self.index.expansion_search = ef
        start = time.perf_counter()
        found = self.index.search(queries, K, threads=1).keys
        return time.perf_counter() - start, found


KINDS = (Float, Codes, Hnswlib, Faiss, Usearch)


def recall(found, nearest):
    return sum(len(set(a) & set(b)) for a, b in zip(found, nearest.tolist())) / nearest.size


def speed_at(points, wanted):
    """Searches a second at a recall, from (recall, speed) by ef; None: it is not reached."""
    for (low, fast), (high, slow) in zip(points, points[1:]):
        if low < wanted <= high:
            miss = [numpy.log(max(1 - share, 1e-6)) for share in (low, wanted, high)]
            part = (miss[0] - miss[1]) / (miss[0] - miss[2]) if miss[0] != miss[2] else 1
            return float(numpy.exp(numpy.log(fast) + part * (numpy.log(slow) - numpy.log(fast))))
    return points[0][1] if points and points[0][0] >= wanted else None


def measure(options, name, vectors, queries):
    flat = faiss.IndexFlatL2(vectors.shape[1])
    flat.add(vectors)
    nearest = flat.search(queries, K)[1]
    rows = []
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        vectors.tofile(folder / "vectors")
        queries.tofile(folder / "queries")
        indexes = []
        for kind in KINDS:
            print("%s: building %s" % (name, kind.name), file=sys.stderr, flush=True)
            indexes.append(kind(options, folder, vectors, queries))
        seconds = {(index, ef): [] for index in indexes for ef in EFS}
        shares = {}
        for turn in range(options.rounds):
            print("%s: round %d" % (name, turn + 1), file=sys.stderr, flush=True)
            for ef in EFS:
                for index in indexes:
                    taken, found = index.search(queries, ef)
                    seconds[index, ef].append(taken)
                    shares[index, ef] = recall(found, nearest)
        for index in indexes:
            points = [(shares[index, ef], len(queries) / statistics.median(seconds[index, ef]))
                      for ef in EFS]
            rows.append((name, index.name, index.build_seconds, speed_at(points, 0.95),
                         speed_at(points, 0.99)))
    return rows


def table(rows):
    lines = ["| set | index | build, s | searches/s at recall 0.95 | at 0.99 |",
             "|---|---|---|---|---|"]
    peers = {row[0]: row for row in rows if row[1].startswith("hnswlib")}
    for name, index, build, *speeds in rows:
        cells = ["%.1f (%.2f)" % (build, peers[name][2] / build)]
        for speed, peer in zip(speeds, peers[name][3:]):
            cells.append("-" if speed is None else "%.0f" % speed
                         + (" (%.2f)" % (speed / peer) if peer else ""))
        lines.append("| %s | %s | %s |" % (name, index, " | ".join(cells)))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--sets", default="100000x128,100000x768")
    parser.add_argument("--mnist")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write")
    options = parser.parse_args()
    rows = []
    for one in filter(None, options.sets.split(",")):
        n, n_dims = map(int, one.split("x"))
        rows += measure(options, one, *drawn(n, n_dims, 2000))
    if options.mnist:
        rows += measure(options, "MNIST 9000x784", *mnist(options.mnist, 1000))
    text = table(rows)
    print(text)
    if options.write:
        page = pathlib.Path(options.write)
        before, rest = page.read_text().split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        page.write_text(before + MARKS[0] + "\n" + text + "\n" + MARKS[1] + after)


if __name__ == "__main__":
    main()
