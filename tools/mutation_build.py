"""A copy of the tree in which chosen mutants are built in side by side: `a < b` becomes
`(is(17) ? ((a) <= (b)) : (a < b))`, and the environment variable RUV_MUTANT says which one shows.
So one build serves all of them. Nothing of it is ever in the source tree."""
import os
import pathlib
import re
import shutil
import subprocess
import threading

FOLDERS = ("src", "include", "tests", "cmake", "apps", "bench", "examples")  # that are built from
MOST_TESTS = 1000  # of one run: an argument has a longest length
ERROR_LINE = re.compile(r"^(?:In file included from )?(\S+?):(\d+)[:,]", re.M)


def in_place(text, mutant, number):
    """What stands in the copy for the mutant's range."""
    original = text[mutant.begin:mutant.end]
    chosen = f"::ruv::mutation::is({number})"
    if not mutant.becomes:
        return f"{{ if (!{chosen}) {{ {original} }} }}"
    return f"({chosen} ? ({mutant.becomes}) : ({original}))"


class Build:
    """Where the copy lives and how it is built. `mutants`: number from 1 on to Mutant."""

    def __init__(self, root, folder, jobs, say):
        self.root, self.tree = pathlib.Path(root), pathlib.Path(folder) / "tree"
        self.build = self.tree / "build" / "release"
        self.header = self.tree / "tests/mutation/chosen.h"
        self.jobs, self.say = jobs, say
        self.planted = {}  # path to what stands there instead of the tree's text

    def copy(self):
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *FOLDERS,
             "CMakeLists.txt", "CMakePresets.json"],
            cwd=self.root, capture_output=True, text=True, check=True).stdout
        paths = {p for p in listing.split("\0") if p and (self.root / p).is_file()}
        for path in paths:
            self._write(path, (self.root / path).read_bytes())
        for folder in FOLDERS:
            for file in (self.tree / folder).rglob("*"):
                if file.is_file() and str(file.relative_to(self.tree)) not in paths:
                    file.unlink()
        self._adapt_cmake()

    def _write(self, path, data):
        """Unchanged files keep their time, so that little is built again."""
        file = self.tree / path
        if file.exists() and file.read_bytes() == data:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def _adapt_cmake(self):
        # Tests read models and goldens where they are, and each tells what it reaches.
        path = "cmake/ruv.cmake"
        text = (self.root / path).read_text()
        text = re.sub(r'RUV_SOURCE_DIR="[^"]*"', f'RUV_SOURCE_DIR="{self.root}"', text)
        text = re.sub(r'RUV_BINARY_DIR="[^"]*"', f'RUV_BINARY_DIR="{self.root}/build/release"', text)
        trace = self.tree / "tests/mutation/trace.cpp"
        # Their own code need not be fast, but soon compiled.
        text, n = re.subn(r"add_executable\(\$\{name\} \$\{T_SOURCES\}\)",
                          f"add_executable(${{name}} ${{T_SOURCES}} {trace})\n"
                          "  target_compile_options(${name} PRIVATE -O0)", text)
        if n != 1:
            raise SystemExit(f"{path}: ruv_test does not add its executable as it did")
        self._write(path, text.encode())
        text = (self.root / "tests/mutation/chosen.cpp").read_text()
        self._write("src/base/chosen_mutant.cpp",
                    text.replace('"mutation/chosen.h"', f'"{self.header}"').encode())

    def plant(self, mutants):
        """Writes the sources of these mutants, and back those of earlier ones; ranges must not
        overlap."""
        files = self._sources_with(mutants)
        for path in self.planted.keys() - files.keys():
            self._write(path, (self.root / path).read_bytes())
        for path, text in files.items():
            self._write(path, text.encode())
        self.planted = files

    def _sources_with(self, mutants):
        """Path to text."""
        files, by_path = {}, {}
        for number, mutant in mutants.items():
            by_path.setdefault(mutant.path, []).append((number, mutant))
        by_module = {}
        for path, of_file in by_path.items():
            text = (self.root / path).read_text()
            for number, mutant in sorted(of_file, key=lambda m: -m[1].begin):
                text = (text[:mutant.begin] + in_place(text, mutant, number) + text[mutant.end:])
            head = f'#include "{self.header}"\n#line 1 "{path}"\n'
            files[path] = head + text
            by_module.setdefault(path.split("/")[1], []).append("/".join(path.split("/")[2:]))
        for module, names in by_module.items():
            path = f"src/{module}/CMakeLists.txt"
            files[path] = (self.root / path).read_text() + "".join(
                f'set_source_files_properties({file} PROPERTIES COMPILE_OPTIONS '
                f'"-w;-Wno-narrowing;-O1")\n' for file in sorted(names))
        return files

    def compile(self, mutants, targets):
        """Builds the targets; mutants that do not compile are taken out. Returns their numbers."""
        failed = set()
        if not (self.build / "build.ninja").exists():
            subprocess.run(["cmake", "--preset", "release", "-DRUV_FUZZ=OFF"], cwd=self.tree,
                           check=True, stdout=subprocess.DEVNULL)
        while True:
            self.plant({n: m for n, m in mutants.items() if n not in failed})
            done = subprocess.run(["nice", "ninja", "-k", "0", "-j", str(self.jobs), *targets],
                                  cwd=self.build, capture_output=True, text=True)
            if done.returncode == 0:
                return failed
            more = self._blamed(done.stdout, mutants) - failed
            if not more:
                raise SystemExit(f"the copy in {self.tree} does not build:\n{done.stdout[-4000:]}")
            failed |= more
            self.say(f"{len(more)} mutants do not compile: {sorted(more)}")

    @staticmethod
    def _blamed(output, mutants):
        lines = {(path, int(line)) for path, line in ERROR_LINE.findall(output)}
        blamed = set()
        for number, mutant in mutants.items():
            if any((mutant.path, line) in lines
                   for line in range(mutant.line, mutant.last_line + 1)):
                blamed.add(number)
        return blamed

    def binary(self, target):
        if not hasattr(self, "_binaries"):
            self._binaries = {p.name: p for p in self.build.rglob("*_tests") if p.is_file()}
        return self._binaries[target]


class Tests:
    """The tests of some binaries: how long each takes and which mutants it reaches."""

    def __init__(self, build, targets, folder):
        self.build, self.targets = build, targets
        self.folder = pathlib.Path(folder) / "run"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.seconds, self.reaching = {}, {}  # (target, test) to seconds; mutant to tests
        self.lock = threading.Lock()

    def measure(self, limit_s):
        """Runs all without a mutant. Returns what fails so: it proves nothing later."""
        failing = []
        for target in self.targets:
            trace = self.folder / f"{target}.trace"
            status, output = self.run(target, None, 0, limit_s, {"RUV_MUTANT_TRACE": str(trace)})
            lines = trace.read_text().splitlines() if trace.exists() else []
            for line in lines:
                name, ms, failed, ids = line.split("\t")
                if failed == "1":
                    failing.append(f"{target}: {name}")
                    continue
                self.seconds[target, name] = int(ms) / 1000
                for number in map(int, ids.split()):
                    self.reaching.setdefault(number, []).append((target, name))
            if status not in ("passed", "failed"):
                raise SystemExit(f"{target} without a mutant: {status}\n{output[-3000:]}")
        return failing

    def run(self, target, names, number, limit_s, environment=None):
        """passed, failed, crashed or timed out; and the output."""
        command = [str(self.build.binary(target)), "--gtest_fail_fast"]
        if number == 0:
            command.remove("--gtest_fail_fast")
        if names is not None:
            command.append("--gtest_filter=" + ":".join(names))
        scratch = self.folder / f"tmp{threading.get_ident()}"
        scratch.mkdir(exist_ok=True)
        process = subprocess.Popen(
            ["nice", *command], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True,
            env={**os.environ, **(environment or {}), "RUV_MUTANT": str(number),
                 "TMPDIR": str(scratch), "TEST_TMPDIR": str(scratch)})
        try:
            output = process.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return "timed out", process.communicate()[0]
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        if process.returncode == 0:
            return "passed", output
        return ("failed" if process.returncode == 1 else "crashed"), output

    def batches(self, number):
        """Tests that reach a mutant: quick ones of the first binary first."""
        chosen = self.reaching.get(number, [])
        for quick in (True, False):
            for target in self.targets:
                of_target = [k for k in chosen
                             if k[0] == target and (self.seconds[k] <= 1.0) == quick]
                of_target.sort(key=self.seconds.get)
                for i in range(0, len(of_target), MOST_TESTS):
                    batch = of_target[i:i + MOST_TESTS]
                    yield target, [k[1] for k in batch], sum(map(self.seconds.get, batch))

    def verdict(self, number, most_s):
        """caught (by what), survived or unreached."""
        if number not in self.reaching:
            return "survived", "no test reaches it"
        for target, names, total in self.batches(number):
            limit_s = min(most_s, 20 + 6 * total)
            status, output = self.run(target, names, number, limit_s)
            if status == "passed":
                continue
            failed = re.findall(r"\[  FAILED  \] ([\w./]+)", output)
            begun = re.findall(r"\[ RUN      \] ([\w./]+)", output)
            what = (failed or begun[-1:] or [target])[0]
            return "caught", what if status == "failed" else f"{what} ({status})"
        return "survived", ""
