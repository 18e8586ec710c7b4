"""What the checks share: which files there are, C++ text without comments, and how a finding is
told. Standard library only, so that a fresh machine can run them."""
import argparse
import pathlib
import re
import subprocess
import sys

CPP = (".h", ".cpp", ".inc.h")


class Check:
    """One check: collects findings as file:line: text; finish() prints and sets the exit code."""

    def __init__(self, name, doc):
        parser = argparse.ArgumentParser(description=doc)
        parser.add_argument("--root", type=pathlib.Path,
                            default=pathlib.Path(__file__).resolve().parent.parent)
        parser.add_argument("--need-tools", action="store_true",
                            help="a missing external program is a failure, not a note")
        self.args = parser.parse_args()
        self.name, self.root = name, self.args.root
        self.findings, self.notes = [], []

    def files(self, *folders, ends=CPP):
        """Tracked files (all files where there is no git), as paths relative to the root."""
        for path in self._all():
            inside = not folders or path.split("/")[0] in folders
            if inside and path.endswith(tuple(ends)) and (self.root / path).is_file():
                yield path

    def _all(self):
        if not hasattr(self, "_listed"):
            git = subprocess.run(["git", "-C", str(self.root), "ls-files", "-z", "--cached"],
                                 capture_output=True)
            if (self.root / ".git").exists() and git.returncode == 0:
                names = git.stdout.decode().split("\0")
            else:
                names = [str(p.relative_to(self.root)) for p in self.root.rglob("*")]
            self._listed = sorted({n for n in names if n and not n.startswith("build/")})
        return self._listed

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def fail(self, path, line, text):
        self.findings.append(f"{path}:{line}: {text}")

    def note(self, text):
        self.notes.append(text)

    def finish(self, counted):
        for text in self.notes:
            print(f"{self.name}: note: {text}")
        for text in self.findings:
            print(text)
        state = f"{len(self.findings)} findings" if self.findings else "ok"
        print(f"{self.name}: {state} ({counted})")
        sys.exit(1 if self.findings else 0)


def allow_list(check, path):
    """Lines "key   reason" of an allow-list; a line without a reason is a finding."""
    allowed = {}
    file = check.root / path
    for number, line in enumerate(file.read_text().splitlines() if file.exists() else [], 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, _, reason = line.partition("  ")
        if not reason.strip():
            check.fail(path, number, f"'{key}' stands without a reason")
        allowed[key.strip()] = reason.strip()
    return allowed


_PIECES = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:[^"\\\n]|\\.)*"|(?<![0-9A-Fa-f])\'(?:[^\'\\\n]|\\.)*\'', re.S)


def without_comments(text, strings=True):
    """C++ text with comments blanked, and string contents too unless `strings`; lines stay."""
    def blank(match):
        piece = match.group(0)
        if strings and not piece.startswith(("//", "/*")):
            return piece
        keep = '""' if piece[0] in "\"R" else ""
        return keep + "\n" * piece.count("\n")
    return _PIECES.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
