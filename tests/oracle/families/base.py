"""What records of families have in common: settings that may not change a logit, and the sizes of a
model."""
from families.draws import Draw

INERT = {
    "model_type", "architectures", "vocab_size", "bos_token_id", "eos_token_id", "pad_token_id",
    "use_cache", "initializer_range", "attention_dropout", "torch_dtype", "dtype",
    "transformers_version", "_name_or_path", "pretraining_tp", "custom_note",
    "output_router_logits", "unk_token_id", "head_count", "is_decoder", "output_attentions",
    "chunk_size_feed_forward", "embd_pdrop", "attn_pdrop", "resid_pdrop", "summary_type", "n_ctx",
    # The file decides: a head that it holds is used whatever the flag says, and draws.file() covers
    # heads that are there, missing, and equal to the embedding.
    "tie_word_embeddings",
    "embedding_dropout", "residual_dropout", "task_specific_params",
}
SILU = ("silu",) * 12 + ("swish", "gelu", "relu", "gelu_pytorch_tanh")
GELU = ("gelu_pytorch_tanh",) * 10 + ("gelu_new", "gelu_fast", "gelu", "silu", "relu", "quick_gelu")
PLAIN = ("default",) * 4
SCALED = PLAIN + ("linear", "linear", "llama3", "llama3", "longrope", "longrope", "yarn", "yarn",
                  "yarn", "yarn", "dynamic", "dynamic", "default", "linear", "llama3", "longrope", "su")


class Family:
    name = model_type = hf_class = ""
    inert = set()        # keys of this family alone that change nothing
    moving = set()       # keys that change something in this family, though listed above
    divides = False      # hidden_size must be a multiple of the heads
    has_head_dim = True  # head_dim may differ from hidden_size / heads
    base_class = ""
    eights = False       # a part of each head is rotated
    loosest = None       # goldens with wider bounds are not kept: a rounding makes other choices
    goldens = 10         # drawn cases that families_test.cpp repeats, beside the known ones

    def draw(self, key):
        d = Draw(key)
        c = d.config
        c["model_type"] = self.model_type
        if d.chance(0.9):
            c["architectures"] = [self.hf_class if d.chance(0.93) else self.base_class]
        self.sizes(d)
        self.settings(d)
        d.extras()
        longest = self.longest(d) or d.longest
        return {"family": self.name, "config": c, "file": d.file(), "lengths": d.lengths(longest),
                "seed": d.random.getrandbits(32), "heat": d.pick(0.8, 1.2, 1.2, 1.7, 2.4)}

    def sizes(self, d):
        c = d.config
        n, n_kv, width = d.heads(eights=self.eights)
        c["vocab_size"] = d.pick(61, 64, 71, 97, 128)
        hidden = n * width
        if self.has_head_dim and d.chance(0.4):
            hidden = d.pick(10, 12, 24, 30, 36, 40, 48)
            if self.divides:
                hidden = n * max(1, hidden // n)
        c["hidden_size"] = hidden
        if self.has_head_dim and (hidden != n * width or d.chance(0.4)):
            c["head_dim"] = width
        c["intermediate_size"] = d.pick(7, 8, 11, 16, 24, 33, 64)
        c["num_hidden_layers"] = d.pick(1, 2, 2, 3)
        c["num_attention_heads"] = n
        if n_kv != n or d.chance(0.5):
            c["num_key_value_heads"] = n_kv
        d.head_dim = width
        d.positions_limit = d.positions()

    def settings(self, d):
        raise NotImplementedError

    def longest(self, d):
        return None

    def common(self, d, activations=SILU, eps="rms_norm_eps"):
        d.put("hidden_act", *activations)
        d.put(eps, 1e-5, 1e-6, 1e-2, absent=0.2)
        d.put("tie_word_embeddings", True, False, False, absent=0.2)


class Thorough(Family):
    """A family whose features many others share: more of its cases are kept."""
    goldens = 24
