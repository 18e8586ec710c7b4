#!/usr/bin/env python3
"""Makes tests/golden/models/t5: a tiny random model that answers a source text, in both file forms,
with the float32 logits of the reference implementation (transformers, eager attention).

    python tests/golden/make_source_golden.py

Needs torch, transformers, safetensors, gguf, numpy. golden.json holds `source`, `answer` ids from
the start token on, `logits` of every position of the answer, the `greedy` answer to the source, and
`noise`: how far keys and values of half floats move the logits. model.gguf has the names and keys
that llama.cpp reads, without those of our own.
"""
import json
import pathlib

import gguf
import numpy as np
import safetensors.torch
import torch
import transformers

FOLDER = pathlib.Path(__file__).resolve().parent / "models/t5"
N_GREEDY = 8
CONFIG = {
    "architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "vocab_size": 61,
    "d_model": 16, "d_kv": 6, "d_ff": 22, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 3,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 128,
    "feed_forward_proj": "gated-gelu", "layer_norm_epsilon": 1e-5, "is_encoder_decoder": True,
    "tie_word_embeddings": False, "decoder_start_token_id": 3, "pad_token_id": 0, "eos_token_id": 1,
    "dropout_rate": 0.1, "n_positions": 64, "torch_dtype": "float32",
}
PARTS = {"layer.0.layer_norm": "attn_norm", "SelfAttention.q": "attn_q", "SelfAttention.k": "attn_k",
         "SelfAttention.v": "attn_v", "SelfAttention.o": "attn_o",
         "SelfAttention.relative_attention_bias": "attn_rel_b",
         "EncDecAttention.q": "cross_attn_q", "EncDecAttention.k": "cross_attn_k",
         "EncDecAttention.v": "cross_attn_v", "EncDecAttention.o": "cross_attn_o",
         "DenseReluDense.wi_0": "ffn_gate", "DenseReluDense.wi_1": "ffn_up",
         "DenseReluDense.wo": "ffn_down"}


def fill(model):
    generator = torch.Generator().manual_seed(25)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.empty_like(p).uniform_(-1, 1, generator=generator)
            if p.dim() == 1:
                p.copy_(1 + 0.4 * noise)
            elif "relative" in name:
                p.copy_(1.5 * noise)
            elif name in ("shared.weight", "lm_head.weight"):
                p.copy_(0.5 * noise)
            elif name.endswith("Attention.q.weight"):
                p.copy_(noise * (0.4 / p.shape[1]) ** 0.5)
            else:
                p.copy_(noise * (2.2 / p.shape[1]) ** 0.5)


def logits_of(model, source, answer):
    with torch.no_grad():
        out = model(torch.tensor([source]), decoder_input_ids=torch.tensor([answer]), use_cache=False)
    return out["logits"][0].numpy()


def rounded(model, source, answer):
    module = transformers.models.t5.modeling_t5
    plain = module.eager_attention_forward

    def half(self, query, key, value, *args, **kwargs):
        return plain(self, query, key.half().float(), value.half().float(), *args, **kwargs)

    module.eager_attention_forward = half
    try:
        return logits_of(model, source, answer)
    finally:
        module.eager_attention_forward = plain


def greedy_of(model, source):
    answer = [CONFIG["decoder_start_token_id"]]
    gap = np.inf
    while len(answer) <= N_GREEDY:
        last = np.sort(logits_of(model, source, answer)[-1])
        gap = min(gap, last[-1] - last[-2])
        answer.append(int(logits_of(model, source, answer)[-1].argmax()))
    return answer[1:], float(gap)


def gguf_name(name):
    if not name.startswith(("encoder.block", "decoder.block")):
        return {"shared.weight": "token_embd.weight", "lm_head.weight": "output.weight",
                "encoder.final_layer_norm.weight": "enc.output_norm.weight",
                "decoder.final_layer_norm.weight": "dec.output_norm.weight"}[name]
    side, _, block, rest = name.split(".", 3)
    norms = ["attn_norm", "cross_attn_norm", "ffn_norm"] if side == "decoder" else ["attn_norm", "ffn_norm"]
    part = rest.removesuffix(".weight")
    if part.endswith("layer_norm"):
        found = norms[int(part.split(".")[1])]
    else:
        found = PARTS[part.split(".", 2)[2]]
    return f"{side[:3]}.blk.{block}.{found}.weight"


def write_gguf(model, path):
    out = gguf.GGUFWriter(path, "t5")
    out.add_context_length(CONFIG["n_positions"])
    out.add_embedding_length(CONFIG["d_model"])
    out.add_feed_forward_length(CONFIG["d_ff"])
    out.add_block_count(CONFIG["num_layers"])
    out.add_decoder_block_count(CONFIG["num_decoder_layers"])
    out.add_head_count(CONFIG["num_heads"])
    out.add_key_length(CONFIG["d_kv"])
    out.add_value_length(CONFIG["d_kv"])
    out.add_layer_norm_eps(CONFIG["layer_norm_epsilon"])
    out.add_relative_attn_buckets_count(CONFIG["relative_attention_num_buckets"])
    out.add_layer_norm_rms_eps(CONFIG["layer_norm_epsilon"])
    out.add_decoder_start_token_id(CONFIG["decoder_start_token_id"])
    out.add_vocab_size(CONFIG["vocab_size"])
    out.add_tokenizer_model("none")
    for name, p in tensors_of(model).items():
        out.add_tensor(gguf_name(name), p.numpy())
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def tensors_of(model):
    return {name: p.detach().clone().contiguous() for name, p in model.named_parameters()}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    config = transformers.T5Config(**{k: v for k, v in CONFIG.items() if k != "model_type"})
    model = transformers.T5ForConditionalGeneration._from_config(config, attn_implementation="eager")
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    model.eval()
    fill(model)
    assert not config.scale_decoder_outputs
    safetensors.torch.save_file(tensors_of(model), FOLDER / "model.safetensors",
                                metadata={"format": "pt"})
    (FOLDER / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    write_gguf(model, FOLDER / "model.gguf")
    source = [int(i) for i in np.random.default_rng(3).integers(4, 61, 27)] + [1]
    answer = [3] + [int(i) for i in np.random.default_rng(4).integers(4, 61, 22)]
    logits = logits_of(model, source, answer)
    loaded = transformers.T5ForConditionalGeneration.from_pretrained(
        FOLDER, attn_implementation="eager")
    assert np.array_equal(logits_of(loaded, source, answer), logits), "the folder differs"
    noise = float(np.abs(rounded(model, source, answer) - logits).max())
    for change in (logits_of(model, source[1:], answer), logits_of(model, source[:-1], answer),
                   logits_of(model, [*source[:5], 9, *source[6:]], answer)):
        assert np.abs(change - logits).min(axis=1).max() > 0 and np.abs(change - logits).max() > 0.05
    greedy, gap = greedy_of(model, source)
    assert gap > 10 * noise and len(set(greedy)) > 3, (gap, noise, greedy)
    golden = {"source": source, "answer": answer, "greedy": greedy, "gap": gap, "noise": noise,
              "std": float(logits.std()),
              "logits": [[float(f"{x:.8g}") for x in row] for row in logits]}
    (FOLDER / "golden.json").write_text(json.dumps(golden) + "\n")
    print({k: golden[k] for k in ("greedy", "gap", "noise", "std")})


if __name__ == "__main__":
    main()
