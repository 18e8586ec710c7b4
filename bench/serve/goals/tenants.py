"""Two tenants, one with ten times the other's requests in flight: who gets how many tokens."""
import asyncio

from client import Stream, ask
from goal import Goal, middle, ratio, shown, verdict
from servers import Settings
from traces import Words

N_STREAMS, HEAVY, LIGHT, SECONDS = 4, 40, 4, 12
N_PROMPT, N_ANSWER = 48, 48


def parts(_):
    return {f"{HEAVY} and {LIGHT} requests in flight, {N_STREAMS} streams": {}}


async def tenant(server, words, name, kept):
    """One place of a tenant: a request after the other."""
    while True:
        stream = Stream(server.port, words.some(N_PROMPT), N_ANSWER, user=name)
        kept.append(stream)
        await stream.run()


async def measure(side, part, setting):
    words = Words(23, setting.n_vocab)
    streams = {"heavy": [], "light": []}
    with side.start(setting.model, setting.threads, Settings(N_STREAMS, 256)) as server:
        await ask(server.port, words.some(8), 2)
        tasks = [asyncio.create_task(tenant(server, words, name, streams[name]))
                 for name, n in (("heavy", HEAVY), ("light", LIGHT)) for _ in range(n)]
        await asyncio.sleep(SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    tokens = {name: sum(s.answer().n_tokens for s in kept) for name, kept in streams.items()}
    errors = [a.error for kept in streams.values() for a in (s.answer() for s in kept)
              if a.error and a.error != "no answer"]
    return {**tokens, "ratio": ratio(tokens["heavy"], tokens["light"]), "errors": errors[:3]}


def rows(found, sides):
    for (part, side), runs in found.items():
        yield [part, side, shown(middle(runs, "heavy"), "{:,.0f}"),
               shown(middle(runs, "light"), "{:,.0f}"), shown(middle(runs, "ratio"), "{:.2f}"),
               verdict(middle(runs, "ratio"), 2, False) if side == "ours" else ""]


GOAL = Goal("Fairness: two tenants", parts, measure,
            ["load", "server", "tokens of the heavy one", "of the light one", "ratio", "≤ 2"], rows,
            "The light tenant always has as many requests in flight as there are streams, so a "
            "fair server gives each half of them.")
