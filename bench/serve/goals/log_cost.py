"""What the log and Prometheus's visits cost the streams."""
import asyncio
import time

from client import Stream
from goal import Goal, middle, ratio, shown, verdict
from goals.watched import timed_get
from servers import Settings
from traces import Words

N_STREAMS, N_ANSWER, N_REQUESTS = 8, 48, 96
VISIT_S = 1.0


def parts(_):
    return {"watched": {"watched": True}, "not watched": {"watched": False}}


async def visit(port):
    while True:
        await timed_get(port, "/metrics")
        await asyncio.sleep(VISIT_S)


async def measure(side, part, setting):
    words = Words(81, setting.n_vocab)
    settings = Settings(N_STREAMS, 512, watched=part["watched"], logs=part["watched"])
    with side.start(setting.model, setting.threads, settings) as server:
        visits = asyncio.create_task(visit(server.port)) if part["watched"] else None
        asked = [words.some(16) for _ in range(N_REQUESTS)]
        begin, answers = time.perf_counter(), []

        async def ask_in_turn():
            while asked:
                answers.append(await Stream(server.port, asked.pop(), N_ANSWER).run())

        await asyncio.gather(*(ask_in_turn() for _ in range(N_STREAMS)))
        seconds = time.perf_counter() - begin
        if visits:
            visits.cancel()
    return {"tokens_s": sum(a.n_tokens for a in answers) / seconds,
            "n_failed": sum(bool(a.error) for a in answers)}


def rows(found, sides):
    for side in sides:
        with_log = middle(found.get(("watched", side)), "tokens_s")
        without = middle(found.get(("not watched", side)), "tokens_s")
        if with_log is None or without is None:
            continue
        share = ratio(with_log, without)
        yield [side, shown(without), shown(with_log), shown(share, "{:.2%}"),
               verdict(share, 0.995)]


GOAL = Goal("What being watched costs", parts, measure,
            ["server", "tokens/s", "with log and metrics", "of it", "≥ 99.5 %"], rows,
            f"{N_STREAMS} streams; a line of JSON for each request in a file and on the console, "
            "and /metrics read every second.",
            sides=lambda part, side: side == "ours")
