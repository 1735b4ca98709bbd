"""TensorFlow Serving by its public protocol files, and TorchServe by a form."""

import json
import uuid
import urllib.error
import urllib.request

from common import ADDRESSES


def messages(*modules):
    """The message classes of generated modules, made anew: code generated long ago knows no maps any more, its descriptors do."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    pool, seen = descriptor_pool.DescriptorPool(), set()

    def add(file):
        if file.name in seen:
            return
        seen.add(file.name)
        for other in file.dependencies:
            add(other)
        pool.Add(descriptor_pb2.FileDescriptorProto.FromString(file.serialized_pb))

    for module in modules:
        add(module.DESCRIPTOR)
    return lambda name: message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.serving." + name))


def test_tensorflow_serving():
    import grpc
    from tensorflow.core.framework import types_pb2
    from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2, predict_pb2

    kind = messages(get_model_metadata_pb2, get_model_status_pb2, predict_pb2)
    channel = grpc.insecure_channel(ADDRESSES["tfserving"])

    def call(method, request):
        answer = kind(type(request).DESCRIPTOR.name.replace("Request", "Response"))
        return channel.unary_unary("/tensorflow.serving." + method, request_serializer=lambda m: m.SerializeToString(),
                                   response_deserializer=answer.FromString)(request, timeout=60)

    request = kind("PredictRequest")()
    request.model_spec.name = "simple"
    request.model_spec.signature_name = "serving_default"
    for name in ("INPUT0", "INPUT1"):
        t = request.inputs[name]
        t.dtype = types_pb2.DT_INT32
        for size in (1, 16):
            t.tensor_shape.dim.add(size=size)
        t.int_val.extend(range(16))
    answer = call("PredictionService/Predict", request)
    out = answer.outputs["OUTPUT0"]
    values = list(out.int_val) or list(memoryview(out.tensor_content).cast("i"))
    assert values == [2 * i for i in range(16)] and answer.model_spec.version.value == 1, answer
    request.model_spec.name = "nobody"
    try:
        call("PredictionService/Predict", request)
    except grpc.RpcError as e:
        assert e.code() == grpc.StatusCode.NOT_FOUND, e
    else:
        raise AssertionError("no error for an unknown model")

    request = kind("GetModelMetadataRequest")(metadata_field=["signature_def"])
    request.model_spec.name = "simple"
    answer = call("PredictionService/GetModelMetadata", request)
    signatures = kind("SignatureDefMap").FromString(answer.metadata["signature_def"].value)
    assert set(signatures.signature_def["serving_default"].inputs) == {"INPUT0", "INPUT1"}

    request = kind("GetModelStatusRequest")()
    request.model_spec.name = "simple"
    answer = call("ModelService/GetModelStatus", request)
    assert answer.model_version_status[0].state == get_model_status_pb2.ModelVersionStatus.AVAILABLE


def torchserve(path, data=None, headers=None):
    request = urllib.request.Request(f"http://{ADDRESSES['torchserve']}{path}", data=data, headers=headers or {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_torchserve():
    assert torchserve("/ping") == {"status": "Healthy"}
    assert torchserve("/models")["models"]
    mark = uuid.uuid4().hex
    form = f'--{mark}\r\nContent-Disposition: form-data; name="data"; filename="a.bin"\r\n\r\n'.encode() + b"x" * 1000 + f"\r\n--{mark}--\r\n".encode()
    assert torchserve("/predictions/any", form, {"Content-Type": f"multipart/form-data; boundary={mark}"}) == {"bytes": 1000}
    assert torchserve("/predictions/any/1.0", b"y" * 30, {"Content-Type": "application/octet-stream"}) == {"bytes": 30}
    try:
        torchserve("/nowhere")
    except urllib.error.HTTPError as e:
        assert e.code == 404 and json.load(e)["type"] == "ResourceNotFoundException"
    else:
        raise AssertionError("no error for an unknown path")
