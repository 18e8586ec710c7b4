"""Records of models that answer a source text: the first ids of a prompt."""
from families.base import GELU, PLAIN, Family


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

    heads = ("own", "own", "other", "other", "other", "same")
    extras = ([], [], [], ["copies"], ["cross_distances"])

    def draw(self, key):
        case = super().draw(key)
        d = self.more(key)
        source = d.pick(*self.source_lengths)
        case["file"]["prefix"] = True
        case["file"]["head"] = d.pick(*self.heads)
        case["file"]["extras"] = d.pick(*self.extras)
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


class T5Encoder(Answering):
    """Encoders of the three, alone."""
    name, model_type = "t5encoder", "t5"
    kinds = {"t5": "T5EncoderModel", "mt5": "MT5EncoderModel", "umt5": "UMT5EncoderModel"}
    inert = Answering.inert | {"tie_word_embeddings", "scale_decoder_outputs",
                               "num_decoder_layers"}
    moving = set()

    def draw(self, key):
        case = Family.draw(self, key)
        d = self.more(key)
        kind = d.pick(*self.kinds)
        case["config"] |= {"model_type": kind, "architectures": [self.kinds[kind]]}
        case["file"] |= {"prefix": True, "head": "own", "extras": d.pick([], [], ["copies"])}
        return case


class GemmaSide(Family):
    """The settings of one side."""
    divides = True

    def sizes(self, d):
        super().sizes(d)
        d.config["head_dim"] = d.head_dim
        d.config.setdefault("num_key_value_heads", d.config["num_attention_heads"])
        d.config.setdefault("hidden_activation", "gelu_pytorch_tanh")

    def settings(self, d):
        d.put("rms_norm_eps", 1e-5, 1e-6, 1e-2, absent=0.2)
        d.put("hidden_activation", *GELU)
        d.put("query_pre_attn_scalar", 9, 16, 100, 256, d.head_dim)
        d.put("attn_logit_softcapping", 50.0, 5.0, 2.5, absent=0.2, null=0.2)
        d.put("final_logit_softcapping", 30.0, 6.0, 3.0, absent=0.2, null=0.2)
        d.rope(PLAIN * 2 + ("linear", "linear", "yarn", "yarn", "llama3", "longrope", "dynamic"),
               d.head_dim, d.positions_limit, partial=0)
        d.window(null=0.02)
        d.layer_types(0.25)
        d.put("hidden_act", "relu", absent=0.9)
        d.put("is_decoder", True, False, absent=0.8)

    @staticmethod
    def other_settings(d):
        return {"attn_logit_softcapping": d.pick(50.0, 5.0, 2.5, None),
                "query_pre_attn_scalar": d.pick(9, 16, 100, 256)}


class T5Gemma(Answering):
    """Gemma 2 on both sides, of sizes of their own."""
    name = model_type = "t5gemma"
    hf_class, base_class = "T5GemmaForConditionalGeneration", "T5GemmaModel"
    goldens = 14
    heads, extras = ("own", "own", "own", "other"), ([],)
    inert = Answering.inert - {"max_position_embeddings"} | {
        "classifier_dropout_rate", "cross_attention_hidden_size", "hidden_act",
        "encoder.final_logit_softcapping"}
    moving = set()

    def sizes(self, d):
        side, vocab = GemmaSide(), d.pick(61, 64, 71, 97, 128)
        kept = d.config
        kept["vocab_size"] = vocab
        for name in ("encoder", "decoder"):
            if name == "decoder" and d.chance(0.3):  # sides that are alike
                kept[name] = {**kept["encoder"], **GemmaSide.other_settings(d)}
                continue
            d.config = {}
            side.sizes(d)
            side.settings(d)
            d.config["vocab_size"] = vocab
            kept[name] = d.config
        d.config = kept

    def settings(self, d):
        c = d.config
        d.put("tie_word_embeddings", True, False, False, absent=0.3, null=0)
        d.put("decoder_start_token_id", 0, 3, absent=0.5, null=0)
        d.put("is_encoder_decoder", True, absent=0.5, null=0)
        if d.chance(0.3):
            c |= {"dropout_rate": 0.1, "classifier_dropout_rate": 0.0}
        if d.chance(0.3):
            c["decoder"]["cross_attention_hidden_size"] = 7
        if d.chance(0.03):
            c["encoder"]["attention_bias"] = True
        if d.chance(0.03):
            c["decoder"]["vocab_size"] = c["encoder"]["vocab_size"] + 3


ANSWERING = (T5, Mt5, Umt5, T5Gemma, T5Encoder)
