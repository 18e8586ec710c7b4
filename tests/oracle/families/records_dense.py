"""Records of dense families that differ from Llama in the order of a block, scales or positions."""
from families.base import SCALED, SILU, GELU, Family

PART = ("default",) * 4 + ("linear", "linear", "llama3", "longrope", "yarn")
RELU2 = ("relu2",) * 8 + ("silu", "gelu", "relu")


class Dense(Family):
    """A family with the usual keys: `biases` are truth values, `kinds` the scalings of positions."""
    eps, activations, kinds, partial = "rms_norm_eps", SILU, SCALED, 0.0
    biases, goldens = ("attention_bias",), 12

    def settings(self, d):
        self.common(d, self.activations, self.eps)
        d.rope(self.kinds, d.head_dim, d.positions_limit, partial=self.partial)
        for key in self.biases:
            d.put(key, True, False, absent=0.4)


class Kv(Dense):
    """Absent key heads mean a number of the class."""

    def sizes(self, d):
        super().sizes(d)
        d.config.setdefault("num_key_value_heads", d.config["num_attention_heads"])


class Olmo(Dense):
    name = model_type = "olmo"
    hf_class, base_class, has_head_dim = "OlmoForCausalLM", "OlmoModel", False

    def settings(self, d):
        super().settings(d)
        d.config.pop("rms_norm_eps", None)
        d.put("clip_qkv", 0.5, 2.0, 8.0, absent=0.5, null=0.1)


class Olmo2(Dense):
    name = model_type = "olmo2"
    hf_class, base_class = "Olmo2ForCausalLM", "Olmo2Model"
    has_head_dim = False


class Granite(Dense):
    name = model_type = "granite"
    hf_class, base_class = "GraniteForCausalLM", "GraniteModel"
    biases = ("attention_bias", "mlp_bias")

    def settings(self, d):
        super().settings(d)
        for key in ("embedding_multiplier", "logits_scaling", "residual_multiplier",
                    "attention_multiplier"):
            d.put(key, 1.0, 0.22, 0.5, 3.0, absent=0.2, null=0)


class SmolLm3(Kv):
    name = model_type = "smollm3"
    hf_class, base_class, has_head_dim = "SmolLM3ForCausalLM", "SmolLM3Model", False
    biases = ("attention_bias", "mlp_bias")
    inert = {"use_sliding_window", "sliding_window"}

    def settings(self, d):
        super().settings(d)
        d.config["num_hidden_layers"] = n = d.pick(1, 2, 3, 5)
        d.put("pad_token_id", 0, 3, absent=0, null=0)
        d.put("no_rope_layer_interval", 2, 3, 4, absent=0.4, null=0)
        if d.chance(0.4):
            d.config["no_rope_layers"] = [d.pick(0, 1) for _ in range(n)]
        if d.chance(0.1):
            d.config |= {"use_sliding_window": False, "sliding_window": d.pick(None, 8)}


class CommandR(Dense):
    name, model_type, eps = "command-r", "cohere", "layer_norm_eps"
    hf_class, base_class, has_head_dim = "CohereForCausalLM", "CohereModel", False

    def settings(self, d):
        super().settings(d)
        d.put("logit_scale", 0.0625, 0.25, 1.0, 2.5, absent=0.2, null=0)
        d.put("pad_token_id", 0, 3, absent=0.5, null=0)
        if d.chance(0.4):
            d.config["use_qk_norm"] = d.pick(True, True, False)


class Cohere2(Dense):
    name, model_type, eps = "cohere2", "cohere2", "layer_norm_eps"
    hf_class, base_class, has_head_dim = "Cohere2ForCausalLM", "Cohere2Model", False

    def settings(self, d):
        super().settings(d)
        d.config["num_hidden_layers"] = d.pick(1, 2, 3, 5)
        d.put("logit_scale", 0.0625, 0.25, 1.0, 2.5, absent=0.2, null=0)
        d.window(null=0.02)
        d.put("sliding_window_pattern", 2, 3, 4, absent=0.4, null=0)
        d.layer_types(0.3)


class StableLm(Kv):
    name, model_type, eps = "stablelm", "stablelm", "layer_norm_eps"
    hf_class, base_class, has_head_dim = "StableLmForCausalLM", "StableLmModel", False
    biases, kinds, partial, eights = ("use_qkv_bias",), PART, 0.6, True

    def settings(self, d):
        super().settings(d)
        d.put("use_parallel_residual", True, False, absent=0.3)
        if d.chance(0.4):
            d.config["qk_layernorm"] = d.pick(True, True, False)


class Nemotron(Kv):
    name, model_type, eps = "nemotron", "nemotron", "norm_eps"
    hf_class, base_class = "NemotronForCausalLM", "NemotronModel"
    biases, kinds, partial, eights = ("attention_bias", "mlp_bias"), PART, 0.6, True
    activations = RELU2


class Arcee(Dense):
    name = model_type = "arcee"
    hf_class, base_class, divides = "ArceeForCausalLM", "ArceeModel", True
    biases, activations = ("attention_bias", "mlp_bias"), RELU2


class Glm(Kv):
    name, model_type = "chatglm", "glm"
    hf_class, base_class = "GlmForCausalLM", "GlmModel"
    kinds, partial, eights = PART, 0.6, True

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim

    def settings(self, d):
        super().settings(d)
        d.put("pad_token_id", 0, 3, absent=0, null=0)


class Glm4(Glm):
    name = model_type = "glm4"
    hf_class, base_class = "Glm4ForCausalLM", "Glm4Model"


class Exaone4(Kv):
    name = model_type = "exaone4"
    hf_class, base_class, biases = "Exaone4ForCausalLM", "Exaone4Model", ()

    def settings(self, d):
        super().settings(d)
        d.config["num_hidden_layers"] = d.pick(1, 2, 3, 5)
        d.window(null=0.3)
        d.put("sliding_window_pattern", 2, 3, 4, absent=0.4, null=0)
        d.layer_types(0.3)


class Exaone(Kv):
    name = model_type = "exaone"
    hf_class, base_class = "ExaoneForCausalLM", "ExaoneModel"
    biases, divides = ("attention_bias", "mlp_bias"), True

    def settings(self, d):
        super().settings(d)
        names = {"num_hidden_layers": "num_layers", "rms_norm_eps": "layer_norm_epsilon",
                 "hidden_act": "activation_function"}
        for name, other in names.items():
            if name in d.config and d.chance(0.3):
                d.config[other] = d.config.pop(name)


class Cwm(Kv):
    name = model_type = "cwm"
    hf_class, base_class, biases = "CwmForCausalLM", "CwmModel", ("mlp_bias",)
    divides = True

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim

    def settings(self, d):
        super().settings(d)
        d.config["num_hidden_layers"] = d.pick(1, 2, 3, 5)
        d.put("pad_token_id", 0, 3, absent=0.5, null=0)
        d.window(null=0.02)
        d.layer_types(0.5)


class Phi(Dense):
    name, model_type, eps = "phi2", "phi", "layer_norm_eps"
    hf_class, base_class, has_head_dim, biases = "PhiForCausalLM", "PhiModel", False, ()
    kinds, partial, eights, activations = PART, 0.6, True, GELU
    inert = {"embd_pdrop", "resid_pdrop"}

    def settings(self, d):
        super().settings(d)
        d.put("qk_layernorm", True, False, absent=0.6, null=0)


class SeedOss(Kv):
    name = model_type = "seed_oss"
    hf_class, base_class = "SeedOssForCausalLM", "SeedOssModel"
    biases = ("attention_bias", "attention_out_bias", "mlp_bias")
    inert = {"residual_dropout"}

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim
        if d.config["hidden_size"] == d.head_dim * d.config["num_attention_heads"] and d.chance(0.3):
            d.config["head_dim"] = None


class Ernie45(SeedOss):
    name = model_type = "ernie4_5"
    hf_class, base_class, biases = "Ernie4_5ForCausalLM", "Ernie4_5Model", ("use_bias",)


class Hunyuan(Dense):
    name, model_type = "hunyuan-dense", "hunyuan_v1_dense"
    hf_class, base_class = "HunYuanDenseV1ForCausalLM", "HunYuanDenseV1Model"

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim


class Helium(Kv):
    name = model_type = "helium"
    hf_class, base_class, biases = "HeliumForCausalLM", "HeliumModel", ("attention_bias", "mlp_bias")
    has_head_dim = False

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim


DENSE = [Olmo, Olmo2, Granite, SmolLm3, CommandR, Cohere2, StableLm, Nemotron, Arcee, Glm, Glm4,
         Exaone, Exaone4, Cwm, Phi, SeedOss, Ernie45, Hunyuan, Helium]
