"""What transformers makes of a folder: logits in float32 with eager attention, and how much the
roundings that we document would move them."""
import contextlib
import copy
import sys
import warnings

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

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


def shapes_of(config):
    """Names and shapes of the tensors of a config, tied ones included."""
    try:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(parse_config(config),
                                                     attn_implementation="eager")
        return {name: tuple(p.shape) for name, p in model.state_dict().items()}
    except Exception as error:
        raise Refused(one_line(error)) from error


def load_classes(configs):
    """Imports what these configs need, once, before processes are forked."""
    for config in configs:
        shapes_of(config)


def one_line(error):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:160]


class Model:
    def __init__(self, folder):
        try:
            self.model, info = AutoModelForCausalLM.from_pretrained(
                folder, dtype=torch.float32, attn_implementation="eager",
                output_loading_info=True)
        except Exception as error:
            raise Refused(one_line(error)) from error
        self.model.eval()
        self.missing = sorted(info["missing_keys"])  # it draws random numbers for these

    def logits(self, prompts):
        try:
            with torch.no_grad():
                rows = [self.model(torch.tensor([ids]), use_cache=False).logits[0].float().numpy()
                        for ids in prompts]
        except Exception as error:
            raise Refused(one_line(error)) from error
        if not all(np.isfinite(row).all() for row in rows):
            raise Refused("logits that are not finite")
        return rows

    def rounded(self, prompts, activations=False, weights=False):
        """Logits with keys and values in half floats, as pages hold them; with the inputs of every
        projection in bfloat16, as bf16 weights meet them; with every matrix in half floats."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(half_keys_and_values(self.model))
            if activations:
                stack.enter_context(bf16_activations(self.model))
            if weights:
                stack.enter_context(half_matrices(self.model))
            return self.logits(prompts)


@contextlib.contextmanager
def half_keys_and_values(model):
    module = sys.modules[type(model).__module__]
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
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def half_matrices(model):
    kept = {name: p.detach().clone() for name, p in model.named_parameters() if p.dim() == 2}
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
