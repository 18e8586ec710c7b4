#!/usr/bin/env python3
"""Makes tests/golden/models/t5 and t5gemma: tiny random models that answer a source text, the first
in both file forms, with the float32 logits of the reference implementation (transformers, eager
attention).

    python tests/golden/make_source_golden.py

The second one's GGUF file is what the program writes, whose form is its own. Needs torch, transformers, safetensors, gguf, numpy. golden.json holds `source`, `answer` ids from
the start token on, `logits` of every position of the answer, the `greedy` answer to the source, and
`noise`: how far keys and values of half floats move the logits. The sides of t5gemma have other
widths and heads, windows that the texts exceed, and tables of their own. model.gguf has the names and keys
that llama.cpp reads, without those of our own.
"""
import json
import pathlib
import subprocess
import sys

import gguf
import numpy as np
import safetensors.torch
import torch
import transformers

MODELS = pathlib.Path(__file__).resolve().parent / "models"
PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build/release/apps/ruvllm/ruvllm"
N_GREEDY = 8
START = 3
CONFIG = {
    "architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "vocab_size": 61,
    "d_model": 16, "d_kv": 6, "d_ff": 22, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 3,
    "relative_attention_num_buckets": 8, "relative_attention_max_distance": 128,
    "feed_forward_proj": "gated-gelu", "layer_norm_epsilon": 1e-5, "is_encoder_decoder": True,
    "tie_word_embeddings": False, "decoder_start_token_id": START, "pad_token_id": 0, "eos_token_id": 1,
    "dropout_rate": 0.1, "n_positions": 64, "torch_dtype": "float32",
}
SIDE = {
    "vocab_size": 61, "head_dim": 6, "rms_norm_eps": 1e-5, "max_position_embeddings": 64,
    "rope_theta": 500.0, "hidden_activation": "gelu_pytorch_tanh", "pad_token_id": 0,
    "bos_token_id": 2, "eos_token_id": 1,
}
GEMMA_CONFIG = {
    "architectures": ["T5GemmaForConditionalGeneration"], "model_type": "t5gemma",
    "is_encoder_decoder": True, "tie_word_embeddings": True, "decoder_start_token_id": START,
    "encoder": {**SIDE, "hidden_size": 20, "num_hidden_layers": 3, "num_attention_heads": 4,
                "num_key_value_heads": 2, "intermediate_size": 18, "query_pre_attn_scalar": 5,
                "sliding_window": 9, "attn_logit_softcapping": 3.0},
    "decoder": {**SIDE, "hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3,
                "num_key_value_heads": 1, "intermediate_size": 24, "query_pre_attn_scalar": 7,
                "sliding_window": 5, "attn_logit_softcapping": 4.0,
                "final_logit_softcapping": 12.0},
    "torch_dtype": "float32",
}
PARTS = {"layer.0.layer_norm": "attn_norm", "SelfAttention.q": "attn_q", "SelfAttention.k": "attn_k",
         "SelfAttention.v": "attn_v", "SelfAttention.o": "attn_o",
         "SelfAttention.relative_attention_bias": "attn_rel_b",
         "EncDecAttention.q": "cross_attn_q", "EncDecAttention.k": "cross_attn_k",
         "EncDecAttention.v": "cross_attn_v", "EncDecAttention.o": "cross_attn_o",
         "DenseReluDense.wi_0": "ffn_gate", "DenseReluDense.wi_1": "ffn_up",
         "DenseReluDense.wo": "ffn_down"}


def fill(model, centre=1.0, seed=25):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.empty_like(p).uniform_(-1, 1, generator=generator)
            if name == "model.decoder.norm.weight":  # of both signs: a tied head repeats tokens else
                p.copy_(1.7 * noise - 1)
            elif p.dim() == 1:
                p.copy_(centre + 0.4 * noise)
            elif "relative" in name:
                p.copy_(1.5 * noise)
            elif name in ("shared.weight", "lm_head.weight") or "embed_tokens" in name:
                p.copy_(0.5 * noise)
            elif name.endswith("Attention.q.weight"):
                p.copy_(noise * (0.4 / p.shape[1]) ** 0.5)
            elif name.endswith("q_proj.weight"):
                p.copy_(noise * (4 / p.shape[1]) ** 0.5)
            else:
                p.copy_(noise * (2.2 / p.shape[1]) ** 0.5)


def logits_of(model, source, answer):
    with torch.no_grad():
        out = model(torch.tensor([source]), decoder_input_ids=torch.tensor([answer]), use_cache=False,
                    attention_mask=torch.ones(1, len(source), dtype=torch.long),
                    decoder_attention_mask=torch.ones(1, len(answer), dtype=torch.long))
    return out["logits"][0].numpy()


def rounded(model, source, answer):
    module = sys.modules[type(model).__module__]
    plain = module.eager_attention_forward

    def half(self, query, key, value, *args, **kwargs):
        return plain(self, query, key.half().float(), value.half().float(), *args, **kwargs)

    module.eager_attention_forward = half
    try:
        return logits_of(model, source, answer)
    finally:
        module.eager_attention_forward = plain


def greedy_of(model, source):
    answer = [START]
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


def made(config, config_class, model_class):
    parsed = config_class(**{k: v for k, v in config.items() if k != "model_type"})
    model = model_class._from_config(parsed, attn_implementation="eager")
    return model.eval()


def t5():
    model = made(CONFIG, transformers.T5Config, transformers.T5ForConditionalGeneration)
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    fill(model)
    assert not model.config.scale_decoder_outputs
    return model


def t5gemma():
    model = made(GEMMA_CONFIG, transformers.T5GemmaConfig,
                 transformers.T5GemmaForConditionalGeneration)
    fill(model, centre=0.0, seed=5)
    return model


def write(name, model, config):
    folder = MODELS / name
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.torch.save_file(tensors_of(model), folder / "model.safetensors",
                                metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    source = [int(i) for i in np.random.default_rng(3).integers(4, 61, 27)] + [1]
    answer = [START] + [int(i) for i in np.random.default_rng(4).integers(4, 61, 22)]
    logits = logits_of(model, source, answer)
    loaded = type(model).from_pretrained(folder, attn_implementation="eager")
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
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")
    print(name, {k: golden[k] for k in ("greedy", "gap", "noise", "std")})


def main():
    model = t5()
    write("t5", model, CONFIG)
    write_gguf(model, MODELS / "t5/model.gguf")
    write("t5gemma", t5gemma(), GEMMA_CONFIG)
    subprocess.run([PROGRAM, "quantize", "--model", MODELS / "t5gemma", "--type", "f32", "--force",
                    "--out", MODELS / "t5gemma/model.gguf"], check=True)


if __name__ == "__main__":
    main()
