"""Conversations in which tools are called, answer, or do not fit."""

import json

import tool_library
from small_talk import small_talk

NO_TOOL = "I am sorry, none of my tools can do that."
_LINKS = (" Also, ", " And then: ", " And ", " After that: ")


def _wrapped(draw, ask):
    """The same request between words that change nothing."""
    if draw.chance(0.2):
        ask = draw.pick("before") + " " + ask
    if draw.chance(0.15):
        ask += " " + draw.pick("after")
    return ask


def _joined(draw, first, second):
    if not second.startswith("I "):
        second = second[0].lower() + second[1:]
    return first + draw.one(_LINKS) + second


def call(name, arguments):
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


class _Talk:
    """One conversation as it grows."""

    def __init__(self, draw, unseen):
        self.draw, self.unseen = draw, unseen
        self.offers, names = [], set()
        for _ in range(draw.one([1, 1, 2, 2, 2, 3, 3, 4, 5])):
            offer = tool_library.offer(draw, unseen_library=unseen)
            if names.isdisjoint({offer.name, *self._other_names(offer)}):
                self.offers.append(offer)
                names |= {offer.name, *self._other_names(offer)}
        self.names, self.messages = names, []
        if draw.chance(0.35):
            self.messages.append({"role": "system", "content": draw.pick("system")})

    @staticmethod
    def _other_names(offer):
        return offer.tool.names if isinstance(offer, tool_library.LibraryOffer) else []

    def add(self, role, content, **more):
        self.messages.append({"role": role, "content": content, **more})

    def refused(self):
        """A request that no offered tool serves."""
        offer = tool_library.offer(self.draw, 0.3, self.unseen)
        if self.names.isdisjoint({offer.name, *self._other_names(offer)}):
            self.add("user", _wrapped(self.draw, offer.use(self.draw).ask))
            self.add("assistant", NO_TOOL)

    def chatted(self):
        messages = small_talk(self.draw)["messages"][:2]
        if messages[0]["content"].lower() not in ("help", "what can you do?"):
            self.messages += messages

    def called(self, may_end):
        """One request, or two in one sentence; True where the conversation ends with the calls."""
        draw = self.draw
        offer = draw.one(self.offers)
        uses, calls = [offer.use(draw)], []
        calls.append(call(offer.name, uses[0].arguments))
        ask = uses[0].ask
        if draw.chance(0.2):
            other = draw.one(self.offers)
            use = other.use(draw)
            if use.ask != ask:
                uses.append(use)
                calls.append(call(other.name, use.arguments))
                ask = _joined(draw, ask, use.ask)
        self.add("user", _wrapped(draw, ask))
        self.add("assistant", "", tool_calls=calls)
        if draw.chance(0.45):
            for use in uses:
                self.add("tool", json.dumps(use.result, ensure_ascii=False))
            self.add("assistant", " ".join(use.answer for use in uses))
            return False
        return may_end and draw.chance(0.5)


def tool_talk(draw, unseen=False):
    """{messages, tools}: one to five tools and one to four requests; ends with the assistant."""
    while True:
        talk = _Talk(draw, unseen)
        for turn in range(draw.one([1, 2, 2, 3, 3, 4])):
            kind = draw.random()
            if kind < 0.1:
                talk.refused()
            elif kind < 0.14:
                talk.chatted()
            elif talk.called(turn == 0):
                break
        if any(m["role"] == "user" for m in talk.messages):
            return {"messages": talk.messages, "tools": [o.signature for o in talk.offers]}
