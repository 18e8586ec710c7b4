"""Whether masks take longer the further an answer is, and inside strings with limits of length.

    bench/grammar/long_answers.py --vocabulary qwen.tiktoken

Answers of some 16,000 tokens: a table of p50 by the place of the token."""
import argparse
import json
import os
import random
import subprocess
import tempfile

WORDS = "time year people way day man thing woman life child world school state family".split()


def text(rng, n_characters):
    made = ""
    while len(made) < n_characters:
        made += rng.choice(WORDS) + " "
    return made[:n_characters]


def cases(rng):
    """By name: a schema, and a document of about 16,000 tokens (or as long as it allows)."""
    record = {"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 60}, "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": WORDS}}}, "required": ["name", "age"],
        "additionalProperties": False}
    records = [{"name": text(rng, 30), "age": rng.randrange(100),
                "tags": rng.sample(WORDS, 3)} for _ in range(450)]
    names = {f"{rng.choice(WORDS)} {i}": i for i in range(1600)}
    return {
        "a list of records": ({"type": "array", "items": record}, records),
        "an object with any keys": ({"type": "object",
                                     "additionalProperties": {"type": "integer"}}, names),
        "distinct strings": ({"type": "array", "items": {"type": "string"}, "uniqueItems": True},
                             list(names)[:400]),
        "a string": ({"type": "string"}, text(rng, 78_000)),
        "a string of 0 to 65,535 characters": (
            {"type": "string", "maxLength": 65_535}, text(rng, 65_000)),
        "of 200 and more": ({"type": "string", "minLength": 200}, text(rng, 60_000)),
        "strings of 10 to 200": ({"type": "array", "items": {
            "type": "string", "minLength": 10, "maxLength": 200}},
            [text(rng, rng.randrange(10, 200)) for _ in range(700)]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--vocabulary", required=True, help="a tiktoken file")
    parser.add_argument("--scheme", default="qwen2", help="how the vocabulary splits words")
    args = parser.parse_args()
    print("| microseconds | tokens | p50 of the first 4,096 | second | third | fourth | p99 | max |\n"
          "| --- |" + " --: |" * 7)
    for name, (schema, document) in cases(random.Random(7)).items():
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            json.dump({"id": name, "schema": schema,
                       "tests": [{"valid": True, "data": document}]}, file)
            file.write("\n")
            file.flush()
            done = subprocess.run(
                [os.path.join(args.build, "bench/micro/ruv_bench_grammar"), args.vocabulary,
                 args.scheme, file.name], capture_output=True, text=True, check=True)
        result = json.loads(done.stdout)
        assert result["passed"] == 1, name
        places = [f"{part['p50']:.2f}" for part in result["mask_us_by_place"][:4]]
        whole = result["mask_us"]
        print(f"| {name} | {whole['n']:,} | " + " | ".join(places + [""] * (4 - len(places))) +
              f" | {whole['p99']:.1f} | {whole['max']:,.0f} |")


if __name__ == "__main__":
    main()
