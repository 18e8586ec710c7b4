"""Adapters for tests: folders of PEFT with random matrices, written without it, and control vectors."""
import json
import os
import random
import struct


def write_adapter(folder, shapes, seed, rank=4, alpha=8, size=0.4, dora=False):
    """shapes: {module: (n_out, n_in)}. size: of the numbers; larger ones change answers more. dora: rows
    have a length of 1."""
    os.makedirs(folder, exist_ok=True)
    draw = random.Random(seed)
    header, data = {}, b""
    for module, (n_out, n_in) in shapes.items():
        parts = [("lora_A.weight", (rank, n_in)), ("lora_B.weight", (n_out, rank))]
        if dora:
            parts.append(("lora_magnitude_vector", (n_out,)))
        for half, shape in parts:
            numbers = [1.0] * n_out if len(shape) == 1 else [
                draw.uniform(-size, size) for _ in range(shape[0] * shape[1])]
            packed = struct.pack(f"<{len(numbers)}f", *numbers)
            header[f"base_model.model.{module}.{half}"] = {
                "dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
            data += packed
    text = json.dumps(header).encode()
    with open(os.path.join(folder, "adapter_model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "adapter_config.json"), "w", encoding="utf-8") as file:
        json.dump({"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "use_dora": dora}, file)


def llama_shapes(info, layers):
    """Some matrices of a model that `ruvllm info --json` describes."""
    numbers = info["numbers"]
    n_embd, n_ff = numbers["n_embd"], numbers["n_ff"]
    shapes = {}
    for layer in layers:
        stem = f"model.layers.{layer}."
        shapes[stem + "self_attn.q_proj"] = (numbers["n_heads"] * numbers["head_dim"], n_embd)
        shapes[stem + "mlp.down_proj"] = (n_embd, n_ff)
    return shapes


def write_control_vector(path, directions, hint=""):
    """A GGUF file as llama.cpp has them. directions: the numbers of each layer. hint: an architecture;
    empty: none."""
    text_kind, u32_kind, f32_type, alignment = 8, 4, 0, 32

    def text(words):
        raw = words.encode()
        return struct.pack("<Q", len(raw)) + raw

    entries = [text("general.architecture") + struct.pack("<I", text_kind) + text("controlvector"),
               text("controlvector.layer_count") + struct.pack("<II", u32_kind, len(directions))]
    if hint:
        entries.append(text("controlvector.model_hint") + struct.pack("<I", text_kind) + text(hint))
    tensors, data = b"", b""
    for layer, numbers in directions.items():
        tensors += text(f"direction.{layer}") + struct.pack("<IQIQ", 1, len(numbers), f32_type, len(data))
        data += struct.pack(f"<{len(numbers)}f", *numbers)
        data += bytes(-len(data) % alignment)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(directions), len(entries)) + b"".join(entries) + tensors
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % alignment) + data)
