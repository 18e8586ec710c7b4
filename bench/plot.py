#!/usr/bin/env python3
"""Draws what bench/compare.py measured as an SVG: one bar for the share of the machine's limit that
each engine reaches, prefill left, decode right. The same lines give the same bytes.

    plot.py bench/results/amd-epyc-2.jsonl[@commit] docs/speed.svg
"""
import sys
from html import escape

from tables import KINDS, newest

COLOURS = {"ours": "#2b6cb0", "llama.cpp": "#a0aec0", "ik_llama.cpp": "#d69e2e"}
ROW, LABEL, WIDTH, GAP, TOP = 40, 190, 300, 60, 52
LIMITS = {"prefill": "share of the multiply-add peak", "decode": "share of the read bandwidth"}


def shares(result, kind):
    """[(engine, share of the limit)]: a peer's is ours over our ratio to it."""
    ours = result["ours"].get(kind)
    if not ours:
        return []
    ratio = {peer: result["ratio"][peer].get(kind) for peer in result["ratio"]}
    return [("ours", ours["limit_fraction"])] + [
        (peer, ours["limit_fraction"] / x) for peer, x in ratio.items() if x]


def text(x, y, content, anchor="start", size=12):
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{escape(content)}</text>'


def bars(result, kind, x, y):
    for i, (engine, share) in enumerate(shares(result, kind)):
        length = min(share, 1) * WIDTH
        yield (f'<rect x="{x}" y="{y + 10 * i}" width="{length:.1f}" height="9" '
               f'fill="{COLOURS.get(engine, "#718096")}"/>')
        yield text(x + round(length) + 4, y + 10 * i + 8, f"{100 * share:.0f} %", size=9)


def label(result):
    after = f", after {result['depth']:,}" if result.get("depth") else ""
    threads = f", {result['threads']} thread{'s' if result['threads'] > 1 else ''}"
    return result["file"].removesuffix(".gguf"), (threads + after).lstrip(", ")


def drawing(results):
    height = TOP + ROW * len(results) + 10
    width = LABEL + 2 * WIDTH + 2 * GAP
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'font-family="sans-serif" fill="#1a202c">')
    yield f'<rect width="{width}" height="{height}" fill="white"/>'
    for i, (engine, colour) in enumerate(COLOURS.items()):
        yield f'<rect x="{10 + 110 * i}" y="8" width="10" height="10" fill="{colour}"/>'
        yield text(24 + 110 * i, 17, engine)
    for i, kind in enumerate(KINDS):
        x = LABEL + i * (WIDTH + GAP)
        yield text(x, 40, f"{kind}: {LIMITS[kind]}")
        yield f'<line x1="{x + WIDTH}" y1="46" x2="{x + WIDTH}" y2="{height - 8}" stroke="#cbd5e0"/>'
        for row, result in enumerate(results):
            yield from bars(result, kind, x, TOP + ROW * row)
    for row, result in enumerate(results):
        name, note = label(result)
        yield text(10, TOP + ROW * row + 11, name)
        yield text(10, TOP + ROW * row + 25, note, size=9)
    yield "</svg>"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    results = [r for r in newest(sys.argv[1]).values() if "ratio" in r and "peers" in r]
    if not results:
        sys.exit(f"{sys.argv[1]}: no lines of this version of compare.py")
    with open(sys.argv[2], "w") as f:
        f.write("\n".join(drawing(results)) + "\n")


if __name__ == "__main__":
    main()
