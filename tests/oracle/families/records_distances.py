"""Records of encoders whose scores have something added for distances."""
from families.records_encoders import AfterPadding, Encoder


class MpNet(AfterPadding):
    name = model_type = "mpnet"
    hf_class, base_class = "MPNetForMaskedLM", "MPNetModel"
    scorer, types, usual_types, moving = "MPNetForSequenceClassification", (), 0, set()
    inert = AfterPadding.inert | {"relative_attention_num_buckets"}

    def own(self, d):
        super().own(d)
        d.config.pop("pad_token_id", None)  # the class has it as a constant
        for key in ("is_decoder", "position_embedding_type", "add_cross_attention"):
            d.config.pop(key, None)
        d.put("relative_attention_num_buckets", 32, 32, 40, absent=0.5, null=0)
        if d.chance(0.03):
            d.config["relative_attention_num_buckets"] = 16


class DebertaV2(Encoder):
    name = model_type = "deberta-v2"
    hf_class, base_class, goldens = "DebertaV2ForMaskedLM", "DebertaV2Model", 9
    scorer, types, usual_types = "DebertaV2ForSequenceClassification", (0, 0, 1, 2), 0
    inert = Encoder.inert | {"legacy", "pooler_dropout"}
    moving = set()

    def own(self, d):
        super().own(d)
        c = d.config
        for key in ("is_decoder", "position_embedding_type", "add_cross_attention"):
            c.pop(key, None)
        d.put("relative_attention", True, True, True, True, False, absent=0.05, null=0)
        d.put("position_biased_input", True, False, False, absent=0.2, null=0)
        kinds = [["p2c", "c2p"], "p2c|c2p", "c2p", "p2c", ["c2p"], []]
        d.put("pos_att_type", *kinds, kinds[0], kinds[1], absent=0.05, null=0.02)
        d.put("max_relative_positions", -1, -1, 6, 20, 64, absent=0.2, null=0)
        d.put("position_buckets", -1, 2, 4, 5, 8, 16, 32, absent=0.3, null=0)
        d.put("share_att_key", True, False, absent=0.3, null=0)
        d.put("norm_rel_ebd", "layer_norm", "none", absent=0.3, null=0)
        d.put("pooler_hidden_act", "gelu", "tanh", "relu", absent=0.5, null=0)
        d.limits += [9, 17, 40]
        if d.chance(0.1):
            c |= {"legacy": False, "pooler_dropout": 0}
        if d.chance(0.05):
            c |= d.pick({"conv_kernel_size": 3, "conv_act": "gelu"}, {"embedding_size": 4},
                        {"embedding_size": c["hidden_size"]}, {"conv_kernel_size": 0})


DISTANCES = (MpNet, DebertaV2)
