"""The weights that training begins with: random, and a circuit that copies.

Models this small find copying only after many millions of tokens, so it is laid by hand; all of it
is trained from there. Channel `KEEP` of the embedding is the same for all tokens, so that a query
and a key can depend on their distance alone. In layer 0 the first head of keys looks at the token
before and notes in the last 64 channels which one it was. Heads of layers 1 and 2 look for places
whose noted token is the present one, and add the token found there: what came next last time.

Random numbers are uniform ones of `random()`, so that a seed gives the same bytes everywhere.
"""

import array
import math
import operator
import random

import gguf_file

HIDDEN, FEED_FORWARD, VOCABULARY = 256, 768, 4096
HEADS, KEY_HEADS, HEAD = 4, 2, 64
THETA = 1e6
KEEP = HIDDEN - HEAD - 1
_GROUP = HEADS // KEY_HEADS
# How sharply the first layer looks one token back; how strongly a match and a copy weigh. More of
# each copies more certainly, and leaves less for training to say where not to copy.
_SHARP, _MATCH, _COPY, _NOTE = 7.0, 1.4, 1.2, 0.6


def _dot(one, other):
    # fsum rounds once, so that its sum does not depend on how a version of Python adds.
    return math.fsum(map(operator.mul, one, other))


class _Random:
    def __init__(self, seed):
        self.random = random.Random(seed).random

    def rows(self, n_rows, n_columns, deviation):
        """Rows of uniform numbers of a standard deviation."""
        width, draw = 2 * math.sqrt(3) * deviation, self.random
        return [
            array.array("f", [(draw() - 0.5) * width for _ in range(n_columns)])
            for _ in range(n_rows)
        ]

    def orthonormal(self, count, size):
        """`count` random vectors of `size` numbers, of length 1 and at right angles."""
        vectors = []
        while len(vectors) < count:
            vector = [self.random() - 0.5 for _ in range(size)]
            for _ in range(2):  # twice: once leaves rounding
                for other in vectors:
                    along = _dot(vector, other)
                    vector = [v - along * o for v, o in zip(vector, other)]
            length = math.sqrt(_dot(vector, vector))
            vectors.append([v / length for v in vector])
        return vectors


def _scale(rows, factor):
    for row in rows:
        row[:] = array.array("f", [v * factor for v in row])


def _clear(rows):
    for row in rows:
        row[:] = array.array("f", bytes(row.itemsize * len(row)))


def _put(row, numbers, start=0):
    row[start : start + len(numbers)] = array.array("f", numbers)


class Weights:
    """`tensors`: {name in the file: rows, or one array}. Matrices are rows of outputs."""

    def __init__(self, n_layers, seed):
        self.n_layers, self._draw = n_layers, _Random(seed)
        self.tensors = {}
        # A wide embedding keeps a token visible beside what layers add; the small last norm keeps
        # logits small.
        self.tensors["token_embd.weight"] = self._draw.rows(VOCABULARY, HIDDEN, 0.5)
        self.tensors["output_norm.weight"] = array.array("f", [0.1] * HIDDEN)
        for layer in range(n_layers):
            self._add_layer("blk.%d." % layer)
        self._lay_circuit()

    def _add_layer(self, name):
        inner, keys = HEADS * HEAD, KEY_HEADS * HEAD
        deviation = 1 / math.sqrt(HIDDEN)
        back = 0.02 / math.sqrt(2 * self.n_layers)
        for norm in ("attn_norm", "ffn_norm"):
            self.tensors[name + norm + ".weight"] = array.array("f", [1.0] * HIDDEN)
        for part, size in (("q", inner), ("k", keys), ("v", keys)):
            self.tensors[name + "attn_%s.weight" % part] = self._draw.rows(size, HIDDEN, deviation)
            self.tensors[name + "attn_%s.bias" % part] = array.array("f", [0.0] * size)
        self.tensors[name + "attn_output.weight"] = self._draw.rows(HIDDEN, inner, back)
        for part in ("gate", "up"):
            self.tensors[name + "ffn_%s.weight" % part] = self._draw.rows(
                FEED_FORWARD, HIDDEN, deviation
            )
        self.tensors[name + "ffn_down.weight"] = self._draw.rows(HIDDEN, FEED_FORWARD, back)

    def _lay_circuit(self):
        rows = self.tensors["token_embd.weight"]
        for row in rows:
            _put(row, [1.0] + [0.0] * HEAD, KEEP)
        lengths = [math.sqrt(_dot(row, row) / HIDDEN) for row in rows]
        self._unit = len(rows) / math.fsum(lengths)  # what the norm makes of 1
        self._basis = self._draw.orthonormal(KEEP, KEEP)
        self._noted = self._draw.orthonormal(HEAD, KEEP)
        self._look_one_back()
        place = 0
        for layer in range(1, min(3, self.n_layers)):
            for head in range(KEY_HEADS):
                count = min(HEAD, KEEP - place)
                if count >= HEAD // 2:
                    self._find_again("blk.%d." % layer, head, self._basis[place : place + count])
                    place += count

    def _look_one_back(self):
        queries, keys, values, out = (
            self.tensors["blk.0.attn_%s.weight" % part] for part in ("q", "k", "v", "output")
        )
        _scale(queries[: HEAD * _GROUP], 0.1)
        _scale(keys[:HEAD], 0.1)
        half = HEAD // 2
        for i in range(half):
            frequency = THETA ** (-i / half)
            if frequency <= 0.1:
                continue
            strength = _SHARP / self._unit
            for head in range(_GROUP):  # the first head looks one back, the second two
                angle = -frequency * (head + 1)
                queries[head * HEAD + i][KEEP] = strength * math.cos(angle)
                queries[head * HEAD + half + i][KEEP] = strength * math.sin(angle)
            keys[i][KEEP] = strength
        _clear(values[:HEAD])
        for row, noted in zip(values, self._noted):
            _put(row, noted)
        for i in range(HEAD):
            _put(out[KEEP + 1 + i], [_NOTE if i == j else 0.0 for j in range(HEAD)])

    def _find_again(self, name, key_head, basis):
        queries, keys, values, out = (
            self.tensors[name + "attn_%s.weight" % part] for part in ("q", "k", "v", "output")
        )
        half = HEAD // 2
        slow = [i for i in range(half) if THETA ** (-i / half) < 0.0015]
        channels = slow + [i + half for i in slow]
        mix = self._draw.orthonormal(HEAD, HEAD)[: len(channels)]
        wanted = [[_dot(row, column) for column in zip(*self._noted)] for row in mix]
        first = key_head * HEAD
        _scale(keys[first : first + HEAD], 0.1)
        for channel, row in zip(channels, mix):
            _put(keys[first + channel], [_MATCH * v for v in row], KEEP + 1)
        for head in range(key_head * _GROUP, (key_head + 1) * _GROUP):
            _scale(queries[head * HEAD : (head + 1) * HEAD], 0.1)
            for channel, row in zip(channels, wanted):
                _put(queries[head * HEAD + channel], [_MATCH * v for v in row])
            for i, vector in enumerate(basis):
                for j in range(KEEP):
                    out[j][head * HEAD + i] += _COPY / _GROUP * vector[j]
        _clear(values[first : first + HEAD])
        for row, vector in zip(values[first:], basis):
            _put(row, vector)


def write_first_weights(path, pattern, name, n_layers, seed):
    """A GGUF file with f32 weights and the tokenizer and template of the file `pattern`."""
    metadata = gguf_file.read_metadata(pattern)
    metadata["general.name"] = gguf_file.text(name)
    metadata["qwen2.block_count"] = gguf_file.uint32(n_layers)
    metadata["general.file_type"] = gguf_file.uint32(gguf_file.F32)
    tensors = []
    for key, rows in Weights(n_layers, seed).tensors.items():
        if isinstance(rows, array.array):
            tensors.append((key, (len(rows),), rows))
        else:
            flat = array.array("f")
            for row in rows:
                flat.extend(row)
            tensors.append((key, (len(rows[0]), len(rows)), flat))
    gguf_file.write(path, metadata, tensors)
