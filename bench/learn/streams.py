#!/usr/bin/env python3
"""Writes the streams that learning is measured on (ruv_bench_learn reads them), from a seed.

  persona   20 users, each with words of their own for things, a form of answer and a way to be
            addressed; every turn is a question and the answer that this user wanted
  thumbs    the same users, who only praise the answer in their manner and blame another's
  shuffled  the same, and the ratings belong to other turns
  signs     the same corrections as ratings of random sign
  natural   a text in its order, as ids of a tokenizer
  skills    five toy skills one after the other, and what is left of each

Usage: streams.py KIND --seed N --out FILE [--turns N] [--users N] [--text FILE --binary RUVLLM]
"""
import argparse
import json
import random
import subprocess

THINGS = {
    "car": ["cart", "wagon", "wheeler"], "house": ["den", "lodge", "nest"],
    "dog": ["hound", "barker", "pup"], "cat": ["mouser", "kitty", "tom"],
    "book": ["tome", "volume", "reader"], "water": ["aqua", "drink", "wet"],
    "friend": ["mate", "pal", "buddy"], "food": ["grub", "chow", "fare"],
    "money": ["coin", "cash", "gold"], "work": ["job", "toil", "duty"]}
PLACES = ["garden", "kitchen", "school", "market", "park", "river", "forest", "office", "station",
          "beach"]
COLOURS = ["red", "blue", "green", "white", "black", "yellow", "brown", "grey"]
NUMBERS = ["two", "three", "four", "five", "six", "seven", "eight", "nine"]
FRONTS = ["Well, {who}: ", "Aye {who}! ", "{who}, listen. ", "As you wish, {who}. ", "* ", "Answer: ",
          "Short: ", "Now then, {who}, "]
BACKS = [" Over.", " That is all.", " Cheers, {who}!", " (end)", " Done and done.", " ***",
         " Next, {who}?", " So it is."]
NAMES = ["Ann", "Ben", "Captain", "Doc", "Emma", "Chief", "Grace", "Boss", "Ivy", "Jack", "Kate",
         "Lee", "Max", "Nora", "Otto", "Paul", "Queen", "Rose", "Sam", "Tom"]
QUESTIONS = [
    ("Where is the {thing}?", "The {thing} is in the {place}."),
    ("What colour is the {thing}?", "The {thing} is {colour}."),
    ("How many things like a {thing} are there?", "There are {number} of the {thing}."),
    ("Can you tell me about the {thing} in the {place}?",
     "In the {place} the {thing} is {colour}."),
    ("Who has the {thing}?", "The man in the {place} has the {thing}."),
    ("Is the {thing} {colour}?", "Yes, the {thing} is {colour}."),
]


def persona(number, rng):
    """Words, form and address of a user; the number decides, so that the 20 are the same 20."""
    own = random.Random(1000 + number)
    words = {thing: own.choice(swaps) for thing, swaps in THINGS.items()}
    who = NAMES[number % len(NAMES)]
    front = own.choice(FRONTS).format(who=who)
    back = own.choice(BACKS).format(who=who)
    upper = own.random() < 0.15

    def turn():
        question, answer = rng.choice(QUESTIONS)
        facts = {"thing": rng.choice(list(THINGS)), "place": rng.choice(PLACES),
                 "colour": rng.choice(COLOURS), "number": rng.choice(NUMBERS)}
        plain = answer.format(**facts)
        text = front + answer.format(**{**facts, "thing": words[facts["thing"]]}) + back
        return question.format(**facts), text.upper() if upper else text, plain
    return turn


def users_of(arguments, rng):
    """The users of a seed: each seed has others of the 20 first."""
    order = list(range(20))
    start = arguments.seed * arguments.users % 20
    return [(order + order)[start + i] for i in range(arguments.users)]


def chat(question, **members):
    return {"messages": [{"role": "user", "content": question}], **members}


def persona_stream(arguments):
    rng = random.Random(arguments.seed)
    for user in users_of(arguments, rng):
        turn = persona(user, rng)
        other = persona((user + 7) % 20, rng)
        ratings = [1 if rng.random() < 0.5 else -1 for _ in range(arguments.turns)]
        shown = ratings[:]
        if arguments.kind == "shuffled":
            rng.shuffle(shown)
        for i in range(arguments.turns):
            question, wanted, plain = turn()
            item = {"name": f"user{user}", "score": chat(question, correction=wanted), "tag": i}
            if arguments.kind in ("thumbs", "shuffled"):
                # A manner that the user wants, or another's.
                front = wanted if ratings[i] > 0 else other()[1]
                item["learn"] = chat(question, answer=front, rating=shown[i])
            elif arguments.kind == "signs":
                item["learn"] = chat(question, answer=wanted, rating=ratings[i])
            yield item


def natural_stream(arguments):
    """Each item is the next 64 tokens after 128 of context."""
    with open(arguments.text, encoding="utf-8") as file:
        text = file.read()
    start = len(text) // 10 * (1 + arguments.seed)
    done = subprocess.run([arguments.binary, "tokenize", "-m", arguments.model, "--jsonl"],
                          input=json.dumps({"text": text[start:start + 400 * arguments.turns + 2000]}),
                          encoding="utf-8", stdout=subprocess.PIPE, check=True)
    ids = json.loads(done.stdout.splitlines()[0])["ids"]
    for i in range(arguments.turns):
        part = ids[64 * i:64 * i + 192]
        if len(part) < 192:
            break
        yield {"name": f"text{arguments.seed}", "tag": i,
               "score": {"ids": part, "score": [0] * 128 + [1] * 64}}


def skills(rng):
    """Questions and answers of five toy skills."""
    keys = ["apple", "stone", "cloud", "river", "lamp", "chair", "horse", "candle", "ship", "drum"]
    table = {key: rng.choice(COLOURS) + " " + rng.choice(PLACES) for key in keys}
    shift = rng.randrange(2, 7)

    def recall():
        key = rng.choice(keys)
        return f"Recall {key}.", f"{key} goes with {table[key]}."

    def modulo():
        a, b = rng.randrange(10), rng.randrange(10)
        return f"Add {a} and {b} modulo 7.", f"The sum modulo 7 is {(a + b) % 7}."

    def brackets():
        depth = rng.randrange(1, 6)
        return f"Close: {'(' * depth}", ")" * depth + " closes it."

    def date():
        y, m, d = rng.randrange(1990, 2030), rng.randrange(1, 13), rng.randrange(1, 29)
        return f"Write {d}/{m}/{y} as a date.", f"{y}-{m:02}-{d:02}"

    def copy():
        thing, n = rng.choice(list(THINGS)), rng.randrange(2, 9)
        return (f"Order {n} of {thing}.",
                f'call order with item={thing} count={n} shift={shift}')
    return [("recall", recall), ("modulo", modulo), ("brackets", brackets), ("date", date),
            ("copy", copy)]


def skills_stream(arguments):
    rng = random.Random(arguments.seed)
    all_skills = skills(rng)
    rng.shuffle(all_skills)
    tests = {}
    for name, make in all_skills:
        tests[name] = [make() for _ in range(12)]
    user = {"name": f"seed{arguments.seed}"}
    for place, (name, make) in enumerate(all_skills):
        for _ in range(arguments.turns):
            question, answer = make()
            feedback = chat(question, correction=answer, task=name)
            yield {**user, "score": feedback, "tag": ["learned", name]}
        for earlier, _ in all_skills[:place + 1]:
            for question, answer in tests[earlier]:
                yield {**user, "score": chat(question, correction=answer), "learn": None,
                       "tag": ["test", earlier, place]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["persona", "thumbs", "shuffled", "signs", "natural",
                                         "skills"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", required=True)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--text")
    parser.add_argument("--binary")
    parser.add_argument("--model")
    arguments = parser.parse_args()
    makers = {"natural": natural_stream, "skills": skills_stream}
    with open(arguments.out, "w", encoding="utf-8") as file:
        for item in makers.get(arguments.kind, persona_stream)(arguments):
            file.write(json.dumps(item) + "\n")


if __name__ == "__main__":
    main()
