"""What many clients at once cost: streams that are open together, and connections that ask
nothing."""
import asyncio
import statistics

from client import Stream, ask
from goal import Goal, middle, ratio, shown, times, verdict
from servers import Settings
from traces import Words

N_STREAMS, N_ANSWER = 8, 4
TRIES = 40


def parts(_):
    return {"1,000 streams open": {"streams": 1000}, "10,000 idle connections": {"idle": 10_000}}


async def measure_streams(server, words, n):
    """All ask at once; the server works through them."""
    before = server.rss_bytes()
    streams = [Stream(server.port, words.some(8), N_ANSWER) for _ in range(n)]
    tasks = [asyncio.create_task(stream.run()) for stream in streams]
    most = before
    while not all(task.done() for task in tasks):
        most = max(most, server.rss_bytes())
        await asyncio.sleep(0.02)
    answers = [await task for task in tasks]
    failed = [a.error for a in answers if a.error or a.n_tokens != N_ANSWER]
    return {"n": n, "n_failed": len(failed), "bytes_each": (most - before) / n,
            "why": failed[0] if failed else ""}


async def first_ms(server, words):
    return statistics.median([(await ask(server.port, words.some(64), 1)).first_ms
                              for _ in range(TRIES)])


async def measure_idle(server, words, n):
    alone = await first_ms(server, words)
    before = server.rss_bytes()
    idle = []
    for _ in range(n):
        idle.append(await asyncio.open_connection("127.0.0.1", server.port))
    await ask(server.port, words.some(8), 1)  # so all have been accepted
    held = server.rss_bytes() - before
    beside = await first_ms(server, words)
    again = [await first_ms(server, words) for _ in range(2)]
    n_open = sum(not reader.at_eof() for reader, _ in idle)
    for _, writer in idle:
        writer.close()
    return {"n": n, "n_failed": n - n_open, "bytes_each": held / n, "alone_ms": alone,
            "beside_ms": statistics.median([beside, *again]), "why": ""}


async def measure(side, part, setting):
    words = Words(71, setting.n_vocab)
    with side.start(setting.model, setting.threads, Settings(N_STREAMS, 512)) as server:
        for _ in range(N_STREAMS):
            await ask(server.port, words.some(64), N_ANSWER)
        if "idle" in part:
            return await measure_idle(server, words, part["idle"])
        return await measure_streams(server, words, part["streams"])


def rows(found, sides):
    for (part, side), runs in found.items():
        cost = ratio(middle(runs, "beside_ms"), middle(runs, "alone_ms"))
        good = middle(runs, "n_failed") == 0
        met = good and (cost <= 1.1 if cost else middle(runs, "bytes_each") < 64 * 1024)
        yield [part, side, shown(middle(runs, "n_failed"), "{:,.0f}"),
               shown((middle(runs, "bytes_each") or 0) / 1024), times(cost),
               verdict(int(met), 1) if side == "ours" else ""]


GOAL = Goal("Many clients", parts, measure,
            ["load", "server", "failed", "resident memory of each, KB", "time to first token",
             "goal"], rows,
            "Streams all ask in one moment and wait for one of 8 places. The time to the first "
            "token is that of one more client, beside the same without the idle ones. Goals: none "
            "fails, a stream takes less than 64 KB, idle connections cost at most 10 %.")
