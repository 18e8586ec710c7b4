"""The same prompt after kill -9 and a new start: what came back from disk, and how fast."""
import asyncio
import tempfile

from client import ask, get_json
from goal import Goal, middle, ratio, shown, times, verdict
from servers import Settings, folder_bytes
from traces import Words

WRITE_S = 15  # at most, until the writer in the background is done
SLOT_FILE = "slot.bin"
NOISE_MS = 5


def parts(setting):
    return {f"{setting.long:,} + 8 tokens": {"n": setting.long}}


async def written(server, folder):
    """Waits until the folder has not grown for half a second."""
    last, quiet = -1, 0
    for _ in range(int(WRITE_S / 0.1)):
        size = folder_bytes(folder)
        quiet = quiet + 1 if size == last and size > 0 else 0
        if quiet >= 5:
            break
        last = size
        await asyncio.sleep(0.1)
    return folder_bytes(folder)


async def slot(server, action):
    status, reply = await get_json(server.port, f"/slots/0?action={action}", "POST",
                                   {"filename": SLOT_FILE})
    return status == 200


async def measure(side, part, setting):
    words = Words(17, setting.n_vocab)
    prefix = words.some(part["n"])
    others = [words.some(8) for _ in range(4)]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(n_ctx=part["n"] + 64, folder=folder)
        is_ours = side.name == "ours"
        with side.start(setting.model, setting.threads, settings) as server:
            await ask(server.port, words.some(8), 2)
            miss = await ask(server.port, prefix + others[0], 2)
            hit = await ask(server.port, prefix + others[1], 2)
            if not is_ours:
                await slot(server, "save")
            stored = await written(server, folder)
            server.kill()
        with side.start(setting.model, setting.threads, settings) as server:
            await ask(server.port, words.some(8), 2)
            begin = asyncio.get_running_loop().time()
            if not is_ours:
                await slot(server, "restore")
            restore_s = asyncio.get_running_loop().time() - begin
            back = await ask(server.port, prefix + others[2], 2)
            again = await ask(server.port, prefix + others[3], 2)
            start_s = server.start_s
    back_ms = back.first_ms + 1e3 * restore_s
    n_bytes = back.n_cached * setting.kv_bytes if back.n_cached > 64 else 0
    extra_ms = back_ms - again.first_ms
    return {"miss_ms": miss.first_ms, "hit_ms": hit.first_ms, "back_ms": back_ms,
            "again_ms": again.first_ms, "cached": back.n_cached, "stored_bytes": stored,
            "start_s": start_s, "ratio": miss.first_ms / back_ms, "gb_s": n_bytes / back_ms / 1e6,
            "extra_gb_s": n_bytes / extra_ms / 1e6 if extra_ms > NOISE_MS else None}


def rows(found, sides):
    for (part, side), runs in found.items():
        yield [part, side, shown(middle(runs, "miss_ms"), "{:,.0f}"),
               shown(middle(runs, "back_ms"), "{:,.0f}"), times(middle(runs, "ratio")),
               shown(middle(runs, "again_ms"), "{:,.0f}"),
               shown(middle(runs, "cached"), "{:,.0f}"),
               shown(ratio(middle(runs, "stored_bytes"), 1e6), "{:,.0f}"),
               shown(middle(runs, "gb_s"), "{:.2f}"), shown(middle(runs, "extra_gb_s"), "{:.2f}"),
               verdict(max(middle(runs, "gb_s"), middle(runs, "extra_gb_s") or 0), 1)
               if side == "ours" else ""]


GOAL = Goal("Restart: the same prefix after kill -9", parts, measure,
            ["prompt", "server", "computed, ms", "after restart, ms", "faster by", "then hit, ms",
             "tokens reused", "MB on disk", "GB/s", "GB/s less a hit", "≥ 1"],
            rows,
            "GB/s: keys and values of the reused tokens over the time to the first token; less a "
            "hit: over the time beyond that of the next hit, where there is any. The others save the "
            "slot before the kill and restore it afterwards on request, which counts; ours does so "
            "unasked.")
