"""Records of families whose layers are unlike each other."""
from families.base import GELU, Thorough
from families.draws import Draw

KINDS = ("full_attention", "sliding_attention", "sliding_attention")
STRUCTURE = {
    # Changed alone, they fit no file.
    "head_dim", "global_head_dim", "num_global_key_value_heads", "num_key_value_heads",
    "per_layer_config", "use_double_wide_mlp",
    "hidden_size_per_layer_input", "vocab_size_per_layer_input", "intermediate_size",
    "enable_moe_block", "num_experts", "moe_intermediate_size", "attention_bias"}


class Gemma4(Thorough):
    name, model_type = "gemma4", "gemma4_text"
    hf_class, base_class = "Gemma4ForCausalLM", "Gemma4TextModel"
    inert = STRUCTURE | {"use_bidirectional_attention", "max_position_embeddings"}
    goldens = 6

    def sizes(self, d):
        c = d.config
        super().sizes(d)
        c["head_dim"] = d.head_dim
        c["num_key_value_heads"] = c.get("num_key_value_heads", c["num_attention_heads"])
        c["num_hidden_layers"] = d.pick(1, 2, 3, 3, 4, 6)
        d.layer_types(0.8, KINDS)
        c["global_head_dim"] = d.global_dim = d.pick(4, 8, 12, 16, 22, d.head_dim, 2 * d.head_dim)
        d.put("attention_k_eq_v", True, False, absent=0.3, null=0)
        n = c["num_attention_heads"]
        divisors = [i for i in range(1, n + 1) if n % i == 0]
        d.put("num_global_key_value_heads", *divisors, absent=0.3, null=0.1)
        if d.chance(0.3):
            self.exceptions(d)

    @staticmethod
    def types(d):
        usual = ["full_attention" if (i + 1) % 6 == 0 else "sliding_attention"
                 for i in range(d.config["num_hidden_layers"])]
        return (d.config.get("layer_types") or usual)[:-1] + ["full_attention"]

    def sharable(self, d, n):
        """How many layers may share: those before them have one of each kind; rarely, any number."""
        types = self.types(d)
        right = [i for i in range(n) if set(types[:n - i]) == set(types)]
        return range(n) if d.chance(0.05) else right[-3:] + right[:1]

    def exceptions(self, d):
        """As transformers writes them when it saves a config."""
        c, types = d.config, self.types(d)
        own = {"head_dim": c.pop("global_head_dim")}
        heads = c.pop("num_global_key_value_heads", None)
        if heads is not None and c.get("attention_k_eq_v"):
            own["num_key_value_heads"] = heads
        c["per_layer_config"] = {str(i): dict(own) for i, kind in enumerate(types)
                                 if kind == "full_attention"}

    def settings(self, d):
        c = d.config
        d.put("hidden_activation", *GELU, null=0)
        d.put("rms_norm_eps", 1e-5, 1e-6, 1e-2, absent=0.2, null=0)
        d.put("tie_word_embeddings", True, False, False, absent=0.2, null=0)
        d.put("attention_bias", True, False, absent=0.5, null=0)
        d.put("final_logit_softcapping", 30.0, 6.0, 3.0, absent=0.3, null=0.2)
        d.put("sliding_window", 3, 5, 8, 16, 17, 33, 100, absent=0.1, null=0)
        if c.get("sliding_window"):
            d.limits.append(c["sliding_window"])
        d.put("use_bidirectional_attention", "vision", "vision", "all", absent=0.8)
        self.sharing(d)
        self.inputs(d)
        self.experts(d)
        self.positions(d)

    def sharing(self, d):
        n = d.config["num_hidden_layers"]
        if d.chance(0.6):
            d.config["num_kv_shared_layers"] = d.pick(*self.sharable(d, n))
        d.put("use_double_wide_mlp", True, True, False, absent=0.4, null=0)

    def inputs(self, d):
        c = d.config
        c["hidden_size_per_layer_input"] = d.pick(0, 0, 2, 5, 8, 16)
        c["vocab_size_per_layer_input"] = c["vocab_size"] + d.pick(0, 0, 0, 7)

    def experts(self, d):
        c = d.config
        d.put("enable_moe_block", True, False, absent=0.4, null=0)
        if c.get("enable_moe_block") or d.chance(0.1):
            c["num_experts"] = n = d.pick(1, 2, 3, 4, 5, 8, 17)
            c["top_k_experts"] = d.pick(*range(1, min(n, 5) + 1))
            c["moe_intermediate_size"] = d.pick(7, 8, 12, 16)

    def positions(self, d):
        if d.chance(0.15):
            return
        full = {"rope_type": d.pick(*("proportional",) * 6, "default", "default", "linear")}
        if full["rope_type"] == "proportional":
            if d.chance(0.8):
                full["partial_rotary_factor"] = d.pick(0.25, 0.5, 0.75, 1.0, 0.3)
            if d.chance(0.2):
                full["factor"] = d.pick(2.0, 4.0)
        local = {"rope_type": d.pick("default", "default", "default", "linear")}
        for part in (full, local):
            if part["rope_type"] == "linear":
                part["factor"] = d.pick(2.0, 4.0)
            if d.chance(0.98):
                part["rope_theta"] = d.theta()
        d.config["rope_parameters"] = {"full_attention": full, "sliding_attention": local}


class Gemma4Unified(Gemma4):
    model_type = "gemma4_unified_text"
    hf_class, base_class = "Gemma4UnifiedForCausalLM", "Gemma4UnifiedTextModel"

    def inputs(self, d):
        pass

    def experts(self, d):
        pass


class Gemma4s(Gemma4):
    """What GGUF files call gemma4: two classes, by turns."""
    variants, goldens = (Gemma4(), Gemma4(), Gemma4Unified()), 6

    def draw(self, key):
        variant = Draw(f"{key}/class").pick(*self.variants)
        return {**(super().draw(key) if type(variant) is Gemma4 else variant.draw(key)),
                "family": self.name}


UNLIKE = [Gemma4s()]
