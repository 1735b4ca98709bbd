"""What Triton's example clients do, over HTTP and gRPC: sequences named by text, tensors written out in the message, loading with
another configuration, objects used again."""

import grpc
import numpy as np
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from tritonclient.grpc import service_pb2, service_pb2_grpc

from common import GRPC, HTTP, LEFT, RIGHT, check_sum, fails, member, pair, same, tensor

BOTH = [(triton_http, HTTP), (triton_grpc, GRPC)]


def test_sequences_named_by_text():
    for client, address in BOTH:
        with client.InferenceServerClient(address) as c:
            total, values = 0, [20, -11, -7, -1]
            for i, value in enumerate(values):
                result = c.infer("simple_string_dyna_sequence", [tensor(client, "INPUT", np.array([[value]], dtype=np.int32))],
                                 sequence_id="1002", sequence_start=i == 0, sequence_end=i == len(values) - 1)
                total += value
                same(result.as_numpy("OUTPUT"), [[total + (1002 if i == len(values) - 1 else 0)]])


def test_tensors_in_the_message():
    stub = service_pb2_grpc.GRPCInferenceServiceStub(grpc.insecure_channel(GRPC))
    for model, datatype, field, values in (("simple", "INT32", "int_contents", list(range(16))), ("simple_int8", "INT8", "int_contents", list(range(16))),
                                           ("simple_string", "BYTES", "bytes_contents", [str(i).encode() for i in range(16)])):
        request = service_pb2.ModelInferRequest(model_name=model, id="mine")
        for name in ("INPUT0", "INPUT1"):
            t = request.inputs.add(name=name, datatype=datatype, shape=[1, 16])
            getattr(t.contents, field).extend(values)
        answer = stub.ModelInfer(request)
        assert answer.id == "mine" and len(answer.raw_output_contents) == 2, answer
        request.raw_input_contents.append(b"x")
        try:
            stub.ModelInfer(request)
        except grpc.RpcError as e:
            assert e.code() == grpc.StatusCode.INVALID_ARGUMENT, e
        else:
            raise AssertionError("both forms at once were taken")


def test_loading_with_versions():
    for client, address in BOTH:
        with client.InferenceServerClient(address) as c:
            name = "onnx_int32_int32_int32"
            c.load_model(name)
            assert [c.is_model_ready(name, v) for v in "123"] == [False, True, True]
            c.load_model(name, config='{"version_policy":{"specific":{"versions":[2]}}}')
            assert [c.is_model_ready(name, v) for v in "123"] == [False, True, False]
            c.load_model(name)
            assert [c.is_model_ready(name, v) for v in "123"] == [False, True, True]


def test_loading_with_part_of_a_configuration():
    for client, address in BOTH:
        with client.InferenceServerClient(address) as c:
            fails("failed to load", c.load_model, "simple", config='"parameters": {"config": {{"max_batch_size": "16"}}}')
            c.load_model("simple", config='{"max_batch_size":"16"}')
            config = c.get_model_config("simple")
            assert member(config if isinstance(config, dict) else config.config, "max_batch_size") == 16
            check_sum(c.infer("simple", pair(client)))
            c.load_model("simple")


def test_objects_used_again():
    for client, address in BOTH:
        with client.InferenceServerClient(address) as c:
            inputs, outputs = pair(client), [client.InferRequestedOutput("OUTPUT0"), client.InferRequestedOutput("OUTPUT1")]
            for left in (LEFT, LEFT + 1):
                inputs[0].set_data_from_numpy(left)
                same(c.infer("simple", inputs, outputs=outputs).as_numpy("OUTPUT0"), left + RIGHT)
            check_sum(c.infer("simple", pair(client)))
