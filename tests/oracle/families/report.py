"""docs/odd-configurations.md: what random configurations of every family came to."""
PAGE = "docs/odd-configurations.md"
COLUMNS = {"agree": ("agree",), "near ties": ("near tie",), "refused by name": ("refused",),
           "GGUF refused": ("gguf refused",), "no reference": ("no reference",)}
INTRO = """# Odd configurations

Tiny random models of every family, with configurations that are odd but legal, on both sides: `ruvllm` from the folder
and from the GGUF file that `quantize` makes of it, and transformers {version}. Remade by
`tests/oracle/compare_families.py --report --seed {seed} --count {count}`: {count} of each name, seed {seed}.

- **agree**: all logits of several prompts, within 5 times what the documented roundings do to the reference itself,
  or as near to the reference in float64 as that is in float32.
- **near ties**: two experts of a router, or two keys of an index, are as near to each other as those roundings reach;
  every row before agrees.
- **refused by name**: the refusal names what the user's folder has. **GGUF refused**: `quantize` alone refuses.
- **no reference**: transformers does not load or run the model.
- **differ**: anything else: a silent difference, a crash, a refusal that names nothing.

Names are those of the drawings, `--family NAME`.
"""


def page(counts, version, args):
    """The page of counts: name: {verdict: number}."""
    head = ["name", "drawn", *COLUMNS, "differ"]
    lines = [head, ["---"] + ["--:"] * (len(head) - 1)]
    totals = [0] * (len(head) - 1)
    for name in sorted(counts):
        row, drawn = counts[name], sum(counts[name].values())
        cells = [sum(row[kind] for kind in kinds) for kinds in COLUMNS.values()]
        numbers = [drawn, *cells, drawn - sum(cells)]
        totals = [a + b for a, b in zip(totals, numbers)]
        lines.append([f"`{name}`", *(str(n) if n else "" for n in numbers)])
    lines.append(["all", *map(str, totals)])
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    intro = INTRO.format(version=version, seed=args.seed, count=args.count)
    return f"{intro}\n{table}\n"
