"""Time to the first token when the prefix is cached, beside a prompt as long that is not."""
import statistics

from client import ask
from goal import Goal, middle, ratio, shown, times, verdict
from servers import Settings
from traces import Words, mixed

# tokens of prefix, tokens of its own, tries, how many times faster a hit shall be
CASES = {"few-shot": (50, 4, 30, 5), "chat": (200, 8, 10, 10), "RAG": (1000, 20, 4, 10)}
HITS_OF_LONG, EVERY = 5, 5


def parts(setting):
    found = {f"{name}: {prefix:,} + {own}": {"prefix": prefix, "own": own, "tries": n, "goal": goal}
             for name, (prefix, own, n, goal) in CASES.items()}
    found["mixed trace"] = {"mixed": True, "goal": 5}
    found[f"long: {setting.long:,} + 8"] = {"prefix": setting.long, "own": 8, "tries": 1}
    return found


async def measure_mixed(side, part, setting):
    """Without the cache a request in EVERY is sent: its time per token tells that of all."""
    trace = mixed(11, setting.n_vocab)
    some = trace[::EVERY]
    settings = Settings(n_ctx=max(len(r.prompt) + r.n_answer for r in trace) + 64)
    with side.start(setting.model, setting.threads, settings) as server:
        await ask(server.port, [400, 401], 2)
        misses = [await ask(server.port, r.prompt, 1, **server.without_cache) for r in some]
        hits = [await ask(server.port, r.prompt, r.n_answer) for r in trace]
    n_tokens = [sum(len(r.prompt) for r in requests) for requests in (some, trace)]
    miss = sum(a.first_ms for a in misses) / n_tokens[0] * n_tokens[1] / len(trace)
    hit = sum(a.first_ms for a in hits) / len(hits)
    return {"hit_ms": hit, "miss_ms": miss, "ratio": miss / hit,
            "cached": sum(a.n_cached for a in hits) / len(hits)}


async def measure(side, part, setting):
    if part.get("mixed"):
        return await measure_mixed(side, part, setting)
    words, hits, misses = Words(13, setting.n_vocab), [], []
    settings = Settings(n_ctx=part["prefix"] + part["own"] + 64)
    n_cached = 0
    with side.start(setting.model, setting.threads, settings) as server:
        await ask(server.port, words.some(8), 2)
        for _ in range(part["tries"]):
            prefix = words.some(part["prefix"])
            misses.append(await ask(server.port, prefix + words.some(part["own"]), 2))
            for _ in range(HITS_OF_LONG if part["tries"] == 1 else 1):
                hits.append(await ask(server.port, prefix + words.some(part["own"]), 2))
                n_cached += hits[-1].n_cached
    hit, miss = (statistics.median(a.first_ms for a in x) for x in (hits, misses))
    return {"hit_ms": hit, "miss_ms": miss, "ratio": miss / hit, "cached": n_cached / len(hits)}


def rows(found, sides):
    for part in dict.fromkeys(p for p, _ in found):
        goal = 50 if part.startswith("long") else next(
            (c[3] for name, c in CASES.items() if part.startswith(name)), 5)
        ours, is_long = found.get((part, "ours")), part.startswith("long")
        hit = middle(ours, "hit_ms")
        met = verdict(middle(ours, "ratio"), goal)
        yield [part, times(middle(ours, "ratio")), f"×{goal}" + (", < 100 ms" if is_long else ""),
               "no" if is_long and hit is not None and hit >= 100 else met,
               *(" / ".join(shown(middle(found.get((part, s)), k), "{:,.0f}")
                            for k in ("hit_ms", "miss_ms")) for s in sides),
               *(times(ratio(middle(found.get((part, s)), "hit_ms"), hit))
                 for s in sides if s != "ours")]


GOAL = Goal("Time to the first token, hit and miss", parts, measure,
            ["prefix + own tokens", "hit is faster by", "goal", "met", "*sides, ms hit / miss",
             "*peers: hit over ours"], rows,
            "The mixed row is the mean over a whole trace; without the cache it comes from the time per "
            f"token of a request in {EVERY}.")
