"""Triplets for embeddings: a task, another task for the same agent, and one that only looks alike.

The negative is hard: it shares the component with the anchor and differs in what is to be done.
"""

import values
from values import AGENTS


def _task(draw, agent, component, avoid=None):
    while True:
        phrase = draw.pick("task " + agent)
        if phrase != avoid:
            break
    text = phrase.format(
        c=component, d=values.component(draw), t=draw.pick("tech"), q=draw.pick("topic")
    )
    return phrase, text


def triplet(draw):
    """{anchor, positive, negative}"""
    agent, other = draw.some(AGENTS, 2)
    component = values.component(draw)
    phrase, anchor = _task(draw, agent, component)
    _, positive = _task(draw, agent, values.component(draw), avoid=phrase)
    _, negative = _task(draw, other, component)
    return {"anchor": anchor, "positive": positive, "negative": negative}
