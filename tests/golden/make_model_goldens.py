#!/usr/bin/env python3
"""Makes the golden models: for each family one tiny random model in both file forms, with the
float32 logits of the reference implementation (transformers, eager attention).

    python tests/golden/make_model_goldens.py                 writes tests/golden/models/<family>/
    python tests/golden/make_model_goldens.py --check         compares the GGUF files with llama_cpp
    python tests/golden/make_model_goldens.py --only gemma2   one family

Needs torch, transformers, safetensors, gguf, numpy; --check needs llama_cpp. Each folder holds
config.json and model.safetensors (float32, as a published checkpoint; no tokenizer), model.gguf
(float32, tokenizer "none") and golden.json: `ids`, `logits` of every position, `greedy` ids that
follow and the smallest gap between the best and the second logit on their way.

The script asserts that each feature it means to test changes the logits ("knobs" below), so that a
golden cannot pass by ignoring, say, the window.

Weights are drawn so that keys and values rounded to half floats, as the engine's cache holds them,
move no logit by more than 1.2e-4 (asserted): the tests' bound of 2e-4 leaves room for it.

GGUF files against llama_cpp 0.3.36, max |difference| of logits over the 24 positions (--check):
  llama2, llama3, qwen2, qwen3, phi3_longrope   below 1e-5
  gemma, gemma3, gpt2                           4e-4 to 4e-3: that engine takes GELU from a table
Known to differ where that engine does not do what the reference implementation does:
  mistral, phi3   no window there (positions below the window agree, 1e-5)
  starcoder2      no window there (positions below the window agree, 9e-4, like gemma)
  gemma2          `attention.scale` is not read there; with query_pre_attn_scalar = head_dim the
                  same file agrees like gemma
"""
import argparse
import json
import math
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
VOCAB = 72
N_IDS = 24
N_GREEDY = 8
WINDOW = 8
CACHE_DELTA_MAX = 1.2e-4  # a cache of half floats may move the logits by this much

COMMON = {
    "vocab_size": VOCAB, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False,
    "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32", "hidden_act": "silu",
}
GEMMA = {
    "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh",
    "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "pad_token_id": 0,
}
LONGROPE = {
    "type": "longrope",
    "short_factor": [1.0, 1.1, 1.2, 1.3],
    "long_factor": [1.0, 2.5, 4.0, 7.5],
}
LFM2_LAYERS = ["conv", "full_attention", "conv", "conv", "full_attention"]

# family: config.json beyond COMMON (a value of None removes a key), and the knobs: changes of the
# config that must change the logits.
FAMILIES = {
    "llama2": ({"model_type": "llama", "architectures": ["LlamaForCausalLM"]},
               [{"rope_theta": 500.0}]),
    "llama3": ({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
                "tie_word_embeddings": True, "rope_theta": 50000.0, "head_dim": 16,
                "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 64,
                "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                 "high_freq_factor": 4.0,
                                 "original_max_position_embeddings": 64},
                "max_position_embeddings": 512},
               [{"rope_scaling": None},
                {"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                  "high_freq_factor": 4.0,
                                  "original_max_position_embeddings": 32}}]),
    "mistral": ({"model_type": "mistral", "architectures": ["MistralForCausalLM"],
                 "sliding_window": WINDOW}, [{"sliding_window": None}]),
    "qwen2": ({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"],
               "tie_word_embeddings": True, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
               "use_sliding_window": False, "sliding_window": WINDOW, "max_window_layers": 2,
               "intermediate_size": 56}, [{"rope_theta": 10000.0}]),
    # Written as transformers 5 writes it: rope_parameters, dtype.
    "qwen3": ({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"],
               "tie_word_embeddings": True, "rms_norm_eps": 1e-6, "head_dim": 16,
               "intermediate_size": 24, "attention_bias": False, "rope_theta": None,
               "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
               "torch_dtype": None, "dtype": "float32", "use_sliding_window": False,
               "sliding_window": None, "max_window_layers": 2},
              [{"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}]),
    # Experts between dense layers. No key has its default value.
    "qwen3moe": ({"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"],
                  "tie_word_embeddings": True, "hidden_size": 16, "num_attention_heads": 2,
                  "num_key_value_heads": 1, "head_dim": 8, "num_hidden_layers": 4,
                  "intermediate_size": 24, "num_experts": 5, "num_experts_per_tok": 3,
                  "moe_intermediate_size": 20, "norm_topk_prob": True, "mlp_only_layers": [1],
                  "use_sliding_window": True, "sliding_window": WINDOW},
                 [{"num_experts_per_tok": 2}, {"norm_topk_prob": False}, {"mlp_only_layers": [2]},
                  {"decoder_sparse_step": 2}, {"num_experts": 6}, {"moe_intermediate_size": 24},
                  {"use_sliding_window": False}, {"rope_theta": 500.0}]),
    # As qwen3moe, with weights that do not add up to 1 and a step in place of a list.
    "qwen3moe_sums": ({"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"],
                       "tie_word_embeddings": True, "hidden_size": 16, "num_attention_heads": 2,
                       "num_key_value_heads": 1, "head_dim": 8, "num_hidden_layers": 3,
                       "intermediate_size": 24, "num_experts": 7, "num_experts_per_tok": 2,
                       "moe_intermediate_size": 12, "norm_topk_prob": False,
                       "decoder_sparse_step": 2},
                      [{"num_experts_per_tok": 3}, {"norm_topk_prob": True},
                       {"decoder_sparse_step": 1}]),
    "mixtral": ({"model_type": "mixtral", "architectures": ["MixtralForCausalLM"],
                 "tie_word_embeddings": True, "hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1,
                 "intermediate_size": 20, "num_local_experts": 5, "num_experts_per_tok": 3,
                 "sliding_window": None},
                [{"num_experts_per_tok": 2}, {"num_local_experts": 6}, {"rope_theta": 500.0}]),
    "gemma": ({**GEMMA, "model_type": "gemma", "architectures": ["GemmaForCausalLM"],
               "head_dim": 16, "num_key_value_heads": 1, "intermediate_size": 40}, []),
    "gemma2": ({**GEMMA, "model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"],
                "head_dim": 16, "intermediate_size": 32, "query_pre_attn_scalar": 9,
                "attn_logit_softcapping": 5.0, "final_logit_softcapping": 6.0,
                "sliding_window": WINDOW},
               [{"query_pre_attn_scalar": 16}, {"attn_logit_softcapping": 1000.0},
                {"final_logit_softcapping": 1000.0}, {"sliding_window": 64}]),
    "gemma3": ({**GEMMA, "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"],
                "head_dim": 8, "intermediate_size": 16, "num_hidden_layers": 6,
                "num_attention_heads": 2, "num_key_value_heads": 1,
                "query_pre_attn_scalar": 8, "sliding_window": WINDOW, "sliding_window_pattern": 6,
                "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
                "rope_scaling": {"rope_type": "linear", "factor": 8.0},
                "attn_logit_softcapping": None, "final_logit_softcapping": None},
               [{"sliding_window": 64}, {"rope_local_base_freq": 1000000.0},
                {"rope_scaling": None}, {"sliding_window_pattern": 5}]),
    "phi3": ({"model_type": "phi3", "architectures": ["Phi3ForCausalLM"],
              "sliding_window": WINDOW, "pad_token_id": 0, "rope_scaling": None,
              "original_max_position_embeddings": 64}, [{"sliding_window": None}]),
    "phi3_longrope": ({"model_type": "phi3", "architectures": ["Phi3ForCausalLM"],
                       "sliding_window": None, "pad_token_id": 0, "rope_scaling": LONGROPE,
                       "max_position_embeddings": 64, "original_max_position_embeddings": 16},
                      [{"rope_scaling": {**LONGROPE, "long_factor": LONGROPE["short_factor"]}},
                       {"max_position_embeddings": 128}]),
    # Every bias a llama may have.
    "llama_bias": ({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
                    "attention_bias": True, "mlp_bias": True, "intermediate_size": 40},
                   [{"attention_bias": False}, {"mlp_bias": False}]),
    # As Phi-3.5 is published: a window beside LongRoPE. Its layers take the long factors too.
    "phi3_longrope_window": ({"model_type": "phi3", "architectures": ["Phi3ForCausalLM"],
                              "sliding_window": WINDOW, "pad_token_id": 0,
                              "rope_scaling": LONGROPE, "max_position_embeddings": 64,
                              "original_max_position_embeddings": 16},
                             [{"rope_scaling": {**LONGROPE,
                                                "long_factor": LONGROPE["short_factor"]}},
                              {"sliding_window": None}]),
    "gpt2": ({"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": VOCAB,
              "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "n_ctx": 64,
              "n_inner": 64, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
              "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32",
              "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0},
             [{"activation_function": "gelu"}]),
    # An epsilon unlike the default, so that it must be read under the name it has here.
    "starcoder2": ({"model_type": "starcoder2", "architectures": ["Starcoder2ForCausalLM"],
                    "hidden_act": "gelu_pytorch_tanh", "rms_norm_eps": None, "norm_epsilon": 1e-2,
                    "tie_word_embeddings": True, "use_bias": True, "sliding_window": WINDOW,
                    "intermediate_size": 64},
                   [{"norm_epsilon": 1e-5}, {"sliding_window": None}, {"hidden_act": "gelu"},
                    {"rope_theta": 500.0}]),
    # Convolutions before, between and after attention. No key has its default value.
    "lfm2": ({"model_type": "lfm2", "architectures": ["Lfm2ForCausalLM"], "hidden_act": None,
              "rms_norm_eps": None, "norm_eps": 1e-3, "tie_word_embeddings": True,
              "hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1,
              "num_hidden_layers": 5, "intermediate_size": 36, "block_auto_adjust_ff_dim": True,
              "block_ffn_dim_multiplier": 1.3, "block_multiple_of": 8, "conv_L_cache": 4,
              "conv_bias": False, "layer_types": LFM2_LAYERS, "pad_token_id": 0},
             [{"norm_eps": 1e-5}, {"rope_theta": 500.0}, {"num_key_value_heads": 2},
              {"block_ffn_dim_multiplier": 1.0}, {"block_multiple_of": 10},
              {"block_auto_adjust_ff_dim": False}, {"conv_L_cache": 3}, {"conv_bias": True},
              {"layer_types": LFM2_LAYERS[::-1]}]),
}


def config_of(family):
    own = FAMILIES[family][0]
    config = dict(own) if family == "gpt2" else {**COMMON, **own}
    keep_null = {"sliding_window", "attn_logit_softcapping", "final_logit_softcapping",
                 "rope_scaling"}
    return {k: v for k, v in config.items() if v is not None or k in keep_null}


def build(config, folder):
    """The reference model of a config, read from config.json as a user's would be."""
    from transformers import AutoConfig, AutoModelForCausalLM
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    parsed = AutoConfig.from_pretrained(folder)
    model = AutoModelForCausalLM.from_config(parsed, attn_implementation="eager")
    return model.float().eval()


def fill(model, seed):
    """Random weights: large enough that logits vary and every bias and norm weight matters, tame
    enough that a cache of half floats moves the logits by less than the bound of the tests."""
    import torch
    rng = torch.Generator().manual_seed(seed)
    gemma = is_gemma(model)
    gpt2 = model.config.model_type == "gpt2"  # matrices stored as (in, out)
    with torch.no_grad():
        for name, p in sorted(model.named_parameters()):
            noise = torch.randn(p.shape, generator=rng)
            if p.dim() == 1 and name.endswith("weight"):
                after = "post_attention" in name or "post_feedforward" in name
                centre, spread = 1.0, 0.2
                if after and sandwich(model):
                    centre, spread = (0.025, 0.008) if "attention" in name else (0.3, 0.1)
                if name in ("model.norm.weight", "model.embedding_norm.weight",
                            "transformer.ln_f.weight"):
                    # Of both signs: else a tied head mostly repeats the token it has just read.
                    centre, spread = 0.0, 1.0
                p.copy_(centre + spread * noise - (1 if gemma else 0))
            elif p.dim() == 1:
                p.copy_(0.2 * noise)
            elif "mlp.gate.weight" in name:
                p.copy_(noise)  # logits far enough apart that roundings choose no other expert
            elif p.dim() == 3 and "experts" in name:
                p.copy_((0.3 if "down_proj" in name else 0.8) / math.sqrt(p.shape[2]) * noise)
            elif any(part in name for part in ("embed_tokens", "wte", "wpe", "lm_head")):
                p.copy_(0.2 * noise)
            else:
                gain = 0.8
                if "conv.conv" in name:
                    gain = 0.2 * math.sqrt(p.shape[1])
                elif "o_proj" in name or "self_attn.out_proj" in name or "attn.c_proj" in name:
                    gain = 0.05 if is_plain_gemma(model) else 0.012
                elif "down_proj" in name or "w2" in name or "mlp.c_proj" in name:
                    gain = 1.0 if gpt2 else 0.3
                elif "c_fc" in name:
                    gain = 1.6  # far enough from 0 that the two GELUs differ
                p.copy_(gain / math.sqrt(p.shape[0] if gpt2 else p.shape[1]) * noise)


def is_gemma(model):
    return model.config.model_type.startswith("gemma")


def is_plain_gemma(model):
    return model.config.model_type == "gemma"


def sandwich(model):
    return model.config.model_type in ("gemma2", "gemma3_text")


def cache_delta(model, ids, logits):
    """How far keys and values rounded to half floats move the logits."""
    module = sys.modules[type(model).__module__]
    plain = module.eager_attention_forward

    def rounded(self, query, key, value, *args, **kwargs):
        return plain(self, query, key.half().float(), value.half().float(), *args, **kwargs)

    module.eager_attention_forward = rounded
    delta = float(np.abs(logits_of(model, ids) - logits).max())
    module.eager_attention_forward = plain
    return delta


def logits_of(model, ids):
    import torch
    with torch.no_grad():
        return model(torch.tensor([ids]), use_cache=False).logits[0].float().numpy()


def make(family, out):
    import tempfile
    import torch
    from safetensors.torch import save_file
    config = config_of(family)
    folder = out / family
    model = build(config, folder)
    ids = np.random.default_rng(7).integers(3, VOCAB, N_IDS).tolist()
    for seed in range(1, 50):
        fill(model, seed)
        logits = logits_of(model, ids)
        greedy, margin, row = [], math.inf, logits[-1]
        while True:
            top = np.sort(row)[::-1]
            margin = min(margin, float(top[0] - top[1]))
            greedy.append(int(np.argmax(row)))
            if len(greedy) == N_GREEDY:
                break
            row = logits_of(model, ids + greedy)[-1]
        cache = cache_delta(model, ids, logits)
        if (margin > 0.02 and logits.std() >= 1.0 and len(set(greedy)) >= 4
                and cache <= CACHE_DELTA_MAX):
            break
    else:
        sys.exit(f"{family}: no seed gives varied logits")
    for knob in FAMILIES[family][1]:
        with tempfile.TemporaryDirectory() as other:
            changed = build({**config, **knob}, pathlib.Path(other))
            fill(changed, seed)
            delta = float(np.abs(logits_of(changed, ids) - logits).max())
            assert delta > 5e-4, f"{family}: {knob} changes nothing ({delta})"
    state = {k: v.contiguous() for k, v in checkpoint_of(model).items()}
    if config.get("tie_word_embeddings", True):
        state.pop("lm_head.weight", None)
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    write_gguf(family, config, model, folder / "model.gguf")
    text = {"ids": ids, "greedy": greedy, "greedy_margin_min": round(margin, 5)}
    rows = ",\n  ".join("[" + ",".join(f"{x:.6g}" for x in row) + "]" for row in logits.tolist())
    (folder / "golden.json").write_text(
        json.dumps(text)[:-1] + ',\n "logits": [\n  ' + rows + "]}\n")
    size = sum(f.stat().st_size for f in folder.iterdir())
    print(f"{family:14} seed {seed} std {logits.std():.2f} margin {margin:.3f} "
          f"f16 cache {cache:.1e} {size // 1024} KiB")
    assert size <= 200 * 1024, f"{family}: {size} bytes"


def checkpoint_of(model):
    """The tensors as checkpoints have them: one matrix for each expert, of Mixtral under the names of
    its first release."""
    mixtral = model.config.model_type == "mixtral"
    parts = ({"gate_proj": "w1", "up_proj": "w3", "down_proj": "w2"} if mixtral else
             {part: part for part in ("gate_proj", "up_proj", "down_proj")})
    state = {}
    for name, w in model.state_dict().items():
        stem = name.replace(".mlp.", ".block_sparse_moe.") if mixtral else name
        if name.endswith("experts.gate_up_proj"):
            for e, both in enumerate(w):
                at = stem.replace("gate_up_proj", str(e))
                gate, up = both.chunk(2)
                state[f"{at}.{parts['gate_proj']}.weight"] = gate
                state[f"{at}.{parts['up_proj']}.weight"] = up
        elif name.endswith("experts.down_proj"):
            for e, down in enumerate(w):
                state[f"{stem.replace('down_proj', str(e))}.{parts['down_proj']}.weight"] = down
        else:
            state[stem] = w
    return state


def to_neighbours(w, n_heads):
    """Rows of q or k from halves (i, i + d/2) to neighbours (2i, 2i + 1), as in llama GGUF."""
    d = w.shape[0] // n_heads
    return w.reshape(n_heads, 2, d // 2, -1).swapaxes(1, 2).reshape(w.shape)


LAYER_NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "mlp.gate": "ffn_gate_inp", "mlp.gate_up_proj": "ffn_up", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
    "operator_norm": "attn_norm", "ffn_norm": "ffn_norm", "conv.in_proj": "shortconv.in_proj",
    "conv.conv": "shortconv.conv", "conv.out_proj": "shortconv.out_proj",
    "self_attn.out_proj": "attn_output", "self_attn.q_layernorm": "attn_q_norm",
    "self_attn.k_layernorm": "attn_k_norm", "feed_forward.w1": "ffn_gate",
    "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down",
}
# With a norm after each half of a block, "post_attention_layernorm" is what it says.
SANDWICH_NAMES = {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
OUTER_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "transformer.wte": "token_embd", "transformer.wpe": "position_embd",
    "transformer.ln_f": "output_norm", "model.embedding_norm": "token_embd_norm",
}


def gguf_name(name, sandwich):
    stem, kind = name.rsplit(".", 1)
    if stem in OUTER_NAMES:
        return f"{OUTER_NAMES[stem]}.{kind}"
    _, _, layer, rest = stem.split(".", 3)
    names = {**LAYER_NAMES, **SANDWICH_NAMES} if sandwich else LAYER_NAMES
    return f"blk.{layer}.{names[rest]}.{kind}"


def write_gguf(family, config, model, path):
    import gguf
    arch = {"llama2": "llama", "llama3": "llama", "mistral": "llama",
            "phi3_longrope": "phi3", "phi3_longrope_window": "phi3",
            "llama_bias": "llama", "mixtral": "llama", "qwen3moe_sums": "qwen3moe"}.get(family, family)
    w = gguf.GGUFWriter(path, arch)
    w.add_name(f"golden-{family}")
    w.add_file_type(0)
    c = model.config
    w.add_tokenizer_model("none")
    w.add_vocab_size(VOCAB)
    if arch == "gpt2":
        w.add_context_length(c.n_positions)
        w.add_embedding_length(c.n_embd)
        w.add_feed_forward_length(c.n_inner)
        w.add_block_count(c.n_layer)
        w.add_head_count(c.n_head)
        w.add_layer_norm_eps(c.layer_norm_epsilon)
    else:
        add_decoder_numbers(w, arch, config, model)
    for name, p in model.state_dict().items():
        if name == "lm_head.weight" and config.get("tie_word_embeddings", True):
            continue
        x = p.float().numpy()
        if "mlp.experts" in name:
            add_experts(w, name, x)
            continue
        if arch == "llama" and "q_proj" in name:
            x = to_neighbours(x, config["num_attention_heads"])
        if arch == "llama" and "k_proj" in name:
            x = to_neighbours(x, config["num_key_value_heads"])
        if arch.startswith("gemma") and "norm" in name:
            x = x + 1
        if arch == "gpt2" and x.ndim == 2 and ".h." in name:
            x = x.T  # Conv1D holds (in, out)
        if name.endswith("conv.conv.weight"):
            x = x[:, 0]
        w.add_tensor(gguf_name(name, arch in ("gemma2", "gemma3")),
                     np.ascontiguousarray(x, dtype=np.float32))
    add_rope_factors(w, family, config, model)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def add_experts(w, name, x):
    """Matrices of all experts of a layer, (experts, rows, columns)."""
    layer = name.split(".")[2]
    parts = ({"ffn_down_exps": x} if name.endswith("down_proj") else
             dict(zip(("ffn_gate_exps", "ffn_up_exps"), np.split(x, 2, axis=1))))
    for part, matrices in parts.items():
        w.add_tensor(f"blk.{layer}.{part}.weight",
                     np.ascontiguousarray(matrices, dtype=np.float32))


def add_decoder_numbers(w, arch, config, model):
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim", config["hidden_size"] // heads)
    rope = config.get("rope_parameters", {})
    w.add_context_length(config["max_position_embeddings"])
    w.add_embedding_length(config["hidden_size"])
    w.add_feed_forward_length(model.model.layers[0].feed_forward.w1.out_features
                              if arch == "lfm2" else config["intermediate_size"])
    w.add_block_count(config["num_hidden_layers"])
    n_experts = config.get("num_experts", config.get("num_local_experts"))
    if n_experts:
        w.add_expert_count(n_experts)
        w.add_expert_used_count(config["num_experts_per_tok"])
    if "moe_intermediate_size" in config:
        w.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if not config.get("norm_topk_prob", True):
        w.add_expert_weights_norm(False)
    w.add_head_count(heads)
    n_kv_heads = config["num_key_value_heads"]
    if arch == "lfm2":
        w.add_shortconv_l_cache(config["conv_L_cache"])
        n_kv_heads = [0 if kind == "conv" else n_kv_heads for kind in config["layer_types"]]
    w.add_head_count_kv(n_kv_heads)
    w.add_key_length(head_dim)
    w.add_value_length(head_dim)
    if "norm_epsilon" in config:
        w.add_layer_norm_eps(config["norm_epsilon"])
    else:
        w.add_layer_norm_rms_eps(config["norm_eps" if arch == "lfm2" else "rms_norm_eps"])
    w.add_rope_freq_base(rope.get("rope_theta", config.get("rope_theta", 10000.0)))
    if arch in ("llama", "phi3"):
        w.add_rope_dimension_count(head_dim)
    if arch not in ("qwen2", "qwen3") and config.get("sliding_window"):
        w.add_sliding_window(config["sliding_window"])
    if arch == "gemma2":
        w.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        w.add_final_logit_softcapping(config["final_logit_softcapping"])
        w.add_attention_scale(config["query_pre_attn_scalar"] ** -0.5)
    if arch == "gemma3":
        import gguf
        w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        w.add_rope_scaling_factor(config["rope_scaling"]["factor"])
        w.add_float32("gemma3.rope.freq_base_swa", config["rope_local_base_freq"])


def add_rope_factors(w, family, config, model):
    if family == "llama3":
        d = config["head_dim"]
        plain = config["rope_theta"] ** (-np.arange(0, d, 2, dtype=np.float64) / d)
        scaled = model.model.rotary_emb.inv_freq.double().numpy()
        w.add_tensor("rope_freqs.weight", (plain / scaled).astype(np.float32))
    if family.startswith("phi3_longrope"):
        original = config["original_max_position_embeddings"]
        grown = config["max_position_embeddings"] / original
        w.add_rope_scaling_orig_ctx_len(original)
        w.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(grown) / math.log(original)))
        for kind in ("long", "short"):
            factors = np.array(config["rope_scaling"][f"{kind}_factor"], dtype=np.float32)
            w.add_tensor(f"rope_factors_{kind}.weight", factors)


def check(family, out):
    """Largest difference of the second engine's logits from the golden ones, all and in the
    first WINDOW positions."""
    import ctypes
    import llama_cpp as l
    quiet = l.llama_log_callback(lambda level, text, user: None)
    l.llama_log_set(quiet, ctypes.c_void_p(0))
    golden = json.loads((out / family / "golden.json").read_text())
    ids, want = golden["ids"], np.array(golden["logits"])
    mp = l.llama_model_default_params()
    mp.use_mmap = False
    model = l.llama_model_load_from_file(str(out / family / "model.gguf").encode(), mp)
    if not model:
        return print(f"{family:14} is not loaded")
    cp = l.llama_context_default_params()
    cp.n_ctx, cp.n_batch, cp.n_threads, cp.n_threads_batch = 64, 64, 1, 1
    cp.type_k, cp.type_v = 0, 0  # float32 cache
    cp.flash_attn_type = 0
    cp.swa_full = True
    ctx = l.llama_init_from_model(model, cp)
    batch = l.llama_batch_init(len(ids), 0, 1)
    batch.n_tokens = len(ids)
    for i, t in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i] = t, i, 1
        batch.seq_id[i][0], batch.logits[i] = 0, 1
    assert l.llama_decode(ctx, batch) == 0
    got = np.stack([np.ctypeslib.as_array(l.llama_get_logits_ith(ctx, i), shape=(VOCAB,)).copy()
                    for i in range(len(ids))])
    d = np.abs(got - want)
    print(f"{family:14} max |d| {d.max():.2e}   below the window {d[:WINDOW].max():.2e}")
    l.llama_batch_free(batch)
    l.llama_free(ctx)
    l.llama_model_free(model)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--out", type=pathlib.Path, default=HERE / "models")
    p.add_argument("--only", choices=sorted(FAMILIES), action="append")
    p.add_argument("--check", action="store_true", help="compare the GGUF files with llama_cpp")
    args = p.parse_args()
    for family in args.only or FAMILIES:
        (check if args.check else make)(family, args.out)


if __name__ == "__main__":
    main()
