"""Seeded draws from lists of words and phrases, with entries that training never sees.

The lists are files of `data/`. A line `[name]` begins a list; in words.txt entries are separated by
commas and `[name, held out]` has what is held out, in phrases.txt each line is an entry and `~`
marks those held out. A list without held-out entries is shared by all splits.

Draws use nothing of `random.Random` but `random()`, whose sequence Python promises to keep, so that
a seed gives the same bytes with every version.
"""

import functools
import pathlib
import random

DATA = pathlib.Path(__file__).resolve().parent / "data"


class WordList:
    """`seen`: entries for training. `held`: entries that only held-out splits use, perhaps none."""

    def __init__(self):
        self.seen, self.held = [], []

    def side(self, held):
        return self.held if held and self.held else self.seen


def _read_words(lists, text):
    target = None
    for line in text.splitlines():
        if line.startswith("["):
            name, _, mark = line[1:-1].partition(", ")
            entry = lists.setdefault(name, WordList())
            target = entry.held if mark == "held out" else entry.seen
        elif line and not line.startswith("#"):
            target.extend(word.strip() for word in line.split(",") if word.strip())


def _read_phrases(lists, text):
    target = None
    for line in text.splitlines():
        if line.startswith("["):
            target = lists.setdefault(line[1:-1], WordList())
        elif line and not line.startswith("#"):
            held = line.startswith("~ ")
            phrase = (line[2:] if held else line).replace("\\n", "\n")
            (target.held if held else target.seen).append(phrase)


@functools.lru_cache(maxsize=None)
def all_lists():
    """{name: WordList} of words.txt and phrases.txt."""
    lists = {}
    _read_words(lists, (DATA / "words.txt").read_text(encoding="utf-8"))
    _read_phrases(lists, (DATA / "phrases.txt").read_text(encoding="utf-8"))
    return lists


class Draw(random.Random):
    """Draws for one split: `held` chooses the held-out side of each list. `strange`: the share of
    values that are made up where a list has some, so that copying pays and remembering does not.
    """

    def __init__(self, seed, held=False, strange=0):
        super().__init__(str(seed))
        self.held, self.strange = held, strange

    def chance(self, share):
        return self.random() < share

    def num(self, low, high):
        """An integer of [low, high]."""
        return low + int(self.random() * (high - low + 1))

    def one(self, items):
        return items[int(self.random() * len(items))]

    def some(self, items, count):
        """`count` different entries (all, if there are fewer) in random order."""
        return self.mixed(items)[:count]

    def mixed(self, items):
        items = list(items)
        for i in range(len(items) - 1, 0, -1):
            j = self.num(0, i)
            items[i], items[j] = items[j], items[i]
        return items

    def side(self, name):
        return all_lists()[name].side(self.held)

    def pick(self, name):
        """An entry of the list `name`."""
        return self.one(self.side(name))

    def picks(self, name, count):
        """Different entries of the list `name`; a held-out side that is too short is filled from
        the other.
        """
        entries = self.some(self.side(name), count)
        if len(entries) < count:
            entries += self.some(
                [x for x in all_lists()[name].seen if x not in entries], count - len(entries)
            )
        return entries
