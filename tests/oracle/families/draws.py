"""Random choices that several families share: sizes, RoPE in both dialects, windows, files."""
import random

KINDS = ("full_attention", "sliding_attention")
EXTRA_KEYS = {
    "_name_or_path": "somewhere/else", "transformers_version": "4.41.2", "use_cache": False,
    "initializer_range": 0.5, "attention_dropout": 0.0, "pretraining_tp": 2,
    "custom_note": "a key that nobody reads", "output_router_logits": False,
    "torch_dtype": "bfloat16", "dtype": "float16", "unk_token_id": 0, "head_count": 3,
    "is_decoder": False, "output_attentions": False, "chunk_size_feed_forward": 0,
}


class Draw:
    """One case's choices. A case is its config, how its file is written, and its prompts."""

    def __init__(self, key):
        self.random = random.Random(key)
        self.config = {}
        self.limits = []  # lengths at which something changes
        self.longest = None

    def chance(self, p):
        return self.random.random() < p

    def pick(self, *values):
        return self.random.choice(values)

    def number(self, low, high):
        return round(self.random.uniform(low, high), 3)

    def put(self, name, *values, absent=0.15, null=0.005):
        """Sets a key to one of the values, to null, or leaves it out."""
        x = self.random.random()
        if x >= absent + null:
            self.config[name] = self.pick(*values)
        elif x >= absent:
            self.config[name] = None

    def heads(self, even=True, kv=True, eights=False):
        """Heads, KV heads and the width of one; `eights`: mostly one of which a half, three quarters
        and a quarter are even."""
        n = self.pick(1, 2, 3, 4, 4, 6, 8)
        n_kv = self.pick(*[i for i in range(1, n + 1) if n % i == 0]) if kv else n
        widths = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 26, 30, 32, 34, 38, 40)
        if eights and self.chance(0.9):
            widths = even = (8, 16, 24, 32, 40)
        width = self.pick(*widths, *(() if even else (1, 3, 5, 7, 9, 11, 13, 25)))
        return n, n_kv, width

    def layer_types(self, chance, kinds=KINDS):
        """With this chance, a kind of its own for each layer."""
        if self.chance(chance):
            n = self.config["num_hidden_layers"]
            self.config["layer_types"] = [self.pick(*kinds) for _ in range(n)]

    def extras(self):
        for name in self.random.sample(sorted(EXTRA_KEYS), self.pick(0, 0, 0, 1, 2, 4)):
            self.config.setdefault(name, EXTRA_KEYS[name])

    def lengths(self, longest=None):
        chosen = {1, 7, 33}
        if self.chance(0.5):
            chosen.add(130)
        for limit in self.limits[:3]:
            chosen |= {limit - 1, limit, limit + 1} if limit < 300 else set()
        if self.chance(0.15):
            chosen |= {15, 16, 17}
        if self.chance(0.08):
            chosen |= {255, 256, 257}
        return sorted(n for n in chosen if 0 < n <= (longest or 400))

    def file(self):
        return {"dtype": self.pick("f32", "f32", "f32", "f32", "f32", "f16", "bf16"),
                "shards": self.pick(1, 1, 1, 1, 1, 2, 3), "prefix": not self.chance(0.06),
                "head": self.pick(*["own"] * 16, "same", "other", "absent"),
                "extras": self.pick(*[[]] * 12, ["inv_freq"], ["biases"])}

    def window(self, absent=0.2, null=0.15):
        self.put("sliding_window", 3, 5, 8, 16, 17, 33, 100, 256, 4096, 262144, absent=absent,
                 null=null)
        if self.chance(0.01):
            self.config["sliding_window"] = 0
        if self.config.get("sliding_window"):
            self.limits.append(self.config["sliding_window"])

    def positions(self):
        self.put("max_position_embeddings", 40, 64, 100, 128, 256, 512, absent=0.1, null=0)
        return self.config.get("max_position_embeddings") or 2048

    def scaling(self, kind, n_rotated, longest):
        """The members of a RoPE scaling of this kind, without its name and base."""
        original = self.pick(8, 16, 32, 40, *([256, 4096] if kind == "yarn" else []))
        if kind == "linear":
            return {"factor": self.pick(2, 4.0, 1.5, 8.0)}
        if kind == "dynamic":
            self.longest = longest  # beyond it we refuse
            return {"factor": self.pick(2.0, 4.0)}
        if kind == "llama3":
            scaling = {"factor": self.pick(8.0, 4.0, 32.0), "low_freq_factor": self.pick(1.0, 1, 0.5),
                       "high_freq_factor": self.pick(4.0, 4, 2.5)}
            if self.chance(0.7):
                scaling["original_max_position_embeddings"] = self.pick(16, 32, 64, 128)
            return scaling
        if kind == "yarn":
            scaling = {"factor": self.pick(2.0, 4.0, 8)}
            if self.chance(0.8):
                scaling["original_max_position_embeddings"] = original
            for name, values in {"beta_fast": (32.0, 16, 3.0, 1.5), "beta_slow": (1.0, 2, 0.3),
                                 "attention_factor": (1.0, 1.25), "truncate": (False, False, True)
                                 }.items():
                if self.chance(0.3):
                    scaling[name] = self.pick(*values)
            if self.chance(0.3):
                scaling |= {"mscale": self.pick(1.0, 0.7), "mscale_all_dim": self.pick(1.0, 0.5, 2)}
            return scaling
        if kind in ("longrope", "su"):
            return self.longrope(n_rotated, original, longest)
        return {}

    def longrope(self, n_rotated, original, longest):
        n = n_rotated // 2
        scaling = {"short_factor": [self.number(1, 1.6) for _ in range(n)],
                   "long_factor": [self.number(1, 8) for _ in range(n)]}
        where = self.pick("top", "top", "top", "inner", "both", "absent")
        if where in ("top", "both"):
            self.config["original_max_position_embeddings"] = original
        if where in ("inner", "both"):
            scaling["original_max_position_embeddings"] = original
            if where == "both" and self.chance(0.3):
                scaling["original_max_position_embeddings"] = 2 * original
        self.limits.append(original if where != "absent" else longest)
        if self.chance(0.15):
            scaling["factor"] = self.pick(2.0, 4.0, 1.0, longest / original)
        if self.chance(0.1):
            scaling["attention_factor"] = self.pick(1.0, 1.3)
        return scaling

    def theta(self):
        return self.pick(10000.0, 10000, 500.0, 1e6, 50000.0, 123.5)

    def rope(self, kinds, head_dim, longest, partial=0.06):
        """RoPE as transformers 4 wrote it, as 5 does, or mixtures of both."""
        kind, part = self.pick(*kinds), self.pick(0.5, 0.75, 0.25, 1.0)
        is_partial = self.chance(partial)
        rotated = int(head_dim * part) if is_partial else head_dim
        dialect = self.pick("v4", "v4", "v4", "v5", "v5", "v5 with a base outside", "none")
        if self.chance(0.02):
            dialect = "both"
        if is_partial and (dialect in ("v4", "none") or self.chance(0.3)):
            self.config["partial_rotary_factor"] = part
        if dialect in ("v4", "both"):
            self.put("rope_theta", self.theta(), null=0)
            if kind != "default" or self.chance(0.3):
                self.config["rope_scaling"] = {self.pick("type", "rope_type"): kind,
                                               **self.scaling(kind, rotated, longest)}
            elif self.chance(0.5):
                self.config["rope_scaling"] = None
        if dialect in ("v5", "v5 with a base outside", "both"):
            inner = {"rope_type": kind, **self.scaling(kind, rotated, longest)}
            if dialect == "v5":
                inner["rope_theta"] = self.theta()
            else:
                self.config["rope_theta"] = self.theta()
            if is_partial and "partial_rotary_factor" not in self.config:
                inner["partial_rotary_factor"] = part
            self.config["rope_parameters"] = inner
