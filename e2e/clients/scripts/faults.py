"""Every fault that can be asked for by header, as real clients see it. Afterwards the server serves on."""

import time
import urllib.error
import urllib.request

import openai
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from tritonclient.utils import InferenceServerException

from common import ADDRESSES, GRPC, HTTP, check_sum, pair

HEADER = "X-Redline-Fault"


def patience(fault):
    """Seconds that a client waits: until the end where the server answers or hangs up, briefly where bytes stay out."""
    return 2 if fault.split(",")[0] in ("hang", "truncate", "length", "malformed") else 60


def took(function, *args):
    start = time.monotonic()
    function(*args)
    return time.monotonic() - start


def over_http(fault):
    with triton_http.InferenceServerClient(HTTP, network_timeout=patience(fault), connection_timeout=60) as c:
        check_sum(c.infer("simple", pair(triton_http), headers={HEADER: fault}))


def over_grpc(fault):
    with triton_grpc.InferenceServerClient(GRPC) as c:
        check_sum(c.infer("simple", pair(triton_grpc), headers={HEADER.lower(): fault}, client_timeout=patience(fault)))


def over_stream(fault):
    got = []
    with triton_grpc.InferenceServerClient(GRPC) as c:
        c.start_stream(lambda result, error: got.append(error or result), headers={HEADER.lower(): fault}, stream_timeout=patience(fault))
        try:
            c.async_stream_infer("simple", pair(triton_grpc))
        except InferenceServerException:
            pass  # the stream broke before the request was written: the callback tells why
        end = time.monotonic() + 60
        while not got and time.monotonic() < end:
            time.sleep(0.01)
        c.stop_stream()
    if isinstance(got[0], Exception):
        raise got[0]
    check_sum(got[0])


def over_openai(fault):
    c = openai.OpenAI(base_url=f"http://{ADDRESSES['openai']}/v1", api_key="none", max_retries=0, timeout=patience(fault))
    text = ""
    for chunk in c.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], max_tokens=3, stream=True,
                                           extra_headers={HEADER: fault}):
        text += chunk.choices[0].delta.content or ""
    assert text == "tok0 tok1 tok2", f"got {text!r}"


def over_torchserve(fault):
    request = urllib.request.Request(f"http://{ADDRESSES['torchserve']}/predictions/any", data=b"abc", headers={HEADER: fault})
    with urllib.request.urlopen(request, timeout=patience(fault)) as answer:
        assert answer.read() == b'{"bytes":3}'


EVERY = [over_http, over_grpc, over_stream, over_openai, over_torchserve]


def breaks(function, fault):
    try:
        function(fault)
    except Exception as e:
        return e
    raise AssertionError(f"{function.__name__}: {fault} did no harm")


def test_error():
    assert "500" in str(breaks(over_http, "error").status())
    assert "INTERNAL" in breaks(over_grpc, "error").status()
    assert "on purpose" in str(breaks(over_stream, "error"))
    assert isinstance(breaks(over_openai, "error"), openai.InternalServerError)
    assert breaks(over_torchserve, "error").code == 500


def test_delay():
    for function in EVERY:
        assert took(function, "delay,for=300ms") >= 0.3, function.__name__


def test_hang():
    assert "timed out" in str(breaks(over_http, "hang"))
    for function in (over_grpc, over_stream):
        # The server resets the stream at the deadline as well. A client that sees the reset first says CANCELLED.
        status = breaks(function, "hang").status()
        assert "DEADLINE_EXCEEDED" in status or "CANCELLED" in status, f"{function.__name__}: got {status!r}"
    assert isinstance(breaks(over_openai, "hang"), openai.APITimeoutError)
    assert "timed out" in str(breaks(over_torchserve, "hang"))


def test_reset():
    breaks(over_http, "reset")  # this client does not say how a connection ended
    assert "UNAVAILABLE" in breaks(over_grpc, "reset").status()
    assert "UNAVAILABLE" in breaks(over_stream, "reset").status()
    assert isinstance(breaks(over_openai, "reset"), openai.APIConnectionError)
    assert "reset" in str(breaks(over_torchserve, "reset"))


def test_truncate_and_length():
    for fault in ("truncate", "length"):
        for function in EVERY:
            if not (fault == "length" and function in (over_http, over_torchserve, over_stream, over_openai)):
                breaks(function, fault)
    # Clients that do not look whether all of a body came may take what came.
    for function in (over_http, over_torchserve, over_openai):
        try:
            function("length")
        except Exception:
            pass


def test_malformed():
    # The client of a stream waits for ever after a message that it cannot read.
    for function in EVERY:
        if function is not over_stream:
            breaks(function, "malformed")


def test_slow():
    assert took(over_http, "slow,for=1ms") >= 0.2
    assert took(over_openai, "slow,for=200us") >= 0.1
    over_grpc("slow,for=50ms")


def test_goaway():
    with triton_grpc.InferenceServerClient(GRPC) as c:
        for _ in range(3):
            check_sum(c.infer("simple", pair(triton_grpc), headers={HEADER.lower(): "goaway"}))
        check_sum(c.infer("simple", pair(triton_grpc)))
    with triton_http.InferenceServerClient(HTTP) as c:
        for _ in range(3):
            check_sum(c.infer("simple", pair(triton_http), headers={HEADER: "goaway"}))


def test_unknown_faults_are_refused():
    assert "400" in str(breaks(over_http, "nonsense").status())
    assert "INVALID_ARGUMENT" in breaks(over_grpc, "nonsense").status()


def test_zz_it_serves_on():
    for function in EVERY:
        function("delay,for=1ms")
