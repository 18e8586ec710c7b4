"""One case through both sides: the folder is written, transformers and the program answer, the
program answers once more from the GGUF file that it exports, and a verdict is given."""
import dataclasses
import json
import re
import tempfile
import pathlib

import numpy as np

from families import reference, weights

NOISE_FACTOR = 5.0
FLOOR = 5e-4      # of the logits' standard deviation
FAILING = ("different", "forms differ", "unnamed", "unloadable", "crash", "decided otherwise")

SIZES = {"model_type", "vocab_size", "hidden_size", "head_dim", "intermediate_size", "n_inner",
         "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "pad_token_id", "n_embd",
         "n_layer", "n_head", "n_positions", "attention_bias", "mlp_bias", "use_bias", "tie_word_embeddings",
         "num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts",
         "moe_intermediate_size",
         "d_model", "n_layers", "n_heads", "ffn_dim", "ffn_hidden_size", "new_decoder_architecture",
         "multi_query", "num_kv_heads", "num_ln_in_parallel_attn", "bias", "parallel_attn",
         "rotary_dim", "enable_bias", "state_size", "conv_kernel", "expand", "num_heads", "n_groups",
         "use_conv_bias", "time_step_rank", *(f"mamba_{name}" for name in (
             "d_state", "d_conv", "expand", "n_heads", "d_head", "n_groups", "d_ssm", "proj_bias",
             "conv_bias", "rms_norm", "dt_rank")), "projectors_bias", "layer_types",
         "layers_block_type", "attn_layer_indices", "shared_intermediate_size",
         "attn_layer_period", "attn_layer_offset", "expert_layer_period", "expert_layer_offset"}


@dataclasses.dataclass
class Outcome:
    """verdict: agree, near tie (two experts or keys are nearly equal, and all rows before agree),
    refused, no reference, gguf refused, or one of FAILING."""
    verdict: str
    detail: str = ""
    deltas: dict = dataclasses.field(default_factory=dict)  # form: {length: Δ}
    noise: dict = dataclasses.field(default_factory=dict)   # form: how far documented roundings go

    @property
    def failed(self):
        return self.verdict in FAILING


def bound_of(noise):
    return max(NOISE_FACTOR * noise, FLOOR)


def prompts_of(case):
    n_vocab = case["config"].get("vocab_size") or 32
    unplaced = case.get("unplaced", -1)
    prompts = [weights.ids(case["seed"], n, n_vocab) for n in case["lengths"]]
    return [[(i + 1) % n_vocab if i == unplaced else i for i in ids] for ids in prompts]


def sizes_of(config):
    """Of objects of both sides as well: the sizes that a class has by itself are large."""
    sizes = {k: v for k, v in config.items() if k in SIZES and v is not None}
    return sizes | {k: sizes_of(config[k]) for k in ("encoder", "decoder") if k in config}


def layout_of(case):
    """The tensors of the case's files: stored name: (name they are filled by, shape, role). The
    shapes are the reference's own."""
    config, file = case["config"], case["file"]
    try:
        shapes = reference.shapes_of(config)
    except reference.Refused:
        shapes = reference.shapes_of(sizes_of(config))
    head = file["head"]
    if head == "absent" or head == "own" and is_tied(config):
        for name in ("lm_head.weight", "lm_head.out_proj.weight", "decoder.weight"):
            shapes.pop(name, None)
    copies = [name for name in shapes if name.endswith("coder.embed_tokens.weight")]
    if "shared.weight" in shapes and "copies" not in file["extras"]:
        for name in copies:
            shapes.pop(name)
    for kind in file["extras"]:
        shapes |= extra_tensors(kind, config, shapes)
    layout = {}
    for name, shape in shapes.items():
        if any(part in name for part in ("embed_tokens", "embeddings", "lm_head", "shared.weight")):
            shape = (shape[0] + file.get("more_rows", 0), *shape[1:])
        filler = name
        if name == "lm_head.weight" and head == "same":
            filler = next(n for n in shapes if "embed" in n or "wte" in n
                          or "word_embeddings." in n or n == "shared.weight")
        if name in copies and "shared.weight" in shapes:
            filler = "shared.weight"
        role = weights.role_of(filler, shape, config["model_type"], case["heat"])
        layout[stored_name(name, file)] = (filler, shape, role)
    return layout


def tensors_of(case):
    return filled(layout_of(case), case["seed"])


def filled(layout, seed):
    return {name: weights.filled(filler, shape, role, seed)
            for name, (filler, shape, role) in layout.items()}


def stored_name(name, file):
    if file["prefix"]:
        return name
    for prefix in reference.ENCODERS.values():
        if prefix and name.startswith(prefix):
            return name.removeprefix(prefix)
    return name.removeprefix("model.").removeprefix("transformer.").removeprefix(
        "gpt_neox.").removeprefix("backbone.")


def is_tied(config):
    try:
        return bool(reference.parse_config(config).tie_word_embeddings)
    except Exception:
        return bool(config.get("tie_word_embeddings"))


def extra_tensors(kind, config, shapes):
    """Tensors that published files hold though the reference has no use for them."""
    if config["model_type"] == "gpt2":
        n = config["n_positions"]
        return {"transformer.h.0.attn.bias": (1, 1, n, n), "transformer.h.0.attn.masked_bias": (1,)}
    if kind == "cross_distances":
        return {"decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": (8, 2)}
    if kind == "copies":
        return {}
    query = "model.layers.0.self_attn.q_proj"
    if kind == "biases" and f"{query}.weight" in shapes:
        return {f"{query}.bias": shapes[f"{query}.weight"][:1]}
    return {"model.layers.0.self_attn.rotary_emb.inv_freq": (4,)}


def judge(case, engine, keep=None, f16=False):
    """`keep`: a folder for the files; else they are gone afterwards. `f16`: export that form too."""
    return Trial(case, engine, keep).verdict(f16)


class Trial:
    """One case on both sides. Afterwards: want (the reference's logits), message and named (our
    refusal and the names in it), layout (the tensors of the files)."""

    def __init__(self, case, engine, keep=None):
        self.case, self.engine, self.keep = case, engine, keep
        self.prompts, self.layout = prompts_of(case), layout_of(case)
        self.tensors = filled(self.layout, case["seed"])
        self.outcome, self.message, self.named = Outcome("agree"), "", []
        self.gives, self.second = reference.gives(case["config"]), case.get("second", 0)
        self.source = case.get("source", 0)
        self.model = self.want = None
        self.noises = {}

    def verdict(self, f16):
        with tempfile.TemporaryDirectory(prefix="families-") as scratch:
            self.root = pathlib.Path(self.keep or scratch)
            self.folder = self.root / "model"
            weights.write_folder(self.folder, self.case["config"], self.tensors, self.case["file"])
            if self.keep:
                (self.root / "case.json").write_text(json.dumps(self.case, indent=1) + "\n")
            return self.compared(f16)

    def reference_alone(self):
        """Why there is no right answer, or nothing; we are not asked."""
        with tempfile.TemporaryDirectory(prefix="families-") as scratch:
            self.folder = pathlib.Path(scratch)
            weights.write_folder(self.folder, self.case["config"], self.tensors, self.case["file"])
            return self.ask_reference()

    def compared(self, f16):
        folder = self.engine.logits(self.folder, self.prompts, self.gives, self.second,
                                    self.source)
        self.message = folder.message
        self.named = names_in(folder.message, self.case["config"], self.tensors)
        gguf = self.exported("f32")
        half = self.exported("f16") if f16 else None
        for answer in (folder, gguf, half):
            if answer is not None and answer.fault:
                return self.say("crash", answer.fault)
        why = self.ask_reference()
        if why:
            return self.without_reference(why, folder)
        if folder.rows is None:
            return self.refused(folder, gguf)
        bf16 = self.case["file"]["dtype"] == "bf16"
        self.compare("folder", folder.rows, *["activations"] * bf16)
        for form, answer in (("gguf f32", gguf), ("gguf f16", half)):
            if answer is not None and answer.rows is not None:
                self.compare(form, answer.rows, *["weights"] * ("f16" in form))
        if self.outcome.failed:
            return self.outcome
        if gguf.rows is None:
            return self.say("gguf refused" if gguf.message.startswith("quantize") else "unloadable",
                            gguf.message)
        return self.outcome

    def say(self, verdict, detail):
        self.outcome.verdict, self.outcome.detail = verdict, detail
        return self.outcome

    def exported(self, kind):
        out = self.root / f"{kind}.gguf"
        answer = self.engine.quantize(self.folder, out, kind)
        if answer.message or answer.fault:
            answer.message = answer.message and f"quantize: {answer.message}"
            return answer
        return self.engine.logits(out, self.prompts, self.gives, self.second, self.source)

    def ask_reference(self):
        """Why there is no right answer, or nothing."""
        try:
            self.model = reference.Model(self.folder)
            self.model.second, self.model.source = self.second, self.source
            if self.model.missing:
                return f"makes up {', '.join(self.model.missing)[:80]}"
            self.want = self.model.logits(self.prompts)
        except reference.Refused as refused:
            return str(refused)
        return ""

    def without_reference(self, why, folder):
        if folder.rows is not None and why.startswith("makes up"):
            return self.say("different", f"we answer where the reference {why}")
        ours = "we run it" if folder.rows is not None else "so do we"
        return self.say("no reference", f"{why} ({ours})")

    def refused(self, folder, gguf):
        if not self.named:
            return self.say("unnamed", folder.message)
        if not gguf.message.startswith("quantize"):
            return self.say("unloadable", f"refused ({folder.message}), but quantize wrote a file"
                            + (" that runs" if gguf.rows is not None else ""))
        return self.say("refused", folder.message)

    def noise_of(self, *roundings):
        """How far these roundings, beside those of keys and values, move the reference itself."""
        if roundings not in self.noises:
            rounded = self.model.rounded(self.prompts, **dict.fromkeys(roundings, True))
            self.noises[roundings] = difference(rounded, self.want)
        return self.noises[roundings]

    def compare(self, form, rows, *roundings):
        want = self.want
        noise = self.noise_of(*roundings)
        deltas = [difference([got], [row]) for got, row in zip(rows, want)]
        self.outcome.deltas[form] = dict(zip(self.case["lengths"], deltas))
        self.outcome.noise[form] = noise
        if max(deltas) <= bound_of(noise) or self.outcome.failed or self.is_nearer(rows, noise):
            return
        if self.is_near_tie(rows, bound_of(noise), roundings):
            self.say("near tie", f"{form}: experts or keys that are nearly equal")
            return
        if form == "folder":
            self.say("different", "folder")
        else:
            self.say("forms differ", f"the folder agrees, {form} does not")


    def is_nearer(self, rows, noise):
        """Whether the reference itself, in float64, is no farther from our rows than it may be, or
        than from its own in float32: a number that is nearly 0 and then normalised has any sign."""
        try:
            exact = self.model.exact(self.prompts)
        except reference.Refused:
            return False
        return difference(rows, exact) <= max(bound_of(noise), difference(self.want, exact))

    def is_near_tie(self, rows, bound, roundings):
        """Whether each prompt agrees up to the first row at which roundings may choose other
        experts."""
        for prompt, got, want in zip(self.prompts, rows, self.want):
            if difference([got], [want]) <= bound:
                continue
            tie = self.model.first_near_tie(prompt, NOISE_FACTOR, **dict.fromkeys(roundings, True))
            if tie is None or got.shape != want.shape:
                return False
            if tie > 0 and np.abs(got[:tie] - want[:tie]).max() > bound * max(want.std(), 1e-9):
                return False
        return True


def difference(got, want):
    """Largest |difference| of a logit over the standard deviation of the prompt's logits."""
    worst = 0.0
    for a, b in zip(got, want):
        if a.shape != b.shape or not np.isfinite(np.asarray(a, dtype=float)).all():
            return float("inf")
        worst = max(worst, float(np.abs(a - b).max() / max(scale_of(b), 1e-9)))
    return worst


def scale_of(rows):
    """What a difference is measured by. Scores are few numbers, maybe a single one."""
    return rows.std() if rows.size > 16 else np.sqrt((rows ** 2).mean() + 0.01)


def words_of(config):
    """Every key of a config, nested ones too."""
    for key, value in config.items():
        yield str(key)
        if isinstance(value, dict):
            yield from words_of(value)


def texts_of(config):
    """Every text that is a value of it."""
    for value in config.values():
        if isinstance(value, dict):
            yield from texts_of(value)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                yield item


def names_in(message, config, tensors):
    """The keys, texts and tensors of the folder that a refusal names, or a key that the reference's
    class has (one that is missing). None if it names those of another file form."""
    if "blk." in message or "token_embd" in message or "rope.scaling" in message:
        return []
    names = {*words_of(config), *texts_of(config), *tensors, "lm_head.weight"}
    try:
        names |= set(words_of(reference.parse_config(config).to_dict()))
    except Exception:
        pass
    return sorted(name for name in names
                  if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message))
