"""Tokens per second of 1, 8 and 32 streams that decode together."""
import asyncio

from client import ask
from goal import Goal, middle, ratio, shown, times, verdict
from servers import Settings
from traces import Words

STREAMS, N_PROMPT, N_ANSWER = (1, 8, 32), 32, 96


def parts(_):
    return {f"{n}": {"n": n} for n in STREAMS}


async def measure(side, part, setting):
    words, n = Words(29, setting.n_vocab), part["n"]
    with side.start(setting.model, setting.threads,
                    Settings(n, N_PROMPT + N_ANSWER + 32)) as server:
        await ask(server.port, words.some(8), 4)
        answers = await asyncio.gather(*(ask(server.port, words.some(N_PROMPT), N_ANSWER)
                                         for _ in range(n)))
        again = await asyncio.gather(*(ask(server.port, words.some(N_PROMPT), N_ANSWER)
                                       for _ in range(n)))
    best = max((speed(a) for a in (answers, again)), key=lambda s: s["tokens_per_s"])
    wrong = sum(len(a.tokens) != N_ANSWER for a in (*answers, *again))
    return {**best, "wrong": wrong}


def speed(answers):
    """While all decode: from the last first token to the first last one. And of the whole."""
    begin, end = max(a.times[0] for a in answers), min(a.times[-1] for a in answers)
    n = sum(a.n_between(begin, end) for a in answers) - len(answers)
    whole = max(a.times[-1] for a in answers) - min(a.sent for a in answers)
    return {"tokens_per_s": n / (end - begin) if end > begin else None,
            "whole_tokens_per_s": sum(a.n_tokens for a in answers) / whole}


def rows(found, sides):
    one = {s: middle(found.get(("1", s)), "tokens_per_s") for s in sides}
    for part in sorted({p for p, _ in found}, key=int):
        speeds = {s: middle(found.get((part, s)), "tokens_per_s") for s in sides}
        peers = [v for s, v in speeds.items() if s != "ours" and v]
        best = ratio(speeds.get("ours"), max(peers)) if peers else None
        yield [part, *(shown(speeds[s]) for s in sides), times(best),
               verdict(best, 2) if part != "1" else "",
               *(times(ratio(speeds[s], one[s])) for s in sides)]


GOAL = Goal("Throughput: streams that decode together", parts, measure,
            ["streams", "*sides, tokens/s", "best peer", "≥ 2", "*sides: over one stream"], rows,
            f"Prompts of {N_PROMPT} tokens that share nothing, answers of {N_ANSWER}. Goal: 8 "
            "streams at least ×3.5 of one for 8-bit and ×3 for 4-bit weights.")
