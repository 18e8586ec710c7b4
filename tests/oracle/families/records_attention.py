"""Records of families whose attention differs from Llama's: latent rows, sinks, chunks, widths."""
from families.base import SCALED, Family


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


class Youtu(Latent):
    """The dense one of those that GGUF files call deepseek2."""
    name, model_type = "deepseek2", "youtu"
    hf_class, base_class, has_head_dim = "YoutuForCausalLM", "YoutuModel", False
    inert = {"num_key_value_heads"}

    def settings(self, d):
        self.common(d)
        d.rope(SCALED, d.head_dim, d.positions_limit)
        d.put("attention_bias", True, False, absent=0.4)
        d.put("rope_interleave", True, absent=0.5)
        if d.chance(0.05):
            d.config["rope_interleave"] = False


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
        d.window()


ATTENTION = (MiniCpm3, Youtu, Ministral3)
