#!/usr/bin/env python3
"""Writes tables.bin: what the Rust crates behind the `tokenizers` package hold true of each character.

The crates are of different ages, so they disagree with each other and with Go's tables. This script asks the package
itself, one character at a time. Run it with `tokenizers` (the version that docs/tokenizers.md names) and `regex`
installed: python3 gen.py > tables.bin
"""
import sys
import unicodedata

import regex
from tokenizers import Regex, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn").split()
out = bytearray()


def number(n):
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)


def text(s):
    b = s.encode()
    number(len(b))
    out.extend(b)


def runs(value):
    """Writes value(c) of all characters as runs: length, value."""
    found, last, length = [], None, 0
    for c in range(0x110000):
        v = value(c)
        if v == last:
            length += 1
        else:
            if length:
                found.append((length, last))
            last, length = v, 1
    found.append((length, last))
    number(len(found))
    for length, v in found:
        number(length)
        number(v)


def removed(pre, size=4096):
    """The characters that a pre-tokenizer takes away."""
    gone = set()
    for i in range(0, len(POINTS), size):
        part = POINTS[i:i + size]
        kept = set()
        for _, (a, b) in pre.pre_tokenize_str("".join(map(chr, part))):
            kept.update(part[a:b])
        gone.update(c for c in part if c not in kept)
    return gone


def by_regex(pattern):
    return removed(pre_tokenizers.Split(Regex(pattern), "removed"))


def classes():
    """General category in Oniguruma and its \\s and \\w, then single properties, as bits."""
    category = {}
    for i, name in enumerate(CATEGORIES):
        for c in by_regex("\\p{%s}" % name):
            category[c] = i
    space, word = by_regex("\\s"), by_regex("\\w")
    digits = pre_tokenizers.Digits(individual_digits=True)
    words = pre_tokenizers.Whitespace()
    accents = normalizers.StripAccents()
    off = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    marks = normalizers.BertNormalizer(**{**off, "strip_accents": True})
    clean = normalizers.BertNormalizer(**{**off, "clean_text": True})
    punct = removed(pre_tokenizers.Punctuation("removed"))

    def bits(c):
        if c not in category:
            return 0
        ch, b = chr(c), category[c]
        b |= (c in space) << 5 | (c in word) << 6
        b |= (len(digits.pre_tokenize_str("a" + ch + "a")) == 3) << 7
        b |= (c in punct) << 8
        b |= (len(words.pre_tokenize_str("a" + ch + "a")) == 1) << 9
        b |= (accents.normalize_str(ch) == "") << 10
        b |= (marks.normalize_str(ch) == "") << 11
        b |= (clean.normalize_str(ch) == "") << 12
        return b

    runs(bits)


def graphemes():
    names = ["CR", "LF", "Control", "Extend", "ZWJ", "Regional_Indicator", "Prepend", "SpacingMark", "L", "V", "T", "LV", "LVT"]
    pattern = regex.compile("|".join(r"(\p{GCB=%s})" % n for n in names) + r"|(\p{Extended_Pictographic})")

    def value(c):
        m = pattern.match(chr(c)) if not 0xD800 <= c < 0xE000 else None
        return m.lastindex if m else 0

    runs(value)


def scripts():
    """Numbers for scripts; characters of one script, as UnicodeScripts sees it, have one number."""
    pre = pre_tokenizers.UnicodeScripts()

    def same(a, b):
        return len(pre.pre_tokenize_str(a + b)) == 1

    # A character of the script "any" joins both neighbors, even where they differ.
    known, found, last = [" "], {}, None
    for c in POINTS:
        ch = chr(c)
        if last is not None and found[last] and same(chr(last), ch) and not joins_all(pre, ch):
            found[c] = found[last]
        elif joins_all(pre, ch):
            found[c] = 0
        else:
            for i, k in enumerate(known):
                if i and same(k, ch):
                    found[c] = i
                    break
            else:
                found[c] = len(known)
                known.append(ch)
        last = c
    runs(lambda c: found.get(c, 0))


def joins_all(pre, ch):
    return len(pre.pre_tokenize_str("a" + ch)) == 1 and len(pre.pre_tokenize_str("\u05d0" + ch)) == 1


def combining():
    nfd = normalizers.NFD()

    def value(c):
        if 0xD800 <= c < 0xE000 or nfd.normalize_str(chr(c)) != chr(c):
            return 0
        ch = chr(c)
        ccc = unicodedata.combining(ch)
        moves = nfd.normalize_str(ch + "\u0334")[0] == "\u0334" or nfd.normalize_str("\u0315" + ch)[0] != "\u0315"
        if moves and not ccc:
            sys.exit("U+%04X: newer than this Python" % c)
        return ccc if moves else 0

    runs(value)


def mapping(normalizer):
    pairs = []
    for c in POINTS:
        if 0xAC00 <= c < 0xD7A4:
            continue  # Hangul syllables follow a formula
        s = normalizer.normalize_str(chr(c))
        if s != chr(c):
            pairs.append((c, s))
    number(len(pairs))
    last = 0
    for c, s in pairs:
        number(c - last)
        last = c
        text(s)


def composites():
    """Pairs that compose: first, second, result."""
    nfc, nfd = normalizers.NFC(), normalizers.NFD()
    found = []
    for c in POINTS:
        ch = chr(c)
        d = nfd.normalize_str(ch)
        if 0xAC00 <= c < 0xD7A4 or len(d) < 2 or nfc.normalize_str(ch) != ch:
            continue
        first = nfc.normalize_str(d[:-1])
        if len(first) != 1:
            sys.exit("U+%04X: not a pair" % c)
        found.append((ord(first), ord(d[-1]), c))
    number(len(found))
    for triple in found:
        for n in triple:
            number(n)


classes()
graphemes()
scripts()
combining()
mapping(normalizers.NFD())
mapping(normalizers.NFKD())
composites()
mapping(normalizers.Lowercase())
sys.stdout.buffer.write(bytes(out))
