"""How long a server computes on after its client has gone in the middle of a long prompt."""
import asyncio
import statistics

from client import Stream, ask
from goal import Goal, middle, shown, verdict
from servers import Settings
from traces import Words

TRIES, INSIDE_S = 3, 1.5
SHORT = 8  # tokens of the request that waits for the place


def parts(setting):
    return {f"prompt of {setting.long:,}": {"long": setting.long}}


async def measure(side, part, setting):
    words = Words(41, setting.n_vocab)
    waits = []
    with side.start(setting.model, setting.threads, Settings(1, part["long"] + 64)) as server:
        await ask(server.port, words.some(SHORT), 2)
        idle = [(await ask(server.port, words.some(SHORT), 1)).first_ms for _ in range(TRIES)]
        for i in range(TRIES):
            long = asyncio.create_task(Stream(server.port, words.some(part["long"]), 4).run())
            await asyncio.sleep(INSIDE_S + 0.11 * i)
            waiting = Stream(server.port, words.some(SHORT), 1)
            task = asyncio.create_task(waiting.run())
            await asyncio.sleep(0.05)  # it is there and waits for the only place
            gone = asyncio.get_running_loop().time()
            long.cancel()
            await asyncio.gather(long, return_exceptions=True)
            answer = await task
            waits.append(1e3 * (answer.times[0] - gone) - statistics.median(idle))
    return {"median_ms": statistics.median(waits), "worst_ms": max(waits),
            "idle_ms": statistics.median(idle)}


def rows(found, sides):
    for (part, side), runs in found.items():
        yield [part, side, shown(middle(runs, "median_ms"), "{:,.0f}"),
               shown(middle(runs, "worst_ms"), "{:,.0f}"),
               verdict(middle(runs, "worst_ms"), 250, False) if side == "ours" else ""]


GOAL = Goal("Cancel inside a prefill", parts, measure,
            ["load", "server", "median, ms", "worst, ms", "≤ 250"], rows,
            "One stream only; a short request waits for the place of a long prompt whose client "
            "goes away. Time from there to its first token, less what that takes on an idle "
            "server.")
