#!/usr/bin/env python3
"""Writes tests/golden/foreign: for each scheme the pieces of one matrix "m" (two of odd sizes), the
settings, and in "expected" the numbers they stand for, which foreign_test.cpp compares in every bit.

  make_foreign_goldens.py       needs what tests/oracle/compare_foreign.py needs"""
import json
import pathlib
import sys

import numpy as np
import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "oracle"))
from foreign import cases  # noqa: E402

CHOSEN = ["gptq 4 bits sym", "gptq 4 bits asym", "gptq 3 bits asym", "gptq 2 bits act-order",
          "gptq v2", "gptq v2 sym 8 bits", "gptq f32 scales", "awq gemm", "awq gemv",
          "compressed-tensors int4 group asym", "compressed-tensors int8 group",
          "compressed-tensors int4 act-order", "compressed-tensors w8a8 asym",
          "compressed-tensors fp8 channel", "compressed-tensors nvfp4", "compressed-tensors mxfp4",
          "fp8 small blocks", "fp8 e5m2", "modelopt nvfp4", "modelopt nvfp4 factor 1",
          "bitsandbytes nf4 nested", "bitsandbytes nf4 odd widths", "bitsandbytes fp4",
          "bitsandbytes int8", "hqq 4 bits", "hqq 3 bits", "hqq axis 0", "bitnet"]


def main():
    sys.path.insert(0, str(HERE.parent / "oracle"))
    import compare_foreign
    known = {case.name: case for case in cases.all_cases()}
    out = HERE / "foreign"
    out.mkdir(exist_ok=True)
    settings = {}
    for i, name in enumerate(CHOSEN):
        case = known[name]
        rng = np.random.default_rng(i)
        torch.manual_seed(i)
        n_out, n_in = (8, 72) if "odd" in name else (32, 32) if "3 bits asym" in name else (16, 64)
        if "2 bits" not in name:
            n_out = min(n_out, 8) if n_in != 32 else n_out
        w = (rng.standard_normal((n_out, n_in)) * 0.2).astype("f4")
        pieces, numbers = case.make(w, rng, **compare_foreign.arguments_of(case))
        tensors = {f"m.{key}": t.contiguous() for key, t in pieces.items()}
        tensors["expected"] = torch.tensor(numbers)
        file = name.replace(" ", "_")
        save_file(tensors, out / f"{file}.safetensors")
        settings[file] = case.config
    (out / "settings.json").write_text(json.dumps(settings, indent=1) + "\n")
    print(len(CHOSEN), "goldens,", sum(p.stat().st_size for p in out.iterdir()), "bytes")


if __name__ == "__main__":
    main()
