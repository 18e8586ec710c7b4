#!/usr/bin/env python3
"""Whether a memory helps: the share of questions whose needed passage is in the context, and of
answers that are right, with no memory, by words, by vectors, by both, and with related chunks in
the place of the last hits.

Usage: retrieval_helps.py --binary RUVLLM --data DATA [--model FILE] [--questions 200]
                          [--results FILE] [--write FILE]

DATA is the folder of test data; the model, which embeds and answers, is the built-in one when
absent. Three sets, each one store:

  asked    contexts of trained/eval/qa.jsonl and the questions on them whose answer is in the text,
           each with a word that no other context has, as the questions do not name their text
  facts    descriptions of trained/eval/facts.jsonl in chunks of a sentence, and questions on each
           sentence: those of the later ones are about what an earlier chunk names
  stories  passages of eval/lambada_openai_test.jsonl without their last sentence, which is what is
           looked for, without its last word

A context has five chunks. Of the questions, drawn with a seed, every second one is used to choose
how many of the five are related ones, and the others are reported. An answer is right if it is the
expected one but for case and a full stop; "passage" gives the model the needed passage alone.
"""
import argparse
import contextlib
import json
import pathlib
import random
import re
import subprocess
import tempfile
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MARKS = ("<!-- helps: begin -->", "<!-- helps: end -->")
CHUNKS = 5
# A column of the table: its head, the mode of searches, and whether related chunks are added.
COLUMNS = {"none": ("no memory", None, False), "words": ("words", "words", False),
           "vector": ("vectors", "vector", False), "hybrid": ("both", "hybrid", False),
           "hybrid_related": ("both + related", "hybrid", True),
           "words_related": ("words + related", "words", True), "passage": ("passage", None, False)}
MODES = [one for one in COLUMNS if one != "passage"]
RELATED = [one for one in COLUMNS if COLUMNS[one][2]]
FACT = re.compile(r"The (\w+ of [\w ]+) was built in (\d+)\. (It is [^.]*? and has (\d+) rooms\.) "
                  r"(Every year (\d+) visitors come to see it\.)")


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def words_of(text):
    return re.findall(r"\w+", text)


def asked_set(data):
    """(documents, questions); a question: query, the document and the text that it needs, answer."""
    rows = lines(data / "trained/eval/qa.jsonl")
    documents, talks = {}, {}
    for row in rows:
        first = next(one for one in row["messages"] if one["role"] == "user")["content"]
        context = first.removeprefix("Context: ").split("\n\nAnswer the question: ")[0]
        name = next((name for name, text in documents.items() if text == context),
                    f"context {len(documents)}")
        documents[name] = context
        turns = [one["content"].split("\n\nAnswer the question: ")[-1] for one in row["messages"]
                 if one["role"] != "system"] + [row["expected"]]
        talks.setdefault(name, []).extend(zip(turns[::2], turns[1::2]))
    counts = {}
    for text in documents.values():
        for word in set(words_of(text)):
            counts[word] = counts.get(word, 0) + 1
    questions = []
    for name, turns in talks.items():
        for question, answer in dict.fromkeys(turns):
            known = set(words_of(question + " " + answer))
            cues = [word for word in words_of(documents[name])
                    if counts[word] == 1 and word.isalpha() and len(word) > 3 and word not in known]
            if cues and answer.rstrip(".").lower() in documents[name].lower():
                questions.append({"query": f"{cues[0]}: {question}", "question": question,
                                  "document": name, "passage": documents[name], "answer": answer})
    return documents, questions, 1200


def facts_set(data):
    documents, found = {}, {}
    for row in lines(data / "trained/eval/facts.jsonl"):
        if "text" not in row:
            continue
        name = f"description {len(documents)}"
        documents[name] = row["text"]
        for fact in FACT.finditer(row["text"]):
            found.setdefault(fact[1], []).append((name, fact))
    questions = []
    for thing, places in found.items():
        if len(places) > 1:
            continue
        name, fact = places[0]
        for query, sentence in ((f"When was the {thing} built?", f"The {thing} was built in {fact[2]}."),
                                (f"How many rooms does the {thing} have?", fact[3]),
                                (f"How many visitors come to the {thing}?", fact[5])):
            questions.append({"query": query, "document": name, "passage": sentence})
    return documents, questions, 80


def stories_set(data):
    documents, questions = {}, []
    for row in lines(data / "eval/lambada_openai_test.jsonl"):
        text = row["text"].strip()
        cut = max(text.rfind(end, 0, len(text) - 40) for end in (". ", "? ", "! ", "\n"))
        if cut < 100 or len(documents) == 2000:
            continue
        name = f"story {len(documents)}"
        documents[name] = text[:cut + 1]
        questions.append({"query": text[cut + 1:].rsplit(" ", 1)[0], "document": name, "passage": ""})
    return documents, questions, 1200


class Server:
    """A running server with a memory of its own."""

    def __init__(self, binary, model, folder):
        self.process = subprocess.Popen([binary, "serve", "--port", "0", "--alias", "model", "--model",
                                         model, "--memory", folder], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if line.startswith("listening on "):
                self.url = line.split()[-1]
                return
        raise SystemExit("the server did not start")

    def ask(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def close(self):
        self.process.terminate()
        self.process.stderr.read()
        self.process.wait()


def found(server, question, mode, n_related):
    """The chunks of a context."""
    _, search, is_related = COLUMNS[mode]
    if search is None:
        return []
    body = {"query": question["query"], "k": CHUNKS, "mode": search}
    if is_related:
        body.update(k=CHUNKS - n_related, related=n_related)
    return server.ask("/v1/memory/search", body)["data"]


def has_passage(question, chunks):
    return any(one["document"] == question["document"] and question["passage"] in one["text"]
               for one in chunks)


def share(server, questions, mode, n_related=0):
    return sum(has_passage(one, found(server, one, mode, n_related)) for one in questions) / len(questions)


def answer_is_right(server, question, texts):
    prompt = f"Answer the question: {question['question'] if texts else question['query']}"
    if texts:
        prompt = f"Context: {' '.join(texts)}\n\n{prompt}"
    said = server.ask("/v1/chat/completions", {"model": "model", "temperature": 0, "max_tokens": 32,
                                               "messages": [{"role": "user", "content": prompt}]})
    plain = [text.strip().rstrip(".").lower()
             for text in (said["choices"][0]["message"]["content"], question["answer"])]
    return plain[0] == plain[1]


def run_set(options, name, made, server):
    documents, questions, chunk_bytes = made
    for document, text in documents.items():
        server.ask("/v1/memory/documents", {"name": document, "text": text, "format": "text",
                                            "chunk_bytes": chunk_bytes, "overlap_bytes": 0})
    random.Random(1).shuffle(questions)
    tuning, held = questions[:options.questions:2], questions[1:options.questions:2]
    tuned = {mode: [share(server, tuning, mode, n) for n in range(1, CHUNKS)] for mode in RELATED}
    n_related = {mode: 1 + tuned[mode].index(max(tuned[mode])) if mode in tuned else 0
                 for mode in MODES}
    row = {"set": name, "documents": len(documents), "questions": len(held), "related": n_related,
           "tuned": tuned, "shares": {mode: share(server, held, mode, n_related[mode]) for mode in MODES}}
    if "answer" in held[0]:
        row["right"] = {}
        for mode in MODES:
            contexts = [[chunk["text"] for chunk in found(server, one, mode, n_related[mode])]
                        for one in held]
            row["right"][mode] = sum(map(answer_is_right, [server] * len(held), held, contexts)) / len(held)
        row["right"]["passage"] = sum(answer_is_right(server, one, [one["passage"]])
                                      for one in held) / len(held)
    return row


def percent(value):
    return "" if value is None else f"{100 * value:.0f} %"


def table(rows):
    out = ["| set | documents | held-out questions | " + " | ".join(one[0] for one in COLUMNS.values())
           + " |", "|---" * (3 + len(COLUMNS)) + "|"]
    for row in rows:
        for what in ("shares", "right"):
            if what not in row:
                continue
            label = row["set"] + (": passage found" if what == "shares" else ": answer right")
            cells = [percent(row[what].get(mode)) + (f" ({row['related'][mode]} of {CHUNKS})"
                                                     if mode in RELATED else "") for mode in COLUMNS]
            out.append(f"| {label} | {row['documents']} | {row['questions']} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--model")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--results")
    parser.add_argument("--write")
    options = parser.parse_args()
    model = options.model or str(SOURCE / "models/ruvltra-nano-q8_0.gguf")
    rows = []
    for name, make in (("asked", asked_set), ("facts", facts_set), ("stories", stories_set)):
        with tempfile.TemporaryDirectory() as folder, \
                contextlib.closing(Server(options.binary, model, folder)) as server:
            rows.append(run_set(options, name, make(options.data), server))
        if options.results:
            with open(options.results, "a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    text = table(rows)
    print(text)
    if options.write:
        page = pathlib.Path(options.write)
        before, rest = page.read_text().split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        page.write_text(before + MARKS[0] + "\n" + text + "\n" + MARKS[1] + after)


if __name__ == "__main__":
    main()
