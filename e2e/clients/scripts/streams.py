"""Strange streams, as the official OpenAI client reads them; rerank, Anthropic and TGI by plain HTTP."""

import json
import urllib.error
import urllib.request

import openai

from common import ADDRESSES, HTTP

TEXT = "tok0 tok1 tok2 tok3"


def connect():
    return openai.OpenAI(base_url=f"http://{ADDRESSES['openai']}/v1", api_key="none", max_retries=0, timeout=60)


def chat(kind, **more):
    return connect().chat.completions.create(model="m", messages=[{"role": "user", "content": "one two"}], max_tokens=4, stream=True,
                                             extra_headers={"X-Redline-Stream": kind}, **more)


def text(stream):
    return "".join(c.choices[0].delta.content or "" for c in stream if c.choices)


def test_harmless_kinds():
    for kind in ("split", "split=3", "merge=2", "crlf", "cr", "comments", "fields", "lines", "bare", "big", "gzip", "gzip,split", "ping=1ms",
                 "chunk=3", "role", "usage", "nodone", "crlf,split,comments,lines,ping=2ms"):
        got = text(chat(kind))
        assert got == TEXT, f"{kind}: {got!r}"


def test_usage_and_reasoning():
    counts = [c.usage.completion_tokens for c in chat("usage,chunk=2") if c.usage]
    assert counts[:2] == [2, 4], counts
    deltas = [c.choices[0].delta for c in chat("reasoning=3")]
    assert [getattr(d, "reasoning_content", None) for d in deltas][:4] == ["tok0", " tok1", " tok2", None], deltas
    *_, last = chat("cached=2", stream_options={"include_usage": True})
    assert last.usage.prompt_tokens_details.cached_tokens == 2, last


def test_harmful_kinds():
    for kind in ("error=2", "cut=2"):
        try:
            text(chat(kind))
        except (openai.APIError, openai.APIConnectionError, Exception) as e:
            assert not isinstance(e, AssertionError), e
        else:
            raise AssertionError(f"{kind} went unnoticed")
    assert text(chat("stop=2")) == "tok0 tok1" and text(chat("empty")) == ""
    for status, kind in ((401, openai.AuthenticationError), (404, openai.NotFoundError), (429, openai.RateLimitError), (500, openai.InternalServerError)):
        try:
            chat(f"status={status}")
        except kind:
            continue
        raise AssertionError(f"no error for status {status}")


def post(address, path, body, headers=None):
    request = urllib.request.Request(f"http://{address}{path}", data=json.dumps(body).encode(), headers=headers or {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def events(body):
    return [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: ")]


def test_generate_stream():
    ask = {"text_input": "one two", "max_tokens": 4, "stream": True}
    path = "/v2/models/ensemble/generate_stream"
    plain = [e["text_output"] for e in events(post(HTTP, path, ask))]
    assert len(plain) == 4
    for kind in ("comments", "fields", "big=5000", "merge=3", "split"):
        assert [e["text_output"] for e in events(post(HTTP, path, ask, {"X-Redline-Stream": kind}))] == plain, kind
    assert "error" in events(post(HTTP, path, ask, {"X-Redline-Stream": "error=2"}))[2]
    try:
        post(HTTP, path, ask, {"X-Redline-Stream": "status=429"})
    except urllib.error.HTTPError as e:
        assert e.code == 429
    else:
        raise AssertionError("no error")


def test_responses_with_tools_and_reasoning():
    with connect().responses.stream(model="m", input="one two", max_output_tokens=6, reasoning={"effort": "low"},
                                    tools=[{"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": True}]) as stream:
        kinds = [e.type for e in stream]
        final = stream.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    assert [o.type for o in final.output] == ["reasoning", "function_call"], final
    json.loads(final.output[1].arguments)


def test_anthropic():
    import anthropic

    c = anthropic.Anthropic(base_url=f"http://{ADDRESSES['openai']}", api_key="none", max_retries=0, timeout=60)
    ask = {"model": "m", "max_tokens": 4, "messages": [{"role": "user", "content": "one two"}]}
    answer = c.messages.create(**ask)
    assert answer.content[0].text == TEXT and answer.usage.output_tokens == 4 and answer.usage.input_tokens == 2, answer
    with c.messages.stream(**ask) as stream:
        assert "".join(stream.text_stream) == TEXT
        assert stream.get_final_message().usage.output_tokens == 4
    with c.messages.stream(**ask | {"max_tokens": 2048}, thinking={"type": "enabled", "budget_tokens": 1024},
                           extra_headers={"X-Redline-ITL": "0s"}) as stream:
        assert [b.type for b in stream.get_final_message().content] == ["thinking", "text"]
    with c.messages.stream(**ask, tools=[{"name": "look", "input_schema": {"type": "object"}}]) as stream:
        assert stream.get_final_message().content[0].input == {"text": " tok1 tok2 tok3"}
    try:
        with c.messages.stream(**ask, extra_headers={"X-Redline-Stream": "error=2"}) as stream:
            stream.get_final_message()
    except anthropic.APIStatusError as e:
        assert "on purpose" in str(e), e
    else:
        raise AssertionError("no error in the stream")


def test_rerank():
    at = ADDRESSES["openai"]
    documents = ["a tree", "a house by a tree", "nothing"]
    for path in ("/v1/rerank", "/v2/rerank", "/rerank"):
        got = json.loads(post(at, path, {"model": "m", "query": "house tree", "documents": documents, "top_n": 2}))
        assert [r["index"] for r in got["results"]] == [1, 0] and got["results"][0]["relevance_score"] == 1, got
    got = json.loads(post(at, "/rerank", {"query": "house tree", "texts": documents}))
    assert [r["index"] for r in got] == [1, 0, 2] and got[0]["score"] == 1, got
    got = json.loads(post(at, "/v1/ranking", {"model": "m", "query": {"text": "house tree"}, "passages": [{"text": d} for d in documents]}))
    assert [r["index"] for r in got["rankings"]] == [1, 0, 2], got


def test_tgi():
    at = ADDRESSES["openai"]
    ask = {"inputs": "one two", "parameters": {"max_new_tokens": 4, "details": True}}
    assert json.loads(post(at, "/generate", ask))["generated_text"] == TEXT
    assert json.loads(post(at, "/", ask))[0]["details"]["generated_tokens"] == 4
    for got in (events(post(at, "/generate_stream", ask)), events(post(at, "/", ask | {"stream": True}))):
        assert "".join(e["token"]["text"] for e in got) == TEXT and got[-1]["generated_text"] == TEXT, got
