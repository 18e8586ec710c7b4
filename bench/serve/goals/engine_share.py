"""What the server loses: its decoding beside that of the bare engine, `ruvllm bench`."""
import asyncio
import json
import statistics
import subprocess
import time

from client import ask
from goal import Goal, middle, shown, verdict
from servers import Settings
from traces import Words

from .throughput import speed

N_PROMPT, N_ANSWER, TURNS = 32, 96, 3


def parts(_):
    return {f"{n}": {"n": n} for n in (1, 8)}


def bare_engine(n, setting, packed):
    command = [setting.binary, "bench", "--model", setting.model, "--packed-cache", packed,
               "-p", 0, "-n", N_ANSWER, "-d", N_PROMPT, "-t", setting.threads, "-r", 1, "--json"]
    command += ["-b", n] if n > 1 else []
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True)
    decode = json.loads(done.stdout)["decode"]
    if isinstance(decode, list):
        decode = next(d for d in decode if d.get("batch", n) == n)
    return decode["tokens_per_s"]


async def measure(side, part, setting):
    """Engine and server take turns; the server idles while the engine runs."""
    words, n = Words(31, setting.n_vocab), part["n"]
    engine, served, client_s, wall_s = [], [], 0, 0
    with side.start(setting.model, setting.threads,
                    Settings(n, N_PROMPT + N_ANSWER + 32)) as server:
        await ask(server.port, words.some(8), 4)
        for _ in range(TURNS):
            engine.append(bare_engine(n, setting, side.packed))
            client_begin, begin = time.process_time(), time.perf_counter()
            answers = await asyncio.gather(*(ask(server.port, words.some(N_PROMPT), N_ANSWER)
                                             for _ in range(n)))
            client_s += time.process_time() - client_begin
            wall_s += time.perf_counter() - begin
            served.append(speed(answers)["tokens_per_s"])
    engine, served = statistics.median(engine), statistics.median(served)
    return {"engine": engine, "server": served, "ratio": served / engine,
            "client_share": client_s / wall_s}


def rows(found, sides):
    for (part, _), runs in found.items():
        yield [part, shown(middle(runs, "engine")), shown(middle(runs, "server")),
               shown(middle(runs, "ratio"), "{:.1%}"), verdict(middle(runs, "ratio"), 0.97),
               shown(middle(runs, "client_share"), "{:.1%}")]


GOAL = Goal("Server beside the bare engine", parts, measure,
            ["streams", "engine, tokens/s", "server, tokens/s", "share", "≥ 97 %",
             "a core's time that the client takes"], rows,
            sides=lambda part, side: side == "ours")
