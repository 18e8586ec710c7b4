#!/usr/bin/env python3
"""Cases of JSON Schema, judged by the package jsonschema: random odd schemas of few keys and values,
whose keywords contradict and overlap, with documents that a small universe has.

    pip install jsonschema
    tests/oracle/make_schema_cases.py > tests/cases/grammar/schemas.jsonl

A line is {"schema", "valid", "invalid"}: the documents as texts, keys in any order. Left out is
what is written otherwise on purpose, numbers that are equal to integers but have a fraction; and unevaluated
members and items in draft 2019-09, where the package takes "additionalProperties" for not evaluating
and "contains" for evaluating, against the specification."""
import json
import random
import sys

import jsonschema

KEYS = ["a", "b", "ab", "c"]
SCALARS = [None, True, False, 0, 1, 2, 3, 12, -1, 0.5, 2.5, "", "a", "b", "ab", "aab", "bb", "é"]
PATTERNS = ["^a", "b$", "^[ab]*$", "a", "^.b", "^(a|ab)$"]
DRAFTS = {"draft4": jsonschema.Draft4Validator, "draft6": jsonschema.Draft6Validator,
          "draft7": jsonschema.Draft7Validator, "draft2019": jsonschema.Draft201909Validator,
          "draft2020": jsonschema.Draft202012Validator}
URIS = {"draft4": "http://json-schema.org/draft-04/schema#",
        "draft6": "http://json-schema.org/draft-06/schema#",
        "draft7": "http://json-schema.org/draft-07/schema#",
        "draft2019": "https://json-schema.org/draft/2019-09/schema",
        "draft2020": "https://json-schema.org/draft/2020-12/schema"}


class Maker:
    def __init__(self, rng, draft):
        self.rng = rng
        self.draft = draft
        self.new = draft in ("draft2019", "draft2020")

    def value(self, depth=2):
        kind = self.rng.random()
        if depth == 0 or kind < 0.5:
            return self.rng.choice(SCALARS)
        if kind < 0.72:
            return [self.value(depth - 1) for _ in range(self.rng.randrange(4))]
        keys = self.rng.sample(KEYS, self.rng.randrange(4))
        return {key: self.value(depth - 1) for key in keys}

    def schema(self, depth=2):
        rng = self.rng
        if self.draft != "draft4" and rng.random() < 0.06:
            return rng.choice([True, False])
        made = {}
        for _ in range(rng.choice([1, 1, 2, 2, 3])):
            self.add_keyword(made, depth)
        return made

    def some(self, low, high, depth):
        return [self.schema(depth - 1) for _ in range(self.rng.randint(low, high))]

    def names(self):
        return self.rng.sample(KEYS, self.rng.randint(1, 2))

    def add_keyword(self, made, depth):
        rng = self.rng
        leaves = ["type", "enum", "minimum", "maximum", "multipleOf", "minLength", "maxLength",
                  "pattern", "required", "minProperties", "maxProperties", "minItems", "maxItems",
                  "uniqueItems", "exclusive"]
        if self.draft != "draft4":
            leaves.append("const")
        deep = ["properties", "properties", "patternProperties", "additionalProperties", "items",
                "tuple", "allOf", "anyOf", "oneOf", "not", "dependencies"]
        if self.draft != "draft4":
            deep += ["contains", "propertyNames"]
        if self.draft in ("draft7", "draft2019", "draft2020"):
            deep.append("if")
        if self.new:
            deep += ["dependentRequired", "dependentSchemas", "minContains"]
        if self.draft == "draft2020":
            deep += ["unevaluatedProperties", "unevaluatedItems"]
        word = rng.choice(leaves if depth == 0 else leaves + deep * 2)
        one = lambda: self.schema(depth - 1)
        if word == "type":
            types = ["null", "boolean", "integer", "number", "string", "array", "object"]
            made["type"] = rng.choice([rng.choice(types), rng.sample(types, 2)])
        elif word == "enum":
            made["enum"] = [self.value(1) for _ in range(rng.randint(1, 3))]
        elif word == "const":
            made["const"] = self.value(1)
        elif word in ("minimum", "maximum"):
            made[word] = rng.choice([0, 1, 2, 2.5, -1])
        elif word == "exclusive":
            if self.draft == "draft4":
                made["minimum"], made["exclusiveMinimum"] = 1, True
            else:
                made[rng.choice(["exclusiveMinimum", "exclusiveMaximum"])] = rng.choice([0, 1, 2])
        elif word == "multipleOf":
            made[word] = rng.choice([2, 3, 0.5])
        elif word in ("minLength", "maxLength", "minItems", "maxItems", "minProperties",
                      "maxProperties"):
            made[word] = rng.randrange(4)
        elif word == "pattern":
            made[word] = rng.choice(PATTERNS)
        elif word == "required":
            made[word] = self.names()
        elif word == "uniqueItems":
            made[word] = True
        elif word == "properties":
            made[word] = {key: one() for key in self.names()}
        elif word == "patternProperties":
            made[word] = {rng.choice(PATTERNS): one()}
        elif word == "tuple":
            made["prefixItems" if self.draft == "draft2020" else "items"] = self.some(1, 2, depth)
            if rng.random() < 0.5:
                made["items" if self.draft == "draft2020" else "additionalItems"] = \
                    one() if self.draft != "draft4" else rng.choice([False, {}])
        elif word in ("allOf", "anyOf", "oneOf"):
            made[word] = self.some(1, 3, depth)
        elif word == "dependencies" and not self.new:
            made[word] = {rng.choice(KEYS): rng.choice([self.names(), one()])}
        elif word == "dependentRequired":
            made[word] = {rng.choice(KEYS): self.names()}
        elif word == "dependentSchemas":
            made[word] = {rng.choice(KEYS): one()}
        elif word == "if":
            made["if"] = one()
            for branch in rng.choice([["then"], ["else"], ["then", "else"]]):
                made[branch] = one()
        elif word == "minContains":
            made["contains"] = one()
            made["minContains"] = rng.randrange(3)
            if rng.random() < 0.5:
                made["maxContains"] = rng.randrange(1, 3)
        elif word != "dependencies":
            made[word] = one()


def text_of(rng, value):
    """The document, its keys in random order."""
    if isinstance(value, dict):
        items = list(value.items())
        rng.shuffle(items)
        return "{" + ", ".join(f"{json.dumps(k, ensure_ascii=False)}: {text_of(rng, v)}"
                               for k, v in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(text_of(rng, item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def case(rng, draft):
    maker = Maker(rng, draft)
    schema = maker.schema(3)
    validator = DRAFTS[draft](schema)
    valid, invalid = set(), set()
    for _ in range(60):
        value = maker.value()
        try:
            (valid if validator.is_valid(value) else invalid).add(text_of(rng, value))
        except Exception:
            return None
    if not valid or not invalid:
        return None
    if isinstance(schema, dict):
        schema = {"$schema": URIS[draft], **schema}
    pick = lambda texts: sorted(rng.sample(sorted(texts), min(6, len(texts))))
    return {"schema": schema, "valid": pick(valid), "invalid": pick(invalid)}


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 700
    rng = random.Random(seed)
    n = 0
    while n < count:
        made = case(rng, rng.choice(sorted(DRAFTS)))
        if made:
            print(json.dumps(made, ensure_ascii=False, separators=(",", ":")))
            n += 1


if __name__ == "__main__":
    main()
