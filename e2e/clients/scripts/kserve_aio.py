"""tritonclient.http.aio and tritonclient.grpc.aio."""

import asyncio
import functools

import numpy as np
import tritonclient.grpc.aio as grpc_client
import tritonclient.http.aio as http_client

import both
from common import GRPC, HTTP, check_sum, pair, tensor


class Blocking:
    """Calls of an asyncio client from code that waits for each: what holds for the others holds for them."""

    def __init__(self, loop, client):
        self.loop, self.client = loop, client

    def __getattr__(self, name):
        method = getattr(self.client, name)

        @functools.wraps(method)
        def call(*args, **kwargs):
            return self.loop.run_until_complete(method(*args, **kwargs))

        return call


def every(module, address):
    loop = asyncio.new_event_loop()

    async def connect():
        return module.InferenceServerClient(address)

    raw = loop.run_until_complete(connect())
    c = Blocking(loop, raw)
    try:
        for check in both.CHECKS:
            check(module, c)
    finally:
        loop.run_until_complete(raw.close())
        loop.close()


def test_http():
    every(http_client, HTTP)


def test_grpc():
    every(grpc_client, GRPC)


async def test_http_together():
    c = http_client.InferenceServerClient(HTTP)
    for result in await asyncio.gather(*(c.infer("simple", pair(http_client)) for _ in range(16))):
        check_sum(result)
    await c.close()


async def test_grpc_stream():
    c = grpc_client.InferenceServerClient(GRPC)

    async def requests():
        yield {"model_name": "repeat_int32", "enable_empty_final_response": True, "inputs": [
            tensor(grpc_client, "IN", np.array([4, 2], dtype=np.int32)), tensor(grpc_client, "DELAY", np.zeros(2, dtype=np.uint32)),
            tensor(grpc_client, "WAIT", np.array([0], dtype=np.uint32))]}

    values = []
    async for result, error in c.stream_infer(requests()):
        assert error is None, error
        if result.as_numpy("OUT") is not None:
            values.append(int(result.as_numpy("OUT")[0]))
        if result.get_response().parameters["triton_final_response"].bool_param:
            break
    assert values == [4, 2], values
    await c.close()
