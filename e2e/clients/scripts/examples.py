"""What Triton's example clients do, over HTTP and gRPC: images, sequences named by text, tensors written out in the message,
loading with files, compression, objects used again."""

import base64
import struct
import zlib

import grpc
import numpy as np
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from tritonclient.grpc import service_pb2, service_pb2_grpc

from common import GRPC, HTTP, LEFT, RIGHT, check_sum, fails, member, pair, same, tensor

BOTH = [(triton_http, HTTP), (triton_grpc, GRPC)]


def png(color):
    """A picture of one color, as a file."""
    rows = b"".join(b"\x00" + bytes(color) * 8 for _ in range(8))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def best(result, output):
    return [row[0].decode().split(":") for row in result.as_numpy(output)]


def test_image_networks():
    for client, address in BOTH:
        with client.InferenceServerClient(address) as c:
            config = c.get_model_config("inception_graphdef")
            config = config if isinstance(config, dict) else config.config
            assert member(member(config, "input")[0], "format") in ("FORMAT_NHWC", 1)
            pixels = np.stack([np.full((299, 299, 3), v, dtype=np.float32) for v in (0.5, -0.5)])
            wanted = [client.InferRequestedOutput("InceptionV3/Predictions/Softmax", class_count=2)]
            got = best(c.infer("inception_graphdef", [tensor(client, "input", pixels)], outputs=wanted), "InceptionV3/Predictions/Softmax")
            assert len(got) == 2 and got[0][1] != got[1][1] and got[0][2] == "CLASS " + got[0][1], got
            pixels = np.zeros((3, 224, 224), dtype=np.float32)
            result = c.infer("densenet_onnx", [tensor(client, "data_0", pixels)], outputs=[client.InferRequestedOutput("fc6_1", class_count=1)])
            value, index, label = result.as_numpy("fc6_1")[0].decode().split(":")
            assert float(value) == 0.5 and label == "CLASS " + index


def test_images_as_files():
    files = np.array([[png((255, 0, 0))], [png((0, 0, 255))]], dtype=np.object_)
    seen = []
    for client, address in BOTH:
        with client.InferenceServerClient(address) as c:
            wanted = [client.InferRequestedOutput("OUTPUT", class_count=1)]
            seen.append(best(c.infer("preprocess_inception_ensemble", [tensor(client, "INPUT", files)], outputs=wanted), "OUTPUT"))
            pixels = c.infer("image_preprocess_nhwc_299x299x3_inception", [tensor(client, "INPUT", files)]).as_numpy("OUTPUT")
            same(pixels[0][17][200], [1, -1, -1])
            fails("image", c.infer, "preprocess_inception_ensemble", [tensor(client, "INPUT", np.array([[b"no picture"]], dtype=np.object_))])
    assert seen[0] == seen[1] and seen[0][0] != seen[0][1], seen


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


def test_loading_with_files():
    for client, address in BOTH:
        with client.InferenceServerClient(address) as c:
            name = "onnx_int32_int32_int32"
            c.load_model(name)
            assert [c.is_model_ready(name, v) for v in "123"] == [False, True, True]
            content = base64.b64encode(b"x") if client is triton_http else b"x"
            for files in ({"file:1/model.onnx": content},):
                fails("failed to poll from model repository", c.load_model, name, files=files)
            for path in ("file:" + "A" * 256, "file:../1/model", "file:/1/model"):
                fails("failed to poll from model repository", c.load_model, name, config="{}", files={path: content})
            c.load_model(name, config='{"backend":"onnxruntime"}', files={"file:1/model.onnx": content})
            assert [c.is_model_ready(name, v) for v in "123"] == [True, False, False]
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
