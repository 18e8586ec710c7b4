"""Records of a data set: identity, near duplicates, overlap with texts for evaluation.

A record is `{id, source, category, license, provenance, content_hash, ...}` with its content beside
them: `messages` and perhaps `tools` and `schemas`, `text`, or `anchor`, `positive`, `negative`.
`content_hash` is the SHA-256 of the content in canonical JSON.

Near duplicates are found by MinHash with one permutation (Li, Owen, Zhang 2012): the hashes of a
text's word 3-grams fall into 64 bins and each bin keeps the least. The share of equal bins
estimates the Jaccard similarity. Bins are compared in groups of four, so that only records that
share a whole group are looked at.
"""

import hashlib
import json
import re
import zlib

CONTENT = ("messages", "tools", "schemas", "text", "anchor", "positive", "negative")
LICENSE = "CC0-1.0"
SOURCE = "recipes/builtin"
N_BINS, N_GROUP = 64, 4
GRAM = 13
_WORD = re.compile(r"\w+")
_EMPTY = 1 << 32


def content_hash(content):
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def make_record(content, category, split, provenance):
    """`provenance`: what makes the same record again, {generator, seed, draw}."""
    kept = {key: content[key] for key in CONTENT if content.get(key) is not None}
    digest = content_hash(kept)
    return {
        "id": split + "-" + category + "-" + digest[:16],
        "source": SOURCE,
        "category": category,
        "license": LICENSE,
        "provenance": provenance,
        "content_hash": digest,
        **kept,
    }


def spoken(record):
    """The text of a record without signatures and system messages, which many records share."""
    if "messages" in record:
        parts = []
        for message in record["messages"]:
            if message["role"] != "system":
                parts.append(message["content"] or "")
                parts += [
                    json.dumps(call["function"], ensure_ascii=False)
                    for call in message.get("tool_calls", [])
                ]
        return "\n".join(parts)
    return record.get("text") or "\n".join(
        record[key] for key in ("anchor", "positive", "negative")
    )


class MinHashIndex:
    """Texts seen so far. `similar` decides from `threshold` of estimated Jaccard similarity on."""

    def __init__(self, threshold=0.8):
        self.threshold, self.sketches, self.groups = threshold, [], {}

    @staticmethod
    def sketch(text):
        """The least hash in each bin, with the empty bins filled from their neighbours."""
        words = _WORD.findall(text.lower())
        least = [_EMPTY] * N_BINS
        for i in range(max(1, len(words) - 2)):
            digest = zlib.crc32(" ".join(words[i : i + 3]).encode("utf-8"))
            digest = (
                digest * 2654435761 & 0xFFFFFFFF
            )  # spreads what CRC leaves alike in the bits of the bin
            bin_ = digest >> 26
            if digest < least[bin_]:
                least[bin_] = digest
        return MinHashIndex._filled(least)

    @staticmethod
    def _filled(least):
        used = [i for i in range(N_BINS) if least[i] != _EMPTY]
        filled, at = list(least), 0
        for i in range(N_BINS):
            while at < len(used) and used[at] < i:
                at += 1
            filled[i] = least[used[at % len(used)]]
        return tuple(filled)

    def similar(self, text):
        """Whether a text like this one was added."""
        return self._find(self.sketch(text))

    def _keys(self, sketch):
        for start in range(0, N_BINS, N_GROUP):
            yield hash((start,) + sketch[start : start + N_GROUP])

    def _find(self, sketch):
        needed = self.threshold * N_BINS
        for key in self._keys(sketch):
            for other in self.groups.get(key, ()):
                if sum(a == b for a, b in zip(sketch, self.sketches[other])) >= needed:
                    return True
        return False

    def add(self, text):
        """False, and nothing is added, where a similar text is there."""
        sketch = self.sketch(text)
        if self._find(sketch):
            return False
        for key in self._keys(sketch):
            self.groups.setdefault(key, []).append(len(self.sketches))
        self.sketches.append(sketch)
        return True


def asked_texts(record):
    """What is asked in a record, or its text: what must not be known from training."""
    if "messages" in record:
        return [m["content"] for m in record["messages"] if m["role"] in ("user", "tool")]
    return [record["text"]] if "text" in record else [record["anchor"]]


def word_grams(text, shortest=6):
    """The hashes of the runs of 13 words; a shorter text is one run, or none below `shortest`
    words.
    """
    words = _WORD.findall(text.lower())
    if len(words) < GRAM:
        return {hash(tuple(words))} if len(words) >= shortest else set()
    return {hash(tuple(words[i : i + GRAM])) for i in range(len(words) - GRAM + 1)}


class Contamination:
    """Texts for evaluation, and their runs of words.

    A record for training is contaminated if more than `share` of its runs are in those texts, or if
    it asks one of them word for word. Single runs may be alike: instructions and schemas are common
    to all splits.
    """

    def __init__(self, share=0.5):
        self.share, self.grams, self.texts = share, set(), set()

    def add(self, record):
        for text in asked_texts(record):
            self.grams |= word_grams(text)
            self.texts.add(text)

    def contaminates(self, record):
        grams = set()
        for text in asked_texts(record):
            found = word_grams(text)
            if found and text in self.texts:
                return True
            grams |= found
        return len(grams & self.grams) > self.share * len(grams)


def read_records(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
