"""What bench/neon/count.py refuses, and its reading of an emulator's log.

    python3 -m unittest discover -s bench/neon
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from executed import Counts, parse  # noqa: E402

LOG = b"""----------------
IN: main
0x00400100:  94000010  bl       #0x400200

Trace 0: 0x7f00 [0000000000000000/0000000000400100/00000001/00000200] main
----------------
IN: ruv_count_begin
0x00400200:  d503201f  nop
0x00400204:  d65f03c0  ret

Trace 0: 0x7f01 [0000000000000000/0000000000400200/00000001/00000200] ruv_count_begin
----------------
IN: kernel
0x00400300:  3dc00020  ldr      q0, [x1]
0x00400304:  4e20d401  fadd     v1.4s, v0.4s, v0.4s
0x00400308:  4e829422  .byte    0x22, 0x94, 0x82, 0x4e
0x0040030c:  54ffffa1  b.ne     #0x400300

Trace 0: 0x7f02 [0000000000000000/0000000000400300/00000001/00000200] kernel
Trace 0: 0x7f02 [0000000000000000/0000000000400300/00000001/00000200] kernel
Trace 0: 0x7f03 [0000000000000000/0000000000400400/00000001/00000200] ruv_count_end
Trace 0: 0x7f02 [0000000000000000/0000000000400300/00000001/00000200] kernel
the program's own words
"""


def count(*arguments, path=os.environ["PATH"]):
    return subprocess.run([sys.executable, str(HERE / "count.py"), *map(str, arguments)], text=True,
                          capture_output=True, env={"PATH": path}, check=False)


class Log(unittest.TestCase):
    def test_blocks_between_markers(self):
        found, others = parse(LOG.splitlines(keepends=True), 0x400200, 0x400400)
        self.assertEqual(found, [Counts(total=8, vector=4, loads=2)])
        self.assertEqual(others, ["the program's own words"])


class Refusals(unittest.TestCase):
    def refused(self, words, *arguments, **more):
        done = count(*arguments, **more)
        self.assertEqual(done.returncode, 1)
        self.assertIn(words, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_missing_tools_by_name(self):
        with tempfile.TemporaryDirectory() as empty:
            for tool in ("cmake", "ninja", "aarch64-linux-gnu-g++", "qemu-aarch64-static"):
                self.refused(f"{tool} (package ", "--peer", empty, path=empty)

    def test_other_folders(self):
        with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as tools:
            for tool in ("cmake", "ninja", "qemu-aarch64", *(f"aarch64-linux-gnu-{t}" for t in ("g++", "gcc", "nm"))):
                (pathlib.Path(tools) / tool).touch(mode=0o755)
            self.refused("--peer takes llama.cpp's source folder", "--peer", empty, path=tools)


if __name__ == "__main__":
    unittest.main()
