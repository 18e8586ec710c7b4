"""Four streams that decode while a long prompt arrives: what they wait, what it loses."""
import asyncio

from client import Stream, ask
from goal import Goal, middle, percentile, shown, times, verdict
from servers import Settings
from traces import Words

N_OTHERS, N_SOLO, SETTLE = 4, 100, 4


def parts(setting):
    return {f"{N_OTHERS} streams, prompt of {setting.long:,}": {"long": setting.long}}


async def begun(server, words, n_tokens):
    streams = [Stream(server.port, words.some(32), n_tokens) for _ in range(N_OTHERS)]
    tasks = [asyncio.create_task(s.run()) for s in streams]
    for stream in streams:
        await stream.until(SETTLE)
    return streams, tasks


async def measure(side, part, setting):
    words = Words(19, setting.n_vocab)
    settings = Settings(n_streams=N_OTHERS + 1, n_ctx=part["long"] + 64)
    clock = asyncio.get_running_loop().time
    with side.start(setting.model, setting.threads, settings) as server:
        await ask(server.port, words.some(8), 2)
        alone = await ask(server.port, words.some(part["long"]), 1)
        _, tasks = await begun(server, words, N_SOLO)
        solo = await asyncio.gather(*tasks)
        streams, tasks = await begun(server, words, part["long"] - 64)
        beside = await ask(server.port, words.some(part["long"]), 1)
        end = beside.sent + beside.first_ms / 1e3
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    begin_all = max(a.times[SETTLE] for a in solo)
    end_all = min(a.times[-1] for a in solo)
    solo_gaps = [g for a in solo for g in a.gaps_ms(begin_all, end_all)]
    others = [s.answer() for s in streams]
    gaps = [g for a in others for g in a.gaps_ms(beside.sent, end)]
    n_beside = sum(a.n_between(beside.sent, end) for a in others)
    solo_s = sum(a.n_between(begin_all, end_all) for a in solo) / (end_all - begin_all)
    stretch = beside.first_ms / alone.first_ms
    of_others = n_beside / solo_s / (alone.first_ms / 1e3)
    return {"alone_ms": alone.first_ms, "beside_ms": beside.first_ms, "stretch": stretch,
            "own_stretch": stretch - of_others, "solo_p50": percentile(solo_gaps, 0.5),
            "solo_p99": percentile(solo_gaps, 0.99), "p50": percentile(gaps, 0.5),
            "p99": percentile(gaps, 0.99), "worst_ms": max(gaps, default=beside.first_ms),
            "n_beside": n_beside, "n_gaps": len(gaps),
            "p99_ratio": (percentile(gaps, 0.99) or beside.first_ms) / percentile(solo_gaps, 0.99)}


def rows(found, sides):
    for (part, side), runs in found.items():
        yield [part, side, times(middle(runs, "p99_ratio")),
               verdict(middle(runs, "p99_ratio"), 2, False) if side == "ours" else "",
               " / ".join(shown(middle(runs, k)) for k in ("solo_p50", "solo_p99")),
               " / ".join(shown(middle(runs, k)) for k in ("p50", "p99", "worst_ms")),
               shown(middle(runs, "n_beside"), "{:,.0f}"),
               shown(middle(runs, "alone_ms"), "{:,.0f}"), times(middle(runs, "stretch")),
               times(middle(runs, "own_stretch")),
               verdict(middle(runs, "own_stretch"), 1.1, False) if side == "ours" else ""]


GOAL = Goal("Fairness: streams beside a long prompt", parts, measure,
            ["load", "server", "inter-token p99 over solo", "≤ 2", "solo p50 / p99, ms",
             "beside p50 / p99 / worst, ms", "their tokens meanwhile", "prefill alone, ms",
             "beside: takes", "less their tokens", "≤ 1.10"], rows,
            "“Less their tokens”: the time of the prefill without what the others' tokens cost "
            "when they decode by themselves.")
