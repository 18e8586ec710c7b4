"""One record for each family: how its configs are drawn. The keys that a family's reference class
reads must all be drawn; those named `inert` may not change a logit, and every other one must be seen
to do so (knobs.py)."""
from families.base import GELU, SCALED, SILU, Thorough
from families.records_attention import ATTENTION
from families.records_dense import DENSE
from families.records_dense2 import DENSE2
from families.records_distances import DISTANCES
from families.records_encoders import ENCODERS
from families.records_experts import EXPERTS
from families.records_experts2 import EXPERTS2
from families.records_gemma import UNLIKE
from families.records_linear import LINEAR
from families.records_more import MORE
from families.records_memory import MEMORIES
from families.records_scan import SCANS
from families.records_source import ANSWERING


class Llama(Thorough):
    name = model_type = "llama"
    hf_class, base_class, divides = "LlamaForCausalLM", "LlamaModel", True
    inert = {"sliding_window", "use_sliding_window", "max_window_layers", "layer_types"}

    def settings(self, d):
        self.common(d)
        d.rope(SCALED, d.head_dim, d.positions_limit)
        d.put("attention_bias", True, False, absent=0.5)
        d.put("mlp_bias", True, False, absent=0.5)
        if d.chance(0.06):  # what a converted Qwen or Mistral leaves behind
            d.window()
            d.put("use_sliding_window", False, absent=0.5)


class Mistral(Thorough):
    name = model_type = "mistral"
    hf_class, base_class = "MistralForCausalLM", "MistralModel"
    inert = {"layer_types", "attention_bias"}

    def sizes(self, d):
        super().sizes(d)
        d.config["num_key_value_heads"] = d.config.get("num_key_value_heads",
                                                       d.config["num_attention_heads"])

    def settings(self, d):
        self.common(d)
        d.rope(SCALED, d.head_dim, d.positions_limit)
        d.window()


class Qwen(Thorough):
    inert = {"attention_bias"}

    def sizes(self, d):
        super().sizes(d)
        d.config.setdefault("num_key_value_heads", d.config["num_attention_heads"])

    def settings(self, d):
        self.common(d)
        d.rope(SCALED, d.head_dim, d.positions_limit)
        d.put("use_sliding_window", True, True, False, absent=0.2)
        d.window()
        d.put("max_window_layers", 0, 1, 2, 28, absent=0.2)
        d.layer_types(0.2)


class Qwen2(Qwen):
    name = model_type = "qwen2"
    hf_class, base_class = "Qwen2ForCausalLM", "Qwen2Model"


class Qwen3(Qwen):
    name = model_type = "qwen3"
    hf_class, base_class = "Qwen3ForCausalLM", "Qwen3Model"
    inert = set()

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim

    def settings(self, d):
        super().settings(d)
        d.put("attention_bias", True, False, absent=0.4)


class Qwen3Moe(Thorough):
    name, model_type = "qwen3moe", "qwen3_moe"
    hf_class, base_class = "Qwen3MoeForCausalLM", "Qwen3MoeModel"
    inert = {"router_aux_loss_coef", "max_window_layers"}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["head_dim"] = d.head_dim
        c.setdefault("num_key_value_heads", c["num_attention_heads"])
        c["num_hidden_layers"] = d.pick(1, 2, 3, 4)
        n = d.pick(1, 2, 3, 5, 8, 17)
        c["num_experts" if d.chance(0.9) else "num_local_experts"] = n
        c["num_experts_per_tok"] = d.pick(*range(1, min(n, 5) + 1))
        if d.chance(0.03):
            c["num_experts_per_tok"] = d.pick(0, n + 1)
        c["moe_intermediate_size"] = d.pick(7, 8, 12, 33)

    def settings(self, d):
        self.common(d)
        d.rope(SCALED, d.head_dim, d.positions_limit)
        d.put("attention_bias", True, False, absent=0.4)
        d.put("norm_topk_prob", True, False, absent=0.2)
        d.put("decoder_sparse_step", 1, 1, 2, 3, absent=0.4, null=0)
        if d.chance(0.5):
            layers = range(d.config["num_hidden_layers"] + 1)
            d.config["mlp_only_layers"] = [i for i in layers if d.chance(0.3)]
        d.put("use_sliding_window", True, False, absent=0.3)
        d.window()
        d.put("router_aux_loss_coef", 0.5, absent=0.8)


class Mixtral(Thorough):
    name = model_type = "mixtral"
    hf_class, base_class = "MixtralForCausalLM", "MixtralModel"
    inert = {"router_aux_loss_coef", "router_jitter_noise", "attention_bias"}

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c.setdefault("num_key_value_heads", c["num_attention_heads"])
        n = d.pick(1, 2, 3, 5, 8)
        c["num_experts" if d.chance(0.1) else "num_local_experts"] = n
        if n != 2 or d.chance(0.7):
            c["num_experts_per_tok"] = d.pick(*range(1, min(n, 4) + 1))

    def settings(self, d):
        self.common(d)
        d.rope(SCALED, d.head_dim, d.positions_limit)
        d.window()
        d.put("router_jitter_noise", 0.1, absent=0.8)


class Gemma(Thorough):
    name = model_type = "gemma"
    hf_class, base_class = "GemmaForCausalLM", "GemmaModel"
    activation = "hidden_act"

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim
        d.config.setdefault("num_key_value_heads", d.config["num_attention_heads"])

    def settings(self, d):
        self.common(d, ("gelu_pytorch_tanh",) * 8 + ("gelu", "gelu_new", "silu"))
        if self.activation != "hidden_act" or d.chance(0.3):
            d.put("hidden_activation", *GELU)
        d.put("attention_bias", True, False, absent=0.6)
        if d.chance(0.02):
            d.config["use_bidirectional_attention"] = d.pick(True, False)
        self.positions(d)

    def positions(self, d):
        d.rope(SCALED, d.head_dim, d.positions_limit)


class Gemma1(Gemma):
    inert = {"hidden_activation"}


class Gemma2(Gemma):
    name = model_type = "gemma2"
    hf_class, base_class = "Gemma2ForCausalLM", "Gemma2Model"
    activation, divides = "hidden_activation", True
    inert = {"hidden_act"}

    def settings(self, d):
        super().settings(d)
        d.put("query_pre_attn_scalar", 9, 16, 100, 256, d.head_dim)
        d.put("attn_logit_softcapping", 50.0, 5.0, 2.5, absent=0.2, null=0.2)
        d.put("final_logit_softcapping", 30.0, 6.0, 3.0, absent=0.2, null=0.2)
        d.window()
        d.layer_types(0.25)


class Gemma3(Gemma2):
    name, model_type = "gemma3", "gemma3_text"
    hf_class, base_class = "Gemma3ForCausalLM", "Gemma3TextModel"
    inert = {"hidden_act", "attn_logit_softcapping", "_sliding_window_pattern"}

    def settings(self, d):
        d.config["num_hidden_layers"] = d.pick(1, 2, 3, 7)
        super().settings(d)
        if d.chance(0.9):  # published configs say null
            d.config["attn_logit_softcapping"] = None
        d.put("sliding_window_pattern", 2, 3, 6, absent=0.4, null=0)
        if d.chance(0.05):
            d.config["_sliding_window_pattern"] = d.pick(2, 3, 6)

    def positions(self, d):
        c, kind = d.config, d.pick("default", "default", "linear", "linear", "yarn", "llama3")
        scaling = d.scaling(kind, d.head_dim, d.positions_limit)
        dialect = d.pick("v4", "v4", "v5", "v5", "v5", "none")
        if dialect == "v4":
            d.put("rope_theta", d.theta(), null=0)
            d.put("rope_local_base_freq", d.theta(), null=0)
            if kind != "default" or d.chance(0.3):
                c["rope_scaling"] = {"rope_type": kind, **scaling}
        if dialect == "v5":
            full = {"rope_type": kind, **scaling}
            local = {"rope_type": d.pick("default", "default", "default", "linear")}
            if local["rope_type"] == "linear":
                local["factor"] = d.pick(2.0, 4.0)
            for part in (full, local):
                if d.chance(0.8):
                    part["rope_theta"] = d.theta()
            c["rope_parameters"] = {"full_attention": full, "sliding_attention": local}
            if d.chance(0.2):
                c["rope_theta"] = d.theta()
            if d.chance(0.1):
                c["rope_local_base_freq"] = d.theta()
        if d.chance(0.03):
            c["rope_parameters"] = {"rope_type": kind, "rope_theta": d.theta(), **scaling}


class GemmaEmbedding(Gemma3):
    name = "gemma-embedding"
    hf_class = base_class = "Gemma3TextModel"
    inert = Gemma3.inert | {"final_logit_softcapping"}
    goldens = 9

    def settings(self, d):
        super().settings(d)
        d.config["use_bidirectional_attention"] = True
        if d.config.get("sliding_window", 0) is None:
            d.config["sliding_window"] = 8


class Gemma3n(Gemma3):
    name, model_type = "gemma3n", "gemma3n_text"
    hf_class, base_class = "Gemma3nForCausalLM", "Gemma3nTextModel"
    # Changed alone, they fit no file; the bound of coefficients is of training.
    inert = {"hidden_act", "head_dim", "num_key_value_heads", "hidden_size_per_layer_input",
             "vocab_size_per_layer_input", "intermediate_size", "attention_bias",
             "altup_num_inputs", "laurel_rank", "altup_coef_clip",
             "num_attention_heads"}
    goldens = 4

    def sizes(self, d):
        super().sizes(d)
        d.config["num_hidden_layers"] = d.pick(2, 2, 3, 3, 4, 5, 6, 12)

    def settings(self, d):
        c = d.config
        d.put("hidden_activation", *GELU, null=0)
        d.put("rms_norm_eps", 1e-5, 1e-6, 1e-2, absent=0.2, null=0)
        d.put("tie_word_embeddings", True, False, False, absent=0.2, null=0)
        d.put("attention_bias", True, False, absent=0.6, null=0)
        d.put("final_logit_softcapping", 30.0, 6.0, 3.0, absent=0.3, null=0)
        d.put("sliding_window", 3, 5, 8, 16, 17, 33, 100, absent=0.1, null=0)
        if c.get("sliding_window"):
            d.limits.append(c["sliding_window"])
        d.layer_types(0.7)
        self.streams(d)
        self.sharing(d)
        self.positions(d)

    def streams(self, d):
        c = d.config
        n = c["altup_num_inputs"] = d.pick(1, 2, 3, 4, 4, 4)
        c["altup_active_idx"] = d.pick(*[0] * 3, *range(n))
        d.put("altup_correct_scale", True, False, absent=0.3, null=0)
        d.put("altup_coef_clip", 0.01, absent=0.8, null=0)
        c["laurel_rank"] = d.pick(1, 3, 8, 13)
        c["hidden_size_per_layer_input"] = d.pick(2, 5, 8, 16)
        c["vocab_size_per_layer_input"] = c["vocab_size"] + d.pick(0, 0, -20, 7)
        layers = range(c["num_hidden_layers"])
        if d.chance(0.4):
            c["intermediate_size"] = [d.pick(7, 8, 16, 24) for _ in layers]
        if d.chance(0.8):
            c["activation_sparsity_pattern"] = [d.pick(0.0, 0.0, 0.95, 0.9, 0.5, 0.2)
                                                for _ in layers]

    def sharing(self, d):
        """Layers that share follow those of all kinds."""
        n = d.config["num_hidden_layers"]
        types = d.config.get("layer_types") or [
            "full_attention" if (i + 1) % 5 == 0 else "sliding_attention" for i in range(n)]
        right = [i for i in range(n) if set(types[:n - i]) == set(types)]
        d.config["num_kv_shared_layers"] = d.pick(0, *right[-3:])


class Phi3(Thorough):
    name = model_type = "phi3"
    hf_class, base_class, has_head_dim = "Phi3ForCausalLM", "Phi3Model", False

    def settings(self, d):
        self.common(d)
        d.put("pad_token_id", 0, 3, absent=0, null=0)  # absent means 32000, beyond our vocabularies
        d.put("original_max_position_embeddings", 32, 64, 4096, absent=0.5, null=0)
        kinds = ("default", "default", "longrope", "longrope", "longrope", "su", "yarn")
        d.rope(kinds + (d.pick("linear", "llama3", "dynamic", "default", "default"),), d.head_dim,
               d.positions_limit, partial=0.25)
        scaling = d.config.get("rope_scaling") or d.config.get("rope_parameters") or {}
        if "yarn" in scaling.values() and "factor" in scaling:  # the old name of longrope
            longrope = d.longrope(d.head_dim, d.pick(16, 32), d.positions_limit)
            for name in set(scaling) - {"type", "rope_type", "rope_theta"}:
                del scaling[name]
            scaling |= longrope
        d.window(absent=0.4)


class Gpt2(Thorough):
    name = model_type = "gpt2"
    hf_class, base_class = "GPT2LMHeadModel", "GPT2Model"

    def sizes(self, d):
        c = d.config
        n, _, width = d.heads(even=False, kv=False)
        c |= {"vocab_size": d.pick(61, 64, 97), "n_embd": n * width, "n_layer": d.pick(1, 2, 3),
              "n_head": n, "n_positions": d.pick(40, 130, 300)}

    def settings(self, d):
        d.put("n_inner", 7, 16, 33, 64, absent=0.4, null=0.2)
        d.put("n_ctx", d.config["n_positions"], 1024, absent=0.4, null=0)
        activations = ("gelu_new",) * 8 + ("gelu_pytorch_tanh", "gelu", "relu", "gelu_fast")
        d.put("activation_function", *activations, absent=0.2)
        d.put("layer_norm_epsilon", 1e-5, 1e-2, 1e-6, absent=0.2)
        d.put("scale_attn_weights", True, False, absent=0.7, null=0)
        d.put("scale_attn_by_inverse_layer_idx", True, False, absent=0.7, null=0)
        d.put("reorder_and_upcast_attn", True, False, absent=0.7, null=0)
        d.put("tie_word_embeddings", True, False, absent=0.8)
        d.put("add_cross_attention", True, False, absent=0.95)
        d.put("embd_pdrop", 0.0, 0.3, absent=0.5)
        d.put("summary_type", "cls_index", absent=0.8)
        d.put("task_specific_params", {"text-generation": {"do_sample": True}}, absent=0.8)
        if d.chance(0.05):
            d.config["hidden_act"] = "silu"  # not read under this name

    def longest(self, d):
        return d.config["n_positions"]

    inert = {"reorder_and_upcast_attn", "n_positions", "hidden_act"}


class Starcoder2(Thorough):
    name = model_type = "starcoder2"
    hf_class, base_class, has_head_dim = "Starcoder2ForCausalLM", "Starcoder2Model", False
    inert = {"layer_types"}

    def sizes(self, d):
        super().sizes(d)
        d.config.setdefault("num_key_value_heads", d.config["num_attention_heads"])

    def settings(self, d):
        self.common(d, GELU, eps="norm_epsilon")
        d.put("use_bias", True, False, absent=0.4)
        d.rope(SCALED, d.head_dim, d.positions_limit)
        d.window()
        d.put("residual_dropout", 0.1, absent=0.8)


class Lfm2(Thorough):
    name = model_type = "lfm2"
    hf_class, base_class = "Lfm2ForCausalLM", "Lfm2Model"
    inert = {"tie_embedding", "block_dim", "num_heads", "use_pos_enc", "block_use_swiglu"}

    def settings(self, d):
        c = d.config
        d.put("norm_eps", 1e-5, 1e-6, 1e-2, absent=0.2)
        d.put("tie_word_embeddings", True, False, False, absent=0.2)
        d.put("tie_embedding", True, False, absent=0.9, null=0)
        c.setdefault("num_key_value_heads", c["num_attention_heads"])
        d.rope(SCALED, d.head_dim, d.positions_limit)
        d.put("conv_L_cache", 1, 2, 3, 4, 5, 9, absent=0.2)
        d.put("conv_bias", True, False, absent=0.4)
        n = c["num_hidden_layers"] = d.pick(1, 2, 3, 4, 5)
        if d.chance(0.6):
            kinds = ("conv", "conv", "full_attention") * 8 + ("sliding_attention",)
            c["layer_types"] = [d.pick(*kinds) for _ in range(n)]
        if d.chance(0.4):
            c["full_attn_idxs"] = sorted(i for i in range(n + 1) if d.chance(0.4))
        d.put("block_auto_adjust_ff_dim", True, False, absent=0.3)
        d.put("block_ffn_dim_multiplier", 1.0, 1.3, 0.5, 2, absent=0.3)
        d.put("block_multiple_of", 1, 3, 8, 32, 256, absent=0.1)
        if d.chance(0.2):
            c["block_ff_dim"] = d.pick(9, 16, 40)
            if d.chance(0.5):
                del c["intermediate_size"]
        for name, value in {"block_dim": 99, "num_heads": 3, "use_pos_enc": True,
                            "block_use_swiglu": False}.items():
            if d.chance(0.1):
                c[name] = value


FAMILIES = {record.name: record for record in (
    Llama(), Mistral(), Mixtral(), Qwen2(), Qwen3(), Qwen3Moe(), Gemma1(), Gemma2(), Gemma3(),
    GemmaEmbedding(), Gemma3n(), *UNLIKE, Phi3(), Gpt2(), Starcoder2(), Lfm2(),
    *(record() for record in (*DENSE, *DENSE2, *EXPERTS, *LINEAR, *ATTENTION, *MORE, *SCANS,
                              *ENCODERS, *EXPERTS2, *DISTANCES, *MEMORIES,
                              *ANSWERING)))}
