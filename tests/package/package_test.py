#!/usr/bin/env python3
"""Installs a built tree into a temporary prefix and uses it as a stranger would: a project outside the
tree that says find_package(ruvllm), and compiler calls with the flags of pkg-config. They build
examples/ask.cpp and ask_c.c, and each program must answer a question that has quotes in it.

    package_test.py --build build/release --source . --compiler c++
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

QUESTION = 'What is the capital of France? "Please"'


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_answer(program, source, way):
    said = run(program, source / "models/ruvltra-nano-q8_0.gguf", QUESTION)
    if "Paris" not in said:
        sys.exit(f"{way}: the example said {said!r}")
    print(f"{way}: ok")


def by_cmake(args, folder, prefix):
    outside = folder / "outside"
    shutil.copytree(args.source / "tests/package", outside)
    headers = sorted(file.name for file in (prefix / "include/ruv").glob("*.h"))
    lines = [f"#include <ruv/{name}>\n" for name in headers]
    (outside / "every_header.cpp").write_text(
        "".join(lines) + "static_assert(RUV_VERSION_MAJOR >= 0);\n")
    build = folder / "built"
    run("cmake", "-S", outside, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_COMPILER={args.compiler}", "-DCMAKE_BUILD_TYPE=Release",
        f"-DRUVLLM_EXAMPLE={args.source}/examples/ask.cpp")
    run("cmake", "--build", build)
    check_answer(build / "outside", args.source, "find_package")


def by_pkg_config(args, folder, prefix, package, language, example):
    tool = shutil.which("pkg-config")
    if tool is None:
        sys.exit("pkg-config is not installed (packages-test.txt)")
    found = next(prefix.rglob(f"{package}.pc")).parent
    flags = run(tool, "--cflags", "--libs", package,
                env={**os.environ, "PKG_CONFIG_PATH": str(found)}).split()
    program = folder / package
    run(args.compiler, *language, args.source / "examples" / example, "-x", "none", *flags,
        f"-Wl,-rpath,{found.parent}", "-o", program)
    check_answer(program, args.source, f"pkg-config {package}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", type=pathlib.Path, required=True)
    p.add_argument("--source", type=pathlib.Path, required=True)
    p.add_argument("--compiler", default="c++")
    args = p.parse_args()
    args.source = args.source.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prefix = folder / "prefix"
        run("cmake", "--install", args.build, "--prefix", prefix)
        by_cmake(args, folder, prefix)
        by_pkg_config(args, folder, prefix, "ruvllm", ["-std=c++20", "-x", "c++"], "ask.cpp")
        by_pkg_config(args, folder, prefix, "ruvllm-c", ["-std=c11", "-x", "c"], "ask_c.c")


main()
