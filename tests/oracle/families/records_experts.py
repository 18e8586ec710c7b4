"""Records of families whose layers have experts, besides those of records.py."""
from families.records_dense import PART, Dense, Kv

MODEL_COUNTS = (1, 2, 3, 3, 4, 4, 5, 5, 8, 17)


# Keys that decide which tensors there are: changed alone, they fit no file, or no layer has experts.
STRUCTURE = {
    "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts",
    "moe_intermediate_size", "decoder_sparse_step", "mlp_only_layers", "first_k_dense_replace",
    "n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "moe_layer_start_index",
    "moe_layer_end_index", "moe_layer_interval", "num_dense_layers", "mlp_layer_types",
    "shared_expert_intermediate_size", "shared_intermediate_size", "intermediate_size"}


class Experts(Kv):
    """Keys that most such classes have: `count`, `used` and `width` name them."""
    count, used, width = "num_experts", "num_experts_per_tok", "moe_intermediate_size"
    counts, most_used, goldens, biases = MODEL_COUNTS, 5, 9, ()
    kinds = PART
    inert = {"router_aux_loss_coef", *STRUCTURE}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        n = c[self.count] = d.pick(*self.counts)
        c[self.used] = d.pick(*range(1, min(n, self.most_used) + 1))
        if d.chance(0.02):
            c[self.used] = d.pick(0, n + 1)
        if self.width:
            c[self.width] = d.pick(7, 8, 12, 16)
        c["num_hidden_layers"] = d.pick(1, 2, 2)

    def settings(self, d):
        super().settings(d)
        d.put("router_aux_loss_coef", 0.5, absent=0.9, null=0)


class Grouped(Experts):
    """DeepSeek's router: sigmoids, a bias that chooses, groups of which the best may be chosen."""
    count, counts, goldens = "n_routed_experts", (4, 4, 4, 6, 6, 8), 9

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        n = c[self.count]
        groups = d.pick(*[g for g in (1, 1, 2, 3) if n % g == 0 and n // g >= 2])
        c["n_group"], c["topk_group"] = groups, d.pick(*range(1, groups + 1))
        c[self.used] = d.pick(*range(1, min(4, n // groups * c["topk_group"]) + 1))
        c["n_shared_experts"] = d.pick(1, 1, 2, 3)
        c["first_k_dense_replace"] = d.pick(0, 0, 1, 2)

    def settings(self, d):
        super().settings(d)
        d.put("norm_topk_prob", True, False, absent=0.2, null=0)
        d.put("routed_scaling_factor", 1.0, 2.5, 0.7, absent=0.2, null=0)


class Qwen2Moe(Experts):
    name, model_type = "qwen2moe", "qwen2_moe"
    hf_class, base_class = "Qwen2MoeForCausalLM", "Qwen2MoeModel"
    biases = ("qkv_bias",)

    def settings(self, d):
        super().settings(d)
        c = d.config
        c["shared_expert_intermediate_size"] = d.pick(7, 8, 20)
        d.put("norm_topk_prob", True, False, absent=0.2, null=0)
        d.put("decoder_sparse_step", 1, 1, 2, absent=0.4, null=0)
        if d.chance(0.3):
            layers = range(c["num_hidden_layers"] + 1)
            c["mlp_only_layers"] = [i for i in layers if d.chance(0.3)]
        d.put("use_sliding_window", True, False, absent=0.3, null=0)
        d.window()
        d.put("max_window_layers", 0, 1, 2, 28, absent=0.2, null=0)
        d.layer_types(0.2)


class Olmoe(Experts):
    name = model_type = "olmoe"
    goldens = 8
    hf_class, base_class, has_head_dim = "OlmoeForCausalLM", "OlmoeModel", False
    biases, width = ("attention_bias",), None

    def sizes(self, d):
        super().sizes(d)
        if d.chance(0.1):
            d.config["num_local_experts"] = d.config.pop("num_experts")

    def settings(self, d):
        super().settings(d)
        d.put("norm_topk_prob", True, False, absent=0.2, null=0)
        d.put("pad_token_id", 0, 3, absent=0, null=0)
        d.put("clip_qkv", 0.5, absent=0.9, null=0.05)


class GraniteMoe(Experts):
    name = model_type = "granitemoe"
    hf_class, base_class, has_head_dim = "GraniteMoeForCausalLM", "GraniteMoeModel", False
    biases, count, width = ("attention_bias",), "num_local_experts", None

    def settings(self, d):
        super().settings(d)
        for key in ("embedding_multiplier", "logits_scaling", "residual_multiplier",
                    "attention_multiplier"):
            d.put(key, 1.0, 0.22, 0.5, 3.0, absent=0.2, null=0)


class GraniteMoeShared(GraniteMoe):
    name = model_type = "granitemoeshared"
    hf_class, base_class = "GraniteMoeSharedForCausalLM", "GraniteMoeSharedModel"

    def settings(self, d):
        super().settings(d)
        d.put("shared_intermediate_size", 0, 7, 8, 20, absent=0.2, null=0)


class Glm4Moe(Grouped):
    name, model_type = "glm4moe", "glm4_moe"
    hf_class, base_class = "Glm4MoeForCausalLM", "Glm4MoeModel"
    biases, partial, eights = ("attention_bias", "use_qk_norm"), 0.6, True
    inert = {"num_nextn_predict_layers", *Experts.inert}

    def settings(self, d):
        super().settings(d)
        d.put("num_nextn_predict_layers", 1, absent=0.7, null=0)


class Dots1(Grouped):
    name = model_type = "dots1"
    goldens = 8
    hf_class, base_class, biases = "Dots1ForCausalLM", "Dots1Model", ("attention_bias",)

    def settings(self, d):
        super().settings(d)
        d.window()
        d.put("max_window_layers", 0, 1, 2, 62, absent=0.3, null=0)
        d.layer_types(0.2)


class Ernie45Moe(Experts):
    name, model_type = "ernie4_5-moe", "ernie4_5_moe"
    hf_class, base_class, biases = "Ernie4_5_MoeForCausalLM", "Ernie4_5_MoeModel", ("use_bias",)
    count, used = "moe_num_experts", "moe_k"

    def settings(self, d):
        super().settings(d)
        d.config["num_hidden_layers"] = d.pick(1, 2, 3)
        d.put("moe_num_shared_experts", 0, 1, 2, absent=0.3, null=0)
        d.put("moe_layer_start_index", 0, 1, 2, absent=0.3, null=0)
        d.put("moe_layer_end_index", -1, 1, 2, 7, absent=0.5, null=0)
        d.put("moe_layer_interval", 1, 2, absent=0.5, null=0)
        d.put("moe_norm_min", 1e-12, 0.5, absent=0.5, null=0)


class HunyuanMoe(Experts):
    name, model_type = "hunyuan-moe", "hunyuan_v1_moe"
    goldens = 8
    hf_class, base_class = "HunYuanMoEV1ForCausalLM", "HunYuanMoEV1Model"
    biases, used, width = ("attention_bias",), "moe_topk", None

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["head_dim"] = d.head_dim
        if d.chance(0.3):
            c["moe_topk"] = [c["moe_topk"]] * c["num_hidden_layers"]


class SolarOpen(Grouped):
    name = model_type = "solar_open"
    hf_class, base_class = "SolarOpenForCausalLM", "SolarOpenModel"
    biases, partial, eights = ("attention_bias",), 0.4, True

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim
        if d.chance(0.3):
            del d.config["intermediate_size"]


class MiniMaxM2(Experts):
    name, model_type = "minimax-m2", "minimax_m2"
    hf_class, base_class = "MiniMaxM2ForCausalLM", "MiniMaxM2Model"
    count, width, partial, eights = "num_local_experts", None, 0.3, True

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim
        if d.chance(0.4):
            d.config["rotary_dim"] = d.head_dim // d.pick(1, 2, 4)


class Lfm2Moe(Experts):
    name, model_type = "lfm2moe", "lfm2_moe"
    hf_class, base_class = "Lfm2MoeForCausalLM", "Lfm2MoeModel"
    inert = {"num_key_value_heads", *Experts.inert}

    def settings(self, d):
        super().settings(d)
        c = d.config
        c.pop("hidden_act", None)
        c.pop("rms_norm_eps", None)
        d.put("norm_eps", 1e-5, 1e-6, 1e-2, absent=0.2)
        d.put("conv_L_cache", 1, 2, 3, 5, absent=0.2)
        d.put("conv_bias", True, False, absent=0.4)
        kinds = ("conv", "conv", "full_attention")
        c["layer_types"] = [d.pick(*kinds) for _ in range(c["num_hidden_layers"])]
        d.put("num_dense_layers", 0, 1, 2, absent=0.3, null=0)
        d.put("norm_topk_prob", True, False, absent=0.3, null=0)
        d.put("use_expert_bias", True, False, absent=0.3, null=0)
        d.put("routed_scaling_factor", 1.0, 2.5, 0.7, absent=0.3, null=0)


class FlexOlmo(Olmoe):
    goldens = 9
    name, model_type = "flexolmo", "flex_olmo"
    hf_class, base_class, has_head_dim = "FlexOlmoForCausalLM", "FlexOlmoModel", True

    def settings(self, d):
        super().settings(d)
        d.config.pop("clip_qkv", None)


class ExaoneMoe(Grouped):
    name, model_type = "exaone-moe", "exaone_moe"
    goldens = 8
    hf_class, base_class, count = "ExaoneMoeForCausalLM", "ExaoneMoeModel", "num_experts"

    def sizes(self, d):
        super().sizes(d)
        d.config["num_shared_experts"] = d.config.pop("n_shared_experts")

    def settings(self, d):
        super().settings(d)
        n = d.config["num_hidden_layers"]
        d.window(null=0)
        d.put("sliding_window_pattern", 2, 3, 4, absent=0.4, null=0)
        d.layer_types(0.3)
        if d.chance(0.3):
            d.config["mlp_layer_types"] = [d.pick("dense", "sparse") for _ in range(n)]


class HyV3(Experts):
    name, model_type = "hy-v3", "hy_v3"
    hf_class, base_class, biases = "HYV3ForCausalLM", "HYV3Model", ("attention_bias", "mlp_bias")
    inert = {"enable_moe_fp32_combine", *Experts.inert}

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim

    def settings(self, d):
        super().settings(d)
        d.put("num_shared_experts", 1, 2, absent=0.3, null=0)
        d.put("router_scaling_factor", 1.0, 2.5, 0.7, absent=0.3, null=0)
        d.put("enable_moe_fp32_combine", True, False, absent=0.6, null=0)
        if d.chance(0.4):
            n = d.config["num_hidden_layers"]
            d.config["mlp_layer_types"] = [d.pick("dense", "sparse") for _ in range(n)]


class Phimoe(Experts):
    """LongRoPE only below its original length: beyond it the reference keeps the short factors,
    unlike the model's own code."""
    name = model_type = "phimoe"
    hf_class, base_class, has_head_dim = "PhimoeForCausalLM", "PhimoeModel", False
    count, width, counts = "num_local_experts", None, (2, 3, 5, 8)
    biases, eps = ("attention_bias", "lm_head_bias"), "rms_norm_eps"
    kinds = ("default",) * 3
    inert = {"input_jitter_noise", "num_experts_per_tok", "long_factor", "max_position_embeddings",
             "original_max_position_embeddings", *Experts.inert}

    def settings(self, d):
        super().settings(d)
        c = d.config
        d.put("num_experts_per_tok", 2, 2, 2, 1, absent=0.3, null=0)
        d.put("router_jitter_noise", 0.01, 0.3, 0.6, absent=0.2, null=0)
        d.put("input_jitter_noise", 0.1, absent=0.9, null=0)
        d.window()
        if d.chance(0.4):
            c.pop("rope_parameters", None)
            c["original_max_position_embeddings"] = 400
            c["max_position_embeddings"] = 512
            scaling = d.longrope(d.head_dim, 400, 512)
            c["original_max_position_embeddings"] = 400
            for name in ("factor", "attention_factor"):
                scaling.pop(name, None)
            near = d.pick(1.0, 1.2431, 0.8)
            c["rope_scaling"] = {"rope_type": "longrope", **scaling, "short_mscale": near,
                                 "long_mscale": near if d.chance(0.9) else 1.5}
            c["rope_scaling"]["original_max_position_embeddings"] = 400
            d.limits = []


class Afmoe(Experts):
    name = model_type = "afmoe"
    goldens = 8
    hf_class, base_class = "AfmoeForCausalLM", "AfmoeModel"

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim

    def settings(self, d):
        super().settings(d)
        d.put("num_shared_experts", 1, 2, absent=0.3, null=0)
        d.put("num_dense_layers", 0, 1, 2, absent=0.3, null=0)
        d.put("route_scale", 1.0, 2.5, 0.7, absent=0.3, null=0)
        d.put("mup_enabled", True, False, absent=0.3, null=0)
        d.put("attention_bias", True, False, absent=0.9, null=0)
        d.window(null=0)
        d.put("global_attn_every_n_layers", 2, 3, 4, absent=0.4, null=0)
        d.layer_types(0.3)


EXPERTS = [Qwen2Moe, Olmoe, GraniteMoe, GraniteMoeShared, Glm4Moe, Dots1, Ernie45Moe, HunyuanMoe,
           SolarOpen, MiniMaxM2, Lfm2Moe, FlexOlmo, ExaoneMoe, HyV3, Phimoe, Afmoe]
