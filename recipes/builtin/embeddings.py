"""An embedding model trained by contrast: a vector for each token, in Model2Vec's form.

The vector of a text is the mean of its tokens' vectors, scaled to a length of 1. For a batch of
triplets the loss is InfoNCE: each anchor should be nearer to its positive than to all other
positives and all hard negatives of the batch, by softmax over cosines / TEMPERATURE. Plain gradient
descent, in Python: a batch of 32 triplets takes about 25 ms.
"""

import array
import json
import math
import operator
import struct

import gguf_file
from draws import Draw

DIMENSIONS = 64
BATCH = 32
# Less tells near vectors apart more sharply, and learns from fewer of the negatives.
TEMPERATURE = 0.07
_RATE = 6.0
# Gradients of pairs below this change nothing that float32 would show.
_LEAST = 1e-5


def dot(one, other):
    return math.fsum(map(operator.mul, one, other))


class _Text:
    """The vector of a text, and the gradient of the loss by it."""

    def __init__(self, table, ids):
        self.ids = ids
        count = len(ids)
        mean = [math.fsum(column) / count for column in zip(*(table[i] for i in ids))]
        self.length = math.sqrt(dot(mean, mean)) or 1.0
        self.unit = [x / self.length for x in mean]
        self.gradient = [0.0] * DIMENSIONS

    def add(self, factor, vector):
        self.gradient = [g + factor * v for g, v in zip(self.gradient, vector)]

    def descend(self, table, rate):
        """Changes the rows of the text's tokens."""
        along = dot(self.gradient, self.unit)
        scale = rate / (self.length * len(self.ids))
        change = [scale * (g - along * u) for g, u in zip(self.gradient, self.unit)]
        for i in self.ids:
            table[i] = [x - c for x, c in zip(table[i], change)]


def _learn_batch(table, batch, rate):
    """One step on [(anchor ids, positive ids, negative ids)]; the mean loss before it."""
    anchors = [_Text(table, triplet[0]) for triplet in batch]
    others = [_Text(table, triplet[1]) for triplet in batch]
    others += [_Text(table, triplet[2]) for triplet in batch]
    loss = 0.0
    for number, anchor in enumerate(anchors):
        logits = [dot(anchor.unit, other.unit) / TEMPERATURE for other in others]
        top = max(logits)
        shares = [math.exp(x - top) for x in logits]
        total = math.fsum(shares)
        loss -= logits[number] - top - math.log(total)
        for column, other in enumerate(others):
            factor = (shares[column] / total - (column == number)) / (TEMPERATURE * len(batch))
            if abs(factor) > _LEAST:
                anchor.add(factor, other.unit)
                other.add(factor, anchor.unit)
    for text in anchors + others:
        text.descend(table, rate)
    return loss / len(batch)


def learn(triplets, n_tokens, epochs, seed):
    """(the table, the mean loss of each epoch); `triplets`: [(anchor, positive, negative)], ids."""
    draw = Draw("%s/embeddings" % seed)
    table = [[draw.random() - 0.5 for _ in range(DIMENSIONS)] for _ in range(n_tokens)]
    losses, step = [], 0
    n_steps = epochs * math.ceil(len(triplets) / BATCH)
    for _ in range(epochs):
        mixed, total = draw.mixed(triplets), 0.0
        for start in range(0, len(mixed), BATCH):
            batch = mixed[start : start + BATCH]
            total += _learn_batch(table, batch, _RATE * (1 - step / n_steps)) * len(batch)
            step += 1
        losses.append(total / len(mixed))
    return table, losses


def _tokenizer_json(metadata):
    """tokenizer.json of the tokenizer of a GGUF file, without the tokens that are no text."""
    tokens = gguf_file.texts_of(metadata["tokenizer.ggml.tokens"])
    merges = gguf_file.texts_of(metadata["tokenizer.ggml.merges"])
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
    bytes_["use_regex"] = False
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": ""}
    model |= {"end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, bytes_]},
        "post_processor": None,
        "decoder": bytes_,
        "model": model | {"vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges},
    }


def write(folder, pattern, table):
    """Writes a folder as Model2Vec has it, with the tokenizer of the GGUF file `pattern`."""
    folder.mkdir(exist_ok=True)
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "hidden_dim": DIMENSIONS}
    config |= {"seq_length": 1000000, "normalize": True}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    tokenizer = json.dumps(_tokenizer_json(gguf_file.read_metadata(pattern)), ensure_ascii=False)
    (folder / "tokenizer.json").write_text(tokenizer + "\n", encoding="utf-8")
    numbers = array.array("f")
    for row in table:
        numbers.extend(row)
    entry = {"dtype": "F32", "shape": [len(table), DIMENSIONS]}
    entry["data_offsets"] = [0, len(numbers) * numbers.itemsize]
    head = json.dumps({"embeddings": entry}).encode()
    head += b" " * (-len(head) % 8)
    (folder / "model.safetensors").write_bytes(
        struct.pack("<Q", len(head)) + head + numbers.tobytes()
    )
