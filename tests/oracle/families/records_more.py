"""Records of further decoders: those that are nearly Llama, and those with a feature of their own."""
from families.base import GELU, Family
from families.records_dense import RELU2, Dense, Kv
from families.records_experts import Experts


class Jais2(Dense):
    name = model_type = "jais2"
    hf_class, base_class, divides, eps = "Jais2ForCausalLM", "Jais2Model", True, "layer_norm_eps"
    biases, activations, goldens = ("attention_bias", "mlp_bias"), RELU2, 9


class VaultGemma(Dense):
    name = model_type = "vaultgemma"
    hf_class, base_class, divides = "VaultGemmaForCausalLM", "VaultGemmaModel", True
    goldens = 9

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim
        d.config.setdefault("num_key_value_heads", d.config["num_attention_heads"])

    def settings(self, d):
        super().settings(d)
        d.config.pop("hidden_act", None)
        d.put("hidden_activation", *GELU)
        d.put("query_pre_attn_scalar", 9, 16, 100, 256, d.head_dim, null=0)
        d.put("attn_logit_softcapping", 50.0, 5.0, 2.5, absent=0.2, null=0.2)
        d.put("final_logit_softcapping", 30.0, 6.0, 3.0, absent=0.2, null=0.2)
        d.window()
        d.layer_types(0.25)


class Ministral(Kv):
    name = model_type = "ministral"
    hf_class, base_class, biases, goldens = "MinistralForCausalLM", "MinistralModel", (), 9

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim

    def settings(self, d):
        super().settings(d)
        d.window()
        d.layer_types(0.5)


class IQuestCoder(Kv):
    name = model_type = "iquestcoder"
    hf_class, base_class, divides = "IQuestCoderForCausalLM", "IQuestCoderModel", True
    biases, goldens = ("attention_bias", "mlp_bias"), 9

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim

    def settings(self, d):
        super().settings(d)
        if d.chance(0.04):
            d.config |= {"clip_qkv": d.pick(None, 2.0), "use_sliding_window": False}


class Llama4(Experts):
    """Chunks, layers without positions, queries that grow, experts that weigh their inputs."""
    name, model_type, goldens = "llama4", "llama4_text", 9
    hf_class, base_class, biases = "Llama4ForCausalLM", "Llama4TextModel", ("attention_bias",)
    count, width = "num_local_experts", "intermediate_size"
    inert = {"router_jitter_noise", "moe_layers", "interleave_moe_layer_step",
             "intermediate_size_mlp", *Experts.inert}

    def draw(self, key):
        case = super().draw(key)
        case["file"]["prefix"] = True  # the class loads no others
        return case

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["head_dim"] = d.head_dim
        c["num_hidden_layers"] = n = d.pick(1, 2, 3, 5)
        c["intermediate_size_mlp"] = d.pick(7, 8, 16, 33)
        if d.chance(0.3):
            c["moe_layers"] = [i for i in range(n) if d.chance(0.6)]
        d.put("interleave_moe_layer_step", 1, 2, absent=0.4, null=0)

    def settings(self, d):
        super().settings(d)
        c = d.config
        n = c["num_hidden_layers"]
        d.put("use_qk_norm", True, False, absent=0.3, null=0)
        d.put("attention_chunk_size", 3, 8, 16, 17, 33, 4096, absent=0.1, null=0.1)
        if c.get("attention_chunk_size"):
            d.limits.append(c["attention_chunk_size"])
        d.put("no_rope_layer_interval", 2, 3, 4, absent=0.4, null=0)
        if d.chance(0.4):
            c["no_rope_layers"] = [d.pick(0, 1) for _ in range(n)]
        if c.get("attention_chunk_size", 1) is not None:
            d.layer_types(0.2, ("chunked_attention", "full_attention"))
        d.put("attn_temperature_tuning", True, False, absent=0.5, null=0)
        d.put("floor_scale", 3, 8, 20, 64, absent=0.2, null=0)
        d.put("attn_scale", 0.1, 0.5, 1.0, absent=0.3, null=0)
        d.put("router_jitter_noise", 0.1, absent=0.9, null=0)


MORE = (Llama4, Jais2, VaultGemma, Ministral, IQuestCoder)
