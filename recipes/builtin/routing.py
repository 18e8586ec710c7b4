"""Tasks for thirteen agents, with a label of complexity.

What tells the agent is in the phrases `task AGENT`; the components, technologies and topics in them
are drawn from so many words, most of them made up, that nothing but the phrase can be learned.
"""

import values
from values import AGENTS

LEVELS = ("low", "medium", "high")
_OPENINGS = (
    "Please ",
    "We need to ",
    "Can you ",
    "I want someone to ",
    "Someone should ",
    "Let us ",
    "Now ",
)


def _upper(text):
    return text[0].upper() + text[1:]


def _task(draw, agent):
    """(a request, its level)"""
    text = draw.pick("task " + agent).format(
        c=values.component(draw),
        d=values.component(draw),
        t=draw.pick("tech"),
        q=draw.pick("topic") if draw.chance(0.6) else values.component(draw) + "s",
    )
    level = draw.one(LEVELS)
    hint = draw.pick("hint " + level)
    shape = draw.num(0, 3)
    if shape == 0:
        text = text + ", " + hint
    elif shape == 1:
        text = _upper(text) + " (" + hint + ")."
    elif shape == 2:
        text = _upper(hint) + ": " + text + "."
    elif text.startswith("the "):
        text = _upper(text) + "; " + hint + "."
    else:
        text = draw.one(_OPENINGS) + text + "; " + hint + "."
    if draw.chance(0.12):
        text = draw.pick("route lead") + " " + text
    return text, level


def routing(draw):
    """{messages}: one to six tasks, answered with JSON or with the agent's name."""
    messages = []
    if draw.chance(0.5):
        listed = draw.mixed(AGENTS) if draw.chance(0.5) else AGENTS
        messages.append(
            {"role": "system", "content": draw.pick("route system").format(a=", ".join(listed))}
        )
    for _ in range(draw.num(1, 6)):
        agent = draw.one(AGENTS)
        text, level = _task(draw, agent)
        if draw.chance(0.7):
            ask, answer = "route ask", '{"agent": "%s", "complexity": "%s"}' % (agent, level)
        else:
            ask, answer = "route name ask", agent
        messages.append({"role": "user", "content": draw.pick(ask).format(x=text)})
        messages.append({"role": "assistant", "content": answer})
    return {"messages": messages}
