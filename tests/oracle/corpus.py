"""Texts to compare tokenizers on: mixed real text and random strings, the same for the same seed."""
import pathlib
import random
import sys
import sysconfig
import unicodedata

SUFFIXES = {".txt", ".json", ".jsonl", ".jinja", ".md", ".gbnf", ".lark", ".csv", ".raw", ".tokens"}
FOLDERS = ("text", "eval", "templates", "function_calling", "grammars", "trained/eval")
BATCH_BYTES = 1 << 20
EDGES = [" ", "  ", "   ", "\n", "\r\n", "\r", "\t", "\n\n", " \n", "\n ", "\u00a0", "\u3000", "\u2028",
         "\x85", "\u200b", "\u200d", "\ufeff", "\x00", "\x1b[0m", "\x7f", "'", "'s", "'S", "'ſ", "'LL",
         "e\u0301", "\u0301", "\u0323\u0301", "Å", "ﬁ", "①", "½", "²", "İ", "ß", "ẞ", "Σ", "ς", "ǅ",
         "नमस्ते", "ক্ষ", "ก็", "한국어", "각", "日本語", "カﾞ", "，", "。", "🧑‍🚀", "🇩🇪", "👩‍👩‍👧‍👦", "☺️",
         "1", "12", "123", "1234", "１２", "٣٤", "ⅷ", "...", "!!", "$€", "//", "/*", "</", "_", "▁", "##",
         "<0x41>", "\ufffd", "\U0001f468"]
# First and last characters of scripts whose words synthetic text is made of.
SCRIPTS = [(0x61, 0x7A), (0x41, 0x5A), (0xC0, 0x24F), (0x391, 0x3C9), (0x410, 0x44F), (0x531, 0x556),
           (0x5D0, 0x5EA), (0x620, 0x64A), (0x905, 0x94D), (0x985, 0x9CD), (0xB85, 0xBCD),
           (0xE01, 0xE3A), (0x10D0, 0x10F0), (0x1780, 0x17D3), (0x3041, 0x3096), (0x30A1, 0x30FA),
           (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0x1F300, 0x1F64F), (0x30, 0x39)]


def documents(data):
    for folder in FOLDERS:
        for path in sorted((data / folder).rglob("*")):
            if path.is_file() and path.suffix in SUFFIXES:
                yield path.read_text(errors="replace")
    for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if "site-packages" not in path.parts:
            yield path.read_text(errors="replace")


def synthetic(rng, n_bytes):
    """Words of one script after another, with punctuation: text of languages the data lacks."""
    out, size = [], 0
    while size < n_bytes:
        first, last = rng.choice(SCRIPTS)
        words = []
        for _ in range(rng.randrange(3, 30)):
            words.append("".join(chr(rng.randint(first, last))
                                 for _ in range(rng.choice((1, 2, 3, 4, 5, 6, 8, 12)))))
        glue = rng.choice((" ", " ", " ", "", "、", ", ", "-", "\n"))
        out.append(assigned(glue.join(words)) + rng.choice((".", "。", "!\n", "?\n\n", "\n", ";")))
        size += len(out[-1].encode())
    return "".join(out)


def assigned(text):
    """Only characters of this Python's Unicode: later ones have other classes in other tables."""
    return "".join(c for c in text if unicodedata.category(c) not in ("Cn", "Cs"))


class Text:
    """All distinct text, as documents and as lines."""

    def __init__(self, data):
        rng = random.Random(0)
        seen = dict.fromkeys(documents(data))
        self.documents = [assigned(text) for text in seen if text]
        self.documents += [synthetic(rng, 20000) for _ in range(200)]
        for path in sorted((data / "text").glob("*.txt")):
            if path.stat().st_size > 100_000:
                self.documents.append(path.read_text(errors="replace")[:1_000_000])
        self.lines = [line for text in self.documents for line in text.splitlines(keepends=True)]
        self.n_bytes = sum(len(text.encode()) for text in self.documents)


def mixed(text, seed):
    """Batches without end: every document first, cut into slices of all lengths, then documents
    made of lines at random."""
    rng = random.Random(seed)
    order = list(range(len(text.documents)))
    rng.shuffle(order)
    batch, size = [], 0

    def slices():
        for i in order:
            yield from cut(text.documents[i])
        while True:
            yield from cut("".join(rng.choices(text.lines, k=rng.choice((5, 50, 500)))))

    def cut(document):
        at = 0
        while at < len(document):
            length = rng.choice((20, 100, 300, 1000, 1000, 4000, 4000, 20000, 200000))
            yield document[at:at + length]
            at += length

    for piece in slices():
        batch.append(piece)
        size += len(piece)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0


def random_strings(pieces, seed):
    """Batches without end of short strings: code points, edges, pieces of the vocabulary glued and
    cut, bytes that are seldom UTF-8."""
    rng = random.Random(seed)
    characters = [chr(c) for c in range(sys.maxunicode + 1)
                  if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    low = [c for c in characters if c < "\u3000"]
    plain = [piece.replace("▁", " ").replace("Ġ", " ") for piece in pieces]

    def code_points(n):
        return "".join(rng.choices(characters if rng.random() < 0.3 else low, k=n))

    def glued(n):
        source = pieces if rng.random() < 0.3 else plain
        out = rng.choices(source, k=n)
        if rng.random() < 0.5:
            out = [text[:rng.randrange(len(text) + 1)] for text in out]
        return rng.choice(("", "", " ")).join(out)

    def edges(n):
        return "".join(rng.choices(EDGES, k=n))

    def mixture(n):
        return "".join(rng.choice((code_points, glued, edges))(rng.randrange(1, 3))
                       for _ in range(n // 2 + 1))

    def raw(n):
        return rng.randbytes(n * 2).decode(errors="replace")

    def repeated(n):
        return rng.choice(EDGES + plain[:1000]) * rng.randrange(1, 80) + edges(n // 4)

    kinds = (code_points, glued, glued, edges, mixture, mixture, raw, repeated)
    while True:
        yield [assigned(rng.choice(kinds)(rng.randrange(1, 20))) for _ in range(4000)]


