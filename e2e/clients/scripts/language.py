"""The official OpenAI client, whole answers and streams."""

import asyncio

import openai

from common import ADDRESSES

BASE = f"http://{ADDRESSES['openai']}/v1"
MESSAGES = [{"role": "user", "content": "say something short"}]


def connect():
    return openai.OpenAI(base_url=BASE, api_key="none", max_retries=0, timeout=60)


def test_models():
    assert [m.id for m in connect().models.list()] == ["mock-llm"]


def test_chat():
    answer = connect().chat.completions.create(model="mock-llm", messages=MESSAGES, max_tokens=5)
    assert answer.choices[0].message.content == "tok0 tok1 tok2 tok3 tok4", answer
    assert answer.choices[0].finish_reason == "length" and answer.usage.completion_tokens == 5 and answer.usage.prompt_tokens == 3


def test_chat_stream():
    text, usage, chunks = "", None, 0
    for chunk in connect().chat.completions.create(model="mock-llm", messages=MESSAGES, max_completion_tokens=5, stream=True,
                                                   stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            chunks += 1
            text += choice.delta.content or ""
    assert text == "tok0 tok1 tok2 tok3 tok4" and chunks == 6 and usage.completion_tokens == 5, (text, chunks, usage)


def test_usage_per_chunk():
    stream = connect().chat.completions.create(model="mock-llm", messages=MESSAGES, max_tokens=3, stream=True,
                                               stream_options={"include_usage": True, "continuous_usage_stats": True})
    counts = [c.usage.completion_tokens for c in stream if c.usage]
    assert counts[:3] == [1, 2, 3] and counts[-1] == 3, counts


def test_reasoning():
    stream = connect().chat.completions.create(model="mock-llm", messages=MESSAGES, max_tokens=4, stream=True, reasoning_effort="high")
    kinds = [("reasoning" if getattr(c.choices[0].delta, "reasoning_content", None) else "content") for c in stream]
    assert kinds[:4] == ["reasoning", "reasoning", "content", "content"], kinds


def test_tool_calls():
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}]
    answer = connect().chat.completions.create(model="mock-llm", messages=MESSAGES, max_tokens=2, tools=tools)
    assert answer.choices[0].finish_reason == "tool_calls" and answer.choices[0].message.tool_calls[0].function.name == "look_up"
    stream = connect().chat.completions.create(model="mock-llm", messages=MESSAGES, max_tokens=2, tools=tools, stream=True)
    names = [t.function.name for c in stream for t in c.choices[0].delta.tool_calls or [] if t.function.name]
    assert names == ["look_up"], names


def test_completions():
    c = connect()
    assert c.completions.create(model="mock-llm", prompt="one two", max_tokens=2).choices[0].text == "tok0 tok1"
    stream = c.completions.create(model="mock-llm", prompt="one two", max_tokens=3, stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream) == "tok0 tok1 tok2"


def test_embeddings():
    c = connect()
    for form in ("float", "base64"):
        answer = c.embeddings.create(model="mock-llm", input=["one", "two", "one"], dimensions=4, encoding_format=form)
        assert len(answer.data) == 3 and answer.usage.prompt_tokens == 3
    # The client itself asks for base64 and unpacks it.
    answer = c.embeddings.create(model="mock-llm", input=["one", "two", "one"], dimensions=4)
    first, second, third = (d.embedding for d in answer.data)
    assert len(first) == 4 and first == third and first != second and all(isinstance(v, float) for v in first), first


def test_responses():
    c = connect()
    answer = c.responses.create(model="mock-llm", input="one two", max_output_tokens=3)
    assert answer.output_text == "tok0 tok1 tok2" and answer.usage.output_tokens == 3, answer
    text, last = "", None
    for event in c.responses.create(model="mock-llm", input="one two", max_output_tokens=3, stream=True):
        if event.type == "response.output_text.delta":
            text += event.delta
        last = event
    assert text == "tok0 tok1 tok2" and last.type == "response.completed" and last.response.output_text == text
    with c.responses.stream(model="mock-llm", input="one two", max_output_tokens=3) as stream:
        assert stream.get_final_response().output_text == text


def test_errors():
    c = connect()
    try:
        c.chat.completions.create(model="mock-llm", messages=[], max_tokens=2)
    except openai.BadRequestError as e:
        assert "messages" in str(e)
    else:
        raise AssertionError("no error for no messages")
    try:
        for _ in c.chat.completions.create(model="mock-llm", messages=MESSAGES, max_tokens=5, stream=True, extra_headers={"X-Redline-Stream": "error=2"}):
            pass
    except openai.APIError as e:
        assert "failed on purpose" in str(e), e
    else:
        raise AssertionError("no error in the stream")


async def test_asyncio():
    async with openai.AsyncOpenAI(base_url=BASE, api_key="none", max_retries=0, timeout=60) as c:
        async def one():
            stream = await c.chat.completions.create(model="mock-llm", messages=MESSAGES, max_tokens=4, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

        assert set(await asyncio.gather(*(one() for _ in range(8)))) == {"tok0 tok1 tok2 tok3"}
