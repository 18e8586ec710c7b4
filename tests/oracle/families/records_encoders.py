"""Records of encoders: their hidden states are compared, not logits."""
from families import jina_bert
from families.draws import Draw
from families.records_dense import Dense, PART
from families.records_dense2 import EXACT, Older


def score(case, d, scorer, n_types=0):
    """Makes the case one of a classifier; of a pair of texts, where there are types for them."""
    c = case["config"]
    c["architectures"] = [scorer]
    c["num_labels"] = d.pick(1, 1, 2, 3, 5)
    case["file"]["prefix"] = True
    if n_types > 1 and d.chance(0.5):
        case["second"] = 4
        case["lengths"] = [n for n in case["lengths"] if n > 4]


class Encoder(Older):
    """A descendant of BERT."""
    eps, activation, goldens = "layer_norm_eps", "hidden_act", 9
    inert = {"hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout",
             "position_embedding_type", "type_vocab_size", "max_position_embeddings"}
    types, moving, scorer, usual_types = (1, 2, 2, 3), {"is_decoder"}, "", 2

    def own(self, d):
        c = d.config
        d.put(self.activation, *EXACT, absent=0.4, null=0)
        if self.types:
            d.put("type_vocab_size", *self.types, absent=0.3, null=0)
        for key in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            if d.chance(0.2):
                c[key] = 0.1
        if d.chance(0.04):
            c |= d.pick({"is_decoder": True}, {"position_embedding_type": "relative_key"},
                        {"add_cross_attention": True})

    def draw(self, key):
        case = super().draw(key)
        d = Draw(f"{key}/scores")
        if self.scorer and d.chance(0.25):
            score(case, d, self.scorer, case["config"].get("type_vocab_size", self.usual_types))
        return case

    def longest(self, d):
        return d.positions_limit

    def limit(self, d):
        return min(super().limit(d), 512)


class Bert(Encoder):
    name = model_type = "bert"
    hf_class, base_class = "BertForMaskedLM", "BertModel"
    scorer = "BertForSequenceClassification"


class Albert(Encoder):
    name = model_type = "albert"
    hf_class, base_class = "AlbertForMaskedLM", "AlbertModel"
    scorer = "AlbertForSequenceClassification"
    inert, moving = Encoder.inert | {"classifier_dropout_prob", "is_decoder"}, set()

    def own(self, d):
        super().own(d)
        c = d.config
        d.put("embedding_size", c["hidden_size"], max(1, c["hidden_size"] - 3), 7, absent=0, null=0)
        c["embedding_size"] = min(c["embedding_size"], c["hidden_size"])
        c["num_hidden_layers"] = d.pick(1, 2, 3, 5)
        d.put("num_hidden_groups", 1, 1, 2, 3, absent=0.4, null=0)
        if d.chance(0.05):
            c["inner_group_num"] = d.pick(1, 2)


class AfterPadding(Encoder):
    """Positions begin after the padding token's id, which no text may have."""
    moving = Encoder.moving | {"pad_token_id"}

    def draw(self, key):
        case = super().draw(key)
        unplaced = case["config"].get("pad_token_id", 1)
        return {**case, "unplaced": unplaced}

    def own(self, d):
        super().own(d)
        d.put("pad_token_id", 0, 1, 1, 3, 7, absent=0.4, null=0)

    def longest(self, d):
        return d.positions_limit - d.config.get("pad_token_id", 1) - 1


class Roberta(AfterPadding):
    name = model_type = "roberta"
    hf_class, base_class = "RobertaForMaskedLM", "RobertaModel"
    scorer = "RobertaForSequenceClassification"


class XlmRoberta(AfterPadding):
    name, model_type = "xlm-roberta", "xlm-roberta"
    hf_class, base_class = "XLMRobertaForMaskedLM", "XLMRobertaModel"
    scorer = "XLMRobertaForSequenceClassification"


class Camembert(AfterPadding):
    name = model_type = "camembert"
    hf_class, base_class = "CamembertForMaskedLM", "CamembertModel"
    scorer = "CamembertForSequenceClassification"


class Electra(Encoder):
    name = model_type = "electra"
    hf_class, base_class = "ElectraForPreTraining", "ElectraModel"
    scorer = "ElectraForSequenceClassification"
    inert = Encoder.inert | {"summary_type", "summary_use_proj"}

    def own(self, d):
        super().own(d)
        d.put("embedding_size", 8, 12, 24, d.config["hidden_size"], absent=0.02, null=0)


class DistilBert(Encoder):
    name = model_type = "distilbert"
    hf_class, base_class = "DistilBertForMaskedLM", "DistilBertModel"
    scorer = "DistilBertForSequenceClassification"
    names, inner, activation = ("n_layers", "dim", "n_heads"), "hidden_dim", "activation"
    types, eps, usual_types = (), "unused_eps", 0
    inert = Encoder.inert | {"unused_eps", "sinusoidal_pos_embds", "dropout"}

    def own(self, d):
        super().own(d)
        if d.chance(0.2):
            d.config["sinusoidal_pos_embds"] = True


class Rotary(Encoder):
    """An encoder with rotary positions."""
    goldens = 8
    has_head_dim = False

    def sizes(self, d):
        super().sizes(d)
        if self.has_head_dim and d.chance(0.4):
            d.config["head_dim"] = d.head_dim

    def own(self, d):
        super().own(d)
        d.rope(PART, d.head_dim, d.positions_limit, partial=0)


class NomicBert(Rotary):
    name, model_type = "nomic-bert", "nomic_bert"
    hf_class, base_class = "NomicBertForMaskedLM", "NomicBertModel"
    scorer = "NomicBertForSequenceClassification"


class JinaV2(Encoder):
    name, model_type = "jina-bert-v2", "bert"
    hf_class, base_class, scorer = "JinaBertForMaskedLM", "JinaBertModel", ""
    head_counts = (2, 3, 4, 5, 6, 7, 8, 12)
    inert = Encoder.inert | {
        "hidden_act", "emb_pooler", "auto_map"}
    moving = set()

    def draw(self, key):
        case = super().draw(key)
        d = Draw(f"{key}/second")
        if case["config"].get("type_vocab_size", 2) > 1 and d.chance(0.3):
            case["second"] = 4
            case["lengths"] = [n for n in case["lengths"] if n > 4]
        return case

    def own(self, d):
        super().own(d)
        c = d.config
        c["architectures"] = [d.pick(self.hf_class, self.base_class)]
        c["position_embedding_type"] = "alibi"
        c["feed_forward_type"] = d.pick("geglu", "geglu", "reglu")
        d.put("emb_pooler", "mean", absent=0.4, null=0.2)
        if d.chance(0.5):
            c["auto_map"] = jina_bert.NORMED
        if d.chance(0.06):
            c |= d.pick({"feed_forward_type": "original"}, {"position_embedding_type": "absolute"},
                        {"emb_pooler": "cls"}, {"architectures": ["JinaBertForSequenceClassification"]})
        if d.chance(0.04):
            del c[d.pick("feed_forward_type", "position_embedding_type")]


class JinaV3(Rotary):
    name, model_type, usual_types = "jina-bert-v3", "jina_embeddings_v3", 1
    hf_class, base_class = "JinaEmbeddingsV3ForMaskedLM", "JinaEmbeddingsV3Model"
    scorer = "JinaEmbeddingsV3ForSequenceClassification"


class Gte(Rotary):
    name = model_type = "gte"
    hf_class, base_class = "GteForMaskedLM", "GteModel"
    scorer = "GteForSequenceClassification"
    types, usual_types = (0, 1, 1, 2), 1


class EuroBert(Dense):
    name = model_type = "eurobert"
    hf_class, base_class = "EuroBertForMaskedLM", "EuroBertModel"
    biases, goldens, divides = ("attention_bias", "mlp_bias"), 15, True
    inert = {"pretraining_tp", "num_labels"}

    def settings(self, d):
        super().settings(d)
        d.config["pad_token_id"] = d.pick(0, 3, 7)

    def draw(self, key):
        case = super().draw(key)
        d = Draw(f"{key}/scores")
        if d.chance(0.5):
            score(case, d, "EuroBertForSequenceClassification")
            if d.chance(0.7):
                case["config"]["classifier_pooling"] = d.pick("late", "bos", "mean")
            if d.chance(0.04):
                case["config"]["classifier_pooling"] = "cls"
        return case


class ModernBert(Older):
    name, model_type = "modern-bert", "modernbert"
    hf_class, base_class = "ModernBertForMaskedLM", "ModernBertModel"
    scorer = "ModernBertForSequenceClassification"
    goldens, eps = 9, "norm_eps"

    def draw(self, key):
        case = super().draw(key)
        d = Draw(f"{key}/scores")
        if d.chance(0.3):
            score(case, d, self.scorer)
            c = case["config"]
            if d.chance(0.6):
                c["classifier_pooling"] = d.pick("cls", "mean")
            if d.chance(0.3):
                c["classifier_activation"] = d.pick("gelu", "relu")
            if d.chance(0.3):
                c["classifier_bias"] = True
        return case
    inert = {"position_embedding_type", "max_position_embeddings", "num_labels"}

    def own(self, d):
        c = d.config
        c["num_hidden_layers"] = d.pick(1, 2, 3, 4, 5)
        c["pad_token_id"] = d.pick(0, 3, 7)
        d.put("hidden_activation", *EXACT, absent=0.4, null=0)
        for key in ("attention_bias", "mlp_bias"):
            d.put(key, True, False, absent=0.5, null=0)
        window = d.pick(2, 3, 6, 8, 16, 17, 33, 128)
        d.put("local_attention", window, absent=0.1, null=0)
        d.limits += [window // 2, window]
        if d.chance(0.3):
            d.layer_types(1)
        else:
            d.put("global_attn_every_n_layers", 1, 2, 3, 4, absent=0.3, null=0)
        if d.chance(0.04):
            c["norm_bias"] = True
        self.bases(d)

    def bases(self, d):
        c = d.config
        if d.chance(0.5):
            for key in ("global_rope_theta", "local_rope_theta"):
                d.put(key, d.theta(), absent=0.2, null=0)
            return
        kinds = {"full_attention": {"rope_type": "default"},
                 "sliding_attention": {"rope_type": "default"}}
        if d.chance(0.3):
            kind = d.pick("linear", "yarn", "llama3")
            kinds["full_attention"] = {"rope_type": kind,
                                       **d.scaling(kind, d.head_dim, d.positions_limit)}
        for part in kinds.values():
            if d.chance(0.8):
                part["rope_theta"] = d.theta()
        c["rope_parameters"] = kinds


class ModernBertDecoder(ModernBert):
    name, model_type = "modern-bert-decoder", "modernbert-decoder"
    hf_class, base_class = "ModernBertDecoderForCausalLM", "ModernBertDecoderModel"
    inert = {"position_embedding_type", "max_position_embeddings", "classifier_pooling"}

    def draw(self, key):
        return Older.draw(self, key)

    def own(self, d):
        super().own(d)
        c = d.config
        d.put("decoder_bias", True, False, absent=0.4, null=0)
        d.put("classifier_bias", True, False, absent=0.4, null=0)
        d.put("classifier_activation", "gelu", "relu", "silu", "gelu_new", absent=0.4, null=0)
        if d.chance(0.04):
            c["local_attention"] = d.pick(1, None)
        d.limits += [c.get("local_attention") or 128]


ENCODERS = (Bert, Albert, Roberta, XlmRoberta, Camembert, Electra, DistilBert, NomicBert, JinaV2,
            JinaV3, Gte, EuroBert, ModernBert, ModernBertDecoder)
