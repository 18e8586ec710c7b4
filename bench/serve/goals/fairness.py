"""One stream and four that decode while a long prompt arrives: what they wait, what it loses."""
import asyncio
import statistics
import time

from client import Stream, ask
from goal import Goal, middle, percentile, shown, times, verdict
from servers import Settings
from traces import Words

N_SOLO, SETTLE = 100, 4


def parts(setting):
    return {f"{name}, prompt of {setting.long:,}": {"long": setting.long, "others": n}
            for n, name in ((1, "1 stream"), (4, "4 streams"))}


async def begun(server, words, n_others, n_tokens):
    streams = [Stream(server.port, words.some(32), n_tokens) for _ in range(n_others)]
    tasks = [asyncio.create_task(s.run()) for s in streams]
    for stream in streams:
        await stream.until(SETTLE)
    return streams, tasks


async def more(streams, n):
    """Waits until each has so many tokens more."""
    for stream, n_events in [(s, s.n_events + n) for s in streams]:
        await stream.until(n_events)


async def measure(side, part, setting):
    words = Words(19, setting.n_vocab)
    settings = Settings(n_streams=part["others"] + 1, n_ctx=part["long"] + 64, kept=0)
    now = time.perf_counter
    with side.start(setting.model, setting.threads, settings) as server:
        await ask(server.port, words.some(8), 2)
        if side.touches_late:
            for _ in range(settings.n_streams):
                await ask(server.port, words.some(part["long"]), 1)
        alone = await ask(server.port, words.some(part["long"]), 1)
        streams, tasks = await begun(server, words, part["others"], part["long"] - 64)
        began = now()
        await more(streams, N_SOLO)
        before = began, now()
        beside = await ask(server.port, words.some(part["long"]), 1)
        end = beside.sent + beside.first_ms / 1e3
        await more(streams, N_SOLO)
        after = end, now()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    others = [s.answer() for s in streams]
    solo = [g for window in (before, after) for a in others for g in a.gaps_ms(*window)]
    gaps = [g for a in others for g in a.gaps_ms(beside.sent, end)]
    n_beside = sum(a.n_between(beside.sent, end) for a in others)
    return {"alone_ms": alone.first_ms, "beside_ms": beside.first_ms,
            "solo_p50": percentile(solo, 0.5), "solo_p99": percentile(solo, 0.99),
            "p50": percentile(gaps, 0.5), "p99": percentile(gaps, 0.99),
            "worst_ms": max(gaps, default=beside.first_ms), "n_beside": n_beside,
            "n_gaps": len(gaps),
            **shares(alone.first_ms, beside.first_ms, n_beside / part["others"],
                     statistics.mean(solo) if solo else None,
                     percentile(solo, 0.99), percentile(gaps, 0.99) or beside.first_ms)}


def shares(alone_ms, beside_ms, n_steps, solo_ms, solo_p99, p99):
    """What a step's time went to. A step that takes t times what its streams alone need leaves the
    prompt 1 - 1/t of it."""
    stretch = beside_ms / alone_ms
    of_streams_ms = n_steps * (solo_ms or 0)
    step = beside_ms / of_streams_ms if of_streams_ms else None
    return {"stretch": stretch, "own_stretch": stretch - of_streams_ms / alone_ms,
            "step": step, "least": step / (step - 1) if step and step > 1 else None,
            "p99_ratio": p99 / solo_p99 if solo_p99 else None}


def rows(found, sides):
    for (part, side), runs in found.items():
        yield [part, side, times(middle(runs, "p99_ratio")),
               verdict(middle(runs, "p99_ratio"), 2, False) if side == "ours" else "",
               " / ".join(shown(middle(runs, k)) for k in ("solo_p50", "solo_p99")),
               " / ".join(shown(middle(runs, k)) for k in ("p50", "p99", "worst_ms")),
               shown(middle(runs, "n_beside"), "{:,.0f}"), times(middle(runs, "step")),
               shown(middle(runs, "alone_ms"), "{:,.0f}"), times(middle(runs, "stretch")),
               times(middle(runs, "least")), times(middle(runs, "own_stretch")),
               verdict(middle(runs, "own_stretch"), 1.1, False) if side == "ours" else ""]


GOAL = Goal("Fairness: streams beside a long prompt", parts, measure,
            ["load", "server", "inter-token p99 over solo", "≤ 2", "solo p50 / p99, ms",
             "beside p50 / p99 / worst, ms", "their tokens meanwhile", "mean step over solo",
             "prefill alone, ms", "beside: takes", "least at that step", "less their tokens",
             "≤ 1.10"], rows,
            "Solo: the same streams before and after the prompt, as their own contexts grow "
            "meanwhile. A step that takes t times what its streams alone need leaves the prompt "
            "1 - 1/t of its time, so that it takes t/(t - 1) times as long as alone at least, ×2 "
            "where t is 2, as long as a row costs the same in small steps and in large ones; to "
            "lose a tenth in all, t would have to be 11. What a scheduler can keep below 1.10 is "
            "“less their tokens”: the time of the prefill without what the others' tokens cost "
            "when they decode by themselves. Before, long prompts have used all memory of ours "
            "once, which the others touch when they start.")
