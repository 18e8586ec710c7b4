"""The same bytes whatever happens around a request: the built-in model answers prompts of real text
alone, without cache and drafts; then many at once with both; then again, when all is cached.
"""
import asyncio
import pathlib
import random

from client import ask
from goal import Goal, middle, shown
from servers import Settings

N_PROMPTS, N_ANSWER, N_STREAMS = 1000, 32, 8
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
SAMPLED = {"temperature": 0.9, "top_p": 0.95}


def parts(_):
    return {f"greedy, {N_PROMPTS} prompts": {"sampled": False, "n": N_PROMPTS},
            f"sampled, {N_PROMPTS // 4} prompts": {"sampled": True, "n": N_PROMPTS // 4}}


def prompts(n):
    """Pieces of this repository's documents; many begin alike, some hold a text twice."""
    text = "\n".join(p.read_text() for p in sorted((ROOT / "docs").rglob("*.md")))
    rng, found = random.Random(47), []
    openings = [text[i:i + 120] for i in rng.sample(range(len(text) - 120), 12)]
    for _ in range(n):
        begin = rng.randrange(len(text) - 400)
        piece = text[begin:begin + rng.randint(20, 300)]
        opening = rng.choice(openings)[:rng.randint(0, 120)]
        found.append(opening + piece + (piece[:rng.randint(8, 60)] if rng.random() < 0.4 else ""))
    return found


async def answered(server, asked, n_at_once, sampled, **fields):
    places, texts = asyncio.Semaphore(n_at_once), [None] * len(asked)

    async def one(i):
        async with places:
            more = {**SAMPLED, "seed": i} if sampled else {}
            texts[i] = (await ask(server.port, asked[i], N_ANSWER, **more, **fields)).text

    await asyncio.gather(*(one(i) for i in range(len(asked))))
    return texts


async def measure(side, part, setting):
    asked, sampled = prompts(part["n"]), part["sampled"]
    with side.start(None, setting.threads, Settings(N_STREAMS, 768)) as server:
        alone = await answered(server, asked, 1, sampled, **server.without_cache,
                               **server.without_drafts)
        passes = [await answered(server, asked, N_STREAMS, sampled) for _ in range(2)]
    differ = [sum(a != b for a, b in zip(alone, one)) for one in passes]
    return {"differ": differ[0], "differ_again": differ[1], "different_answers": len(set(alone))}


def rows(found, sides):
    for (part, _), runs in found.items():
        all_equal = all(r["differ"] == r["differ_again"] == 0 for r in runs)
        yield [part, *(shown(middle(runs, k), "{:.0f}") for k in
                       ("different_answers", "differ", "differ_again")), "yes" if all_equal else "no"]


GOAL = Goal("The same bytes with cache, drafts and others beside", parts, measure,
            ["prompts", "different answers among them", "differ: 8 at once, cache, drafts",
             "differ: once more", "none"], rows,
            "The built-in model, against its answers alone, one after the other, without cache and "
            "drafts.", sides=lambda part, side: side == "ours")
