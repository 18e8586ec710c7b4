"""Records of families whose layers are a matrix memory."""
from families.base import Family


class XLstm(Family):
    name = model_type = "xlstm"
    hf_class, base_class, goldens = "xLSTMForCausalLM", "xLSTMModel", 12
    # Other values make other shapes, which the reference refuses; how and in which chunks it computes.
    inert = {"hidden_size", "embedding_dim", "num_hidden_layers", "num_blocks", "num_heads",
             "qk_dim_factor", "v_dim_factor", "ffn_proj_factor", "ffn_round_up_to_multiple_of",
             "use_bias", "weight_mode", "add_out_norm", "chunk_size", "mode", "return_last_states",
             "norm_reduction_force_float32", "autocast_kernel_dtype", "max_inference_chunksize",
             "chunkwise_kernel", "sequence_kernel", "step_kernel", "inference_state_dtype"}

    def sizes(self, d):
        c = d.config
        n = c["num_heads"] = d.pick(1, 2, 3, 4)
        c["hidden_size"] = width = n * d.pick(4, 8, 12, 20)
        d.put("embedding_dim", width, absent=0.6, null=0.1)
        c[d.pick("num_hidden_layers", "num_blocks")] = d.pick(1, 2, 3)
        c["vocab_size"] = d.pick(61, 64, 71, 97)
        d.put("qk_dim_factor", 0.25, 0.5, 0.75, 1.25, absent=0.3, null=0)
        d.put("v_dim_factor", 0.5, 1.0, 1.25, 2.0, absent=0.3, null=0)
        d.put("ffn_proj_factor", 0.7, 1.0, 1.33, 2.667, absent=0.3, null=0)
        d.put("ffn_round_up_to_multiple_of", 1, 3, 8, 16, absent=0.2, null=0)

    def settings(self, d):
        d.put("norm_eps", 1e-6, 1e-5, 1e-2, absent=0.2, null=0)
        d.put("eps", 1e-6, 0.05, 0.5, absent=0.3, null=0)
        d.put("gate_soft_cap", 0.7, 2.0, 15.0, absent=0.2, null=0)
        d.put("output_logit_soft_cap", 1.5, 4.0, 30.0, absent=0.2, null=0)
        d.put("tie_word_embeddings", False, False, False, True, absent=0.5, null=0)
        for key, values in {"chunk_size": (4, 16), "mode": ("inference",),
                            "return_last_states": (True,), "add_out_norm": (True, False),
                            "use_bias": (False, False, True), "weight_mode": ("single", "fused"),
                            "max_inference_chunksize": (5, 64)}.items():
            d.put(key, *values, absent=0.85, null=0)


MEMORIES = [XLstm]
