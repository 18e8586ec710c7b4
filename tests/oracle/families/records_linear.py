"""Records of families whose layers keep running states beside attention: linear attention by the
gated delta rule."""
from families.records_dense import Kv

PART = ("default",) * 4 + ("linear", "linear", "llama3", "longrope")


# Where a layer reads them, another value makes other shapes, which the reference refuses.
SIZES = {"full_attention_interval", "head_dim", "num_key_value_heads", "linear_conv_kernel_dim",
         "linear_key_head_dim", "linear_num_key_heads", "linear_num_value_heads",
         "linear_value_head_dim"}


class DeltaNet(Kv):
    """Layers of linear attention beside some of attention, whose heads rotate in part."""
    kinds, partial, eights, inert = PART, 0.6, True, SIZES

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim
        d.config["num_hidden_layers"] = n = d.pick(1, 2, 3, 4)
        n_keys, shared = d.pick(1, 2, 3), d.pick(1, 1, 2, 3)
        d.config["linear_num_key_heads"] = n_keys
        d.config["linear_num_value_heads"] = n_keys * shared
        d.config["linear_key_head_dim"] = d.pick(1, 4, 6, 8, 16)
        d.config["linear_value_head_dim"] = d.pick(1, 4, 5, 8, 16)
        d.put("linear_conv_kernel_dim", 1, 2, 3, 4, 7, absent=0.3, null=0)
        if d.chance(0.7):
            kinds = ("linear_attention",) * 3 + ("full_attention",) * 2
            d.config["layer_types"] = [d.pick(*kinds) for _ in range(n)]
        elif d.chance(0.6):
            d.config["full_attention_interval"] = d.pick(1, 2, 3)


class Qwen35(DeltaNet):
    name, model_type = "qwen35", "qwen3_5_text"
    hf_class, base_class = "Qwen3_5ForCausalLM", "Qwen3_5TextModel"
    inert = SIZES | {"mamba_ssm_dtype", "attn_output_gate"}

    def settings(self, d):
        super().settings(d)
        for key, value in {"mamba_ssm_dtype": "float32", "attn_output_gate": True}.items():
            if d.chance(0.1):
                d.config[key] = value


LINEAR = [Qwen35]
