"""Every port over TLS, with a certificate of the client's own where CERTIFICATES names one, and with the bearer token."""

import json
import os
import ssl
import urllib.error
import urllib.request

import grpc
import numpy as np
import openai
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

from common import ADDRESSES, GRPC, HTTP, check_sum, pair

FILES = json.loads(os.environ["CERTIFICATES"])
TOKEN = os.environ["TOKEN"]
CERTIFICATE = FILES.get("cert")


def bearer():
    """New each time: some clients add to the headers that they are given."""
    return {"authorization": "Bearer " + TOKEN}


def read(name):
    return open(FILES[name], "rb").read() if name in FILES else None


def over_http():
    files = {"ca_certs": FILES["ca"]}
    if CERTIFICATE:
        files |= {"certfile": FILES["cert"], "keyfile": FILES["key"]}
    return triton_http.InferenceServerClient(HTTP, ssl=True, ssl_options=files)


def over_grpc():
    return triton_grpc.InferenceServerClient(GRPC, ssl=True, root_certificates=FILES["ca"],
                                             private_key=FILES.get("key"), certificate_chain=FILES.get("cert"))


def context():
    c = ssl.create_default_context(cafile=FILES["ca"])
    if CERTIFICATE:
        c.load_cert_chain(FILES["cert"], FILES["key"])
    return c


def get(port, path, headers=None, data=None, tls=None):
    request = urllib.request.Request(f"https://{ADDRESSES[port]}{path}", headers=headers or {}, data=data)
    with urllib.request.urlopen(request, timeout=60, context=tls or context()) as answer:
        return answer.read()


def test_kserve_http():
    with over_http() as c:
        assert c.is_server_live(headers=bearer())
        check_sum(c.infer("simple", pair(triton_http), headers=bearer()))
        try:
            c.infer("simple", pair(triton_http))
        except InferenceServerException as e:
            assert "401" in str(e.status()), e
        else:
            raise AssertionError("no token was needed")


def test_kserve_grpc():
    with over_grpc() as c:
        assert c.is_server_live(headers=bearer())
        check_sum(c.infer("simple", pair(triton_grpc), headers=bearer()))
        got = []
        c.start_stream(lambda result, error: got.append(error or result), headers=bearer())
        c.async_stream_infer("simple", pair(triton_grpc))
        c.stop_stream()
        check_sum(got[0])
        try:
            c.infer("simple", pair(triton_grpc))
        except InferenceServerException as e:
            assert "UNAUTHENTICATED" in str(e.status()), e
        else:
            raise AssertionError("no token was needed")


async def test_kserve_asyncio():
    import tritonclient.grpc.aio as grpc_aio
    import tritonclient.http.aio as http_aio

    async with http_aio.InferenceServerClient(HTTP, ssl=True, ssl_context=context()) as c:
        check_sum(await c.infer("simple", pair(http_aio), headers=bearer()))
    async with grpc_aio.InferenceServerClient(GRPC, ssl=True, root_certificates=FILES["ca"], private_key=FILES.get("key"),
                                              certificate_chain=FILES.get("cert")) as c:
        check_sum(await c.infer("simple", pair(grpc_aio), headers=bearer()))


def test_openai():
    def client(key):
        return openai.OpenAI(base_url=f"https://{ADDRESSES['openai']}/v1", api_key=key, max_retries=0, timeout=60,
                             http_client=openai.DefaultHttpxClient(verify=context()))

    text = ""
    for chunk in client(TOKEN).chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], max_tokens=3, stream=True):
        text += chunk.choices[0].delta.content or ""
    assert text == "tok0 tok1 tok2", text
    try:
        client("wrong").models.list()
    except openai.AuthenticationError:
        pass
    else:
        raise AssertionError("a wrong key was taken")


def test_torchserve():
    assert json.loads(get("torchserve", "/predictions/any", bearer(), b"abc")) == {"bytes": 3}
    refused("torchserve", "/ping")


def test_metrics():
    assert b"nv_inference_request_success" in get("metrics", "/metrics", bearer())
    refused("metrics", "/metrics")


def refused(port, path):
    try:
        get(port, path)
    except urllib.error.HTTPError as e:
        assert e.code == 401, e
    else:
        raise AssertionError("no token was needed")


def test_tfserving():
    channel = grpc.secure_channel(ADDRESSES["tfserving"], grpc.ssl_channel_credentials(read("ca"), read("key"), read("cert")))
    call = channel.unary_unary("/tensorflow.serving.ModelService/GetModelStatus")
    request = b"\x0a\x08\x0a\x06simple"
    assert call(request, metadata=list(bearer().items()), timeout=60)
    try:
        call(request, timeout=60)
    except grpc.RpcError as e:
        assert e.code() == grpc.StatusCode.UNAUTHENTICATED, e
    else:
        raise AssertionError("no token was needed")


def test_strangers_are_turned_away():
    """Without TLS, without trust, and, where the server asks for one, without a certificate, nothing is served."""
    for port in ADDRESSES:
        if port not in ("grpc", "tfserving"):
            try:
                urllib.request.urlopen(f"http://{ADDRESSES[port]}/", timeout=60)
            except (urllib.error.URLError, ConnectionError, OSError):
                pass
            else:
                raise AssertionError(f"{port} speaks without TLS")
        if not CERTIFICATE:
            continue
        host, number = ADDRESSES[port].split(":")
        import socket

        bare = ssl.create_default_context(cafile=FILES["ca"])
        try:
            with socket.create_connection((host, int(number)), timeout=60) as plain, bare.wrap_socket(plain, server_hostname=host) as s:
                s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                got = s.recv(100)
        except (ssl.SSLError, ConnectionError):
            continue
        assert not got, f"{port} answers a client without a certificate: {got}"
