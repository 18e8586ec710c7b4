"""How soon a server says how it is while a long prompt occupies every core."""
import asyncio
import time

from client import Stream, ask
from goal import Goal, middle, percentile, shown, verdict
from servers import Settings
from traces import Words

PAUSE_S = 0.02
BOUNDS = {"/health": 10, "/metrics": 50}


def parts(setting):
    return {f"GET {path} beside a prompt of {setting.long:,}": {"path": path, "long": setting.long}
            for path in BOUNDS}


async def timed_get(port, path):
    """Milliseconds until the last byte came, on a connection of its own."""
    begin = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read(-1)
    finally:
        writer.close()
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(answer[:200].decode(errors="replace"))
    return 1e3 * (time.perf_counter() - begin)


async def measure(side, part, setting):
    words = Words(61, setting.n_vocab)
    with side.start(setting.model, setting.threads,
                    Settings(2, part["long"] + 64, watched=True)) as server:
        await ask(server.port, words.some(8), 2)
        long = asyncio.create_task(Stream(server.port, words.some(part["long"]), 1).run())
        await asyncio.sleep(0.3)
        waits = []
        while not long.done():
            waits.append(await timed_get(server.port, part["path"]))
            await asyncio.sleep(PAUSE_S)
        answer = await long
    if answer.error:
        raise RuntimeError(answer.error)
    return {"p50": percentile(waits, 0.5), "p99": percentile(waits, 0.99), "worst": max(waits),
            "n": len(waits), "prefill_s": answer.first_ms / 1e3}


def rows(found, sides):
    for (part, side), runs in found.items():
        bound = next(ms for path, ms in BOUNDS.items() if path in part)
        yield [part, side, shown(middle(runs, "n"), "{:.0f}"), shown(middle(runs, "p50")),
               shown(middle(runs, "p99")), shown(middle(runs, "worst")),
               verdict(middle(runs, "p99"), bound, False) if side == "ours" else ""]


GOAL = Goal("Answers about the server beside a prefill", parts, measure,
            ["request", "server", "asked", "p50, ms", "p99, ms", "worst, ms", "goal"], rows,
            "Each request on a connection of its own, 20 ms after the one before, from the "
            "machine that computes: the client's own share of a core is in the times. Goals: 10 ms "
            "for /health and 50 ms for /metrics, of 99 %.")
