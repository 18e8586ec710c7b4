"""How near a router of the reference is to choosing other experts: where two are nearly equal, a
rounding that is documented decides, and a row and those after it may differ by much."""
import contextlib
import re

import torch

ROUTER = re.compile(r"(gate|router)(\.\w+)?\.weight$")
COUNTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
CHOSEN = ("num_experts_per_tok", "moe_k", "moe_topk", "moe_top_k", "num_experts_per_token",
          "top_k_experts")
BIASES = ("e_score_correction_bias", "expert_bias")


def number_of(config, names):
    inner = getattr(config, "ffn_config", config)
    for name in names:
        value = getattr(config, name, getattr(inner, name, None))
        if isinstance(value, int):
            return value
    return 0


@contextlib.contextmanager
def watched(model):
    """A list to which each router of the model adds what it chooses by, (rows, experts), for each
    call in order."""
    n_experts, seen, hooks = number_of(model.config, COUNTS), [], []
    modules = dict(model.named_modules())
    for name, weight in model.named_parameters():
        if not n_experts or not ROUTER.search(name) or weight.shape[0] != n_experts:
            continue
        module = modules[name.rsplit(".", 1)[0]]
        bias = next((getattr(module, key) for key in BIASES if hasattr(module, key)), None)

        def watch(_, args, weight=weight, bias=bias):
            x = args[0].reshape(-1, args[0].shape[-1])
            logits = torch.nn.functional.linear(x.float(), weight.float())
            seen.append(logits if bias is None else logits.sigmoid() + bias.flatten())

        hooks.append(module.register_forward_pre_hook(watch))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def first_near_tie(plain, rounded, n_chosen, factor):
    """The first row of which some router's last expert chosen is as near to the first one that is
    not as `factor` times what the roundings move any of its numbers; None where there is none."""
    first = None
    for before, after in zip(plain, rounded):
        if before.shape != after.shape or not 0 < n_chosen < before.shape[1]:
            continue
        ranked = before.sort(dim=1, descending=True).values
        margin = ranked[:, n_chosen - 1] - ranked[:, n_chosen]
        moved = (after - before).abs().amax(dim=1)
        rows = (margin <= factor * moved).nonzero().flatten().tolist()
        if rows and (first is None or rows[0] < first):
            first = rows[0]
    return first
