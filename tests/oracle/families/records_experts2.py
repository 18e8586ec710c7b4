"""More records of families with experts, and of those that share their attention."""
from families.records_dense import PART, Dense, Kv
from families.records_experts import Experts, GraniteMoeShared, Grouped


def granite_layers(d):
    """Windows, and bases of layers: one, one for each kind, or what no two layers share."""
    c = d.config
    n = c["num_hidden_layers"] = d.pick(1, 2, 3, 5)
    d.window(null=0)
    d.layer_types(0.4)
    kinds = c.get("layer_types") or [
        "sliding_attention" if i % 4 else "full_attention" for i in range(n)]
    form = d.pick("none", "none", "one", "kinds", "kinds", "null", "any")
    bases = {"one": [d.theta()] * 2, "kinds": [d.theta(), d.theta()]}.get(form)
    if bases:
        near = [bases[kind == "sliding_attention"] for kind in kinds]
        c["layer_rope_theta"] = [0 if d.chance(0.3) else base for base in near]
    elif form == "null":
        c["layer_rope_theta"] = None
    elif form == "any":
        c["layer_rope_theta"] = [d.pick(0, 100.0, 10000, 5000.0) for _ in range(n)]


class GraniteSwa(Kv):
    name = model_type = "granite_swa"
    hf_class, base_class, has_head_dim = "GraniteSWAForCausalLM", "GraniteSWAModel", False
    biases, goldens = ("attention_bias", "mlp_bias"), 9

    def settings(self, d):
        super().settings(d)
        for key in ("embedding_multiplier", "logits_scaling", "residual_multiplier",
                    "attention_multiplier"):
            d.put(key, 1.0, 0.22, 0.5, 3.0, absent=0.2, null=0)
        granite_layers(d)


class GraniteMoeSwa(GraniteMoeShared):
    name = model_type = "granitemoe_swa"
    hf_class, base_class = "GraniteMoeSWAForCausalLM", "GraniteMoeSWAModel"

    def settings(self, d):
        super().settings(d)
        granite_layers(d)


class Dbrx(Dense):
    """Settings are in two objects of the config."""
    name = model_type = "dbrx"
    hf_class, base_class, goldens = "DbrxForCausalLM", "DbrxModel", 9
    inert = {"resid_pdrop", "emb_pdrop", "ffn_config", "attn_config"}

    def sizes(self, d):
        n, n_kv, width = d.heads()
        c = d.config
        names = ("d_model", "n_heads", "n_layers", "max_seq_len")
        positions = d.pick(40, 64, 128, 256)
        c |= dict(zip(names, (n * width, n, d.pick(1, 2, 2), positions)))
        c["vocab_size"] = d.pick(61, 64, 97)
        c["attn_config"] = {"kv_n_heads": n_kv, "attn_pdrop": 0.0}
        d.head_dim, d.positions_limit = width, positions

    def settings(self, d):
        c = d.config
        self.bases(d)
        experts = d.pick(1, 2, 3, 4, 4, 5, 8)
        ffn = c["ffn_config"] = {"ffn_hidden_size": d.pick(7, 8, 12, 16),
                                 "moe_num_experts": experts,
                                 "moe_top_k": d.pick(*range(1, min(experts, 4) + 1))}
        if d.chance(0.02):
            ffn["moe_top_k"] = experts + 1
        if d.chance(0.4):
            ffn["moe_normalize_expert_weights"] = d.pick(1.0, 1.0, None, None, None, 2.0)
        if d.chance(0.4):
            ffn["ffn_act_fn"] = {"name": d.pick("silu", "silu", "gelu", "relu")}
        if d.chance(0.3):
            ffn |= {"moe_loss_weight": 0.05, "moe_jitter_eps": d.pick(None, 0.1)}
        c["attn_config"]["clip_qkv"] = d.pick(0.5, 2.0, 8, 8)  # the reference wants one
        if d.chance(0.2):
            c |= {"resid_pdrop": 0.1, "emb_pdrop": 0.1}

    def bases(self, d):
        """The reference wants the base among attention's settings and computes with the other one;
        a file that has no other means that of attention."""
        c, kind, base = d.config, d.pick(*PART), d.theta()
        c["attn_config"]["rope_theta"] = base
        scaling = {"rope_type": kind, **d.scaling(kind, d.head_dim, d.positions_limit)}
        if d.chance(0.5):
            c["rope_parameters"] = {**scaling, "rope_theta": base}
            return
        c["rope_theta"] = base
        if kind != "default":
            c["rope_scaling"] = scaling


class Cohere2Moe(Experts):
    """Dense layers before those with experts have windows and positions of their own."""
    name = model_type = "cohere2_moe"
    hf_class, base_class, eps = "Cohere2MoeForCausalLM", "Cohere2MoeModel", "layer_norm_eps"
    width, biases, goldens = None, ("attention_bias",), 14

    def sizes(self, d):
        super().sizes(d)
        c = d.config
        c["head_dim"] = d.head_dim
        n = c["num_hidden_layers"] = d.pick(1, 2, 3, 5)
        d.put("prefix_dense_intermediate_size", 9, 16, 30, absent=0.3, null=0.1)
        d.put("num_shared_experts", 0, 1, 2, absent=0.3, null=0)
        if d.chance(0.6):
            c["first_k_dense_replace"] = d.pick(*range(n + 1))
        elif d.chance(0.6):
            c["mlp_layer_types"] = [d.pick("dense", "sparse", "sparse") for _ in range(n)]

    def settings(self, d):
        super().settings(d)
        d.put("logit_scale", 0.0625, 0.25, 1.0, 2.5, absent=0.2, null=0)
        d.window(null=0.02)
        d.put("sliding_window_pattern", 2, 3, 4, absent=0.4, null=0)
        d.put("prefix_dense_sliding_window_pattern", 1, 2, 3, absent=0.4, null=0)
        d.layer_types(0.3)
        d.put("expert_selection_fn", "sigmoid", "softmax", absent=0.2, null=0)
        d.put("norm_topk_prob", True, False, absent=0.3, null=0)
        d.put("shared_expert_combination_strategy", "average", "sum", absent=0.3, null=0)
        d.put("rms_norm_eps", 1e-5, absent=0.95, null=0.5)
        if d.chance(0.9):  # the class does not read it, and wants the base among the others
            d.config.pop("rope_scaling", None)
        if "rope_parameters" in d.config:
            d.config["rope_parameters"].setdefault("rope_theta", d.theta())


class SarvamMoe(Grouped):
    """Under Ling's names of tensors."""
    name, model_type = "sarvam_moe", "sarvam_moe"
    hf_class, base_class = "SarvamMoEForCausalLM", "SarvamMoEModel"
    biases, partial, eights = ("attention_bias", "use_qk_norm"), 0.6, True
    inert = {"num_mtp_layers", *Experts.inert}

    def draw(self, key):
        case = super().draw(key)
        case["file"]["prefix"] = True  # the class renames the embedding of no others
        return case

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim

    def settings(self, d):
        super().settings(d)
        d.put("num_mtp_layers", 1, absent=0.8, null=0)


EXPERTS2 = (GraniteSwa, GraniteMoeSwa, Dbrx, Cohere2Moe, SarvamMoe)
