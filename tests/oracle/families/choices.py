"""The indexes of the reference: of keys with equal scores the first are chosen, where torch leaves it
open; and how near an index is to choosing others, as families/routers.py says it of experts."""
import contextlib

import torch
from transformers.models.deepseek_v32 import modeling_deepseek_v32
from transformers.models.glm_moe_dsa import modeling_glm_moe_dsa

INDEXERS = (modeling_deepseek_v32.DeepseekV32Indexer, modeling_glm_moe_dsa.GlmMoeDsaIndexer)
_watched = []  # lists that get (scores, number chosen) of each call
_half = []     # not empty: keys of indexes are half floats, as pages hold them


class HalfKeys:
    """In the place of a cache: gives the keys back, rounded."""
    @staticmethod
    def update_indexer(key, _):
        return key.half().float() if key.dtype == torch.float32 else key.half().to(key.dtype)


def first_of_equals(scores, k, dim=-1):
    for seen in _watched:
        seen.append((scores[0].detach(), k))
    values, indices = torch.sort(scores, dim=dim, descending=True, stable=True)
    return torch.return_types.topk((values.narrow(dim, 0, k), indices.narrow(dim, 0, k)))


def _with_order(plain):
    def forward(self, *args, cache=None, **kwargs):
        usual, torch.Tensor.topk = torch.Tensor.topk, first_of_equals
        try:
            return plain(self, *args, cache=HalfKeys if _half and cache is None else cache, **kwargs)
        finally:
            torch.Tensor.topk = usual
    return forward


for indexer in INDEXERS:
    indexer.forward = _with_order(indexer.forward)


@contextlib.contextmanager
def halves():
    _half.append(True)
    try:
        yield
    finally:
        _half.pop()


@contextlib.contextmanager
def watched():
    """A list to which each index adds its scores, (rows, keys), and how many it chooses."""
    seen = []
    _watched.append(seen)
    try:
        yield seen
    finally:
        _watched.remove(seen)


def first_near_tie(plain, rounded, factor):
    """The first row of which some index's last key chosen is as near to the first one that is not as
    `factor` times what the roundings move any of its scores; None where there is none. Keys whose
    scores are 0 with and without the roundings are equal, and their order is no matter of chance."""
    first = None
    for (before, k), (after, _) in zip(plain, rounded):
        for row in range(k, before.shape[0]):
            was, now = before[row, :row + 1], after[row, :row + 1]
            ranked, places = was.sort(descending=True, stable=True)
            pair = places[k - 1:k + 1]
            if not was[pair].any() and not now[pair].any():
                continue
            if ranked[k - 1] - ranked[k] <= factor * (now - was).abs().max():
                first = row if first is None else min(first, row)
                break
    return first
