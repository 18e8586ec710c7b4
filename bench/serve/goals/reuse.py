"""Of the tokens that a perfect prefix cache would have, how many does a server reuse?"""
import asyncio

from client import ask
from goal import Goal, middle, shown, verdict
from oracle import PrefixOracle
from servers import Settings
from traces import TRACES, answer_to

N_STREAMS = 4


def parts(_):
    return {f"{name}, {n} at once": {"trace": name, "n_at_once": n}
            for name in TRACES for n in (1, N_STREAMS)}


class Replay:
    """Sends a trace in order, up to n_at_once together, a turn after its answer only."""

    def __init__(self, port, trace, n_at_once):
        self.port, self.trace = port, trace
        self.places = asyncio.Semaphore(n_at_once)
        self.done = [asyncio.Event() for _ in trace]
        self.oracle = PrefixOracle()
        self.shareable = self.cached = self.prompt = self.wrong = 0

    async def one(self, i):
        request = self.trace[i]
        shareable = self.oracle.shareable(request.prompt)
        answer = await ask(self.port, request.prompt, request.n_answer)
        expected = answer_to(request.prompt, request.n_answer)
        self.oracle.add(request.prompt, expected)
        self.shareable += shareable
        self.cached += answer.n_cached
        self.prompt += len(request.prompt)
        self.wrong += answer.tokens != expected
        self.done[i].set()
        self.places.release()

    async def all(self):
        tasks = []
        for i, request in enumerate(self.trace):
            if request.after >= 0:
                await self.done[request.after].wait()
            await self.places.acquire()
            tasks.append(asyncio.create_task(self.one(i)))
        await asyncio.gather(*tasks)


async def measure(side, part, setting):
    trace = TRACES[part["trace"]](7, setting.n_vocab)
    longest = max(len(r.prompt) + r.n_answer for r in trace)
    settings = Settings(n_streams=N_STREAMS, n_ctx=max(2048, longest + 64))
    with side.start(setting.model, setting.threads, settings) as server:
        replay = Replay(server.port, trace, part["n_at_once"])
        await replay.all()
    return {"requests": len(trace), "prompt_tokens": replay.prompt, "shareable": replay.shareable,
            "cached": replay.cached, "share": replay.cached / replay.shareable,
            "wrong": replay.wrong}


def rows(found, sides):
    for part in dict.fromkeys(p for p, _ in found):
        ours = middle(found.get((part, "ours")), "share")
        runs = next(r for (p, _), r in found.items() if p == part)
        yield [part, f"{runs[0]['prompt_tokens']:,}", f"{runs[0]['shareable']:,}",
               *(shown(middle(found.get((part, s)), "share"), "{:.1%}") for s in sides),
               verdict(ours, 0.99)]


GOAL = Goal("Reuse: share of the shareable tokens that came from the cache", parts, measure,
            ["trace", "prompt tokens", "shareable", "*sides", "≥ 99 %"], rows,
            "Shareable: the longest prefix that is common with an earlier prompt and its answer, "
            "found offline, at any token boundary. Above 100 %: shared with a prompt that was "
            "still being computed.")
