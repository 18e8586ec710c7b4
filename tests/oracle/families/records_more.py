"""Records of further decoders: those that are nearly Llama, and those with a feature of their own."""
from families.base import GELU, Family
from families.records_dense import PART, RELU2, Dense, Kv
from families.records_attention import Latent
from families.records_experts import Experts, Grouped


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


class GptNeo(Family):
    name = model_type = "gpt_neo"
    hf_class, base_class, goldens = "GPTNeoForCausalLM", "GPTNeoModel", 9
    inert = {"max_position_embeddings", "resid_dropout", "embed_dropout", "classifier_dropout",
             "num_layers", "num_heads", "attention_layers"}

    def sizes(self, d):
        c = d.config
        n, _, width = d.heads(even=False, kv=False)
        c |= {"vocab_size": d.pick(61, 64, 97), "hidden_size": n * width, "num_heads": n,
              "max_position_embeddings": d.pick(40, 130, 300)}
        kinds = [d.pick("global", "local") for _ in range(d.pick(1, 2, 2, 3))]
        times = d.pick(1, 1, 2)
        c["attention_types"] = [[kinds, times]]
        if d.chance(0.2):
            c["attention_types"].append([["local"], 1])
        c["num_layers"] = sum(len(some) * often for some, often in c["attention_types"])
        if d.chance(0.03):
            c["num_layers"] += 1

    def settings(self, d):
        d.put("intermediate_size", 7, 16, 33, 64, absent=0.4, null=0.2)
        d.put("window_size", 3, 8, 16, 17, 33, absent=0.1, null=0)
        d.limits.append(d.config.get("window_size", 256))
        activations = ("gelu_new",) * 8 + ("gelu_pytorch_tanh", "gelu", "relu", "gelu_fast")
        d.put("activation_function", *activations, absent=0.2)
        d.put("layer_norm_epsilon", 1e-5, 1e-2, 1e-6, absent=0.2)
        d.put("tie_word_embeddings", True, False, absent=0.8)
        d.put("resid_dropout", 0.1, absent=0.8, null=0)

    def longest(self, d):
        return d.config["max_position_embeddings"]


class NanoChat(Dense):
    name = model_type = "nanochat"
    hf_class, base_class, has_head_dim = "NanoChatForCausalLM", "NanoChatModel", False
    activations, goldens = RELU2, 9

    def settings(self, d):
        super().settings(d)
        d.put("final_logit_softcapping", 15.0, 6.0, 3.0, absent=0.2, null=0.2)


class Persimmon(Dense):
    name = model_type = "persimmon"
    hf_class, base_class, has_head_dim = "PersimmonForCausalLM", "PersimmonModel", False
    eps, activations, biases, goldens = "layer_norm_eps", RELU2, (), 9
    kinds, partial, eights = PART, 0.6, True
    inert = {"hidden_dropout"}

    def sizes(self, d):
        super().sizes(d)
        d.config.pop("num_key_value_heads", None)

    def settings(self, d):
        super().settings(d)
        d.put("qk_layernorm", True, False, absent=0.4, null=0)
        d.put("hidden_dropout", 0.1, absent=0.9, null=0)


class BitNet(Kv):
    name = model_type = "bitnet"
    hf_class, base_class, has_head_dim = "BitNetForCausalLM", "BitNetModel", False
    activations, goldens = RELU2, 9


class Apertus(Dense):
    name = model_type = "apertus"
    hf_class, base_class, has_head_dim = "ApertusForCausalLM", "ApertusModel", False
    activations, goldens = ("xielu",) * 8 + ("silu", "relu2"), 9


class Mistral4(Latent, Grouped):
    """Queries grow with their position, by rope_parameters; only those scaled by YaRN are run."""
    name = model_type = "mistral4"
    hf_class, base_class, has_head_dim = "Mistral4ForCausalLM", "Mistral4Model", False
    biases, goldens = ("attention_bias",), 9
    inert = {"num_key_value_heads", "rope_interleave", *Grouped.inert}

    def settings(self, d):
        super().settings(d)
        c = d.config
        for key in ("rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor"):
            c.pop(key, None)
        if d.chance(0.9):
            part, plain = c["qk_rope_head_dim"], c["qk_nope_head_dim"]
            rope = {"rope_type": "yarn", **d.scaling("yarn", d.head_dim, d.positions_limit)}
            rope["rope_theta"] = d.theta()
            rope["original_max_position_embeddings"] = d.pick(3, 8, 20, 32, 64)
            d.limits.append(rope["original_max_position_embeddings"])
            rope["llama_4_scaling_beta"] = d.pick(0.1, 0.5, 1.0)
            if d.chance(0.3):
                rope["partial_rotary_factor"] = part / (part + plain)
            c["rope_parameters"] = rope
        d.put("rope_interleave", True, absent=0.5, null=0)
        if d.chance(0.03):
            c["rope_interleave"] = False


class HyperClovaX(Dense):
    name = model_type = "hyperclovax"
    hf_class, base_class, divides = "HyperCLOVAXForCausalLM", "HyperCLOVAXModel", True
    biases, goldens = ("attention_bias", "mlp_bias"), 9

    def settings(self, d):
        super().settings(d)
        for key in ("embedding_multiplier", "logits_scaling", "residual_multiplier",
                    "attention_multiplier"):
            d.put(key, 1.0, 0.22, 0.5, 3.0, absent=0.2, null=0)
        if d.chance(0.1):
            d.config["attention_multiplier"] = None
        if d.chance(0.04):
            d.config["use_post_norm"] = d.pick(True, False)


MORE = (HyperClovaX, Apertus, Mistral4, GptNeo, NanoChat, Persimmon, BitNet, Llama4, Jais2, VaultGemma, Ministral, IQuestCoder)
