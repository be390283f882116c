#!/usr/bin/env python3
"""Draws a bar chart (SVG) of a comparison with peers.

usage: chart.py RESULTS.jsonl OUT.svg        (RESULTS from bench/forward/forward_peers.py or bench/backward/backward_peers.py)
One group a problem, one bar an implementation, TFLOP/s on live pairs. Plain attention and mods at head dim 128, bf16.
"""
import html
import json
import sys

GROUPS = [  # title, variant, e, ev, rows
    ("full 1k", "full", 128, 128, 1024), ("causal 1k", "causal", 128, 128, 1024), ("full 8k", "full", 128, 128, 8192),
    ("causal 8k", "causal", 128, 128, 8192), ("window", "window", 128, 128, 8192), ("prefix", "prefix", 128, 128, 8192),
    ("documents", "documents", 128, 128, 8192), ("ALiBi", "alibi", 128, 128, 8192), ("soft cap", "softcap", 128, 128, 8192),
    ("table bias", "relative", 128, 128, 8192),
]
BARS = [  # implementation, label, colour
    ("tilewright", "Tilewright", "#1f6f5c"), ("tilewright-deterministic", "in a fixed order", "#6fae9d"), ("flash-attention-4", "FlashAttention-4", "#7a86b8"), ("cudnn", "cuDNN", "#b9a06a"),
    ("flash-attention-2", "FlashAttention-2", "#c9c4d6"), ("flex-flash", "FlexAttention FLASH", "#c77f6b"),
    ("flex-triton", "FlexAttention Triton", "#e0b7a8"), ("eager", "eager", "#d0d0d0"),
]
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 1080, 400, 52, 56, 44
STEP = 100  # TFLOP/s between lines
TITLES = {"forward": "Forward attention", "backward": "Gradients of attention"}


def is_shown(line):
    """One key head a query head, bf16, no gradient of a table: the problems of GROUPS have one line an implementation."""
    heads = line.get("kv_heads", line.get("h")) == line.get("h") and line.get("h") != 64
    return line.get("kind") in TITLES and heads and line.get("dtype", "bfloat16") == "bfloat16" and not line.get("table_gradient")


def read(path):
    """(variant, e, ev, rows) -> implementation -> line; and the context of the first line."""
    table, context = {}, {}
    for text in open(path):
        line = json.loads(text)
        if not is_shown(line):
            continue
        context = context or line
        key = (line["variant"], line["e"], line["ev"], line["rows"])
        table.setdefault(key, {})[line["impl"]] = line
    return table, context


def text(x, y, words, size=12, anchor="middle", weight="normal", colour="#333"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
            f'fill="{colour}">{html.escape(words)}</text>')


def rectangle(x, y, width, height, colour, title):
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}">'
            f"<title>{html.escape(title)}</title></rect>")


def legend(present):
    parts, x = [], LEFT
    for impl, label, colour in BARS:
        if impl not in present:
            continue
        parts.append(rectangle(x, 34, 11, 11, colour, label))
        parts.append(text(x + 15, 44, label, 12, "start"))
        x += 30 + 6.6 * len(label)
    return parts


def bars(table, groups, scale):
    parts = []
    slot = (WIDTH - LEFT - 12) / len(groups)
    for n, (title, *key) in enumerate(groups):
        found = table[tuple(key)]
        shown = [bar for bar in BARS if bar[0] in found]
        width = min(20, (slot - 14) / len(shown))
        x = LEFT + n * slot + (slot - width * len(shown)) / 2
        for impl, label, colour in shown:
            rate = found[impl]["tflops"]
            y = HEIGHT - BOTTOM - rate * scale
            parts.append(rectangle(x, y, width - 1.5, rate * scale, colour, f"{label}: {rate:.0f} TFLOP/s"))
            if impl == "tilewright":
                parts.append(text(x + width / 2, y - 4, f"{rate:.0f}", 11, weight="bold"))
            x += width
        parts.append(text(LEFT + (n + 0.5) * slot, HEIGHT - BOTTOM + 18, title, 12))
    return parts


def chart(table, context):
    groups = [g for g in GROUPS if tuple(g[1:]) in table]
    top = max(line["tflops"] for g in groups for line in table[tuple(g[1:])].values())
    scale = (HEIGHT - TOP - BOTTOM) / (top * 1.05)
    title = f"{TITLES[context['kind']]}, bf16, head dim 128, 16k tokens, {context['machine']['gpu']}: TFLOP/s on live pairs"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>', text(LEFT, 22, title, 15, "start", "bold")]
    for rate in range(0, int(top) + 1, STEP):
        y = HEIGHT - BOTTOM - rate * scale
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(text(LEFT - 6, y + 4, str(rate), 11, "end", colour="#777"))
    present = {impl for g in groups for impl in table[tuple(g[1:])]}
    return "\n".join(parts + legend(present) + bars(table, groups, scale) + ["</svg>", ""])


def main():
    table, context = read(sys.argv[1])
    with open(sys.argv[2], "w") as out:
        out.write(chart(table, context))


if __name__ == "__main__":
    main()
