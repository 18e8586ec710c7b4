"""Records of families whose layers keep running states beside attention: linear attention by the
gated delta rule."""
from families.base import SCALED
from families.records_dense import Dense, Kv

PART = ("default",) * 4 + ("linear", "linear", "llama3", "longrope")


# Where a layer reads them, another value makes other shapes, which the reference refuses.
SIZES = {"full_attention_interval", "head_dim", "num_key_value_heads", "linear_conv_kernel_dim",
         "linear_key_head_dim", "linear_num_key_heads", "linear_num_value_heads",
         "linear_value_head_dim"}


class DeltaNet(Kv):
    """Layers of linear attention beside some of attention, whose heads rotate in part."""
    kinds, partial, eights, inert = PART, 0.6, True, SIZES

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim
        d.config["num_hidden_layers"] = n = d.pick(1, 2, 3, 4)
        n_keys, shared = d.pick(1, 2, 3), d.pick(1, 1, 2, 3)
        d.config["linear_num_key_heads"] = n_keys
        d.config["linear_num_value_heads"] = n_keys * shared
        d.config["linear_key_head_dim"] = d.pick(1, 4, 6, 8, 16)
        d.config["linear_value_head_dim"] = d.pick(1, 4, 5, 8, 16)
        d.put("linear_conv_kernel_dim", 1, 2, 3, 4, 7, absent=0.3, null=0)
        if d.chance(0.7):
            kinds = ("linear_attention",) * 3 + ("full_attention",) * 2
            d.config["layer_types"] = [d.pick(*kinds) for _ in range(n)]
        elif d.chance(0.6):
            d.config["full_attention_interval"] = d.pick(1, 2, 3)


class Qwen35(DeltaNet):
    name, model_type = "qwen35", "qwen3_5_text"
    hf_class, base_class = "Qwen3_5ForCausalLM", "Qwen3_5TextModel"
    inert = SIZES | {"mamba_ssm_dtype", "attn_output_gate"}

    def settings(self, d):
        super().settings(d)
        for key, value in {"mamba_ssm_dtype": "float32", "attn_output_gate": True}.items():
            if d.chance(0.1):
                d.config[key] = value


class WithExperts(DeltaNet):
    """Experts beside one that all rows share."""
    goldens = 8

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["num_hidden_layers"] = min(c["num_hidden_layers"], 3)
        if "layer_types" in c:
            c["layer_types"] = c["layer_types"][:3]
        n = c["num_experts"] = d.pick(1, 2, 3, 5, 8)
        c["num_experts_per_tok"] = d.pick(*range(1, min(n, 4) + 1))
        c["moe_intermediate_size"] = d.pick(7, 8, 12)
        c["shared_expert_intermediate_size"] = d.pick(7, 8, 20)

    def settings(self, d):
        super().settings(d)
        d.put("router_aux_loss_coef", 0.5, absent=0.9, null=0)


class Qwen3Next(WithExperts):
    name, model_type = "qwen3next", "qwen3_next"
    hf_class, base_class = "Qwen3NextForCausalLM", "Qwen3NextModel"
    inert = SIZES | {"router_aux_loss_coef"}

    def settings(self, d):
        super().settings(d)
        d.put("norm_topk_prob", True, False, absent=0.3, null=0)
        d.put("decoder_sparse_step", 1, 1, 2, absent=0.4, null=0)
        if d.chance(0.4):
            layers = range(d.config["num_hidden_layers"] + 1)
            d.config["mlp_only_layers"] = [i for i in layers if d.chance(0.4)]


class Qwen35Moe(WithExperts):
    name, model_type = "qwen35moe", "qwen3_5_moe_text"
    hf_class, base_class = "Qwen3_5MoeForCausalLM", "Qwen3_5MoeTextModel"
    inert = SIZES | {"router_aux_loss_coef", "intermediate_size"}


class Rwkv4(Dense):
    """No heads, no positions; the stream is halved now and then."""
    name, model_type = "rwkv4", "rwkv"
    hf_class, base_class, goldens = "RwkvForCausalLM", "RwkvModel", 16
    inert = {"context_length"}

    def sizes(self, d):
        c = d.config
        c |= {"vocab_size": d.pick(61, 64, 71, 97), "hidden_size": d.pick(10, 16, 24, 33, 70),
              "num_hidden_layers": d.pick(1, 2, 3, 4)}
        d.put("intermediate_size", 7, 16, 33, 64, absent=0.2, null=0.1)
        d.put("attention_hidden_size", 8, 12, 40, 130, absent=0.6, null=0.1)
        d.put("context_length", 64, 1024, absent=0.3, null=0)

    def settings(self, d):
        d.put("layer_norm_epsilon", 1e-5, 1e-2, 1e-3, absent=0.3, null=0)
        d.put("rescale_every", 0, 1, 2, 3, 6, -1, absent=0.3, null=0)
        d.put("tie_word_embeddings", True, False, absent=0.4, null=0)


class RecurrentGemma(Dense):
    name = model_type = "recurrent_gemma"
    hf_class, base_class = "RecurrentGemmaForCausalLM", "RecurrentGemmaModel"
    kinds, partial, eights, has_head_dim = ("default",), 0.4, True, False
    goldens = 9

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["num_hidden_layers"] = d.pick(1, 2, 3, 4)
        n = c["num_attention_heads"]
        d.put("lru_width", n * d.pick(2, 4, 7, 12), absent=0.4, null=0.1)
        d.put("conv1d_width", 1, 2, 3, 4, 6, absent=0.3, null=0)
        d.put("attention_window_size", 3, 8, 16, 33, 256, absent=0.2, null=0)
        if d.chance(0.7):
            c["block_types"] = [d.pick("recurrent", "attention") for _ in range(d.pick(1, 2, 3))]

    def settings(self, d):
        super().settings(d)
        d.config["hidden_activation"] = d.config.pop("hidden_act", "gelu_pytorch_tanh")
        d.put("logits_soft_cap", 30.0, 6.0, 3.0, absent=0.2, null=0)


class OlmoHybrid(DeltaNet):
    name = model_type = "olmo_hybrid"
    hf_class, base_class = "OlmoHybridForCausalLM", "OlmoHybridModel"
    kinds, partial, has_head_dim, goldens = SCALED, 0.0, False, 9
    inert = SIZES | {"linear_dt_min"}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        del c["head_dim"]
        c.pop("full_attention_interval", None)
        n = c["num_hidden_layers"] = max(2, c["num_hidden_layers"])
        if "layer_types" in c:  # the class wants both kinds
            between = (c["layer_types"] * 2)[:n - 2]
            c["layer_types"] = ["linear_attention", *between, "full_attention"]
        if d.chance(0.3):
            for key in ("linear_num_key_heads", "linear_num_value_heads"):
                del c[key]
            d.put("linear_key_head_dim", 4, 8, absent=0.5, null=0.1)
            d.put("linear_value_head_dim", 4, 8, absent=0.5, null=0.1)

    def settings(self, d):
        super().settings(d)
        d.put("pad_token_id", 0, 3, absent=0, null=0)
        d.put("linear_allow_neg_eigval", True, False, absent=0.3, null=0)
        d.put("linear_dt_min", 0.01, absent=0.9, null=0)
        rope = d.config.get("rope_parameters") or d.config
        if d.chance(0.4):
            rope["rope_theta"] = None


LINEAR = [OlmoHybrid, Qwen35, Qwen3Next, Qwen35Moe, Rwkv4, RecurrentGemma]
