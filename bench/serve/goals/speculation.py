"""Decoding with drafts and without, on texts of chosen predictability. A counting model goes on
counting, so the document in its prompt decides how often a draft taken from there is right.
"""
import statistics

from client import ask, get_json
from goal import Goal, middle, shown, times, verdict
from servers import Settings
from traces import Words, answer_to

N_ANSWER, TURNS, TAIL = 192, 2, 16
GOALS = {"copy": 3, "edit": 3, "agent": 1.5, "prose": 0.97, "misleading prose": 0.97}


def parts(_):
    return {name: {"task": name} for name in GOALS}


def altered(words, first, n, kept, changed):
    """n tokens that count from `first`; after every `kept`, `changed` are others."""
    text = list(range(first, first + n))
    for i in range(kept, n, kept + changed):
        for j in range(i, min(i + changed, n)):
            text[j] = words.one()
    return text


def prompt_of(task, words):
    """A document, some text, and the token behind which the answer begins with the document."""
    first = words.one()
    if task == "copy":
        document = altered(words, first, N_ANSWER + 8, N_ANSWER + 8, 1)
    elif task == "edit":  # a token in 24 is another in the answer
        document = altered(words, first, N_ANSWER + 8, 23, 1)
    elif task == "agent":  # frames of 24 tokens come back around 16 new ones
        document = altered(words, first, N_ANSWER + 8, 24, 16)
    elif task == "prose":  # nothing of the answer was there before
        document = words.some(N_ANSWER + 8)
    else:  # every pair and triple was there and went on differently
        document = altered(words, first, N_ANSWER + 8, 3, 1)
    return document[:1] + words.some(TAIL) + document + words.some(TAIL) + [first - 1]


async def decoded(server, prompts, **fields):
    """Milliseconds per token after the first, median of the prompts; how many tokens were wrong."""
    each, wrong = [], 0
    for prompt in prompts:
        answer = await ask(server.port, prompt, N_ANSWER, **fields)
        each.append(1e3 * (answer.times[-1] - answer.times[0]) /
                    (answer.n_tokens - answer.counts[0]))
        wrong += answer.tokens != answer_to(prompt, N_ANSWER)
    return each, wrong


async def measure(side, part, setting):
    words, plain, drafted, wrong, stats = Words(37, setting.n_vocab), [], [], 0, None
    settings = Settings(n_ctx=2 * N_ANSWER + 128)
    if side.name == "ours":
        with side.start(setting.model, setting.threads, settings) as server:
            await decoded(server, [prompt_of(part["task"], words)])
            for turn in range(2 * TURNS):  # without, with, with, without: a drift treats both alike
                prompt, drafts = [prompt_of(part["task"], words)], turn % 4 in (1, 2)
                each, bad = await decoded(server, prompt,
                                          **({} if drafts else server.without_drafts))
                (drafted if drafts else plain).extend(each)
                wrong += bad
            _, stats = await get_json(server.port, "/v1/engine/stats")
    else:
        for drafts in (False, True):
            with side.start(setting.model, setting.threads,
                            Settings(settings.n_streams, settings.n_ctx, drafts=drafts)) as server:
                prompts = [prompt_of(part["task"], words) for _ in range(TURNS)]
                each, bad = await decoded(server, prompts)
                (drafted if drafts else plain).extend(each)
                wrong += bad
    plain, drafted = statistics.median(plain), statistics.median(drafted)
    return {"plain_ms": plain, "drafted_ms": drafted, "ratio": plain / drafted, "wrong": wrong,
            "speculation": (stats or {}).get("speculation")}


def rows(found, sides):
    for part in dict.fromkeys(p for p, _ in found):
        ours = middle(found.get((part, "ours")), "ratio")
        bad = sum(r.get("wrong", 0) for r in found.get((part, "ours")) or ())
        yield [part, times(ours), f"×{GOALS[part]}", verdict(ours, GOALS[part]),
               *(" / ".join(shown(middle(found.get((part, s)), k), "{:.2f}")
                            for k in ("plain_ms", "drafted_ms")) for s in sides),
               *(times(middle(found.get((part, s)), "ratio")) for s in sides if s != "ours"),
               str(bad)]


GOAL = Goal("Speculation: decoding with drafts beside decoding without", parts, measure,
            ["task", "ours is faster by", "goal", "met", "*sides, ms per token without / with",
             "*peers: faster by", "wrong answers of ours"], rows,
            "Drafts come from the text itself: llama.cpp with --spec-default, ik_llama.cpp with "
            "its suffix drafts. Documents: copy, unchanged; edit, one token in 24 differs; agent, "
            "frames of 24 around 16 new tokens; prose, nothing repeats; misleading prose, all "
            "triples repeat with other continuations.")
