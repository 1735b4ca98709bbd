"""What the `tokenizers` package makes of texts.

oracle.py texts COUNT SEED FOLDER   writes COUNT texts, one JSON string a line; FOLDER has sources to take code from
oracle.py ids FOLDER                reads texts, one JSON string a line, and answers each: [ids, ids without special tokens,
                                    text of the ids, without special tokens]
oracle.py bench TOKENIZER TEXTS ROUNDS   prints the least CPU time in seconds to encode all texts, one by one
oracle.py chat FOLDER               reads conversations, one a line, and renders them with the package `transformers`
oracle.py serve FOLDER              answers chat completions and completions with usage.prompt_tokens by `transformers`; prints its port,
                                    then a line for each request: its id and its tokens
"""
import glob
import json
import os
import random
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

WORDS = ("the of and to in a is that for it was on are as with his they be at one have this from or had by hot but some what there we "
         "HTTP JSON GPU don't it's I'm they'll we've you're he'd DON'T IT'S naïve café résumé Straße Ελληνικά русский язык عربى עברית "
         "हिन्दी ไทย 한국어 日本語 中文测试 テスト").split()
CJK = "的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生自会那后能对のをにはがとでてもらしいるた가나다라마바사안녕하세요"
EMOJI = ["😀", "👍🏽", "👨\u200d👩\u200d👧\u200d👦", "🇩🇪", "❤️", "🏳️\u200d🌈", "①", "½", "Ⅷ", "™", "©"]
SPACES = [" ", "  ", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\x0b", "\x0c", "\x85", "\u2028", "\ufeff", "\x00", "\x1f"]
SPECIAL = ["<s>", "</s>", "<unk>", "<|endoftext|>", "<|im_start|>", "<|begin_of_text|>", "<|eot_id|>", "[CLS]", "[SEP]", "[MASK]", "<mask>", "<bos>",
           "<eos>", "<start_of_turn>", "<｜begin▁of▁sentence｜>", "<think>", "▁", "▁▁", "##", "<0x0A>", "Ġ", "<unused5>", "<h1>"]
PUNCT = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~…–—“”‘’«»¿¡。、，！？「」·"
MARKS = "".join(map(chr, [*range(0x300, 0x370), 0x5B0, 0x64B, 0x93C, 0x94D, 0xE38, 0x1AB0, 0x20D0, 0x3099]))


def point(rnd):
    top = rnd.choice([0x250, 0x250, 0x3000, 0x3000, 0x10000, 0x10000, 0x110000])
    while True:
        c = rnd.randrange(1, top)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def texts(count, seed, folder):
    rnd = random.Random(seed)
    sources = [open(f, encoding="utf-8").read() for f in sorted(glob.glob(folder + "/internal/*/*.go") + glob.glob(folder + "/net/http/*.go"))[::8]]

    def some(kinds, most):
        return "".join(rnd.choice(kinds)() for _ in range(rnd.randrange(1, most)))

    def word():
        w = rnd.choice(WORDS)
        return rnd.choice([w, w, w, w.capitalize(), w.upper()])

    def prose():
        return " ".join(word() + rnd.choice(["", "", "", ",", ".", "?", " " + str(rnd.randrange(10**6))]) for _ in range(rnd.randrange(1, 40)))

    def code():
        s = rnd.choice(sources)
        at = rnd.randrange(max(1, len(s)))
        return s[at:at + rnd.randrange(5, 400)]

    pick = {n: (lambda l=l: rnd.choice(l)) for n, l in dict(cjk=CJK, emoji=EMOJI, space=SPACES, special=SPECIAL, punct=PUNCT, mark=MARKS).items()}
    any_point = lambda: point(rnd)
    kinds = [
        prose, prose, code, code, code,
        lambda: some([pick["cjk"]], 60), lambda: some([pick["emoji"], word], 20), lambda: some([pick["space"], pick["space"], word, pick["punct"]], 30),
        lambda: some([any_point], 40), lambda: some([any_point], 40), lambda: some([pick["mark"], pick["mark"], any_point, lambda: rnd.choice("aeiouAEIOU각한")], 40),
        lambda: some([pick["special"], word, pick["space"], pick["punct"]], 20), lambda: some([pick["punct"], word, lambda: "'" + rnd.choice(["s", "S", "ſ", "LL", "re"])], 30),
        lambda: rnd.choice([word(), pick["space"](), pick["punct"](), pick["cjk"](), any_point()]) * rnd.randrange(1, 200),
        lambda: some([prose, any_point, pick["special"], pick["cjk"], pick["space"]], 8),
    ]
    for i in range(count):
        print(json.dumps(kinds[i % len(kinds)]() if i > 3 else ["", " ", "\n", "a"][i]))


def load(path):
    from tokenizers import Tokenizer
    return Tokenizer.from_file(path)


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def ids(path):
    tok = load(path + "/tokenizer.json")
    for line in sys.stdin:
        s = json.loads(line)
        full = tok.encode(s).ids
        plain = tok.encode(s, add_special_tokens=False).ids
        print(json.dumps([full, plain, tok.decode(full, skip_special_tokens=False), tok.decode(full, skip_special_tokens=True)]))


def bench(path, text_file, rounds):
    tok, all_texts, best = load(path), lines(text_file), 1e9
    for _ in range(int(rounds)):
        begin = time.process_time()
        for s in all_texts:
            tok.encode(s)
        best = min(best, time.process_time() - begin)
    print(best)


def transformer(path):
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(path)


def chat(path):
    tok = transformer(path)
    for line in sys.stdin:
        c = json.loads(line)
        try:
            text = tok.apply_chat_template(c.pop("messages"), tokenize=False, **c)
        except Exception:
            text = None
        print(json.dumps(text))


def serve(path):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    tok = transformer(path)
    answer = "Sure,  it's 42.\n\nNaïve 日本語 👍🏽"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "messages" in body:
                ids = tok.apply_chat_template(body["messages"], tools=body.get("tools"), add_generation_prompt=True, return_dict=False,
                                              **body.get("chat_template_kwargs", {}))
                choice = {"message": {"role": "assistant", "content": answer}}
            else:
                ids = tok(body["prompt"]).input_ids
                choice = {"text": answer}
            print(json.dumps([self.headers["X-Request-ID"], len(ids)]), flush=True)
            text = json.dumps({"choices": [{"index": 0, **choice, "finish_reason": "stop"}],
                               "usage": {"prompt_tokens": len(ids), "completion_tokens": 9, "total_tokens": len(ids) + 9}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    {"texts": lambda n, s, d: texts(int(n), int(s), d), "ids": ids, "bench": bench, "chat": chat, "serve": serve}[sys.argv[1]](*sys.argv[2:])
