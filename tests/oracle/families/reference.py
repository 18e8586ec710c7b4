"""What transformers makes of a folder: logits in float32 with eager attention, and how much the
roundings that we document would move them."""
import contextlib
import copy
import json
import re
import sys
import warnings

import numpy as np
import torch
import transformers
from transformers import (AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM,
                          AutoModelForSequenceClassification)

from families import choices, jina_bert, routers

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class Refused(Exception):
    """The reference does not load or run this model."""


def parse_config(config):
    kind = config.get("model_type", "")
    settings = copy.deepcopy(config)  # the class edits what it is given
    settings.pop("model_type", None)
    return AutoConfig.for_model(kind, **settings)


# Classes whose hidden states are compared, and what their names have before them in checkpoints of
# classes with a head.
ENCODERS = {"bert": "bert.", "roberta": "roberta.", "xlm-roberta": "roberta.",
            "camembert": "roberta.", "electra": "electra.", "distilbert": "distilbert.",
            "nomic_bert": "nomic_bert.", "jina_embeddings_v3": "roberta.", "gte": "gte.",
            "eurobert": "model.", "modernbert": "model.", "gemma3_text": "model.",
            "mpnet": "mpnet.", "deberta-v2": "deberta.", "albert": "albert."}


def class_named(config):
    return (config.get("architectures") or [""])[0]


def is_encoder(config):
    kind = config.get("model_type")
    if class_named(config).endswith("EncoderModel"):
        return True
    return kind in ENCODERS and (
        kind != "gemma3_text" or bool(config.get("use_bidirectional_attention")))


def gives(config):
    """What is compared: logits, hidden or scores."""
    scores = is_encoder(config) and class_named(config).endswith("ForSequenceClassification")
    return "scores" if scores else "hidden" if is_encoder(config) else "logits"


# Classes that answer a source text, the first ids of a prompt.
ANSWERING = ("t5", "mt5", "umt5", "t5gemma")


def auto_class(config):
    if config.get("model_type") in ANSWERING:
        return AutoModelForSeq2SeqLM
    return {"logits": AutoModelForCausalLM, "hidden": AutoModel,
            "scores": AutoModelForSequenceClassification}[gives(config)]


# Classes that AutoModelForCausalLM does not find.
UNLISTED = {"mistral4": transformers.Mistral4ForCausalLM}


def class_of(kind, config):
    """The class that computes models of a type, by the name that transformers gives the type."""
    if class_named(config).endswith("EncoderModel"):
        return getattr(transformers, class_named(config))
    if class_named(config) in jina_bert.CLASSES:
        return jina_bert.Model
    return UNLISTED.get(kind) or auto_class(config)


def tied_modules(model):
    """Modules that checkpoints lack, since they are others again."""
    is_tied = getattr(model.config, "tie_word_embeddings", False)
    keys = is_tied and getattr(getattr(model, "model", model), "_tied_weights_keys", None) or {}
    return [name for name in keys if name.endswith("shared_transformer")]


def shapes_of(config):
    """Names and shapes of the tensors of a config, tied ones included."""
    try:
        with torch.device("meta"):
            parsed = parse_config(config)
            maker = class_of(parsed.model_type, config)
            model = maker.from_config(parsed, attn_implementation="eager") if hasattr(
                maker, "from_config") else maker(parsed)
        kind = gives(config)
        prefix = ENCODERS.get(config["model_type"], "") if kind == "hidden" else ""
        shapes = {prefix + name: tuple(p.shape) for name, p in model.state_dict().items()
                  if "pooler." not in name or kind == "scores"}
        for prefix in tied_modules(model):
            shapes = {name: shape for name, shape in shapes.items()
                      if not name.removeprefix("model.").startswith(prefix + ".")}
        return checkpoint_shapes(shapes, model.config.model_type)
    except Exception as error:
        raise Refused(one_line(error)) from error


# What a checkpoint calls the parts of an expert: gate, up and down.
MIXTRAL_PARTS = ("w1", "w3", "w2")
EXPERT_PARTS = dict.fromkeys(("mixtral", "phimoe", "minimax_m2", "lfm2_moe", "kimi_linear"),
                             MIXTRAL_PARTS)
# (name in memory, name in a checkpoint) of parts of tensor names.
SPARSE = (".mlp.", ".block_sparse_moe.")
GRANITE = ((".experts.gate_up_proj", ".input_linear.weight"),
           (".experts.down_proj", ".output_linear.weight"), (".router.", ".router.layer."))
STORED_NAMES = {
    "mixtral": (SPARSE,), "minimax_m2": (SPARSE,),
    "phimoe": ((".mlp.router.", ".block_sparse_moe.gate."), SPARSE),
    "granitemoe": GRANITE, "granitemoeshared": GRANITE,
    "granitemoehybrid": GRANITE,
    "ernie4_5_moe": ((".gate.moe_statics.", ".moe_statics."),),
    "hy_v3": ((".mlp.gate.", ".mlp.router.gate."), (".mlp.shared_experts.", ".mlp.shared_mlp."),
              (".mlp.e_score_correction_bias", ".mlp.expert_bias")),
    "kimi_linear": ((".mlp.gate.", ".block_sparse_moe.gate."),
                    (".mlp.experts.", ".block_sparse_moe.experts."),
                    (".mlp.shared_experts.", ".block_sparse_moe.shared_experts."),
                    (".forget_gate.", ".")),
    "sarvam_moe": (("embed_tokens", "word_embeddings"), (".self_attn.", ".attention."),
                   (".o_proj.", ".dense."), (".q_norm.", ".query_layernorm."),
                   (".k_norm.", ".key_layernorm."),
                   (".e_score_correction_bias", ".expert_bias")),
    "exaone_moe": ((".gate.e_score_correction_bias", ".e_score_correction_bias"),),
}


# Classes whose checkpoints have the experts of a role in one tensor, as memory has them.
STACKED = ("gpt_oss", "llama4_text", "mistral4", "granitemoe_swa", "dbrx", "gemma4_text")


def checkpoint_shapes(shapes, model_type):
    """Experts are one tensor in memory and mostly a matrix each in a checkpoint."""
    gate, up, down = EXPERT_PARTS.get(model_type, ("gate_proj", "up_proj", "down_proj"))
    out = {}
    for name, shape in shapes.items():
        stored = name
        for in_memory, in_file in STORED_NAMES.get(model_type, ()):
            stored = stored.replace(in_memory, in_file)
        if model_type == "kimi_linear" and stored.endswith(".conv1d.weight"):
            third = (shape[0] // 3, *shape[1:])
            stem = stored[:-len("conv1d.weight")]
            out |= {f"{stem}{part}_conv1d.weight": third for part in "qkv"}
            continue
        if model_type == "sarvam_moe" and re.search(r"[qkv]_proj", stored):
            fused = re.sub(r"[qkv]_proj", "query_key_value", stored)
            out[fused] = (out.get(fused, (0,))[0] + shape[0], *shape[1:])
            continue
        if ".experts." not in stored or model_type in STACKED:
            out[stored] = shape
            continue
        stem = stored.rsplit(".", 1)[0]
        for e in range(shape[0]):
            if name.endswith("experts.gate_up_proj"):
                half = (shape[1] // 2, shape[2])
                out |= {f"{stem}.{e}.{part}.weight": half for part in (gate, up)}
            elif name.endswith("experts.down_proj"):
                out[f"{stem}.{e}.{down}.weight"] = shape[1:]
            elif name.endswith("experts.up_proj"):  # without gates
                out[f"{stem}.{e}.{up}.weight"] = shape[1:]
    return out


def load_classes(configs):
    """Imports what these configs need, once, before processes are forked."""
    for config in configs:
        shapes_of(config)


def one_line(error):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:160]


def implementation_of(folder):
    """Eager attention, except where it differs from the other forms: Falcon's adds ALiBi twice, once
    in its mask and once by itself."""
    config = json.loads((folder / "config.json").read_text())
    return "sdpa" if config.get("model_type") == "falcon" and config.get("alibi") else "eager"


class Model:
    def __init__(self, folder):
        config = json.loads((folder / "config.json").read_text())
        self.gives = gives(config)
        try:
            maker = class_of(config.get("model_type"), config)
            self.model, info = maker.from_pretrained(
                folder, dtype=torch.float32, attn_implementation=implementation_of(folder),
                experts_implementation="eager", output_loading_info=True)
        except Exception as error:
            raise Refused(one_line(error)) from error
        self.model.eval()
        # It draws random numbers for these; hidden states are made before the pooler.
        self.missing = sorted(key for key in info["missing_keys"]
                              if "pooler." not in key or self.gives == "scores")
        self.second = 0  # where the second text of a pair begins
        self.source = 0  # ids of a source text

    def logits(self, prompts):
        try:
            with torch.no_grad():
                rows = [self.rows_of(ids) for ids in prompts]
        except Exception as error:
            raise Refused(one_line(error)) from error
        if not all(np.isfinite(row).all() for row in rows):
            raise Refused("logits that are not finite")
        return rows

    def exact(self, prompts):
        """Logits in float64."""
        try:
            self.model.double()
            return self.logits(prompts)
        finally:
            self.model.float()

    def rows_of(self, ids):
        more = {"use_cache": False} if self.gives == "logits" else {}
        if self.source > 0:
            more["decoder_input_ids"] = torch.tensor([ids[self.source:]])
            ids = ids[:self.source]
            # Else some classes take padding tokens for no text.
            more["attention_mask"] = torch.ones(1, len(ids), dtype=torch.long)
            more["decoder_attention_mask"] = torch.ones_like(more["decoder_input_ids"])
        if self.second > 0:
            more["token_type_ids"] = torch.tensor([[int(i >= self.second) for i in range(len(ids))]])
        found = self.model(torch.tensor([ids]), **more)
        found = found["last_hidden_state" if self.gives == "hidden" else "logits"][0]
        return (found[None] if self.gives == "scores" else found).float().numpy()

    def rounded(self, prompts, activations=False, weights=False):
        """Logits with keys and values in half floats, as pages hold them; with the inputs of every
        projection in bfloat16, as bf16 weights meet them; with every matrix in half floats."""
        with self.roundings(activations, weights):
            return self.logits(prompts)

    @contextlib.contextmanager
    def roundings(self, activations=False, weights=False):
        with contextlib.ExitStack() as stack:
            stack.enter_context(half_keys_and_values(self.model))
            stack.enter_context(choices.halves())
            if activations:
                stack.enter_context(bf16_activations(self.model))
            if weights:
                stack.enter_context(half_matrices(self.model))
            yield

    def first_near_tie(self, prompt, factor, **roundings):
        """The first row of a prompt at which these roundings may choose other experts or keys, or
        None."""
        n_chosen = routers.number_of(self.model.config, routers.CHOSEN)
        with routers.watched(self.model) as plain, choices.watched() as plain_keys:
            self.logits([prompt])
        with self.roundings(**roundings), routers.watched(self.model) as rounded:
            with choices.watched() as rounded_keys:
                self.logits([prompt])
        found = (routers.first_near_tie(plain, rounded, n_chosen, factor),
                 choices.first_near_tie(plain_keys, rounded_keys, factor))
        return min((row for row in found if row is not None), default=None)


# Projections of classes that compute attention in a method of their own.
KEYS_AND_VALUES = ("query_key_value", "Wqkv", "qkv_proj", "k_proj", "v_proj", "attn.k",
                   "attn.v", "self.key_proj", "self.value_proj", "attn.c_attn")


@contextlib.contextmanager
def half_projections(model):
    """Rounds what keys and values are made from; queries too where one matrix holds all."""
    hooks = [m.register_forward_hook(lambda _, args, out: out.half().float())
             for name, m in model.named_modules() if name.endswith(KEYS_AND_VALUES)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def half_keys_and_values(model):
    module = sys.modules[type(model).__module__]
    if not hasattr(module, "eager_attention_forward"):
        with half_projections(model):
            yield
        return
    plain = module.eager_attention_forward

    def rounded(self, query, key, value, *args, **kwargs):
        return plain(self, query, key.half().float(), value.half().float(), *args, **kwargs)

    module.eager_attention_forward = rounded
    others = [m for m in model.modules() if hasattr(m, "_upcast_and_reordered_attn")]
    for m in others:
        own = m._upcast_and_reordered_attn
        m._upcast_and_reordered_attn = lambda q, k, v, *rest, own=own, **named: own(
            q, k.half().float(), v.half().float(), *rest, **named)
    try:
        yield
    finally:
        module.eager_attention_forward = plain
        for m in others:
            del m._upcast_and_reordered_attn


@contextlib.contextmanager
def bf16_activations(model):
    kinds = (torch.nn.Linear, transformers.pytorch_utils.Conv1D)
    hooks = [m.register_forward_pre_hook(lambda _, args: (args[0].bfloat16().float(), *args[1:]))
             for m in model.modules() if isinstance(m, kinds)]
    plain, plain_bmm = torch.nn.functional.linear, torch.bmm

    def rounded(x, *rest):
        return plain(x.bfloat16().float(), *rest)

    def rounded_bmm(x, y):
        return plain_bmm(x.bfloat16().float(), y)

    def begin(module, args):
        torch.nn.functional.linear, torch.bmm = rounded, rounded_bmm

    def end(module, args, out):
        torch.nn.functional.linear, torch.bmm = plain, plain_bmm

    for m in model.modules():
        if type(m).__name__.endswith("Experts"):
            hooks += [m.register_forward_pre_hook(begin), m.register_forward_hook(end)]
    try:
        yield
    finally:
        torch.nn.functional.linear, torch.bmm = plain, plain_bmm
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def half_matrices(model):
    kept = {name: p.detach().clone() for name, p in model.named_parameters()
            if p.dim() > 1 and not name.endswith("mlp.gate.weight")}  # routers stay as they are
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name in kept:
                p.copy_(p.half().float())
    try:
        yield
    finally:
        with torch.no_grad():
            for name, p in model.named_parameters():
                if name in kept:
                    p.copy_(kept[name])
