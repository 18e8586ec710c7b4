"""Fields from a paragraph to JSON under a JSON schema; questions on a short text."""

import json

import values
from draws import all_lists

_TEXT, _WHOLE, _NUMBER, _TRUTH = "string", "integer", "number", "boolean"
_REASONS = "enum:cough,back pain,headache,check-up,sore throat,fever,broken arm,rash"
# {domain: {field: (JSON type, kind of value)}}; the sentences are the phrases `facts DOMAIN`.
DOMAINS = {
    "person": {
        "name": (_TEXT, "full"),
        "age": (_WHOLE, "int:18:90"),
        "city": (_TEXT, "city"),
        "job": (_TEXT, "job"),
        "email": (_TEXT, "email"),
        "phone": (_TEXT, "phone"),
        "hobby": (_TEXT, "hobby"),
    },
    "order": {
        "order_id": (_TEXT, "code"),
        "customer": (_TEXT, "full"),
        "product": (_TEXT, "product"),
        "quantity": (_WHOLE, "int:1:40"),
        "price": (_NUMBER, "price"),
        "currency": (_TEXT, "currency"),
        "delivery_date": (_TEXT, "iso"),
    },
    "meeting": {
        "subject": (_TEXT, "subject"),
        "date": (_TEXT, "iso"),
        "time": (_TEXT, "clock"),
        "room": (_TEXT, "room"),
        "organizer": (_TEXT, "full"),
        "participants": (_WHOLE, "int:2:30"),
    },
    "product": {
        "product": (_TEXT, "product"),
        "brand": (_TEXT, "company"),
        "price": (_NUMBER, "price"),
        "color": (_TEXT, "color"),
        "weight_kg": (_WHOLE, "int:1:60"),
        "stock": (_WHOLE, "int:0:500"),
    },
    "job": {
        "role": (_TEXT, "role"),
        "company": (_TEXT, "company"),
        "city": (_TEXT, "city"),
        "salary": (_WHOLE, "int:30:150"),
        "start_date": (_TEXT, "iso"),
        "contact": (_TEXT, "email"),
    },
    "bug": {
        "bug_id": (_TEXT, "code"),
        "component": (_TEXT, "component"),
        "severity": (_TEXT, "enum:low,medium,high,critical"),
        "reporter": (_TEXT, "full"),
        "version": (_TEXT, "version"),
        "date": (_TEXT, "iso"),
    },
    "flight": {
        "flight": (_TEXT, "code"),
        "origin": (_TEXT, "city"),
        "destination": (_TEXT, "city"),
        "date": (_TEXT, "iso"),
        "departure": (_TEXT, "clock"),
        "seat": (_TEXT, "seat"),
        "passenger": (_TEXT, "full"),
    },
    "book": {
        "title": (_TEXT, "title"),
        "author": (_TEXT, "full"),
        "year": (_WHOLE, "int:1900:2024"),
        "pages": (_WHOLE, "int:60:900"),
        "genre": (_TEXT, "genre"),
        "publisher": (_TEXT, "company"),
    },
    "house": {
        "street": (_TEXT, "street"),
        "city": (_TEXT, "city"),
        "rooms": (_WHOLE, "int:1:9"),
        "rent": (_WHOLE, "int:300:4000"),
        "owner": (_TEXT, "full"),
        "free_from": (_TEXT, "iso"),
        "pets_allowed": (_TRUTH, "bool"),
    },
    "visit": {
        "patient": (_TEXT, "full"),
        "doctor": (_TEXT, "last"),
        "date": (_TEXT, "iso"),
        "time": (_TEXT, "clock"),
        "reason": (_TEXT, _REASONS),
        "follow_up": (_TRUTH, "bool"),
    },
    "team": {
        "team": (_TEXT, "made"),
        "coach": (_TEXT, "full"),
        "city": (_TEXT, "city"),
        "players": (_WHOLE, "int:7:30"),
        "founded": (_WHOLE, "int:1880:2020"),
        "color": (_TEXT, "color"),
    },
}
_TRUTHS = {
    "pets_allowed": ("pets are not allowed", "pets are allowed"),
    "follow_up": ("no follow-up is needed", "a follow-up visit is needed"),
}
_DESCRIPTIONS = {
    "age": "Age in years",
    "price": "Price as a number",
    "date": "Date as YYYY-MM-DD",
    "email": "Email address",
    "quantity": "How many",
}
UNTOLD = "The text does not say."


def upper(text):
    return text[0].upper() + text[1:]


def _facts(draw, fields):
    facts = {}
    for key, (_, kind) in fields.items():
        facts[key] = values.value(draw, kind)
        while key == "destination" and facts[key] == facts["origin"]:
            facts[key] = values.value(draw, kind)
    return facts


def _paragraph(draw, domain, noise):
    """(the facts of one entity, a text that tells some of them, the fields that it tells)"""
    facts = _facts(draw, DOMAINS[domain])
    told, sentences, wanted = [], [], draw.num(2, 5)
    for pattern in draw.mixed(draw.side("facts " + domain)):
        new = [key for key in facts if "{" + key + "}" in pattern]
        if sentences and not set(new) - set(told):
            continue
        told += [key for key in new if key not in told]
        said = {key: _TRUTHS[key][facts[key]] if key in _TRUTHS else facts[key] for key in new}
        sentences.append(upper(pattern.format(**said)) + ".")
        if draw.chance(noise):
            sentences.append(upper(draw.pick("noise")) + ".")
        wanted -= 1
        if not wanted:
            break
    return facts, " ".join(sentences), told


def _schema(draw, fields, keys, optional):
    properties = {}
    for key in keys:
        kind_of_json, kind = fields[key]
        entry = {"type": [kind_of_json, "null"] if key in optional else kind_of_json}
        if key in _DESCRIPTIONS and draw.chance(0.3):
            entry["description"] = _DESCRIPTIONS[key]
        if kind.startswith("enum:") and key not in optional and draw.chance(0.6):
            entry["enum"] = kind[5:].split(",")
        properties[key] = entry
    schema = {"type": "object", "properties": properties, "required": list(keys)}
    if draw.chance(0.2):
        schema["additionalProperties"] = False
    return schema


def _renamed(draw, keys):
    """{field: name in the schema}: mostly the field's own, else with words around it."""
    if draw.chance(0.75):
        return {key: key for key in keys}
    patterns = ["the_{}", "{}_value", "{}_text", "my_{}", "x_{}", "{}1"]
    return {key: draw.one(patterns).format(key) for key in keys}


def extraction(draw):
    """{messages, schemas}: one or two texts with a schema each, answered with JSON."""
    messages, schemas = [], []
    if draw.chance(0.5):
        messages.append({"role": "system", "content": draw.pick("extract system")})
    for _ in range(draw.num(1, 2)):
        domain = draw.one(list(DOMAINS))
        fields = DOMAINS[domain]
        facts, text, told = _paragraph(draw, domain, 0.2)
        keys = draw.some(told, draw.num(min(2, len(told)), min(5, len(told))))
        missing = [key for key in fields if key not in told]
        optional = draw.some(missing, 1) if missing and draw.chance(0.3) else []
        keys = draw.mixed(keys + optional)
        if draw.chance(0.15):
            optional.append(draw.one(keys))
        names = _renamed(draw, keys)
        schema = _schema(draw, fields, keys, optional)
        schema["properties"] = {names[key]: entry for key, entry in schema["properties"].items()}
        schema["required"] = [names[key] for key in keys]
        shown = json.dumps(schema, ensure_ascii=False, indent=None if draw.chance(0.8) else 2)
        answer = {names[key]: facts[key] if key in told else None for key in keys}
        ask = draw.pick("extract ask").replace("{s}", shown).replace("{t}", text)
        messages.append({"role": "user", "content": ask})
        messages.append({"role": "assistant", "content": json.dumps(answer, ensure_ascii=False)})
        schemas.append(schema)
    return {"messages": messages, "schemas": schemas}


def _asked(draw, text, question, first):
    return (
        draw.pick("text ask").replace("{t}", text).replace("{q}", question) if first else question
    )


def _field_questions(draw):
    domain = draw.one(list(DOMAINS))
    facts, text, told = _paragraph(draw, domain, 0.28)
    known = [key for key in told if key not in _TRUTHS]
    unknown = [key for key in facts if key not in told and key not in _TRUTHS]
    messages = []
    for turn in range(draw.num(1, 4)):
        if unknown and (draw.chance(0.15) or not known):
            key, answer = draw.one(unknown), UNTOLD
        else:
            key = draw.one(known)
            answer = upper(str(facts[key]))
        question = draw.one(all_lists()["question " + key].seen)
        name = facts["name"] if "name" in told else "the person"
        question = question.replace("{name}", str(name))
        messages.append({"role": "user", "content": _asked(draw, text, question, not turn)})
        messages.append({"role": "assistant", "content": answer})
    return {"messages": messages}


def _relations(draw):
    """[(relation, name, value)], two to four people in one or two relations, no value twice."""
    names = list(dict.fromkeys(values.first(draw) for _ in range(draw.num(2, 4))))
    facts, used = [], set()
    for line in draw.picks("relation", draw.num(1, 2)):
        relation = line.split(" | ")
        kind = relation[3].lower()
        for name in names:
            word = None
            while word is None or word in used:
                word = draw.one(values.DAYS) if kind == "day" else values.value(draw, kind)
            used.add(word)
            facts.append((relation, name, word))
    return names, draw.mixed(facts) if draw.chance(0.5) else facts


def _relation_questions(draw):
    names, facts = _relations(draw)
    text = " ".join(upper(r[0].format(n=n, x=x)) + "." for r, n, x in facts)
    messages = []
    for _ in range(draw.num(1, 4)):
        relation, name, word = draw.one(facts)
        stranger = values.first(draw)
        kind = draw.random()
        if kind < 0.12 and stranger not in names:
            question, answer = relation[1].format(n=stranger, x=word), UNTOLD
        elif kind < 0.6:
            question, answer = relation[1].format(n=name, x=word), relation[4].format(
                n=name, x=word
            )
        else:
            question, answer = relation[2].format(n=name, x=word), name + "."
        messages.append({"role": "user", "content": _asked(draw, text, question, not messages)})
        messages.append({"role": "assistant", "content": answer})
    return {"messages": messages}


def questions(draw):
    """{messages}: one to four questions on one text."""
    return _relation_questions(draw) if draw.chance(0.45) else _field_questions(draw)
