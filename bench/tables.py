"""What bench/compare.py prints: the Markdown table of a run, its geometric means, and the change
between two runs.
"""
import json
import math

KINDS = ("prefill", "decode")


def put_into(path, text, mark="bench"):
    """Replaces what a page has between <!-- mark:begin --> and <!-- mark:end -->."""
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    page = path.read_text()
    if begin not in page or end not in page:
        raise SystemExit(f"{path} has no {begin} … {end}")
    before, rest = page.split(begin, 1)
    path.write_text(f"{before}{begin}\n{text}{end}{rest.split(end, 1)[1]}")


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ratios(results, peer, kind):
    return [r["ratio"][peer][kind] for r in results if kind in r["ratio"].get(peer, {})]


def figure(part):
    return f"{part['tokens_per_s']:.1f} ± {50 * part['spread']:.0f} %"


def row(result, peers):
    at = f" after {result['depth']:,}" if result["depth"] else ""
    if result["n_prompt"] > 512:
        at += f", prompt of {result['n_prompt']:,}"
    cells = [result["file"].removesuffix(".gguf") + at, str(result["threads"])]
    for kind in KINDS:
        part = result["ours"].get(kind)
        cells += [figure(part), f"{100 * part['limit_fraction']:.0f} %"] if part else ["", ""]
        for peer in peers:
            ratio = result["ratio"].get(peer, {})
            equal = ratio.get(f"{kind}_at_equal_reads")
            cells.append((f"{ratio[kind]:.2f}" if kind in ratio else "") +
                         (f" ({equal:.2f})" if equal else ""))
    return cells


def mean_row(name, results, peers):
    cells = [name, ""]
    for kind in KINDS:
        cells += ["", ""]
        for peer in peers:
            found = ratios(results, peer, kind)
            equal = ratios(results, peer, f"{kind}_at_equal_reads")
            cells.append((f"**{geometric_mean(found):.2f}**" if found else "") +
                         (f" ({geometric_mean(equal):.2f})" if equal else ""))
    return cells


def as_line(cells):
    return "| " + " | ".join(cells) + " |"


def table(results, about, peers):
    """peers: {name: version}. Ratios are ours over the peer's, of medians of one interleaved run."""
    cpu = about["machine"]
    against = ", ".join(f"{name} {version or ''}".strip() for name, version in peers.items())
    rounds = sorted({r["rounds"] for r in results})
    reads = [r["machine_limits"]["read_gb_s"] for r in results]
    lines = [f"{cpu['cores']} cores of {cpu['cpu']}, {about['compiler']}, commit {about['commit']}, "
             f"against {against}; medians of {' or '.join(map(str, rounds))} interleaved rounds, ± "
             f"half the spread. Memory gave {min(reads):.0f} to {max(reads):.0f} GB/s meanwhile; in brackets the ratio of "
             "tokens per GB that memory gave around each run.", ""]
    heads = ["file", "threads"]
    for kind, limit in (("prefill", "peak"), ("decode", "bandwidth")):
        heads += [f"{kind}, tokens/s", f"of {limit}"] + [f"× {peer}" for peer in peers]
    lines += [as_line(heads), "|" + "---|" * len(heads)]
    lines += [as_line(row(r, peers)) for r in results]
    short = [r for r in results if not r["depth"]]
    if len(short) > 1:
        lines.append(as_line(mean_row("geometric mean, empty context", short, peers)))
    deep = [r for r in results if r["depth"]]
    if len(deep) > 1:
        lines.append(as_line(mean_row("geometric mean, long context", deep, peers)))
    return "\n".join(lines) + "\n"


def newest(path):
    """{(file, threads, depth, prompt): its last result} of `path` or `path@commit`."""
    name, _, commit = str(path).partition("@")
    found = {}
    with open(name) as f:
        for line in map(json.loads, f):
            if commit and not line["commit"].startswith(commit):
                continue
            key = line["file"], line["threads"], line.get("depth", 0), line.get("n_prompt", 0)
            found[key] = line
    if not found:
        raise SystemExit(f"{path}: no results")
    return found


def changes(before_path, after_path):
    """How `after` differs from `before`, as a table. Refuses results of different machines."""
    before, after = newest(before_path), newest(after_path)
    machines = {json.dumps(r["machine"], sort_keys=True)
                for r in (*before.values(), *after.values())}
    if len(machines) > 1:
        raise SystemExit("results of different machines cannot be compared: " + ", ".join(machines))
    lines = [as_line(["file", "threads", "depth", "kind", "before", "after", "change", ""]),
             "|" + "---|" * 8]
    for key in sorted(before.keys() & after.keys()):
        for kind in KINDS:
            a, b = (side[key]["ours"].get(kind) for side in (before, after))
            if not a or not b:
                continue
            change = b["tokens_per_s"] / a["tokens_per_s"] - 1
            noise = math.hypot(a["spread"], b["spread"]) / 2
            verdict = "" if abs(change) <= noise else "faster" if change > 0 else "slower"
            lines.append(as_line([key[0], str(key[1]), str(key[2]), kind,
                                  f"{a['tokens_per_s']:.1f}", f"{b['tokens_per_s']:.1f}",
                                  f"{100 * change:+.1f} ± {100 * noise:.1f} %", verdict]))
    return "\n".join(lines) + "\n"
