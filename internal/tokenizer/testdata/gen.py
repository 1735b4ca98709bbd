#!/usr/bin/env python3
"""Writes vectors.json.gz: small tokenizers, one for each part and option, with what the `tokenizers` package makes of
some texts. Run it with the version that docs/tokenizers.md names: python3 gen.py vectors.json.gz
"""
import gzip
import json
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

random.seed(9)
TEXTS = [
    "", " ", "Hello, World!", "  two  spaces ", "don't WE'LL it's I'M 'ſ", "x=3.14; y = 1234567\n\treturn x\r\n\r\n",
    "naïve café e\u0301 ﬁ ① Å Ǆ ẛ\u0323", "日本語テスト、中文。한국어 가각", "👍🏽 👨\u200d👩\u200d👧 🇩🇪\u200d ©\u200d",
    "a\u00a0b\u3000c\u2028d\x85e\u200bf\ufeffg\ufffd", "tab\there\x00nul\x1f", "Ünïcödé ẞtraße İstanbul ΣΑΣ",
    "ม\u0e31กๆ हिन्दी עִברִית عَرَبِي", "_under-score_ (paren) [br] {x} «q» “r” … $5 + €6 ^7 ~8", "١٢٣ ½ Ⅷ 𝟘𝟙 ²",
    "<s>bos</s> <mask> tok<mask>en [SEP] ab<x>cd <Y> yes <Y>", "\u0344\u0f73a\u0315\u0300\u0334b", "▁mark ▁▁two▁", "aaaaaaaaaaaaaaaa bbbb",
    "\U00010400\U0001F600\uA7F2\u32FF\u1C88\U00011938", "ŋ\u0300\u0316 क\u094d\u200dष\u093c e\u0327\u0301", "HTTPServer camelCase ABC123def 12ab34",
]
CORPUS = TEXTS * 3 + ["the quick brown fox jumps over the lazy dog", "lower newer wider low new wide"] * 8
out = []


def rows(tok, texts=TEXTS):
    ids, plain = [], []
    for t in texts:
        ids.append(tok.encode(t).ids)
        plain.append(tok.encode(t, add_special_tokens=False).ids)
    return ids, plain


def keep(name, tok, texts=TEXTS, decode=True, extra=()):
    ids, plain = rows(tok, texts)
    case = dict(name=name, tokenizer=json.loads(tok.to_str()), texts=texts, ids=ids, plain=plain)
    if decode:
        n = tok.get_vocab_size()
        seqs = ids + [[random.randrange(n) for _ in range(random.randrange(1, 9))] for _ in range(12)] + list(extra)
        case["seqs"] = seqs
        case["whole"] = [tok.decode(s, skip_special_tokens=False) for s in seqs]
        case["skip"] = [tok.decode(s, skip_special_tokens=True) for s in seqs]
    out.append(case)


def words(name, normalizer=None, pre=None):
    """Every word that comes out gets an id of its own, so that the ids show the words."""
    vocab = {"[UNK]": 0}
    for t in TEXTS:
        s = normalizer.normalize_str(t) if normalizer else t
        for w in [w for w, _ in pre.pre_tokenize_str(s)] if pre else [s]:
            vocab.setdefault(w, len(vocab))
    tok = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    if normalizer:
        tok.normalizer = normalizer
    if pre:
        tok.pre_tokenizer = pre
    keep(name, tok, decode=False)


N, P, D, S = normalizers, pre_tokenizers, decoders, ["isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous"]
for n in ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"]:
    words("normalizer " + n, getattr(N, n)())
for left in (True, False):
    for right in (True, False):
        words(f"normalizer Strip {left} {right}", N.Strip(left, right))
words("normalizer Replace", N.Replace("a", "<A>"))
words("normalizer Replace regex", N.Replace(Regex(r"\s{2,}|\d"), "#"))
words("normalizer Prepend", N.Prepend("▁"))
for clean in (True, False):
    for lower in (True, False):
        words(f"normalizer Bert {clean} {lower}", N.BertNormalizer(clean, clean, None, lower))
words("normalizer Bert accents", N.BertNormalizer(False, True, True, False))
words("normalizer Sequence", N.Sequence([N.NFKD(), N.StripAccents(), N.Lowercase(), N.Strip()]))

for p in ["Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts"]:
    words("pre " + p, pre=getattr(P, p)())
for b in S:
    words("pre Punctuation " + b, pre=P.Punctuation(b))
    words("pre Split text " + b, pre=P.Split(" ", b))
    words("pre Split regex " + b, pre=P.Split(Regex(r"\p{L}+|\d"), b))
    words("pre Split inverted " + b, pre=P.Split(Regex(r"\w+|[^\w\s]"), b, invert=True))
for i in (True, False):
    words(f"pre Digits {i}", pre=P.Digits(i))
    words(f"pre ByteLevel {i}", pre=P.ByteLevel(add_prefix_space=i))
    words(f"pre ByteLevel plain {i}", pre=P.ByteLevel(add_prefix_space=i, use_regex=False))
for scheme in ("always", "first", "never"):
    for s in (True, False):
        words(f"pre Metaspace {scheme} {s}", pre=P.Metaspace("▁", scheme, s))
words("pre CharDelimiterSplit", pre=P.CharDelimiterSplit("e"))
words("pre FixedLength", pre=P.FixedLength(3))
words("pre Sequence", pre=P.Sequence([P.WhitespaceSplit(), P.Punctuation(), P.Digits(True), P.Metaspace()]))
HEAD, FOLD = r"[^\r\n\p{L}\p{N}]?", "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UP, LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SLASH = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {
    "cl100k": FOLD + "|" + HEAD + r"\p{L}+|\p{N}{1,3}" + TAIL,
    "qwen": FOLD + "|" + HEAD + r"\p{L}+|\p{N}" + TAIL,
    "o200k": HEAD + UP + "*" + LOW + "+" + FOLD + "?|" + HEAD + UP + "+" + LOW + "*" + FOLD + r"?|\p{N}{1,3}" + SLASH,
    "tekken": HEAD + UP + "*" + LOW + "+|" + HEAD + UP + "+" + LOW + r"*|\p{N}" + SLASH,
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "numbers": r"\p{N}{1,3}", "han": "[一-龥぀-ゟ゠-ヿ]+",
    "lazy": r"[a-z]+?(?=[A-Z]|\b)|(?<=\d)[a-z]",
    "behind": r"(?<![a-z])[A-Z]\w*|(?<=l)l", "class": r"[^\s\d_&&[^e]]+|[[:punct:]]", "lines": r"^\w|\w$|\A.|.\z",
    "atomic": r"(?>a+)b|\s++x|(?:ab|c)*d|\p{Han}|\p{^L}{2,}", "fold": r"(?i)STRASSE|hello|(?i:Ü)n",
}
for name, pattern in PATTERNS.items():
    words("pattern " + name, pre=P.Split(Regex(pattern), "isolated"))


def trained(model, trainer, pre=None, normalizer=None, decoder=None):
    tok = Tokenizer(model)
    if pre:
        tok.pre_tokenizer = pre
    if normalizer:
        tok.normalizer = normalizer
    if decoder:
        tok.decoder = decoder
    tok.train_from_iterator(CORPUS, trainer)
    return tok


def bpe(size=400, **kw):
    return trainers.BpeTrainer(vocab_size=size, show_progress=False, **kw)


level = trained(models.BPE(), bpe(initial_alphabet=P.ByteLevel.alphabet()), P.ByteLevel(add_prefix_space=False), decoder=D.ByteLevel())
keep("model byte-level BPE", level)
whole = json.loads(level.to_str())
whole["model"]["ignore_merges"] = True
whole["model"]["merges"] = whole["model"]["merges"][: len(whole["model"]["merges"]) // 2]
keep("model BPE ignore_merges", Tokenizer.from_str(json.dumps(whole)))
keep("model BPE unk", trained(models.BPE(unk_token="[U]"), bpe(120, special_tokens=["[U]"], limit_alphabet=30), P.Whitespace()))
fused = json.loads(trained(models.BPE(unk_token="[U]", fuse_unk=True), bpe(120, special_tokens=["[U]"], limit_alphabet=30)).to_str())
keep("model BPE fused unk", Tokenizer.from_str(json.dumps(fused)))
marked = trained(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
                 bpe(500, special_tokens=["<unk>"] + [f"<0x{i:02X}>" for i in range(256)], limit_alphabet=40),
                 normalizer=N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]),
                 decoder=D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)]))
keep("model BPE byte fallback", marked)
keep("model BPE suffix", trained(models.BPE(unk_token="[U]", end_of_word_suffix="</w>"), bpe(200, special_tokens=["[U]"], end_of_word_suffix="</w>"),
                                 P.WhitespaceSplit(), decoder=D.BPEDecoder()))
keep("model BPE prefix", trained(models.BPE(unk_token="[U]", continuing_subword_prefix="##"), bpe(200, special_tokens=["[U]"], continuing_subword_prefix="##"),
                                 P.WhitespaceSplit(), decoder=D.WordPiece()))
piece = trained(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=12),
                trainers.WordPieceTrainer(vocab_size=200, show_progress=False, special_tokens=["[UNK]", "[CLS]", "[SEP]"], limit_alphabet=60),
                P.BertPreTokenizer(), N.BertNormalizer(), D.WordPiece())
piece.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
keep("model WordPiece", piece)
for fallback in (False, True):
    uni = trained(models.Unigram(), trainers.UnigramTrainer(vocab_size=700 if fallback else 400, show_progress=False, unk_token="<unk>",
                  special_tokens=["<unk>"] + [f"<0x{i:02X}>" for i in range(256) if fallback]), P.Metaspace(), decoder=D.Metaspace())
    j = json.loads(uni.to_str())
    j["model"]["byte_fallback"] = fallback
    keep(f"model Unigram {fallback}", Tokenizer.from_str(json.dumps(j)))

ADDED = [AddedToken("<s>", special=True), AddedToken("</s>", special=True), AddedToken("<mask>", lstrip=True, special=True),
         AddedToken("[SEP]", rstrip=True, special=True), AddedToken("<x>", normalized=True), AddedToken("<Y>", normalized=True, lstrip=True, rstrip=True),
         AddedToken("yes", single_word=True), AddedToken("<", normalized=False), AddedToken("ab", single_word=True, normalized=False)]
tok = Tokenizer.from_str(level.to_str())
tok.normalizer = N.Lowercase()
tok.add_tokens(ADDED)
tok.add_special_tokens([t for t in ADDED if t.special])
tok.post_processor = processors.RobertaProcessing(("</s>", tok.token_to_id("</s>")), ("<s>", tok.token_to_id("<s>")))
keep("added tokens", tok)
tok.post_processor = processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing(
    single="<s> <mask> $A </s>", pair="$A $B", special_tokens=[(t, tok.token_to_id(t)) for t in ("<s>", "</s>", "<mask>")])])
keep("template", tok)
for side in ("left", "right"):
    tok.enable_truncation(7, direction=side)
    tok.enable_padding(direction=side, pad_id=3, length=9 if side == "left" else None, pad_to_multiple_of=4)
    keep("limits " + side, tok)
tokens = ["a", "b", "##c", "d</w>", "▁e", "|", "<pad>", " do not", "n't", "'s", ".", "<0xE2>", "<0x82>", "<0xAC>", "<0xFF>", "Ġ", "Ãī", "é", " ", "x x"]
seqs = [[random.randrange(len(tokens)) for _ in range(random.randrange(1, 10))] for _ in range(30)] + [[11, 12, 13], [0, 0, 6, 0, 5, 5, 1]]
for name, d in {"none": None, "ByteLevel": D.ByteLevel(), "WordPiece": D.WordPiece(), "WordPiece raw": D.WordPiece(cleanup=False), "Metaspace": D.Metaspace(),
                "Metaspace never": D.Metaspace(prepend_scheme="never"), "ByteFallback": D.ByteFallback(), "Fuse": D.Fuse(), "Strip": D.Strip(" ", 1, 0),
                "Replace": D.Replace(Regex("[ab]+"), "é"), "BPEDecoder": D.BPEDecoder(), "CTC": D.CTC(), "CTC raw": D.CTC(cleanup=False),
                "Sequence": D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 2, 0)])}.items():
    tok = Tokenizer(models.WordLevel({t: i for i, t in enumerate(tokens)}, unk_token="a"))
    if d:
        tok.decoder = d
    keep("decoder " + name, tok, texts=["a"], extra=seqs)

with open(sys.argv[1], "wb") as f:
    f.write(gzip.compress(json.dumps(out, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0))
