#!/usr/bin/env python3
"""Draws the patterns of `redline stress` (docs/img/patterns.svg): python3 scripts/patterns.py > docs/img/patterns.svg"""

INK, GRAY = "#1f2328", "#59636e"
COLORS = {"START": "#d1f0d8", "+": "#f0f1f3", "END": "#d6e6ff", "refused": "#ffd9d6"}
FREED, REFUSED = "server frees the slot when idle", "must specify the START flag"

# Name, remark, the requests of one or two sequences ("pause" is a gap in a sequence), and what follows.
PATTERNS = [
    ("valid", "85 %, a whole sequence", [["START", "+", "+", "END"]], ""),
    ("valid-valid", "5 %, two, one id", [["START", "+", "END"], ["START", "+", "END"]], ""),
    ("valid-no-end", "5 %, the second never ends", [["START", "+", "END"], ["START", "+", "+"]], FREED),
    ("no-end", "4 %, never ends", [["START", "+", "+"]], FREED),
    ("no-start", "1 %, must be refused", [["refused"]], REFUSED),
    ("idle", "asked for, left alone too long", [["START", "+", "pause", "refused"]], REFUSED),
]


def draw():
    yield (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 380" font-family="sans-serif" font-size="14" role="img" '
        'aria-label="The patterns of the sequence stress test">'
    )
    yield '<rect width="860" height="380" fill="#ffffff"/>'
    for row, (name, remark, sequences, after) in enumerate(PATTERNS):
        y = 24 + 58 * row
        yield (
            f'<text x="16" y="{y + 20}" font-weight="bold" fill="{INK}">{name}</text>'
            f'<text x="16" y="{y + 37}" font-size="12" fill="{GRAY}">{remark}</text>'
        )
        x = 210
        for number, sequence in enumerate(sequences):
            x += 16 * (number > 0)
            for request in sequence:
                if request == "pause":
                    yield (
                        f'<line x1="{x}" y1="{y + 18}" x2="{x + 64}" y2="{y + 18}" stroke="{GRAY}" stroke-dasharray="4 4"/>'
                        f'<text x="{x + 32}" y="{y + 12}" font-size="11" text-anchor="middle" fill="{GRAY}">pause</text>'
                    )
                    x += 72
                    continue
                yield (
                    f'<rect x="{x}" y="{y}" width="58" height="36" rx="5" fill="{COLORS[request]}" stroke="{GRAY}"/>'
                    f'<text x="{x + 29}" y="{y + 23}" font-size="12" text-anchor="middle" fill="{INK}">{request}</text>'
                )
                x += 64
        if after:
            yield f'<text x="{x + 6}" y="{y + 23}" font-size="12" fill="{GRAY}">{after}</text>'
    yield "</svg>"


print("\n".join(draw()))
