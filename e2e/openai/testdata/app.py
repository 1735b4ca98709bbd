# A language model of sorts for hypercorn: the request says how many tokens, how far apart, how large, and whether the
# process dies after some of them.
import asyncio
import json
import os


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    if scope["path"] != "/v1/chat/completions":
        await send({"type": "http.response.start", "status": 404, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b'{"detail":"Not Found"}'})
        return
    ask = json.loads(body)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    for i in range(ask["tokens"]):
        if i == ask.get("die", -1):
            os._exit(1)
        event = {"version": scope["http_version"], "choices": [{"index": 0, "delta": {"content": "x" * ask.get("size", 1)}}]}
        await send({"type": "http.response.body", "body": b"data: " + json.dumps(event).encode() + b"\n\n", "more_body": True})
        await asyncio.sleep(ask.get("pause", 0))
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})
