"""tritonclient.grpc, and the services of gRPC itself."""

import queue

import grpc
import numpy as np
import tritonclient.grpc as client

import both
from common import GRPC, check_sum, pair, same, tensor


def connect():
    return client.InferenceServerClient(GRPC)


globals().update(both.tests(client, connect))


def test_typed_contents():
    from tritonclient.grpc import service_pb2, service_pb2_grpc

    request = service_pb2.ModelInferRequest(model_name="simple")
    for i in range(2):
        t = request.inputs.add(name=f"INPUT{i}", datatype="INT32", shape=[1, 16])
        t.contents.int_contents.extend(range(16))
    answer = service_pb2_grpc.GRPCInferenceServiceStub(grpc.insecure_channel(GRPC)).ModelInfer(request)
    same(np.frombuffer(answer.raw_output_contents[0], dtype=np.int32), 2 * np.arange(16))


def test_async_infer():
    answers = queue.Queue()
    c = connect()
    for _ in range(8):
        c.async_infer("simple", pair(client), callback=lambda result, error: answers.put((result, error)))
    for _ in range(8):
        result, error = answers.get(timeout=60)
        assert error is None, error
        check_sum(result)


def test_compression():
    large = np.zeros((1, 10000), dtype=np.float32)
    for kind in ("gzip", "deflate"):
        same(connect().infer("custom_identity_fp32", [tensor(client, "INPUT0", large)], compression_algorithm=kind).as_numpy("OUTPUT0"), large)


class Stream:
    """A stream whose answers are taken one by one."""

    def __init__(self):
        self.answers = queue.Queue()
        self.client = connect()
        self.client.start_stream(lambda result, error: self.answers.put((result, error)))

    def next(self):
        result, error = self.answers.get(timeout=60)
        assert error is None, error
        return result

    def end(self):
        self.client.stop_stream()
        assert self.answers.empty(), self.answers.get()


def repeat(values):
    return [tensor(client, "IN", np.array(values, dtype=np.int32)), tensor(client, "DELAY", np.zeros(len(values), dtype=np.uint32)),
            tensor(client, "WAIT", np.array([0], dtype=np.uint32))]


def final(result):
    return result.get_response().parameters["triton_final_response"].bool_param


def test_stream():
    s = Stream()
    for k in range(4):
        s.client.async_stream_infer("simple", pair(client), request_id=str(k))
    for k in range(4):
        result = s.next()
        check_sum(result)
        assert result.get_response().id == str(k) and final(result)
    s.end()


def test_stream_sequence():
    s = Stream()
    for k, value in enumerate([11, 7, 5]):
        s.client.async_stream_infer("sequence_accumulate", [tensor(client, "INPUT", np.array([[value]], dtype=np.int32))],
                                    sequence_id="streamed", sequence_start=k == 0, sequence_end=k == 2)
    assert [int(s.next().as_numpy("OUTPUT")[0][0]) for _ in range(3)] == [11, 18, 23]
    s.end()


def test_decoupled():
    s = Stream()
    s.client.async_stream_infer("repeat_int32", repeat([4, 2, 9]))
    got = [s.next() for _ in range(3)]
    assert [int(r.as_numpy("OUT")[0]) for r in got] == [4, 2, 9] and not any(final(r) for r in got)
    s.end()


def test_decoupled_empty_final():
    s = Stream()
    s.client.async_stream_infer("repeat_int32", repeat([4, 2]), enable_empty_final_response=True)
    got = [s.next() for _ in range(3)]
    assert [final(r) for r in got] == [False, False, True] and not got[2].get_response().outputs
    s.client.async_stream_infer("repeat_int32", repeat([]), enable_empty_final_response=True)
    assert final(s.next())
    s.end()


def test_language_model():
    s = Stream()
    s.client.async_stream_infer("ensemble", [
        tensor(client, "text_input", np.array([["one two three"]], dtype=np.object_)), tensor(client, "max_tokens", np.array([[3]], dtype=np.int32)),
        tensor(client, "stream", np.array([[True]])), tensor(client, "exclude_input_in_output", np.array([[True]]))])
    for _ in range(3):
        assert s.next().as_numpy("text_output").size == 1
    s.end()


def test_stream_error():
    s = Stream()
    s.client.async_stream_infer("nobody", pair(client))
    result, error = s.answers.get(timeout=60)
    assert result is None and "Request for unknown model: 'nobody' is not found" in str(error), error
    s.client.async_stream_infer("simple", pair(client))
    check_sum(s.next())
    s.end()


def test_grpc_health():
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    stub = health_pb2_grpc.HealthStub(grpc.insecure_channel(GRPC))
    for name in ("", "inference.GRPCInferenceService"):
        assert stub.Check(health_pb2.HealthCheckRequest(service=name)).status == health_pb2.HealthCheckResponse.SERVING


def test_reflection():
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

    database = ProtoReflectionDescriptorDatabase(grpc.insecure_channel(GRPC))
    assert "inference.GRPCInferenceService" in database.get_services(), database.get_services()
    assert database.FindFileContainingSymbol("inference.GRPCInferenceService").service[0].name == "GRPCInferenceService"
