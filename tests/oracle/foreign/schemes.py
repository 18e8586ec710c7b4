"""Quantised checkpoints in the layouts that their tools write. Each function takes a matrix and its
settings and gives the tensors of the module and the float32 numbers that they stand for. Packages
make them where they run on a CPU; the others' published layouts are written here."""
import json

import numpy as np
import torch


def affine(w, bits, group, sym, scale_dtype, rng, order=None):
    """Codes, zeros, scales (as stored) and the group of each column."""
    n_out, n_in = w.shape
    group = n_in if group in (-1, 0) else group
    groups = np.arange(n_in) // group
    if order is not None:
        groups = groups[order]
    n_groups = int(groups.max()) + 1
    top = (1 << bits) - 1
    codes = np.zeros((n_out, n_in), dtype=np.int64)
    zeros = np.zeros((n_out, n_groups), dtype=np.int64)
    scales = np.zeros((n_out, n_groups), dtype=np.float32)
    for g in range(n_groups):
        part = w[:, groups == g]
        if sym:
            scale = np.abs(part).max(axis=1) * 2 / top
            zero = np.full(n_out, (top + 1) // 2)
        else:
            low, high = np.minimum(part.min(axis=1), 0), np.maximum(part.max(axis=1), 0)
            scale = (high - low) / top
            zero = np.clip(np.rint(-low / scale), 0, top)
        scale = torch.tensor(np.maximum(scale, 1e-5)).to(scale_dtype).float().numpy()
        codes[:, groups == g] = np.clip(np.rint(part / scale[:, None] + zero[:, None]), 0, top)
        scales[:, g], zeros[:, g] = scale, zero
    numbers = scales[:, groups] * (codes - zeros[:, groups]).astype(np.float32)
    return codes, zeros, scales, groups, numbers.astype(np.float32)


def stream(codes, bits):
    """Codes along the first dimension as a stream of bits in int32 words."""
    n, columns = codes.shape
    bit = (codes[:, None, :] >> np.arange(bits)[None, :, None] & 1).reshape(n * bits, columns)
    bit = np.concatenate([bit, np.zeros((-len(bit) % 32, columns), dtype=bit.dtype)])
    words = (bit.reshape(-1, 32, columns) << np.arange(32)[None, :, None]).sum(axis=1)
    return torch.tensor(words.astype(np.uint32).view(np.int32).copy())


def gptq(w, rng, bits=4, group=32, sym=True, act=False, v2=False, dtype=torch.float16, g_idx=True):
    order = rng.permutation(w.shape[1]) if act else None
    codes, zeros, scales, groups, numbers = affine(w, bits, group, sym, dtype, rng, order)
    stored = zeros if v2 else (zeros - 1) & ((1 << bits) - 1)
    pieces = {"qweight": stream(codes.T, bits), "qzeros": stream(stored, bits).T.contiguous(),
              "scales": torch.tensor(scales.T.copy()).to(dtype)}
    if g_idx or act:
        pieces["g_idx"] = torch.tensor(groups.astype(np.int32))
    return pieces, numbers


AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def nibbles(codes, order):
    """Eight neighbours of a row in a word."""
    parts = codes.reshape(len(codes), -1, 8)[:, :, order]
    words = (parts << (4 * np.arange(8))).sum(axis=2)
    return torch.tensor(words.astype(np.uint32).view(np.int32).copy())


def awq(w, rng, group=32, gemv=False, sym=False):
    codes, zeros, scales, _, numbers = affine(w, 4, group, sym, torch.float16, rng)
    if not gemv:
        return {"qweight": nibbles(codes.T, AWQ_ORDER), "qzeros": nibbles(zeros.T, AWQ_ORDER),
                "scales": torch.tensor(scales.T.copy()).half()}, numbers
    spare = -zeros.shape[1] % 8
    zeros = np.pad(zeros, ((0, 0), (0, spare)))
    scales = np.pad(scales, ((0, 0), (0, spare)))
    return {"qweight": nibbles(codes, list(range(8))), "qzeros": nibbles(zeros, list(range(8))),
            "scales": torch.tensor(scales).half()}, numbers


def packed_int(w, rng, bits=4, group=32, sym=True, act=False, dtype=torch.bfloat16):
    from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
    order = rng.permutation(w.shape[1]) if act else None
    codes, zeros, scales, groups, numbers = affine(w, bits, group, sym, dtype, rng, order)
    half = 1 << (bits - 1)
    pieces = {"weight_packed": pack_to_int32(torch.tensor((codes - half).astype(np.int8)), bits),
              "weight_scale": torch.tensor(scales).to(dtype),
              "weight_shape": torch.tensor(w.shape, dtype=torch.int64)}
    if not sym:
        pieces["weight_zero_point"] = pack_to_int32(torch.tensor((zeros - half).astype(np.int8)), bits,
                                                    packed_dim=0)
    if act:
        pieces["weight_g_idx"] = torch.tensor(groups.astype(np.int32))
    return pieces, numbers


def byte_int(w, rng, sym=True, channel=True, dtype=torch.float32):
    source = w if channel else w.reshape(1, -1)
    codes, zeros, scales, _, numbers = affine(source, 8, -1, sym, dtype, rng)
    pieces = {"weight": torch.tensor((codes - 128).astype(np.int8)).reshape(w.shape),
              "weight_scale": torch.tensor(scales).to(dtype)}
    if not sym:
        pieces["weight_zero_point"] = torch.tensor((zeros - 128).astype(np.int8))
    return pieces, numbers.reshape(w.shape)


def float8(w, rng, form="channel", dtype=torch.float32, kind=torch.float8_e4m3fn, block=(128, 128),
           name="weight_scale", static=False):
    top = torch.finfo(kind).max
    rows, columns = {"tensor": w.shape, "channel": (1, w.shape[1]), "block": block}[form]
    n_rows, n_columns = -(-w.shape[0] // rows), -(-w.shape[1] // columns)
    scales = torch.zeros((n_rows, n_columns))
    for i in range(n_rows):
        for j in range(n_columns):
            part = w[i * rows:(i + 1) * rows, j * columns:(j + 1) * columns]
            scales[i, j] = float(np.abs(part).max()) / top
    scales = scales.to(dtype)
    spread = scales.float().repeat_interleave(rows, 0)[:w.shape[0]].repeat_interleave(columns, 1)[:, :w.shape[1]]
    codes = (torch.tensor(w) / spread).to(kind)
    stored = scales.reshape(()) if form == "tensor" and name == "weight_scale" else scales
    pieces = {"weight": codes, name: stored}
    if static:
        pieces["input_scale"] = torch.tensor(0.37)
    return pieces, (spread * codes.float()).numpy()


E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], dtype=np.float32)


def nearest_codes(x, levels):
    return np.abs(x[..., None] - levels).argmin(axis=-1)


def pairs(codes):
    return torch.tensor((codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8))


def nvfp4(w, rng, divides=False, factor=None):
    blocks = np.abs(w).reshape(len(w), -1, 16).max(axis=2) / 6
    factor = np.float32(factor or blocks.max() / 448 * 1.01)
    stored = torch.tensor(blocks / factor).to(torch.float8_e4m3fn)
    if divides:
        factor = np.float32(1 / factor)
        scales = stored.float().numpy() / factor
    else:
        scales = stored.float().numpy() * factor
    spread = np.repeat(scales, 16, axis=1).astype(np.float32)
    codes = nearest_codes(w / np.maximum(spread, 1e-12), E2M1)
    names = ("weight_packed", "weight_global_scale") if divides else ("weight", "weight_scale_2")
    one = torch.tensor([factor]) if divides else torch.tensor(factor)
    return {names[0]: pairs(codes), "weight_scale": stored, names[1]: one}, spread * E2M1[codes]


def mxfp4(w, rng):
    top = np.abs(w).reshape(len(w), -1, 32).max(axis=2)
    exponent = np.floor(np.log2(np.maximum(top, 1e-12))) - 2
    spread = np.repeat(np.exp2(exponent), 32, axis=1).astype(np.float32)
    codes = nearest_codes(w / spread, E2M1)
    return {"weight_packed": pairs(codes),
            "weight_scale": torch.tensor((exponent + 127).astype(np.uint8))}, spread * E2M1[codes]


def bnb4(w, rng, kind="nf4", nested=False, block=64):
    import bitsandbytes.functional as bnb
    packed, state = bnb.quantize_4bit(torch.tensor(w), blocksize=block, compress_statistics=nested,
                                      quant_type=kind)
    pieces = {"weight": packed}
    for name, value in state.as_dict(packed=True).items():
        pieces[f"weight.{name}"] = value
    absmax = state.absmax
    if nested:
        absmax = state.state2.code[absmax.long()] * state.state2.absmax.repeat_interleave(
            state.state2.blocksize)[:absmax.numel()] + state.offset
    bytes_of = packed.reshape(-1).long()
    codes = torch.stack([bytes_of >> 4, bytes_of & 15], dim=1).reshape(-1)[:w.size]
    numbers = state.code[codes] * absmax.repeat_interleave(block)[:w.size]
    ours = numbers.reshape(w.shape)
    theirs = bnb.dequantize_4bit(packed, state)
    # Its CPU kernel (0.50.2) is far from w, too, where blocks cross the ends of rows.
    assert w.shape[1] % block != 0 or torch.allclose(ours, theirs.float(), rtol=1e-5, atol=1e-6), "not as bitsandbytes has it"
    return pieces, ours.float().numpy()


def bnb8(w, rng):
    scale = np.abs(w).max(axis=1)
    codes = np.rint(w * (127 / scale[:, None])).astype(np.int8)
    return {"weight": torch.tensor(codes), "SCB": torch.tensor(scale),
            "weight_format": torch.tensor(0, dtype=torch.uint8)}, \
        (codes * (scale / np.float32(127))[:, None]).astype(np.float32)


def hqq(w, rng, bits=4, group=64, axis=1, dtype=torch.float32):
    from hqq.core.quantize import BaseQuantizeConfig, HQQLinear, Quantizer
    linear = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
    linear.weight.data = torch.tensor(w)
    made = HQQLinear(linear, BaseQuantizeConfig(nbits=bits, group_size=group, axis=axis),
                     compute_dtype=dtype, device="cpu")
    numbers = Quantizer.dequantize(made.W_q.data, dict(made.meta, compute_dtype=torch.float32,
                                                       scale=made.meta["scale"].float(),
                                                       zero=made.meta["zero"].float()))
    pieces = {name: t.data if isinstance(t, torch.nn.Parameter) else t
              for name, t in made.state_dict().items()}
    return {name: t for name, t in pieces.items() if isinstance(t, torch.Tensor)}, numbers.numpy()


def bitnet(w, rng, divides=True):
    codes = np.clip(np.rint(w / np.abs(w).mean()), -1, 1).astype(np.int64)
    scale = torch.tensor([float(1 / np.abs(w).mean() if divides else np.abs(w).mean())]).bfloat16()
    quarters = (codes + 1).reshape(4, -1, w.shape[1])
    packed = sum(quarters[i] << (2 * i) for i in range(4)).astype(np.uint8)
    factor = scale.float().numpy()[0]
    numbers = codes / factor if divides else codes * factor
    return {"weight": torch.tensor(packed), "weight_scale": scale}, numbers.astype(np.float32)


def state_json(pieces):
    """The JSON tensor of bitsandbytes, for a look."""
    return [json.loads(bytes(t)) for name, t in pieces.items() if "quant_state" in name]
