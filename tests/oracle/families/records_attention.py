"""Records of families whose attention differs from Llama's: latent rows, sinks, chunks, widths."""
from families.base import SCALED, Family
from families.draws import Draw
from families.records_dense import Dense
from families.records_experts import Experts, Grouped


class Latent(Family):
    """Keys and values of all heads are made of one short row."""
    null_values = False  # v_head_dim may be null

    def sizes(self, d):
        super().sizes(d)
        c, n = d.config, d.config["num_attention_heads"]
        c.pop("head_dim", None)
        c["num_key_value_heads"] = n
        if d.chance(0.03):
            c["num_key_value_heads"] = 1
        d.put("q_lora_rank", 4, 7, 16, 24, absent=0, null=0.3)
        c["kv_lora_rank"] = d.pick(5, 8, 16, 24, 33)
        c["qk_nope_head_dim"] = d.pick(1, 4, 6, 8, 16, 17)
        d.head_dim = c["qk_rope_head_dim"] = d.pick(2, 4, 6, 8, 16)
        c["v_head_dim"] = d.pick(1, 4, 8, 12, 16, 20)
        if self.null_values and d.chance(0.3):
            d.put("v_head_dim", None, absent=0.5)
            if c.get("v_head_dim", 1) is not None:
                c.pop("v_head_dim", None)


class MiniCpm3(Latent):
    name = model_type = "minicpm3"
    hf_class, base_class, has_head_dim = "MiniCPM3ForCausalLM", "MiniCPM3Model", False
    null_values = True
    inert = {"pretraining_tp", "num_key_value_heads"}

    def settings(self, d):
        self.common(d)
        d.rope(SCALED, d.head_dim, d.positions_limit)
        for key in ("attention_bias", "mlp_bias"):
            d.put(key, True, False, absent=0.4)
        d.put("scale_emb", 1, 12, 0.5, 2.5, absent=0.2, null=0)
        d.put("scale_depth", 1.4, 1, 0.7, absent=0.2, null=0.1)
        d.put("dim_model_base", 16, 64, 256, absent=0.2, null=0.1)


class Interleaved(Latent):
    """Those whose parts rotate in pairs of neighbours; halves are refused."""
    has_head_dim, biases = False, ("attention_bias",)
    inert = {"num_key_value_heads"}

    def settings(self, d):
        super().settings(d)
        d.put("rope_interleave", True, absent=0.5, null=0)
        if d.chance(0.03):
            d.config["rope_interleave"] = False


class Youtu(Interleaved, Dense):
    model_type = "youtu"
    hf_class, base_class = "YoutuForCausalLM", "YoutuModel"


class DeepSeekV3(Interleaved, Grouped):
    model_type = "deepseek_v3"
    hf_class, base_class = "DeepseekV3ForCausalLM", "DeepseekV3Model"
    inert = {"num_key_value_heads", "num_nextn_predict_layers"}

    def settings(self, d):
        super().settings(d)
        d.put("num_nextn_predict_layers", 1, absent=0.7, null=0)


class DeepSeekV2(Latent, Grouped):
    model_type, has_head_dim, biases = "deepseek_v2", False, ("attention_bias",)
    hf_class, base_class = "DeepseekV2ForCausalLM", "DeepseekV2Model"
    inert = {"num_key_value_heads", "norm_topk_prob"}

    def settings(self, d):
        super().settings(d)
        d.put("topk_method", "greedy", "group_limited_greedy", "group_limited_greedy", absent=0.3,
              null=0)
        if d.config.get("topk_method") != "group_limited_greedy" and d.chance(0.5):
            d.config["n_group"] = d.config["topk_group"] = None


class Glm4MoeLite(Interleaved, Grouped):
    model_type = "glm4_moe_lite"
    hf_class, base_class = "Glm4MoeLiteForCausalLM", "Glm4MoeLiteModel"
    inert = {"num_key_value_heads", "first_k_dense_replace"}

    def settings(self, d):
        super().settings(d)
        if d.chance(0.5):
            n = d.config["num_hidden_layers"]
            d.config["mlp_layer_types"] = [d.pick("dense", "sparse") for _ in range(n)]
        if d.chance(0.2):
            d.config["head_dim"] = d.config["qk_rope_head_dim"]


class DeepSeek2(Family):
    """What GGUF files call deepseek2: several classes, by turns."""
    name, goldens = "deepseek2", 12
    variants = (DeepSeekV3(), DeepSeekV2(), Glm4MoeLite(), Youtu())
    inert = set().union(*(variant.inert for variant in variants), {
        # Where groups do not count.
        "router_aux_loss_coef"})

    def draw(self, key):
        variant = Draw(f"{key}/class").pick(*self.variants)
        return {**variant.draw(key), "family": self.name}


class Indexed(Interleaved, Grouped):
    """Attention reads the keys that an index chooses: few, so that prompts have more. In long prompts
    some row is always near to another choice."""
    loosest = 0.02

    def longest(self, d):
        return 40

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        d.put("q_lora_rank", 4, 7, 16, 24, absent=0, null=0.02)
        c["index_n_heads"] = d.pick(1, 2, 3, 4, 5)
        c["index_head_dim"] = c["qk_rope_head_dim"] + d.pick(0, 0, 1, 2, 6, 13)
        if d.chance(0.02):
            c["index_head_dim"] = 1
        d.put("index_topk", 1, 2, 3, 4, 5, 6, 8, 11, 16, 17, 31, 64, absent=0.02, null=0)
        if c.get("index_topk", 0) in range(3, 300):
            d.limits.append(c["index_topk"])

    def settings(self, d):
        super().settings(d)
        c = d.config
        d.put("num_nextn_predict_layers", 1, absent=0.7, null=0)
        n = c["num_hidden_layers"]
        if d.chance(0.3):
            c["mlp_layer_types"] = [d.pick("dense", "sparse") for _ in range(n)]
        if d.chance(0.2):
            c["layer_types"] = ["indexed_attention"] * n
        if d.chance(0.2):
            c["head_dim"] = c["qk_rope_head_dim"]


# The last row: what the reference does not read, though we refuse false.
INDEX_SIZES = {"index_n_heads", "index_head_dim", "num_key_value_heads", "head_dim", "layer_types",
               "num_nextn_predict_layers", "rope_interleave", "first_k_dense_replace", *Grouped.inert}


class DeepSeek32(Indexed):
    name, model_type, goldens = "deepseek32", "deepseek_v32", 17
    hf_class, base_class = "DeepseekV32ForCausalLM", "DeepseekV32Model"
    inert = INDEX_SIZES


class GlmDsa(Indexed):
    """The index rotates neighbours, and layers may share what one before has chosen."""
    name, model_type, goldens = "glm-dsa", "glm_moe_dsa", 18
    hf_class, base_class = "GlmMoeDsaForCausalLM", "GlmMoeDsaModel"
    inert = INDEX_SIZES | {"indexer_types", "index_topk_pattern"}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        n = c["num_hidden_layers"] = d.pick(1, 2, 3, 4)
        kinds = [True, *(d.chance(0.5) for _ in range(n - 1))]
        if d.chance(0.03):
            kinds[0] = False
        way = d.pick("types", "types", "pattern", "list", "period", "period", "none")
        if way == "types":
            c["indexer_types"] = ["full" if full else "shared" for full in kinds]
        if way == "pattern":
            c["index_topk_pattern"] = "".join("F" if full else "S" for full in kinds)
        if way == "list":
            c["index_topk_pattern"] = ["full" if full else "shared" for full in kinds]
        if way in ("period", "types"):
            d.put("index_topk_freq", 0, 1, 2, 2, 3, 4, absent=0.1, null=0)
            d.put("index_skip_topk_offset", 1, 1, 2, 3, absent=0.3, null=0)


class Ministral3(Family):
    """Queries grow with their position, by rope_parameters."""
    goldens = 8
    name, model_type = "mistral3", "ministral3"
    hf_class, base_class = "Ministral3ForCausalLM", "Ministral3Model"

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["head_dim"] = d.head_dim
        c.setdefault("num_key_value_heads", c["num_attention_heads"])

    def settings(self, d):
        self.common(d)
        kind = d.pick(*SCALED)
        rope = {"rope_type": kind, **d.scaling(kind, d.head_dim, d.positions_limit)}
        rope["rope_theta"] = d.theta()
        if "original_max_position_embeddings" not in rope or d.chance(0.3):
            rope["original_max_position_embeddings"] = d.pick(3, 8, 20, 32, 64)
        d.limits.append(rope["original_max_position_embeddings"])
        rope["llama_4_scaling_beta"] = d.pick(0.1, 0.5, 1.0)
        if d.chance(0.3):
            rope["max_position_embeddings"] = d.positions_limit
        d.config["rope_parameters"] = rope
        if d.chance(0.12):  # the class has a default of its own
            d.config.pop("rope_parameters")
            if d.chance(0.4):
                d.config["rope_scaling"] = {}
        d.window()


class GptOss(Experts):
    """Sinks, windows on every other layer, experts with biases and limits."""
    name, model_type = "gpt-oss", "gpt_oss"
    hf_class, base_class, goldens = "GptOssForCausalLM", "GptOssModel", 8
    count, width, biases = "num_local_experts", None, ("attention_bias",)
    inert = {"router_aux_loss_coef", "hidden_act"}

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim

    def settings(self, d):
        super().settings(d)
        d.window(null=0)
        d.layer_types(0.3)
        d.put("swiglu_limit", 7.0, 0.5, 1.5, absent=0.3, null=0)
        if d.chance(0.3):
            d.config["swiglu_alpha"] = d.pick(1.702, 1.702, 1.702, 1.0)


class KimiLinear(Latent, Grouped):
    """Latent attention without positions in some layers, the gated delta rule in the others. Some
    keys have two names."""
    name, model_type = "kimi-linear", "kimi_linear"
    hf_class, base_class, goldens = "KimiLinearForCausalLM", "KimiLinearModel", 9
    has_head_dim, biases = False, ()
    inert = {"num_key_value_heads", "first_k_dense_replace", "mlp_layer_types", "layer_types",
             "linear_head_dim", "linear_num_heads", "linear_conv_kernel_dim", "linear_attn_config",
             "num_experts", "num_local_experts", "num_shared_experts", "n_shared_experts",
             "moe_intermediate_size", "intermediate_size", "max_position_embeddings",
             "model_max_length", "head_dim"}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        n = c["num_hidden_layers"] = d.pick(1, 2, 3, 4, 5)
        for names in (("n_routed_experts", "num_experts", "num_local_experts"),
                      ("num_experts_per_tok", "num_experts_per_token", "num_experts_per_tok"),
                      ("n_group", "num_expert_group", "n_group"),
                      ("n_shared_experts", "num_shared_experts", "n_shared_experts")):
            c[d.pick(*names[1:])] = c.pop(names[0])
        kinds = [d.pick("linear_attention", "linear_attention", "full_attention")
                 for _ in range(n)]
        linear = {"head_dim": d.pick(1, 4, 6, 8, 16), "num_heads": d.pick(1, 2, 3, 4),
                  "short_conv_kernel_size": d.pick(1, 2, 3, 4, 7)}
        if d.chance(0.6):
            if d.chance(0.8):
                linear["full_attn_layers"] = [i + 1 for i in range(n) if kinds[i][0] == "f"]
                linear["kda_layers"] = [i + 1 for i in range(n) if kinds[i][0] == "l"]
            c["linear_attn_config"] = linear
        else:
            c["linear_head_dim"], c["linear_num_heads"] = linear["head_dim"], linear["num_heads"]
            d.put("linear_conv_kernel_dim", 1, 2, 3, 7, absent=0.3, null=0)
            if d.chance(0.8):
                c["layer_types"] = kinds
        if d.chance(0.3):
            c["mlp_layer_types"] = [d.pick("dense", "sparse") for _ in range(n)]
            c.pop("first_k_dense_replace", None)

    def settings(self, d):
        self.common(d)
        c = d.config
        heads = c.get("linear_attn_config", {"head_dim": c.get("linear_head_dim")})
        if heads["head_dim"] == 1:  # of one number near 0 only the sign remains: GELU's rounding
            c["hidden_act"] = "silu"
        d.put("pad_token_id", 0, 3, absent=0, null=0)
        c[d.pick("moe_renormalize", "norm_topk_prob")] = d.pick(True, True, False)
        d.put("routed_scaling_factor", 1.0, 2.5, 0.7, absent=0.2, null=0)
        d.put("tie_word_embeddings", False, False, False, True, absent=0.5, null=0)
        d.put("attention_bias", True, False, absent=0.5, null=0)


ATTENTION = (MiniCpm3, DeepSeek2, DeepSeek32, GlmDsa, Ministral3, GptOss, KimiLinear)
