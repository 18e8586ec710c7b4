"""Records of dense families from before Llama: other names of sizes, fused projections, ALiBi, learned
positions."""
from families.base import GELU, Family
from families.records_dense import Dense, PART

RELU = ("relu",) * 8 + ("gelu", "silu", "gelu_new")
EXACT = ("gelu",) * 8 + ("gelu_new", "gelu_fast", "relu", "gelu_pytorch_tanh")


class Older(Family):
    """A family whose config has `names` for layers, width and heads, and key heads as many as heads.
    `times_four`: the feed-forward has no key; else `inner` is its name, which may be left out."""
    has_head_dim, eps, goldens = False, "layer_norm_epsilon", 9
    names = ("num_hidden_layers", "hidden_size", "num_attention_heads")
    inner, inner_absent, positions_key = "intermediate_size", 0.0, "max_position_embeddings"
    head_counts = (1, 2, 3, 4, 4, 6, 8)

    def sizes(self, d):
        n, _, width = d.heads(kv=False, eights=self.eights)
        n = n if n in self.head_counts else d.pick(*self.head_counts)
        c = d.config
        c["vocab_size"] = d.pick(61, 64, 71, 97, 128)
        layers, hidden, heads = self.names
        c[layers], c[hidden], c[heads] = d.pick(1, 2, 2, 3), n * width, n
        if self.inner:
            d.put(self.inner, 7, 8, 11, 16, 24, 33, 64, absent=self.inner_absent,
                  null=self.inner_absent / 4)
        d.head_dim, d.n_heads, d.positions_limit = width, n, self.limit(d)

    def limit(self, d):
        if not self.positions_key:
            return 2048
        d.put(self.positions_key, 40, 64, 100, 128, 256, 512, absent=0.1, null=0)
        return d.config.get(self.positions_key) or 2048

    def settings(self, d):
        d.put(self.eps, 1e-5, 1e-6, 1e-2, absent=0.2)
        d.put("tie_word_embeddings", True, False, absent=0.3, null=0)
        self.own(d)

    def own(self, d):
        pass


class GptNeoX(Older):
    name, model_type = "gptneox", "gpt_neox"
    hf_class, base_class, eights = "GPTNeoXForCausalLM", "GPTNeoXModel", True
    eps = "layer_norm_eps"
    inert = {"rope_theta", "partial_rotary_factor"}

    def own(self, d):
        c = d.config
        d.put("hidden_act", *EXACT)
        d.put("use_parallel_residual", True, False, absent=0.3, null=0)
        d.put("attention_bias", True, False, absent=0.4, null=0)
        kind = d.pick(*PART)
        c["rotary_pct"] = part = d.pick(0.5, 0.25, 0.25, 1.0)
        d.put("rotary_emb_base", d.theta(), absent=0.3, null=0)
        if kind != "default":
            rotated = int(d.head_dim * part)
            c["rope_scaling"] = {"rope_type": kind,
                                 **d.scaling(kind, rotated, d.positions_limit)}


class Falcon(Older):
    name = model_type = "falcon"
    hf_class, base_class = "FalconForCausalLM", "FalconModel"
    inner, inner_absent = "ffn_hidden_size", 0.3

    def own(self, d):
        c = d.config
        d.put("activation", *EXACT)
        d.put("bias", True, False, absent=0.3, null=0)
        layout = d.pick("one", "one", "few", "few", "all")
        if layout == "few":
            c["new_decoder_architecture"] = True
            d.put("num_kv_heads", *[i for i in range(1, d.n_heads + 1) if d.n_heads % i == 0],
                  null=0.05)
            d.put("num_ln_in_parallel_attn", 2, 2, 1, absent=0.4, null=0)
        else:
            d.put("new_decoder_architecture", False, absent=0.5, null=0)
            d.put("multi_query", layout == "one", absent=0.4 * (layout == "one"), null=0)
            d.put("parallel_attn", True, False, absent=0.4, null=0)
        if d.chance(0.25):
            c["alibi"] = True
        else:
            d.rope(("default", "default", "linear", "yarn"), d.head_dim, d.positions_limit,
                   partial=0)


class Bloom(Older):
    name = model_type = "bloom"
    hf_class, base_class = "BloomForCausalLM", "BloomModel"
    names, inner, positions_key = ("n_layer", "hidden_size", "n_head"), "", ""
    inert = {"slow_but_exact", "seq_length"}

    def sizes(self, d):
        super().sizes(d)
        if d.chance(0.2):
            d.config["n_embed"] = d.config.pop("hidden_size")
        if d.chance(0.2):
            d.config["num_hidden_layers"] = d.config.pop("n_layer")

    def own(self, d):
        if d.chance(0.04):
            d.config["apply_residual_connection_post_layernorm"] = d.pick(True, False)
        if d.chance(0.3):
            d.config["seq_length"] = 512


class Mpt(Older):
    name = model_type = "mpt"
    hf_class, base_class = "MptForCausalLM", "MptModel"
    names, inner, positions_key = ("n_layers", "d_model", "n_heads"), "", "max_seq_len"
    inert = {"max_seq_len", "alibi", "attn_pdrop", "attn_impl"}

    def own(self, d):
        inner = {}
        if d.chance(0.5):
            inner["clip_qkv"] = d.pick(0.5, 2.0, 8.0, None)
        if d.chance(0.4):
            inner["softmax_scale"] = d.pick(0.1, 0.4, 1.0, None)
        if d.chance(0.3):
            inner |= {"alibi": True, "attn_impl": "torch", "attn_pdrop": 0}
        if inner:
            d.config["attn_config"] = inner
        if d.chance(0.05):
            d.config |= d.pick({"logit_scale": 0.5}, {"no_bias": True}, {"expansion_ratio": 2},
                               {"attn_config": {"qk_ln": True}})

    def longest(self, d):
        return d.positions_limit


class Opt(Older):
    name = model_type = "opt"
    hf_class, base_class, eps = "OPTForCausalLM", "OPTModel", "unused_eps"
    inner = "ffn_dim"
    inert = {"unused_eps", "max_position_embeddings", "dropout", "layerdrop"}

    def own(self, d):
        c = d.config
        c.pop("unused_eps", None)
        d.put("activation_function", *RELU)
        d.put("enable_bias", True, False, absent=0.3, null=0)
        if d.chance(0.3):
            c["word_embed_proj_dim"] = d.pick(c["hidden_size"], c["hidden_size"], 16, None)
        if d.chance(0.06):
            c |= d.pick({"do_layer_norm_before": False}, {"_remove_final_layer_norm": True},
                        {"layer_norm_elementwise_affine": False})
        d.put("pad_token_id", 0, 3, absent=0, null=0)

    def longest(self, d):
        return d.positions_limit


class GptJ(Older):
    name = model_type = "gptj"
    hf_class, base_class, eights = "GPTJForCausalLM", "GPTJModel", True
    names, inner, inner_absent = ("n_layer", "n_embd", "n_head"), "n_inner", 0.3
    positions_key = "n_positions"
    inert = {"n_positions"}

    def sizes(self, d):
        super().sizes(d)
        d.config["rotary_dim"] = 2 * d.pick(*range(1, d.head_dim // 2 + 1))

    def own(self, d):
        d.put("activation_function", *GELU, absent=0.2)

    def longest(self, d):
        return d.positions_limit


class CodeGen(GptJ):
    name = model_type = "codegen"
    hf_class, base_class = "CodeGenForCausalLM", "CodeGenModel"
    head_counts = (4, 4, 8)


class BioGpt(Older):
    name = model_type = "biogpt"
    hf_class, base_class = "BioGptForCausalLM", "BioGptModel"
    eps, inert = "layer_norm_eps", {"layer_norm_eps", "max_position_embeddings"}

    def longest(self, d):
        return d.positions_limit

    def own(self, d):
        d.put("hidden_act", *EXACT, null=0)
        d.put("scale_embedding", True, True, True, True, True, False, absent=0.4, null=0)


class OpenAiGpt(Older):
    name = model_type = "openai-gpt"
    hf_class, base_class = "OpenAIGPTLMHeadModel", "OpenAIGPTModel"
    names, inner, positions_key = ("n_layer", "n_embd", "n_head"), "", "n_positions"
    inert = {"n_positions"}

    def limit(self, d):
        super().limit(d)
        return d.config.get("n_positions") or 512

    def longest(self, d):
        return d.positions_limit

    def own(self, d):
        d.put("afn", "gelu", "gelu", "relu", "silu", "swish", null=0)


class StarCoder(Older):
    name, model_type = "starcoder", "gpt_bigcode"
    hf_class, base_class = "GPTBigCodeForCausalLM", "GPTBigCodeModel"
    names, inner, inner_absent = ("n_layer", "n_embd", "n_head"), "n_inner", 0.3
    positions_key = "n_positions"
    inert = {"n_positions", "attention_softmax_in_fp32"}

    def own(self, d):
        d.put("activation_function", *GELU, absent=0.2)
        d.put("multi_query", True, False, absent=0.3, null=0)
        if d.chance(0.04):
            d.config["scale_attn_weights"] = d.pick(True, False)
        d.put("attention_softmax_in_fp32", True, False, absent=0.6, null=0)

    def longest(self, d):
        return d.positions_limit


class Olmo3(Dense):
    name, model_type = "olmo3", "olmo3"
    hf_class, base_class, has_head_dim = "Olmo3ForCausalLM", "Olmo3Model", False
    goldens = 9

    def settings(self, d):
        self.common(d)
        c, kind = d.config, d.pick("default", "default", "linear", "yarn", "yarn", "llama3")
        c["num_hidden_layers"] = d.pick(1, 2, 3, 5)
        scaling = d.scaling(kind, d.head_dim, d.positions_limit)
        scaling.pop("truncate", None)  # not read there
        dialect = d.pick("v4", "v4", "v5", "v5", "none")
        if dialect == "v4":
            d.put("rope_theta", d.theta(), null=0)
            if kind != "default":
                c["rope_scaling"] = {"rope_type": kind, **scaling}
        if dialect == "v5":
            full, local = {"rope_type": kind, **scaling}, {"rope_type": "default"}
            for part in (full, local):
                if d.chance(0.8):
                    part["rope_theta"] = d.theta()
            c["rope_parameters"] = {"full_attention": full, "sliding_attention": local}
        d.put("attention_bias", True, False, absent=0.4)
        d.window(null=0)
        d.layer_types(0.3)


class InternLm3(Dense):
    name, model_type = "internlm3", "internlm3"
    hf_class, base_class, biases, goldens = "InternLM3ForCausalLM", "InternLM3Model", (), 9

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["hidden_size"] = d.head_dim * c["num_attention_heads"] * d.pick(1, 1, 2)
        c["head_dim"] = d.head_dim
        c.setdefault("num_key_value_heads", c["num_attention_heads"])

    def settings(self, d):
        super().settings(d)
        d.put("pad_token_id", 0, 3, absent=0, null=0)
        if d.chance(0.6):
            d.config["qkv_bias"] = d.config["bias"] = d.pick(True, False)


DENSE2 = [BioGpt, OpenAiGpt, Olmo3, InternLm3, GptNeoX, Falcon, Bloom, Mpt, Opt, GptJ, CodeGen, StarCoder]
