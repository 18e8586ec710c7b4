"""Jina Embeddings 2 (arXiv 2310.19923), which transformers does not have: BERT without positions whose
scores fall with the distance of the key, on both sides of the query, with a gated feed-forward. The
tensors have the names of published files; those with normalised queries and keys, by the key auto_map,
have other names and one norm more."""
import math

import torch
import transformers
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

CLASSES = ("JinaBertModel", "JinaBertForMaskedLM")
NORMED = {"AutoModel": "jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel"}


def is_normed(config):
    return "qk-post-norm" in str(getattr(config, "auto_map", None))


def slopes(n_heads):
    """Of a power of two they fall geometrically to 1/256; the heads beyond such a power have every
    other one of twice as many heads."""
    power = 2 ** int(math.log2(n_heads))
    own = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    between = [2 ** (-8 * (i + 0.5) / power) for i in range(power)]
    return own + between[:n_heads - power]


def eager_attention_forward(module, query, key, value, *_, **__):
    """Of (heads, rows, numbers each)."""
    n = query.shape[1]
    places = torch.arange(n)
    distance = (places[:, None] - places[None, :]).abs().to(query.dtype)
    falls = torch.tensor(slopes(query.shape[0]), dtype=query.dtype)[:, None, None] * distance
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[2]) - falls
    return scores.softmax(-1) @ value, None


class Projections(nn.Module):
    def __init__(self, c, normed):
        super().__init__()
        self.n_heads = c.num_attention_heads
        for name in ("query", "key", "value"):
            self.add_module(name, nn.Linear(c.hidden_size, c.hidden_size))
        for name in ("layer_norm_q", "layer_norm_k"):
            norm = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps) if normed else nn.Identity()
            self.add_module(name, norm)

    def forward(self, x):
        made = (self.layer_norm_q(self.query(x)), self.layer_norm_k(self.key(x)), self.value(x))
        heads = [m.view(len(x), self.n_heads, -1).transpose(0, 1) for m in made]
        return eager_attention_forward(self, *heads)[0].transpose(0, 1).reshape(len(x), -1)


class Sum(nn.Module):
    """dense(x) + before, normalised."""

    def __init__(self, c):
        super().__init__()
        self.dense = nn.Linear(c.hidden_size, c.hidden_size)
        self.LayerNorm = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps)

    def forward(self, x, before):
        return self.LayerNorm(self.dense(x) + before)


class Attention(nn.Module):
    def __init__(self, c, normed):
        super().__init__()
        self.add_module("self", Projections(c, normed))
        self.output = Sum(c)

    def forward(self, x):
        return self.output(getattr(self, "self")(x), x)


class FeedForward(nn.Module):
    """The gate is the first half of the rows, or in files of the other names the second."""

    def __init__(self, c, normed):
        super().__init__()
        self.normed, self.act = normed, {"geglu": nn.functional.gelu,
                                         "reglu": nn.functional.relu}[c.feed_forward_type]
        both = nn.Linear(c.hidden_size, 2 * c.intermediate_size, bias=False)
        down = nn.Linear(c.intermediate_size, c.hidden_size)
        self.add_module("up_gated_layer" if normed else "gated_layers", both)
        self.add_module("down_layer" if normed else "wo", down)
        if not normed:
            self.layernorm = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps)

    def forward(self, x):
        if self.normed:
            up, gate = self.up_gated_layer(x).chunk(2, -1)
            return self.down_layer(self.act(gate) * up)
        gate, up = self.gated_layers(x).chunk(2, -1)
        return self.layernorm(self.wo(self.act(gate) * up) + x)


class Layer(nn.Module):
    def __init__(self, c, normed):
        super().__init__()
        self.attention, self.mlp, self.normed = Attention(c, normed), FeedForward(c, normed), normed
        for name in ("layer_norm_1", "layer_norm_2") if normed else ():
            self.add_module(name, nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps))

    def forward(self, x):
        if not self.normed:
            return self.mlp(self.attention(x))
        x = self.layer_norm_1(x + self.attention(x))  # what attention gives has x in it already
        return self.layer_norm_2(x + self.mlp(x))


class Model(transformers.PreTrainedModel):
    config_class, base_model_prefix = transformers.BertConfig, "bert"

    def __init__(self, config):
        super().__init__(config)
        if config.position_embedding_type != "alibi" or config.hidden_size % config.num_attention_heads:
            raise ValueError("no model of this class")
        normed = is_normed(config)
        self.embeddings, self.encoder = nn.Module(), nn.Module()
        self.embeddings.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.embeddings.token_type_embeddings = nn.Embedding(config.type_vocab_size,
                                                             config.hidden_size)
        self.embeddings.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.encoder.layer = nn.ModuleList(
            Layer(config, normed) for _ in range(config.num_hidden_layers))
        self.post_init()

    def _init_weights(self, module):
        """Every weight is in the file."""

    def forward(self, ids, token_type_ids=None):
        types = torch.zeros_like(ids[0]) if token_type_ids is None else token_type_ids[0]
        x = self.embeddings.word_embeddings(ids[0]) + self.embeddings.token_type_embeddings(types)
        x = self.embeddings.LayerNorm(x)
        for layer in self.encoder.layer:
            x = layer(x)
        return BaseModelOutput(last_hidden_state=x[None])
