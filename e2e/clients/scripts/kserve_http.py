"""tritonclient.http, and plain HTTP where the client has no call."""

import json
import time
import urllib.request

import numpy as np
import tritonclient.http as client

import both
from common import ADDRESSES, HTTP, LEFT, RIGHT, check_sum, pair, same, tensor


def connect():
    return client.InferenceServerClient(HTTP, concurrency=4)


globals().update(both.tests(client, connect))


def test_infer_json():
    c = connect()
    outputs = [client.InferRequestedOutput(f"OUTPUT{i}", binary_data=False) for i in range(2)]
    check_sum(c.infer("simple", pair(client, binary_data=False), outputs=outputs))
    mixed = [tensor(client, "INPUT0", LEFT, binary_data=False), tensor(client, "INPUT1", RIGHT)]
    check_sum(c.infer("simple", mixed, outputs=[client.InferRequestedOutput("OUTPUT0"), outputs[1]]))
    texts = np.array([["a", "ü", '"quoted"\n']], dtype=np.object_)
    result = c.infer("simple_identity", [tensor(client, "INPUT0", texts, binary_data=False)],
                     outputs=[client.InferRequestedOutput("OUTPUT0", binary_data=False)])
    assert list(result.as_numpy("OUTPUT0")[0]) == list(texts[0]), result.as_numpy("OUTPUT0")


def test_async_infer():
    c = connect()
    for wait in [c.async_infer("simple", pair(client)) for _ in range(8)]:
        check_sum(wait.get_result())


def post(path, body):
    request = urllib.request.Request(f"http://{HTTP}{path}", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=60)


def test_generate():
    with post("/v2/models/ensemble/generate", {"text_input": "one two three", "max_tokens": 4, "stream": False}) as answer:
        got = json.load(answer)
    assert got["model_name"] == "ensemble" and len(got["text_output"].split()) == 4, got
    started = time.monotonic()
    with post("/v2/models/ensemble/generate_stream", {"text_input": "one two three", "max_tokens": 4, "stream": True}) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        events = [json.loads(line[6:]) for line in answer if line.startswith(b"data: ")]
    assert len(events) == 4 and "".join(e["text_output"] for e in events) == got["text_output"], events
    assert time.monotonic() - started > 0.029, "four tokens cannot come faster than 15 + 3 x 5 ms"


def test_metrics():
    def success():
        with urllib.request.urlopen(f"http://{ADDRESSES['metrics']}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return int([s for s in lines if s.startswith('nv_inference_request_success{model="simple",')][0].split()[-1])

    before = success()
    connect().infer("simple", pair(client))
    assert success() == before + 1
