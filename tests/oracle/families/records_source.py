"""Records of models that answer a source text: the first ids of a prompt."""
from families.base import Family


class Answering(Family):
    """T5 and its descendants."""
    activations = ("gated-gelu", "gated-gelu", "relu", "gated-silu", "gated-relu", "gelu", "silu",
                   "gated-gelu_new")
    goldens = 8
    inert = {"n_positions", "max_position_embeddings", "dropout_rate", "classifier_dropout",
             "initializer_factor", "decoder_start_token_id", "is_encoder_decoder"}
    moving = {"tie_word_embeddings"}  # whether logits are divided
    source_lengths = (1, 5, 16, 17, 40, 140)

    def sizes(self, d):
        c = d.config
        n = d.pick(1, 2, 3, 4, 6)
        c["vocab_size"] = d.pick(61, 64, 71, 97, 128)
        c[d.pick("d_model", "d_model", "hidden_size")] = d.pick(10, 12, 24, 30, 36, 40)
        c["d_kv"] = d.pick(1, 3, 4, 6, 8, 11, 16, 20)
        c["d_ff"] = d.pick(7, 8, 11, 16, 24, 33)
        c["num_layers"] = d.pick(1, 2, 2, 3)
        d.put("num_decoder_layers", 1, 2, 3, absent=0.4, null=0.1)
        c["num_heads"] = n

    def settings(self, d):
        d.put("feed_forward_proj", *self.activations, absent=0.2, null=0)
        d.put("layer_norm_epsilon", 1e-5, 1e-6, 1e-2, absent=0.2, null=0)
        d.put("tie_word_embeddings", True, False, False, absent=0.3, null=0)
        d.put("relative_attention_num_buckets", 4, 6, 8, 10, 16, 32, absent=0.2, null=0)
        n = d.config.get("relative_attention_num_buckets", 32)
        d.put("relative_attention_max_distance", *(n // 2 + i for i in (1, 2, 9, 40)), 128,
              absent=0.2, null=0)
        d.put("decoder_start_token_id", 0, 3, absent=0.3, null=0)
        d.put("is_encoder_decoder", True, absent=0.7, null=0)
        if d.chance(0.2):
            d.config |= {"n_positions": 512, "dropout_rate": 0.1, "classifier_dropout": 0.0}
        if d.chance(0.2):  # as they are written beside feed_forward_proj, or unlike it
            d.put("dense_act_fn", "silu", "relu", "gelu_new", absent=0.2, null=0)
            d.put("is_gated_act", True, False, absent=0.2, null=0)
        if d.chance(0.2):
            d.config["scale_decoder_outputs"] = d.pick(True, False)
        if d.chance(0.03):
            d.config["feed_forward_proj"] = d.pick("gated-gated-relu", "half-relu")

    def draw(self, key):
        case = super().draw(key)
        d = self.more(key)
        source = d.pick(*self.source_lengths)
        case["file"]["prefix"] = True
        case["file"]["head"] = d.pick("own", "own", "other", "other", "other", "same")
        case["file"]["extras"] = d.pick([], [], [], ["copies"], ["cross_distances"])
        return {**case, "source": source, "lengths": [source + n for n in case["lengths"]]}

    @staticmethod
    def more(key):
        from families.draws import Draw
        return Draw(f"{key}/source")


class T5(Answering):
    name = model_type = "t5"
    hf_class, base_class = "T5ForConditionalGeneration", "T5Model"
    goldens = 10


class Mt5(Answering):
    name = model_type = "mt5"
    hf_class, base_class = "MT5ForConditionalGeneration", "MT5Model"
    inert = Answering.inert | {"tie_word_embeddings", "scale_decoder_outputs"}
    moving = set()


class Umt5(Answering):
    name = model_type = "umt5"
    hf_class, base_class = "UMT5ForConditionalGeneration", "UMT5Model"


ANSWERING = (T5, Mt5, Umt5)
