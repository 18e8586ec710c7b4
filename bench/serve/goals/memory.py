"""What idle sessions cost beyond their keys and values, and how soon they go on."""
import asyncio
import statistics

from client import ask, get_json
from goal import Goal, middle, shown
from servers import Settings
from traces import Words, answer_to

N_SESSIONS, N_PROMPT, N_ANSWER, N_STREAMS = 400, 40, 2, 4


def parts(_):
    return {f"{N_SESSIONS} sessions of {N_PROMPT}": {"n": N_SESSIONS}}


async def measure(side, part, setting):
    words = Words(43, setting.n_vocab)
    prompts = [words.some(N_PROMPT) for _ in range(part["n"])]
    with side.start(setting.model, setting.threads, Settings(N_STREAMS, 8192)) as server:
        for _ in range(N_STREAMS):
            await ask(server.port, words.some(N_PROMPT), N_ANSWER)
        before = server.rss_bytes()
        for begin in range(0, part["n"], N_STREAMS):
            await asyncio.gather(*(ask(server.port, p, N_ANSWER)
                                   for p in prompts[begin:begin + N_STREAMS]))
        after = server.rss_bytes()
        resumed = [await ask(server.port, p + answer_to(p, N_ANSWER) + [words.one()], 1)
                   for p in prompts[::part["n"] // 20]]
        _, stats = await get_json(server.port, "/v1/engine/stats")
    n_tokens = part["n"] * (N_PROMPT + N_ANSWER - 1)
    return {"start_bytes": before, "session_bytes": (after - before) / part["n"],
            "kv_bytes": n_tokens * setting.kv_bytes / part["n"],
            "resumed_ms": statistics.median(a.first_ms for a in resumed),
            "resumed_share": sum(a.n_cached for a in resumed) /
            (len(resumed) * (N_PROMPT + N_ANSWER - 1)),
            "prefix": (stats or {}).get("prefix"), "kv": (stats or {}).get("kv")}


def rows(found, sides):
    for (part, side), runs in found.items():
        yield [part, side, shown((middle(runs, "start_bytes") or 0) / 1e6, "{:,.0f}"),
               shown((middle(runs, "session_bytes") or 0) / 1e3, "{:,.0f}"),
               shown((middle(runs, "kv_bytes") or 0) / 1e3, "{:,.0f}"),
               shown(middle(runs, "resumed_share"), "{:.1%}"),
               shown(middle(runs, "resumed_ms"), "{:,.0f}")]


GOAL = Goal("Memory of idle sessions", parts, measure,
            ["load", "server", "resident before, MB", "grows per session, kB",
             "keys and values of one, kB", "reused when resumed", "first token then, ms"], rows,
            "A sample of the sessions is resumed, oldest first.")
