"""Seeded loads: lists of requests whose prompts share beginnings as those of real programs do. A
counting model's answers are known, so a history holds them before anything was asked.
"""
import random
from dataclasses import dataclass

LOWEST, ROOM = 300, 40000  # words begin behind the bytes; above a word is room to count on


@dataclass
class Request:
    prompt: list
    n_answer: int
    after: int = -1  # index of a request that is answered before


def answer_to(prompt, n):
    """What a counting model says."""
    return list(range(prompt[-1] + 1, prompt[-1] + 1 + n))


class Words:
    """Random words of a vocabulary."""

    def __init__(self, seed, n_vocab):
        self.random, self.top = random.Random(seed), n_vocab - ROOM

    def some(self, n):
        return self.random.choices(range(LOWEST, self.top), k=n)

    def one(self):
        return self.some(1)[0]


def chat(seed, n_vocab, n_conversations=6, n_turns=6):
    """Conversations under one system prompt of 200 tokens take turns; each grows."""
    words = Words(seed, n_vocab)
    system, trace = words.some(200), []
    histories = [(list(system), -1) for _ in range(n_conversations)]
    for _ in range(n_turns):
        for i in words.random.sample(range(n_conversations), n_conversations):
            history, after = histories[i]
            prompt = history + words.some(30)
            trace.append(Request(prompt, 16, after))
            histories[i] = prompt + answer_to(prompt, 16), len(trace) - 1
    return trace


def rag(seed, n_vocab, n_questions=24, n_documents=6):
    """1,000 tokens of instructions and standing documents, two more documents of 120 tokens in
    canonical order, and a question."""
    words = Words(seed, n_vocab)
    standing = words.some(1000)
    documents = [words.some(120) for _ in range(n_documents)]
    trace = []
    for _ in range(n_questions):
        chosen = sorted(words.random.sample(range(n_documents), 2))
        prompt = standing + [t for d in chosen for t in documents[d]] + words.some(20)
        trace.append(Request(prompt, 12))
    return trace


def few_shot(seed, n_vocab, n_requests=100):
    """Examples of 50 tokens, then an item of 4 to classify."""
    words = Words(seed, n_vocab)
    examples = words.some(50)
    return [Request(examples + words.some(4), 2) for _ in range(n_requests)]


def agent(seed, n_vocab, n_steps=8, n_branches=4):
    """A tool loop under 400 tokens of tools, whose results repeat a frame; then branches from its
    middle, then the loop once more with a result in its middle edited."""
    words = Words(seed, n_vocab)
    frame, trace, history, after, marks = words.some(24), [], words.some(400), -1, []

    def step(history, after):
        prompt = history + frame[:12] + words.some(16) + frame[12:] + words.some(4)
        trace.append(Request(prompt, 12, after))
        return prompt + answer_to(prompt, 12), len(trace) - 1

    for _ in range(n_steps):
        marks.append((len(history), after))
        history, after = step(history, after)
    middle, its_answer = marks[n_steps // 2]
    for _ in range(n_branches):
        branch = history[:middle], its_answer
        for _ in range(2):
            branch = step(*branch)
    edited = history[:middle] + words.some(8) + history[middle + 8:]
    for _ in range(2):
        edited, after = step(edited, after)
    return trace


def mixed(seed, n_vocab):
    """The others at once, and prompts that share nothing."""
    words = Words(seed + 1, n_vocab)
    kinds = [chat(seed + 2, n_vocab), rag(seed + 3, n_vocab), few_shot(seed + 4, n_vocab, 60),
             agent(seed + 5, n_vocab)]
    kinds.append([Request(words.some(100), 4) for _ in range(8)])
    trace, places = [], [[] for _ in kinds]
    while any(len(p) < len(k) for p, k in zip(places, kinds)):
        open_kinds = [i for i, k in enumerate(kinds) if len(places[i]) < len(k)]
        left = [len(kinds[j]) - len(places[j]) for j in open_kinds]
        i = words.random.choices(open_kinds, left)[0]
        request = kinds[i][len(places[i])]
        after = places[i][request.after] if request.after >= 0 else -1
        places[i].append(len(trace))
        trace.append(Request(request.prompt, request.n_answer, after))
    return trace


TRACES = {"chat": chat, "RAG": rag, "few-shot": few_shot, "agent": agent, "mixed": mixed}
