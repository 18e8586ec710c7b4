#!/usr/bin/env python3
"""Vector indexes beside each other: searches a second at equal recall, latency, building, loading,
bytes on disk and in memory, and recall among few.

Usage: compare_indexes.py --bench RUV_BENCH_MEMORY [--sets 100000x128,100000x384,20000x768]
                          [--million] [--mnist t10k-images-idx3-ubyte.gz] [--indexes int8,hnswlib]
                          [--rounds 3] [--results FILE] [--write FILE]

Sets are drawn: points around 1000 centres, with a seed; --million adds 1000000x128. Each index is
built with two threads, M = 16 and 200 nodes looked at, and searched by one. The speed at a recall is
that of the median of the rounds; between two efs its logarithm is taken to be linear in that of the
share that is missed. Latencies are those of the least ef with recall 0.95, one query after the other;
those of peers include the call from Python. Memory is that of a process that opens the index and
searches, without pages of files, for ours alone; what a search reads is that of the same ef, by calls:
mapped files do not count.

--results keeps what was measured, a line for each set and index, and a later run continues there.
--write puts the tables between the marks of FILE. Peers that are missing are named and left out.
"""
import argparse
import gzip
import json
import pathlib
import statistics
import sys
import tempfile

import numpy

from peers import K, KINDS, Missing

MARKS = ("<!-- indexes: begin -->", "<!-- indexes: end -->")
SHARES = (0.001, 0.01, 0.1, 0.5, 1)
EF_AMONG = 64


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def drawn(n, n_dims, n_queries):
    rng = numpy.random.default_rng(1)
    centres = rng.normal(size=(1000, n_dims)).astype("f4")

    def points(count):
        made = centres[rng.integers(0, len(centres), count)]
        for at in range(0, count, 65536):
            part = made[at:at + 65536]
            part += numpy.float32(0.6) * rng.standard_normal(part.shape, dtype="f4")
        return made

    return points(n), points(n_queries)


def mnist(path, n_queries):
    raw = gzip.open(path).read()[16:]
    images = numpy.frombuffer(raw, dtype="u1").reshape(-1, 784).astype("f4")
    return images[:-n_queries], images[-n_queries:]


def nearest(vectors, queries, ids=None):
    """The K nearest of each query, by comparing with everything (or with those of these ids)."""
    if ids is not None:
        vectors = vectors[ids]
    squares = numpy.einsum("ij,ij->i", vectors, vectors)
    found = []
    for at in range(0, len(queries), 64):
        distances = squares - 2 * (queries[at:at + 64] @ vectors.T)
        k = min(K, len(vectors))
        best = numpy.argpartition(distances, k - 1, axis=1)[:, :k]
        found.append(best if ids is None else ids[best])
    return numpy.concatenate(found)


def recall(found, wanted):
    wanted = wanted[:len(found)]
    return sum(len(set(a) & set(b)) for a, b in zip(found, wanted.tolist())) / wanted.size


def speed_at(points, wanted):
    """Searches a second at a recall, from (recall, speed) by ef; None: it is not reached."""
    for (low, fast), (high, slow) in zip(points, points[1:]):
        if low < wanted <= high:
            miss = [numpy.log(max(1 - share, 1e-6)) for share in (low, wanted, high)]
            part = (miss[0] - miss[1]) / (miss[0] - miss[2]) if miss[0] != miss[2] else 1
            return float(numpy.exp(numpy.log(fast) + part * (numpy.log(slow) - numpy.log(fast))))
    return points[0][1] if points and points[0][0] >= wanted else None


def percentile(numbers, share):
    return float(numpy.percentile(numbers, 100 * share)) if numbers else None


def among_shares(index, vectors, queries):
    """Recall by the share of the vectors that may be found."""
    order = numpy.random.default_rng(2).permutation(len(vectors))
    shares = {}
    for share in SHARES:
        ids = numpy.sort(order[:max(K, int(share * len(vectors)))]).astype("i8")
        found = index.among(queries, ids, EF_AMONG)
        shares[str(share)] = None if found is None else recall(found, nearest(vectors, queries, ids))
    return shares


def measure(options, kind, vectors, queries, wanted):
    with tempfile.TemporaryDirectory(dir=options.work) as made:
        index = kind(options, pathlib.Path(made), vectors, queries)
        try:
            asked = queries[:min(index.most_queries, len(queries))]
            points, least, read = [], None, None
            for ef in index.efs:
                runs = [index.search(asked, ef) for _ in range(options.rounds)]
                share = recall(runs[0][1], wanted)
                count = len(runs[0][1])
                points.append((share, count / statistics.median(run[0] for run in runs)))
                say("   ef %s: recall %.3f" % (ef, share))
                if least is None and share >= 0.95:
                    least, read = ef, index.read_bytes
                if share >= 0.995:
                    break
            taken = [] if least is None and index.efs[0] is not None else index.each(asked, least)[0]
            row = {"build_seconds": index.build_seconds, "points": points,
                   "p50_us": percentile(taken, 0.5), "p99_us": percentile(taken, 0.99),
                   "bytes": index.save(), "load_seconds": index.load()}
            row["among"] = among_shares(index, vectors, asked[:100])
            row["read_bytes"], row["memory_bytes"] = read, index.memory()
            return row
        finally:
            index.close()


def cell(number, form="%.0f"):
    return "-" if number is None else form % number


def scaled(number, unit):
    return None if number is None else number / unit


def table(rows):
    """rows: {(set, index name): measured}."""
    lines = ["| set | index | build, s | searches/s at recall 0.95 | at 0.99 | p50, µs | p99, µs "
             "| MB on disk | load, s | MB of memory | KB read for a search |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for (name, index), row in rows.items():
        peer = rows.get((name, KINDS["hnswlib"].name))
        cells = ["%.1f" % row["build_seconds"]]
        for wanted in (0.95, 0.99):
            speed = speed_at(row["points"], wanted)
            beside = speed_at(peer["points"], wanted) if peer else None
            cells.append(cell(speed) + (" (%.2f)" % (speed / beside) if speed and beside else ""))
        cells += [cell(row["p50_us"]), cell(row["p99_us"]), "%.1f" % (row["bytes"] / 1e6),
                  "%.3f" % row["load_seconds"], cell(scaled(row.get("memory_bytes"), 1e6), "%.1f"),
                  cell(scaled(row.get("read_bytes"), 1e3), "%.1f")]
        lines.append("| %s | %s | %s |" % (name, index, " | ".join(cells)))
    lines += ["", "Recall at 10 among a share of the vectors, ef %d:" % EF_AMONG, "",
              "| set | index | " + " | ".join("%g %%" % (100 * share) for share in SHARES) + " |",
              "|---|---|" + "---|" * len(SHARES)]
    for (name, index), row in rows.items():
        shares = [cell(row["among"][str(share)], "%.3f") for share in SHARES]
        lines.append("| %s | %s | %s |" % (name, index, " | ".join(shares)))
    return "\n".join(lines)


class Results:
    """What was measured, kept in a file if there is one."""

    def __init__(self, path):
        self.path, self.rows = path, {}
        if path and pathlib.Path(path).exists():
            for line in pathlib.Path(path).read_text().splitlines():
                row = json.loads(line)
                self.rows[row.pop("set"), row.pop("index")] = row

    def add(self, name, index, row):
        self.rows[name, index] = row
        if self.path:
            with open(self.path, "a") as file:
                file.write(json.dumps({"set": name, "index": index, **row}) + "\n")


def run_set(options, results, name, make):
    kinds = [KINDS[one] for one in options.indexes.split(",")]
    left = [kind for kind in kinds if (name, kind.name) not in results.rows]
    if not left:
        return
    say(name + ": making the set, and comparing with everything")
    vectors, queries = make()
    wanted = nearest(vectors, queries)
    for kind in left:
        say("%s: %s" % (name, kind.name))
        try:
            results.add(name, kind.name, measure(options, kind, vectors, queries, wanted))
        except Missing as missing:
            say("%s is left out: %s" % (kind.name, missing))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--sets", default="100000x128,100000x384,20000x768")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--mnist")
    parser.add_argument("--indexes", default=",".join(KINDS))
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", help="where indexes are written; the system's folder when absent")
    parser.add_argument("--results")
    parser.add_argument("--write")
    options = parser.parse_args()
    unknown = set(options.indexes.split(",")) - set(KINDS)
    if unknown:
        parser.error("--indexes: there are " + ", ".join(KINDS))
    results = Results(options.results)
    sets = [one for one in options.sets.split(",") if one]
    for one in sets + (["1000000x128"] if options.million else []):
        n, n_dims = map(int, one.split("x"))
        run_set(options, results, one, lambda: drawn(n, n_dims, options.queries))
    if options.mnist:
        run_set(options, results, "MNIST 9000x784",
                lambda: mnist(options.mnist, min(1000, options.queries)))
    text = table(results.rows)
    print(text)
    if options.write:
        page = pathlib.Path(options.write)
        before, rest = page.read_text().split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        page.write_text(before + MARKS[0] + "\n" + text + "\n" + MARKS[1] + after)


if __name__ == "__main__":
    main()
