#!/usr/bin/env python3
"""Instructions that our NEON matmul kernels execute per 1,000 multiply-adds, beside llama.cpp's
kernels for the same processors: what can be said about speed on Arm without such a machine.

    python3 bench/neon/count.py --peer path/to/llama.cpp --into docs/performance.md
    python3 bench/neon/count.py --peer path/to/llama.cpp --rows 4 16 --formats q4_k q6_k

Both sides are compiled by the same cross compiler for the same processors, multiply a matrix of 64
columns and K = 2048, and are counted by QEMU (executed.py). Before that each side's results are
compared with its own portable functions. Activations are quantised and weights packed outside of
what is counted, on both sides. llama.cpp is compiled from the folder given, nothing of it is here.
Prints a Markdown table; with --into puts it between the marks of a page. Works in build/neon.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from executed import PROGRAMS, Counts, executed  # noqa: E402
from tables import as_line, put_into  # noqa: E402

BUILD = ROOT / "build" / "neon"
GXX, GCC, NM = (f"aarch64-linux-gnu-{tool}" for tool in ("g++", "gcc", "nm"))
TOOLS = {"cmake": "cmake", "ninja": "ninja-build", GXX: "g++-aarch64-linux-gnu",
         GCC: "gcc-aarch64-linux-gnu", NM: "binutils-aarch64-linux-gnu"}
FORMATS = ("q8_0", "q4_0", "q4_k", "q5_k", "q6_k", "iq4_xs", "iq4_nl", "f16")
# Our table, what the peer is compiled for, the heading.
PROCESSORS = (("neon", "armv8.2-a+dotprod+fp16", "Dot products"),
              ("neon_i8mm", "armv8.2-a+dotprod+fp16+i8mm", "Dot products and matrix instructions (i8mm)"))
# Kernels, what they call, and the portable functions that they are compared with.
PEER_SOURCES = ("ggml-cpu/arch/arm/quants.c", "ggml-cpu/arch/arm/repack.cpp", "ggml-cpu/quants.c",
                "ggml-cpu/repack.cpp", "ggml-cpu/vec.cpp", "ggml-cpu/llamafile/sgemm.cpp", "ggml-quants.c")


def emulator():
    return next((p for p in PROGRAMS if shutil.which(p)), None)


def require_tools():
    missing = [f"{tool} (package {package})" for tool, package in TOOLS.items() if not shutil.which(tool)]
    if not emulator():
        missing.append(f"{PROGRAMS[0]} (package qemu-user-static)")
    if missing:
        raise SystemExit("count.py needs " + ", ".join(missing))


def require_peer(peer):
    for source in PEER_SOURCES:
        if not (peer / "ggml/src" / source).is_file():
            raise SystemExit(f"{peer} has no ggml/src/{source}: --peer takes llama.cpp's source folder")


def require_marks(page):
    if not page.is_file() or "<!-- neon:begin -->" not in page.read_text():
        raise SystemExit(f"{page} has no <!-- neon:begin -->")


def run(*command):
    done = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def build_ours():
    """As the stage aarch64 of .ci/run does: kernels have -O3 whatever the rest has."""
    run("cmake", "-S", ".", "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DRUV_PROGRAM=OFF",
        "-DRUV_TESTS=OFF", "-DRUV_INSTALL=OFF", "-DRUV_BATCH=24", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/aarch64.cmake")
    run("ninja", "-C", BUILD, "ruv_kernels", "ruv_tensor", "ruv_base")
    program = BUILD / "ours"
    # Encryption in base needs libsodium, which nothing here calls.
    run(GXX, "-std=c++20", "-O1", "-static", "-Wl,--unresolved-symbols=ignore-all", "-Isrc", "-Iinclude",
        HERE / "ours.cpp", *(BUILD / f"src/{m}/libruv_{m}.a" for m in ("kernels", "tensor", "base")),
        "-o", program)
    return program


def build_peer(peer, march):
    """Its release flags, and sections, so that the linker leaves out the rest of what was compiled."""
    folder = BUILD / "llama_cpp" / march
    folder.mkdir(parents=True, exist_ok=True)
    ggml = peer / "ggml"
    flags = ["-O3", "-DNDEBUG", "-D_GNU_SOURCE", "-DGGML_USE_CPU_REPACK", f"-march={march}", "-w",
             "-ffunction-sections", "-fdata-sections",
             *(f"-I{ggml / part}" for part in ("include", "src", "src/ggml-cpu"))]

    def compiled(source):
        to = folder / (source.replace("/", "_") + ".o")
        compiler = (GCC, "-std=gnu11") if source.endswith(".c") else (GXX, "-std=c++17")
        run(*compiler, *flags, "-c", ggml / "src" / source, "-o", to)
        return to

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, PEER_SOURCES))
    program = folder / "llama_cpp"
    run(GXX, "-std=c++20", *flags, "-static", "-Wl,--gc-sections", HERE / "llama_cpp.cpp", *objects,
        "-o", program)
    return program


def check_counter(ours):
    """A thousand more rounds of a loop of five instructions, of which one loads and two are SIMD."""
    (_, short), (_, long) = executed(emulator(), NM, [ours, "loop", "1000", "2000"])
    more = Counts(long.total - short.total, long.vector - short.vector, long.loads - short.loads)
    if more != Counts(5000, 2000, 1000):
        raise SystemExit(f"the counter is wrong: 5000 instructions, 2000 SIMD, 1000 loads were {more}")


def measured(program, *arguments):
    """{rows: instructions per 1,000 multiply-adds as (all, SIMD, loads)}, after a check of results."""
    run(emulator(), "-cpu", "max", program, "check", *arguments)
    found = {}
    for line, counts in executed(emulator(), NM, [program, "count", *arguments]):
        _, n_rows, products = line.split()
        found[int(n_rows)] = [1000 * n / int(products) for n in (counts.total, counts.vector, counts.loads)]
    return found


def cell(figures):
    return f"{figures[0]:.1f} ({figures[1]:.1f}, {figures[2]:.1f})"


def lines_of(programs, table, formats, rows):
    ours, peer = programs
    yield as_line(["format", "rows", "ours", "llama.cpp", "llama.cpp / ours", "llama.cpp, row by row"])
    yield "|" + "---|" * 6
    numbers = [str(n) for n in rows]
    for name in formats:
        own = measured(ours, table, name, *numbers)
        matmul, dot = (measured(peer, kind, name, *numbers) for kind in ("matmul", "dot"))
        for n in rows:
            ratio = f"{matmul[n][0] / own[n][0]:.2f}"
            apart = cell(dot[n]) if dot[n] != matmul[n] else "the same"
            yield as_line([name, str(n), cell(own[n]), cell(matmul[n]), ratio, apart])
            print(name, n, cell(own[n]), cell(matmul[n]), ratio, apart, file=sys.stderr)


def version_of(peer):
    text = (peer / "ggml/CMakeLists.txt").read_text()
    parts = [re.search(rf"set\(GGML_VERSION_{part}\s+(\d+)\)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    return "ggml " + ".".join(p[1] for p in parts) if all(parts) else "ggml"


def about(peer):
    commit = run("git", "rev-parse", "--short=12", "HEAD").strip()
    compiler = run(GXX, "--version").splitlines()[0]
    return (f"Commit {commit}, llama.cpp with {version_of(peer)}, {compiler}. Instructions per 1,000 "
            "multiply-adds, in brackets those that compute in SIMD registers and those that load.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=pathlib.Path, required=True, help="llama.cpp's source folder")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 8, 64], help="activation rows (1 8 64)")
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS)
    parser.add_argument("--into", type=pathlib.Path, help="a page with <!-- neon:begin --> and :end")
    args = parser.parse_args()
    require_tools()
    require_peer(args.peer)
    if args.into:
        require_marks(args.into)
    if min(args.rows) < 1:
        raise SystemExit("--rows takes numbers from 1 on")
    peer = args.peer.resolve()
    ours = build_ours()
    check_counter(ours)
    lines = [about(peer)]
    for table, march, heading in PROCESSORS:
        programs = (ours, build_peer(peer, march))
        lines += ["", f"**{heading}**", "", *lines_of(programs, table, args.formats, sorted(set(args.rows)))]
    text = "\n".join(lines) + "\n"
    print(text)
    if args.into:
        put_into(args.into, text, "neon")


if __name__ == "__main__":
    main()
