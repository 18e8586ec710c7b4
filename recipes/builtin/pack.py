"""Records as lines for `ruvllm train --jsonl`: {"ids", "score"}.

The engine's own tokenizer encodes them. A token's score is its weight in the loss: 1 where the
assistant speaks, 0.3 in plain texts, 0.1 in prompts, which teach what conversations look like.
Copy drills are rows of tokens whose pieces come again in random order; a token counts where its
piece was seen before and what follows can be found by looking back.
"""

import json
import subprocess
import threading

import chat_layout
from draws import Draw
from records import read_records

WEIGHTS = {chat_layout.SAID: 1, chat_layout.PLAIN: 0.3, chat_layout.PROMPT: 0.1}
# Ids of the vocabulary below its control tokens.
N_PLAIN_IDS = 4091
_COPY_LENGTH = 192


def encode(binary, model, texts):
    """The ids of each text, with control tokens written out in it."""
    command = [binary, "tokenize", "--jsonl"] + (["--model", str(model)] if model else [])
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def feed():
        with process.stdin as lines:
            for text in texts:
                lines.write(json.dumps({"text": text, "special": True}) + "\n")

    feeder = threading.Thread(target=feed)
    feeder.start()
    answers = [json.loads(line)["ids"] for line in process.stdout]
    feeder.join()
    process.stdout.close()
    if process.wait() or len(answers) != len(texts):
        raise RuntimeError("ruvllm tokenize failed")
    return answers


def _segments(record):
    if "text" in record:
        return chat_layout.plain_segments(record["text"])
    return chat_layout.segments(record["messages"], record.get("tools"))


def sequences_of(binary, model, records):
    """[(ids, scores)] of records, each from the first token of its text."""
    parts = [_segments(record) for record in records]
    encoded = iter(encode(binary, model, [text for segments in parts for text, _ in segments]))
    sequences = []
    for segments in parts:
        ids, scores = [], []
        for _, role in segments:
            piece = next(encoded)
            ids += piece
            scores += [WEIGHTS[role]] * len(piece)
        sequences.append((ids, scores))
    return sequences


def _copy_drill(draw, sequences):
    """A row of two to five pieces in random order, half of them of random ids."""
    pieces, seen, ids, scores = [], set(), [], []
    for _ in range(draw.num(2, 5)):
        size = draw.num(3, 27)
        source = draw.one(sequences)[0]
        if draw.chance(0.5) and len(source) > size:
            start = draw.num(0, len(source) - size)
            pieces.append(source[start : start + size])
        else:
            pieces.append([draw.num(0, N_PLAIN_IDS - 1) for _ in range(size)])
    while len(ids) < _COPY_LENGTH:
        number = draw.num(0, len(pieces) - 1)
        ids += pieces[number]
        scores += [0] + [int(number in seen)] * (len(pieces[number]) - 1)
        seen.add(number)
    return ids, scores


def _joined(draw, sequences, share, context):
    """Sequences, of which `share` are several in a row, so that late positions are trained too."""
    at = 0
    while at < len(sequences):
        ids, scores = sequences[at]
        at += 1
        wanted = draw.num(context // 3, context) if draw.chance(share) else 0
        while at < len(sequences) and len(ids) + len(sequences[at][0]) <= wanted:
            ids, scores = ids + sequences[at][0], scores + sequences[at][1]
            at += 1
        yield ids, scores


def write_stage(binary, model, data, path, stage, context, seed):
    """The lines of a stage, from `data` (train.jsonl). Returns {sequences, tokens, left_out}:
    conversations longer than the context are left out.
    """
    draw = Draw("%s/pack/%s" % (seed, stage.name))
    records = [
        record
        for record in read_records(data)
        if draw.chance(stage.keep.get(record["category"], 1))
    ]
    everything = sequences_of(binary, model, draw.mixed(records))
    fitting = [s for s in everything if len(s[0]) <= context]
    n_tokens = n_sequences = 0
    with open(path, "w", encoding="utf-8") as lines:
        for ids, scores in _joined(draw, fitting, 0.15, context):
            rows = [(ids, scores)]
            while draw.chance(stage.copy_drills):
                rows.append(_copy_drill(draw, fitting))
            for row in rows:
                lines.write(json.dumps({"ids": row[0], "score": row[1]}) + "\n")
                n_tokens += len(row[0])
                n_sequences += 1
    left_out = len(everything) - len(fitting)
    return {"sequences": n_sequences, "tokens": n_tokens, "left_out": left_out}
