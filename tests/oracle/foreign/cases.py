"""Which schemes, settings and shapes are compared."""
import torch

from foreign import schemes

F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32
# hidden, inner, heads, key heads: blocks of 32 and 64 fit, only 32, none.
WIDE, MIDDLE, ODD = (128, 192, 4, 2), (96, 160, 4, 4), (72, 104, 3, 1)


class Case:
    def __init__(self, name, make, config, sizes=WIDE, kind="llama", refused=None, names=None,
                 keep=None, **settings):
        self.name, self.make, self.config, self.sizes, self.kind = name, make, config, sizes, kind
        self.refused = refused    # part of the message that is expected
        self.settings = settings
        self.keep = keep          # part of the names of modules that stay plain


def gptq(name, sizes=WIDE, kind="llama", config=None, **settings):
    said = {"quant_method": "gptq", "bits": settings.get("bits", 4), "desc_act": settings.get("act", False),
            "group_size": settings.get("group", 32), "sym": settings.get("sym", True),
            "checkpoint_format": "gptq_v2" if settings.get("v2") else "gptq"}
    return Case(f"gptq {name}", schemes.gptq, {**said, **(config or {})}, sizes, kind, **settings)


def awq(name, sizes=WIDE, kind="llama", **settings):
    said = {"quant_method": "awq", "bits": 4, "group_size": settings.get("group", 32), "zero_point": True,
            "version": "gemv" if settings.get("gemv") else "gemm"}
    return Case(f"awq {name}", schemes.awq, said, sizes, kind, **settings)


def packed(name, make, layout, bits=4, sizes=WIDE, kind="llama", said=None, activations=None, **settings):
    config = {"quant_method": "compressed-tensors", "format": layout, "quantization_status": "compressed",
              "ignore": ["lm_head"], "kv_cache_scheme": None, "global_compression_ratio": 1.5,
              "config_groups": {"group_0": {"targets": ["Linear"], "output_activations": None,
                                            "input_activations": activations,
                                            "weights": {"num_bits": bits, "type": "int", "symmetric": True,
                                                        "strategy": "group", **(said or {})}}}}
    return Case(f"compressed-tensors {name}", make, config, sizes, kind, **settings)


def fp8(label, config=None, method="fp8", sizes=WIDE, kind="llama", **settings):
    return Case(f"{method} {label}", schemes.float8, {"quant_method": method, **(config or {})}, sizes, kind,
                **settings)


def bnb(name, make=schemes.bnb4, sizes=WIDE, kind="llama", **settings):
    eight = make is schemes.bnb8
    return Case(f"bitsandbytes {name}", make,
                {"quant_method": "bitsandbytes", "load_in_8bit": eight, "load_in_4bit": not eight,
                 "bnb_4bit_quant_type": settings.get("kind_", settings.get("kind", "nf4"))},
                sizes, kind, **settings)


def hqq(name, sizes=WIDE, **settings):
    said = {"weight_quant_params": {"nbits": settings.get("bits", 4)}}
    return Case(f"hqq {name}", schemes.hqq, {"quant_method": "hqq", "quant_config": said,
                                             "skip_modules": ["lm_head"]}, sizes, **settings)


def refused(name, config, message):
    return Case(name, schemes.gptq, config, refused=message)


def all_cases():
    cases = []
    for bits in (2, 3, 4, 8):
        for sym in (True, False):
            cases.append(gptq(f"{bits} bits {'sym' if sym else 'asym'}", bits=bits, sym=sym))
        cases.append(gptq(f"{bits} bits whole rows", bits=bits, group=-1, sizes=MIDDLE, kind="qwen2"))
        cases.append(gptq(f"{bits} bits act-order", bits=bits, act=True, sym=False))
    cases += [
        gptq("v2", v2=True, sym=False), gptq("v2 3 bits", v2=True, bits=3, sym=False),
        gptq("v2 sym 8 bits", v2=True, bits=8), gptq("bf16 scales", dtype=BF16, sym=False),
        gptq("f32 scales", dtype=F32, sym=False), gptq("f32 scales 8 bits", dtype=F32, bits=8),
        gptq("groups of 64", group=64), gptq("groups of 48", group=48, sizes=MIDDLE),
        gptq("odd widths", group=8, sizes=ODD), gptq("odd widths whole rows", group=-1, sizes=ODD),
        gptq("without g_idx", g_idx=False), gptq("some modules plain", keep="v_proj"),
        gptq("dynamic", config={"dynamic": {"+:.*": {"bits": 8}}, "bits": 4}, bits=8),
        Case("gptq by auto-round", schemes.gptq,
             {"quant_method": "auto-round", "packing_format": "auto_round:auto_gptq", "bits": 4,
              "group_size": 32, "sym": True}),
        awq("gemm"), awq("gemm groups of 64", group=64, kind="qwen2"), awq("gemm whole rows", group=-1),
        awq("gemm odd widths", group=8, sizes=ODD), awq("gemv", gemv=True),
        awq("gemv groups of 64", gemv=True, group=64), awq("gemm zero 8", sym=True),
    ]
    pack = schemes.packed_int
    cases += [
        packed("int4 group", pack, "pack-quantized"),
        packed("int4 group asym", pack, "pack-quantized", sym=False),
        packed("int4 group asym f16", pack, "pack-quantized", sym=False, dtype=F16, kind="qwen2"),
        packed("int4 channel", pack, "pack-quantized", group=-1),
        packed("int4 act-order", pack, "pack-quantized", act=True),
        packed("int8 group", pack, "pack-quantized", bits_=8, bits=8),
        packed("int8 group asym", pack, "pack-quantized", bits=8, bits_=8, sym=False),
        packed("int4 odd widths", pack, "pack-quantized", sizes=ODD, group=8),
        packed("w8a8", schemes.byte_int, "int-quantized", 8, activations={"num_bits": 8, "dynamic": True}),
        packed("w8a8 bf16", schemes.byte_int, "int-quantized", 8, dtype=BF16),
        packed("w8a8 asym", schemes.byte_int, "int-quantized", 8, sym=False),
        packed("w8a8 tensor", schemes.byte_int, "int-quantized", 8, channel=False),
        packed("fp8 channel", schemes.float8, "float-quantized", 8, said={"type": "float"}),
        packed("fp8 tensor", schemes.float8, "float-quantized", 8, said={"type": "float"}, form="tensor"),
        packed("fp8 static", schemes.float8, "float-quantized", 8, said={"type": "float"}, static=True,
               activations={"num_bits": 8, "dynamic": False}),
        packed("fp8 block", schemes.float8, "float-quantized", 8,
               said={"type": "float", "strategy": "block", "block_structure": [32, 32]}, form="block",
               block=(32, 32)),
        packed("nvfp4", schemes.nvfp4, "nvfp4-pack-quantized", 4, divides=True),
        packed("mxfp4", schemes.mxfp4, "mxfp4-pack-quantized", 4),
        fp8("blocks", {"weight_block_size": [128, 128], "activation_scheme": "dynamic", "fmt": "e4m3"},
            form="block", name_="weight_scale_inv"),
        fp8("blocks bf16", {"weight_block_size": [64, 64]}, form="block", name_="weight_scale_inv",
            dtype=BF16, block=(64, 64), kind="qwen2"),
        fp8("small blocks", {"weight_block_size": [48, 32]}, form="block", name_="weight_scale_inv",
            block=(48, 32), sizes=MIDDLE),
        fp8("tensor", form="tensor"), fp8("tensor inv", form="tensor", name_="weight_scale_inv"),
        fp8("channel", form="channel"), fp8("static", {"activation_scheme": "static"}, static=True),
        fp8("e5m2", {"fmt": "e5m2"}, kind_=torch.float8_e5m2), fp8("odd widths", sizes=ODD),
        fp8("channel", {"activation_scale_ub": 1200.0}, method="fbgemm_fp8"),
        fp8("fp8", {"quant_algo": "FP8"}, method="modelopt", form="tensor", static=True),
        Case("modelopt nvfp4", schemes.nvfp4, {"quant_method": "modelopt", "quant_algo": "NVFP4"}),
        Case("modelopt nvfp4 factor 1", schemes.nvfp4,
             {"quant_method": "modelopt", "quant_algo": "NVFP4"}, factor=1.0),
        Case("modelopt nvfp4 rows of 96", schemes.nvfp4,
             {"quant_method": "modelopt", "quant_algo": "NVFP4"}, sizes=MIDDLE),
        bnb("nf4"), bnb("nf4 nested", nested=True), bnb("fp4", kind_="fp4"),
        bnb("fp4 nested", kind_="fp4", nested=True), bnb("nf4 blocks of 128", block=128),
        bnb("nf4 rows of 96", sizes=MIDDLE), bnb("nf4 odd widths", sizes=ODD),
        bnb("int8", schemes.bnb8), bnb("int8 qwen2", schemes.bnb8, kind="qwen2"),
        hqq("4 bits"), hqq("8 bits", bits=8), hqq("3 bits", bits=3), hqq("2 bits", bits=2),
        hqq("1 bit", bits=1), hqq("axis 0", axis=0), hqq("groups of 32", group=32),
        hqq("f16", dtype=F16), hqq("bf16", dtype=BF16),
        Case("bitnet", schemes.bitnet, {"quant_method": "bitnet", "linear_class": "bitlinear"}),
        Case("bitnet auto", schemes.bitnet, {"quant_method": "bitnet", "linear_class": "autobitlinear"},
             divides=False),
    ]
    cases += [
        refused("marlin-24", {"quant_method": "compressed-tensors", "format": "marlin-24"}, "marlin-24"),
        refused("sparse-bitmask", {"quant_method": "compressed-tensors", "format": "dense",
                                   "sparsity_config": {"format": "sparse-bitmask"}}, "sparse-bitmask"),
        refused("awq gemv_fast", {"quant_method": "awq", "bits": 4, "group_size": 32,
                                  "version": "gemv_fast"}, "gemv_fast"),
        refused("gptq marlin", {"quant_method": "gptq", "bits": 4, "group_size": 32,
                                "is_marlin_format": True}, "is_marlin_format"),
        refused("gptq 5 bits", {"quant_method": "gptq", "bits": 5, "group_size": 32}, "bits"),
        refused("transforms", {"quant_method": "compressed-tensors", "format": "dense",
                               "transform_config": {"config_groups": {"R1": {}}}}, "transform_config"),
        refused("exl2", {"quant_method": "exl2"}, "exl2"),
        refused("aqlm", {"quant_method": "aqlm"}, "aqlm"),
        refused("quanto", {"quant_method": "quanto"}, "quanto"),
        refused("torchao", {"quant_method": "torchao"}, "torchao"),
        refused("bitnet online", {"quant_method": "bitnet", "quantization_mode": "online"},
                "quantization_mode"),
    ]
    return cases
