"""Records of families whose layers are selective scans, alone, in turn with attention or beside it."""
from families.base import PLAIN, SILU, Family
from families.draws import Draw
from families.records_dense import Kv

# Where a layer reads them, another value makes other shapes, which the reference refuses.
SIZES = {"state_size", "conv_kernel", "expand", "intermediate_size", "time_step_rank", "num_heads",
         "head_dim", "n_groups"}
# Steps are drawn by these before training; sums are made in chunks of this many tokens.
DRAWN = {"time_step_min", "time_step_max", "time_step_floor", "time_step_scale",
         "time_step_init_scheme", "residual_in_fp32", "use_mambapy",
         "chunk_size", "mamba_chunk_size"}


def beside(d, names):
    """Keys that change nothing once a model is trained."""
    values = {"time_step_min": 0.01, "time_step_max": 0.5, "time_step_floor": 0.002,
              "time_step_scale": 2.0, "time_step_init_scheme": "constant",
              "residual_in_fp32": False, "use_mambapy": True}
    for name in names:
        if d.chance(0.1):
            d.config[name] = values[name]


def rescaled(d):
    # The reference applies it to weights that it has loaded: we refuse it.
    d.put("rescale_prenorm_residual", False, False, False, True, absent=0.6, null=0)


def limits(d):
    """The least and the greatest step; infinity as transformers writes it."""
    if d.chance(0.5):
        most = d.pick(0.3, 0.9, {"__float__": "Infinity"})
        d.config["time_step_limit"] = [d.pick(0.0, 0.0, 0.05, 0.2), most]


class Scan(Family):
    """No heads, no positions."""
    goldens = 14

    def sizes(self, d):
        c = d.config
        c |= {"vocab_size": d.pick(61, 64, 71, 97), "num_hidden_layers": d.pick(1, 2, 3),
              "hidden_size": d.pick(8, 12, 16, 24, 34)}
        d.put("conv_kernel", 1, 2, 3, 4, 7, absent=0.3, null=0)
        d.put("state_size", 1, 4, 5, 16, absent=0.1, null=0)

    def settings(self, d):
        self.common(d, SILU, "layer_norm_epsilon")
        d.put("use_bias", True, False, absent=0.4, null=0)
        d.put("use_conv_bias", True, False, absent=0.4, null=0)


class Mamba(Scan):
    name = model_type = "mamba"
    hf_class, base_class = "MambaForCausalLM", "MambaModel"
    inert = SIZES | DRAWN

    def sizes(self, d):
        super().sizes(d)
        d.put("expand", 1, 2, 3, 6, absent=0.4, null=0)
        d.put("time_step_rank", "auto", 1, 3, 8, absent=0.4, null=0)
        if d.chance(0.15):
            d.config["intermediate_size"] = d.pick(10, 24, 70)

    def settings(self, d):
        super().settings(d)
        beside(d, sorted(DRAWN - {"chunk_size", "mamba_chunk_size"}))
        rescaled(d)


class FalconMamba(Mamba):
    model_type = "falcon_mamba"
    hf_class, base_class = "FalconMambaForCausalLM", "FalconMambaModel"

    def settings(self, d):
        super().settings(d)
        d.put("mixer_rms_eps", 1e-6, 1e-2, 0.3, absent=0.3, null=0)


class Mamba1(Family):
    """What GGUF files call mamba: two classes, by turns."""
    name, variants, goldens = "mamba", (Mamba(), FalconMamba()), 14
    inert = SIZES | DRAWN

    def draw(self, key):
        variant = Draw(f"{key}/class").pick(*self.variants)
        return {**variant.draw(key), "family": self.name}


class Mamba2(Scan):
    name = model_type = "mamba2"
    hf_class, base_class = "Mamba2ForCausalLM", "Mamba2Model"
    inert = SIZES | DRAWN

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        n_groups = c["n_groups"] = d.pick(1, 1, 2, 3)
        n = c["num_heads"] = n_groups * d.pick(1, 2, 4)
        width = c["head_dim"] = d.pick(2, 4, 6, 16)
        c["expand"] = d.pick(*[e for e in (1, 2, 3, 4) if n * width % e == 0])
        c["hidden_size"] = n * width // c["expand"]
        d.put("chunk_size", 1, 3, 16, 64, absent=0.2, null=0)

    def settings(self, d):
        super().settings(d)
        limits(d)
        beside(d, ["residual_in_fp32", "time_step_floor", "time_step_max", "time_step_min"])
        rescaled(d)


# Where a layer reads them, another value makes other shapes, which the reference refuses.
HYBRID_SIZES = {"mamba_d_state", "mamba_d_conv", "mamba_expand", "mamba_n_heads", "mamba_d_head",
                "mamba_n_groups", "mamba_d_ssm", "mamba_rms_norm", "num_attention_heads",
                "num_key_value_heads", "head_dim", "layers_block_type", "num_logits_to_keep"}


class Hybrid(Kv):
    """Scans by head beside layers of attention, or in them."""
    inert, has_head_dim = HYBRID_SIZES | DRAWN, False

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["num_hidden_layers"] = d.pick(1, 2, 3)
        n_groups = c["mamba_n_groups"] = d.pick(1, 1, 2, 3)
        inner = self.inner_of(d)
        counts = [n for n in range(n_groups, inner + 1, n_groups)
                  if inner % n == 0 and inner % n_groups == 0 and inner // n <= 32]
        if not counts:
            n_groups = c["mamba_n_groups"] = 1
            counts = [n for n in range(1, inner + 1) if inner % n == 0 and inner // n <= 32]
        n = c["mamba_n_heads"] = d.pick(*counts)
        if d.chance(0.6):
            c["mamba_d_head"] = d.pick("auto", inner // n)
        d.put("mamba_d_conv", 1, 2, 3, 4, 7, absent=0.3, null=0)
        c["mamba_d_state"] = d.pick(1, 4, 5, 16)
        d.put("mamba_chunk_size", 1, 3, 16, 64, absent=0.2, null=0)

    def inner_of(self, d):
        expand = d.pick(1, 2, 2, 3)
        d.config["mamba_expand"] = expand
        return expand * d.config["hidden_size"]

    def settings(self, d):
        super().settings(d)
        d.put("mamba_proj_bias", True, False, absent=0.4, null=0)
        d.put("mamba_conv_bias", True, False, absent=0.4, null=0)
        limits(d)


class Bamba(Hybrid):
    name, model_type = "granitehybrid", "bamba"
    hf_class, base_class, eights = "BambaForCausalLM", "BambaModel", True
    biases = ("attention_bias", "mlp_bias")

    def settings(self, d):
        super().settings(d)
        layers = range(d.config["num_hidden_layers"] + 1)
        d.config["attn_layer_indices"] = [i for i in layers if d.chance(0.4)]


class GraniteHybrid(Hybrid):
    name, model_type = "granitehybrid", "granitemoehybrid"
    hf_class, base_class = "GraniteMoeHybridForCausalLM", "GraniteMoeHybridModel"
    inert = HYBRID_SIZES | DRAWN | {"num_local_experts", "shared_intermediate_size",
                                    "intermediate_size", "router_aux_loss_coef"}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["shared_intermediate_size"] = d.pick(7, 8, 20)
        n = c["num_local_experts"] = d.pick(0, 0, 1, 3, 5)
        if n > 0:
            c["num_experts_per_tok"] = d.pick(*range(1, min(n, 3) + 1))
        if d.chance(0.8):
            kinds = ("mamba", "linear_attention", "attention", "full_attention")
            key = "layer_types" if d.chance(0.7) else "layers_block_type"
            c[key] = [d.pick(*kinds) for _ in range(c["num_hidden_layers"])]

    def settings(self, d):
        super().settings(d)
        d.put("position_embedding_type", "rope", "rope", "nope", absent=0.3, null=0.1)
        for key in ("embedding_multiplier", "logits_scaling", "residual_multiplier",
                    "attention_multiplier"):
            d.put(key, 1.0, 0.22, 0.5, 3.0, absent=0.2, null=0)


class Granite4(Family):
    """What GGUF files call granitehybrid: two classes, by turns."""
    name, variants, goldens = "granitehybrid", (Bamba(), GraniteHybrid(), GraniteHybrid()), 15
    inert = Bamba.inert | GraniteHybrid.inert

    def draw(self, key):
        variant = Draw(f"{key}/class").pick(*self.variants)
        return {**variant.draw(key), "family": self.name}


class Zamba2(Family):
    name = model_type = "zamba2"
    hf_class, base_class, has_head_dim, goldens = "Zamba2ForCausalLM", "Zamba2Model", False, 9
    inert = (SIZES | DRAWN) - {"time_step_min"} | {
        "mamba_d_state", "mamba_d_conv", "mamba_expand", "mamba_ngroups", "n_mamba_heads",
        "num_attention_heads", "num_key_value_heads", "num_logits_to_keep", "adapter_rank",
        "layers_block_type", "layer_types", "max_position_embeddings",
        "num_mem_blocks", "use_conv_bias", "use_mem_eff_path", "use_mamba_kernels",
        "use_long_context"}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        n = c["num_hidden_layers"] = d.pick(1, 2, 3, 4, 6)
        c["layers_block_type" if d.chance(0.7) else "layer_types"] = [
            d.pick("mamba", "linear_attention", "hybrid", "hybrid") for _ in range(n)]
        # Heads of twice the hidden size rotate an even number.
        width = d.pick(2, 4, 6, 8, 10, 16)
        c["hidden_size"] = c["num_attention_heads"] * width // 2
        if c["hidden_size"] < 4:
            c["hidden_size"] *= 4
        groups = c["mamba_ngroups"] = d.pick(1, 1, 1, 2)
        expand = c["mamba_expand"] = 2 if groups == 2 else d.pick(1, 2, 2, 3)
        inner = expand * c["hidden_size"]
        counts = [n for n in range(groups, inner + 1, groups) if inner % n == 0 and inner // n <= 32]
        c["n_mamba_heads"] = d.pick(*counts)
        d.put("mamba_d_conv", 2, 3, 4, 7, absent=0.3, null=0)
        c["mamba_d_state"] = d.pick(1, 4, 5, 16)
        d.put("chunk_size", 1, 3, 16, 64, absent=0.2, null=0)
        c["adapter_rank"] = d.pick(1, 3, 8)
        d.put("num_mem_blocks", 1, 2, 2, 3, absent=0.3, null=0)

    def settings(self, d):
        c = d.config
        self.common(d, ("gelu",) * 8 + ("silu", "gelu_pytorch_tanh", "relu"))
        c.pop("hidden_act") if c.get("hidden_act", "") is None else None
        d.put("add_bias_linear", True, False, absent=0.5, null=0)
        d.put("time_step_min", 0.001, 0.2, 0.6, absent=0.4, null=0)
        if c.get("num_key_value_heads", c["num_attention_heads"]) == c["num_attention_heads"]:
            d.put("use_shared_attention_adapter", True, False, absent=0.4, null=0)
        d.put("use_mem_rope", True, True, False, absent=0.3, null=0)
        if c.get("use_mem_rope"):
            d.rope(PLAIN + ("linear",), 2 * c["hidden_size"] // c["num_attention_heads"],
                   d.positions_limit, partial=0)
        d.put("use_long_context", True, False, False, False, absent=0.8, null=0)
        for key, value in {"use_conv_bias": False, "use_mem_eff_path": True,
                           "use_mamba_kernels": False, "num_logits_to_keep": 3}.items():
            if d.chance(0.1):
                c[key] = value


class FalconH1(Hybrid):
    name, model_type = "falcon-h1", "falcon_h1"
    hf_class, base_class, goldens = "FalconH1ForCausalLM", "FalconH1Model", 12
    biases = ("attention_bias", "mlp_bias", "projectors_bias")

    def inner_of(self, d):
        if d.chance(0.2):
            d.config["mamba_d_ssm"] = None
            return super().inner_of(d)
        d.config["mamba_d_ssm"] = d.pick(12, 24, 36, 48)
        return d.config["mamba_d_ssm"]

    def settings(self, d):
        super().settings(d)
        d.put("mamba_rms_norm", True, False, absent=0.3, null=0)
        d.put("mamba_norm_before_gate", True, False, absent=0.3, null=0)
        for key in ("embedding_multiplier", "lm_head_multiplier", "key_multiplier",
                    "attention_in_multiplier", "attention_out_multiplier", "ssm_in_multiplier",
                    "ssm_out_multiplier"):
            d.put(key, 1.0, 0.3, 0.7, 2.5, absent=0.3, null=0)
        for key, n in (("mlp_multipliers", 2), ("ssm_multipliers", 5)):
            if d.chance(0.6):
                d.config[key] = [d.pick(0.4, 0.8, 1.0, 1.7) for _ in range(n)]


class Jamba(Kv):
    """Scans by column with normalised inputs, attention without positions, experts by turns."""
    name = model_type = "jamba"
    hf_class, base_class, has_head_dim, biases = "JambaForCausalLM", "JambaModel", False, ()
    inert = HYBRID_SIZES | DRAWN | {
        "mamba_dt_rank", "num_experts", "attn_layer_period", "attn_layer_offset",
        "expert_layer_period", "expert_layer_offset", "router_aux_loss_coef",
        "max_position_embeddings"}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["num_hidden_layers"] = d.pick(1, 2, 3)
        n = c["num_experts"] = d.pick(1, 2, 3, 5)
        c["num_experts_per_tok"] = d.pick(*range(1, min(n, 3) + 1))
        for kind in ("attn", "expert"):
            period = c[f"{kind}_layer_period"] = d.pick(1, 2, 3)
            c[f"{kind}_layer_offset"] = d.pick(*range(period))
        c["mamba_d_state"] = d.pick(1, 4, 5, 16)
        d.put("mamba_d_conv", 1, 2, 3, 4, 7, absent=0.3, null=0)
        d.put("mamba_expand", 1, 2, 3, absent=0.3, null=0)
        d.put("mamba_dt_rank", "auto", 1, 3, 8, absent=0.4, null=0)

    def settings(self, d):
        self.common(d)
        d.put("mamba_proj_bias", True, False, absent=0.4, null=0)
        d.put("mamba_conv_bias", True, False, absent=0.4, null=0)
        d.put("router_aux_loss_coef", 0.5, absent=0.9, null=0)
        beside(d, ["use_mambapy"])


class NemotronH(Family):
    """Layers that are one half of a block each."""
    letters = "MM*-"
    name, model_type = "nemotron_h", "nemotron_h"
    hf_class, base_class, goldens = "NemotronHForCausalLM", "NemotronHModel", 12
    inert = SIZES | (DRAWN - {"time_step_min"}) | {
        "ssm_state_size", "mamba_num_heads", "mamba_head_dim", "num_key_value_heads",
        "num_hidden_layers", "layers_block_type", "layer_types", "hybrid_override_pattern",
        "attention_bias", "rescale_prenorm_residual", "num_attention_heads",
        "max_position_embeddings"}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["head_dim"] = d.head_dim
        c.setdefault("num_key_value_heads", c["num_attention_heads"])
        letters = "".join(d.pick(*self.letters) for _ in range(d.pick(1, 2, 3, 4)))
        kinds = {"M": ("mamba", "linear_attention"), "*": ("attention", "full_attention"),
                 "-": ("mlp",), "E": ("moe",)}
        if d.chance(0.6):
            c["hybrid_override_pattern"] = letters
        else:
            key = d.pick("layers_block_type", "layers_block_type", "layer_types")
            c[key] = [d.pick(*kinds[letter]) for letter in letters]
        del c["num_hidden_layers"]
        if d.chance(0.7):
            c["num_hidden_layers"] = len(letters)
        n_groups = c["n_groups"] = d.pick(1, 1, 2, 3)
        c["mamba_num_heads"] = n_groups * d.pick(1, 2, 4)
        c["mamba_head_dim"] = d.pick(2, 4, 6, 16)
        c["ssm_state_size"] = d.pick(1, 4, 5, 16)
        d.put("conv_kernel", 1, 2, 3, 4, 7, absent=0.3, null=0)
        d.put("chunk_size", 1, 3, 16, 64, absent=0.2, null=0)
        d.put("expand", 1, 3, absent=0.7, null=0)

    def settings(self, d):
        d.put("mlp_hidden_act", "relu2", "relu2", "silu", "gelu", "relu", absent=0.3, null=0)
        d.put("mamba_hidden_act", "silu", "silu", "gelu", "relu", absent=0.5, null=0)
        d.put("layer_norm_epsilon", 1e-5, 1e-6, 1e-2, absent=0.2, null=0)
        d.put("time_step_min", 0.001, 0.3, 0.9, 0.0, absent=0.3, null=0)
        d.put("tie_word_embeddings", False, False, False, True, absent=0.5, null=0)
        for key in ("use_bias", "use_conv_bias", "mlp_bias"):
            d.put(key, True, False, absent=0.4, null=0)
        if d.chance(0.1):
            d.config["attention_bias"] = True
        beside(d, ["time_step_floor", "time_step_max", "residual_in_fp32"])
        d.put("rescale_prenorm_residual", True, False, absent=0.5, null=0)


class NemotronHMoe(NemotronH):
    """Some halves are experts without gates, of which each may read a row of its own width."""
    name, letters, goldens = "nemotron_h_moe", "EEM*-", 10
    inert = NemotronH.inert | {
        "n_routed_experts", "num_local_experts", "moe_intermediate_size", "moe_latent_size",
        "moe_shared_expert_intermediate_size", "n_shared_experts", "moe_shared_expert_overlap",
        "intermediate_size"}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        n = d.pick(2, 4, 4, 6, 8)
        c[d.pick("n_routed_experts", "n_routed_experts", "num_local_experts")] = n
        groups = d.pick(*[g for g in (1, 1, 2, 3) if n % g == 0 and n // g >= 2])
        c["n_group"], c["topk_group"] = groups, d.pick(*range(1, groups + 1))
        c["num_experts_per_tok"] = d.pick(*range(1, min(4, n // groups * c["topk_group"]) + 1))
        c["moe_intermediate_size"] = d.pick(5, 8, 12, 16)
        c["moe_shared_expert_intermediate_size"] = d.pick(5, 8, 20)
        d.put("moe_latent_size", 4, 7, 16, 50, absent=0.5, null=0.1)

    def settings(self, d):
        super().settings(d)
        d.put("norm_topk_prob", True, False, absent=0.3, null=0)
        d.put("routed_scaling_factor", 1.0, 2.5, 0.7, absent=0.2, null=0)
        d.put("n_shared_experts", 1, 2, absent=0.7, null=0)
        d.put("moe_shared_expert_overlap", True, False, absent=0.8, null=0)


SCANS = [Mamba1, Mamba2, Zamba2, Granite4, FalconH1, Jamba, NemotronH, NemotronHMoe]
