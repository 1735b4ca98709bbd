"""A language model on a GPU behind the OpenAI API: a transformer with random weights, a key-value cache and
continuous batching. What it says means nothing; the work, the batching and the times are those of a real model.

Each request's events are logged as they are written, so that a client's times can be held against the server's own:
one JSON object a line with when the request arrived and when each event was written (Unix ns).
"""
import argparse
import json
import queue
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import torch
import torch.nn.functional as F

VOCABULARY = 256  # a token is a byte


class Model:
    def __init__(self, layers, width, heads, slots, longest, device):
        g = torch.Generator(device=device).manual_seed(1)
        kind = torch.bfloat16 if device == "cuda" else torch.float32
        make = lambda *shape: torch.randn(*shape, generator=g, device=device, dtype=kind) * 0.02
        self.heads, self.size, self.device = heads, width // heads, device
        self.embed, self.place = make(VOCABULARY, width), make(longest, width)
        self.blocks = [(make(width, 3 * width), make(width, width), make(width, 4 * width), make(4 * width, width)) for _ in range(layers)]
        self.head = make(width, VOCABULARY)
        self.keys = torch.zeros(layers, slots, heads, longest, self.size, device=device, dtype=kind)
        self.values = torch.zeros_like(self.keys)

    def norm(self, x):
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5).to(x.dtype)

    @torch.inference_mode()
    def step(self, slots, tokens, at):
        """tokens: [n, t] new tokens of the slots that start at the places at: [n]. Returns the next token of each."""
        n, t = tokens.shape
        places = at[:, None] + torch.arange(t, device=self.device)
        x = self.embed[tokens] + self.place[places]
        most = int(places.max()) + 1
        seen = torch.arange(most, device=self.device)[None, None, :] <= places[:, :, None]  # [n, t, most]
        for i, (qkv, out, up, down) in enumerate(self.blocks):
            q, k, v = (self.norm(x) @ qkv).view(n, t, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
            self.keys[i][slots[:, None], :, places] = k.transpose(1, 2)
            self.values[i][slots[:, None], :, places] = v.transpose(1, 2)
            a = F.scaled_dot_product_attention(q, self.keys[i][slots, :, :most], self.values[i][slots, :, :most], attn_mask=seen[:, None])
            x = x + a.transpose(1, 2).reshape(n, t, -1) @ out
            x = x + F.silu(self.norm(x) @ up) @ down
        return (self.norm(x[:, -1]) @ self.head).float().softmax(-1).multinomial(1)[:, 0].tolist()


class Batcher(threading.Thread):
    """Takes requests in and lets all of them advance by one token a step."""

    def __init__(self, model, slots, longest):
        super().__init__(daemon=True)
        self.model, self.free, self.longest = model, list(range(slots)), longest
        self.waiting, self.active = queue.Queue(), []

    def submit(self, prompt, count):
        r = {"prompt": prompt[: self.longest - count - 1], "left": count, "out": queue.Queue()}
        self.waiting.put(r)
        return r

    def run(self):
        dev = self.model.device
        while True:
            while self.free and (not self.active or not self.waiting.empty()):
                r = self.waiting.get()  # waits when there is nothing else to do
                r["slot"], r["at"] = self.free.pop(), 0
                self.emit(r, self.model.step(torch.tensor([r["slot"]], device=dev), torch.tensor([r["prompt"]], device=dev), torch.tensor([0], device=dev))[0], len(r["prompt"]))
            batch = self.active
            ids = self.model.step(torch.tensor([r["slot"] for r in batch], device=dev), torch.tensor([[r["last"]] for r in batch], device=dev), torch.tensor([r["at"] for r in batch], device=dev))
            self.active = []
            for r, token in zip(batch, ids):
                self.emit(r, token, 1)

    def emit(self, r, token, taken):
        r["at"], r["last"], r["left"] = r["at"] + taken, token, r["left"] - 1
        r["out"].put(token)
        if r["left"] > 0:
            self.active.append(r)
        else:
            self.free.append(r["slot"])
            r["out"].put(None)


def handler(batcher, log):
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 0
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def answer(self, code, body):
            text = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self):
            self.answer(200, {"object": "list", "data": [{"id": "gpu-llm", "object": "model"}]})

        def do_POST(self):
            arrived = time.time_ns()
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions":
                return self.answer(404, {"error": {"message": "only /v1/chat/completions is here"}})
            prompt = list("".join(str(m["content"]) for m in body["messages"]).encode()) or [0]
            count = body.get("max_completion_tokens") or body.get("max_tokens") or 64
            r = batcher.submit(prompt, count)
            usage = {"prompt_tokens": len(r["prompt"]), "completion_tokens": count, "total_tokens": len(r["prompt"]) + count}
            name = lambda delta, end: {"id": "x", "object": "chat.completion.chunk", "model": "gpu-llm", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
            if not body.get("stream"):
                text = ""
                while (token := r["out"].get()) is not None:
                    text += chr(32 + token % 95)
                return self.answer(200, {"object": "chat.completion", "model": "gpu-llm", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "length"}], "usage": usage})
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            written = []

            def send(event):
                data = b"data: " + (event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

            while (token := r["out"].get()) is not None:
                written.append(time.time_ns())
                send(name({"content": chr(32 + token % 95)}, None))
            send(name({}, "length"))
            send({"object": "chat.completion.chunk", "model": "gpu-llm", "choices": [], "usage": usage})
            send(b"[DONE]")
            self.wfile.write(b"0\r\n\r\n")
            if log:
                with lock:
                    log.write(json.dumps({"arrived": arrived, "written": written}) + "\n")
                    log.flush()

    return Handler


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--port", type=int, default=9100)
    p.add_argument("--layers", type=int, default=24)
    p.add_argument("--width", type=int, default=2048)
    p.add_argument("--slots", type=int, default=128)
    p.add_argument("--longest", type=int, default=1024)
    p.add_argument("--log")
    o = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Model(o.layers, o.width, o.width // 128, o.slots, o.longest, device)
    batcher = Batcher(model, o.slots, o.longest)
    batcher.start()
    warm = batcher.submit([1, 2, 3], 4)
    while warm["out"].get() is not None:
        pass
    server = Server(("127.0.0.1", o.port), handler(batcher, open(o.log, "w") if o.log else None))
    print("ready", server.server_port, device, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
