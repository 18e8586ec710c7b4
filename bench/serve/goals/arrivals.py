"""Requests that come when they come: at random moments, or many at once. Who waits how long?"""
import asyncio
import random

from client import Stream
from goal import Goal, middle, percentile, shown
from servers import Settings
from traces import Request, Words, chat, few_shot, rag

N_STREAMS, SECONDS, N_REQUESTS, N_ANSWER = 8, 30, 60, 32
FIRST_MS, GAP_MS = 1000, 100  # a request is served well within these


def parts(_):
    return {"Poisson arrivals": {"burst": 1}, "bursts of 10": {"burst": 10}}


def load(n_vocab):
    """Prompts that share beginnings and some that share nothing, shuffled."""
    words = Words(53, n_vocab)
    prompts = [r.prompt for r in (chat(54, n_vocab, 10, 2) + rag(55, n_vocab, 16) +
                                  few_shot(56, n_vocab, 16))]
    prompts += [words.some(150) for _ in range(N_REQUESTS - len(prompts))]
    words.random.shuffle(prompts)
    return [Request(p, N_ANSWER) for p in prompts[:N_REQUESTS]]


async def measure(side, part, setting):
    rng, trace, tasks = random.Random(57), load(setting.n_vocab), []
    n_ctx = max(len(r.prompt) for r in trace) + N_ANSWER + 16
    with side.start(setting.model, setting.threads, Settings(N_STREAMS, n_ctx)) as server:
        for begin in range(0, len(trace), part["burst"]):
            for request in trace[begin:begin + part["burst"]]:
                tasks.append(asyncio.create_task(
                    Stream(server.port, request.prompt, request.n_answer).run()))
            await asyncio.sleep(rng.expovariate(len(trace) / part["burst"] / SECONDS))
        answers = await asyncio.gather(*tasks)
    good = [a for a in answers if a.times and a.first_ms <= FIRST_MS and
            percentile(a.gaps_ms(), 0.95) <= GAP_MS]
    answers = [a for a in answers if a.times]
    first, gaps = [a.first_ms for a in answers], [g for a in answers for g in a.gaps_ms()]
    return {"first_p50": percentile(first, 0.5), "first_p99": percentile(first, 0.99),
            "gap_p50": percentile(gaps, 0.5), "gap_p99": percentile(gaps, 0.99),
            "good": len(good) / len(trace), "refused": len(trace) - len(answers)}


def rows(found, sides):
    for (part, side), runs in found.items():
        yield [part, side, shown(middle(runs, "good"), "{:.0%}"),
               *(" / ".join(shown(middle(runs, k), "{:,.0f}") for k in pair) for pair in
                 (("first_p50", "first_p99"), ("gap_p50", "gap_p99"))),
               shown(middle(runs, "refused"), "{:.0f}")]


GOAL = Goal("Requests as they come", parts, measure,
            ["load", "server", "served well", "first token p50 / p99, ms",
             "between tokens p50 / p99, ms", "refused"], rows,
            f"{N_REQUESTS} requests in about {SECONDS} s, most with a beginning that others share, "
            f"{N_STREAMS} streams. Served well: the first token within {FIRST_MS:,} ms and 95 % of "
            f"the others within {GAP_MS} ms of the one before.")
