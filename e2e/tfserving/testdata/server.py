"""A server on the protocol of tensorflow-serving-api. Its models give back what they are sent, once it has been found
in the right fields: "all" has one input of each datatype, "fixed" one of a fixed shape, "any" one of unknown rank, "resnet50" an image."""
import sys
from concurrent import futures

import grpc
from tensorflow.core.framework import types_pb2 as types
from tensorflow_serving.apis import get_model_metadata_pb2, predict_pb2, prediction_service_pb2_grpc

FIELDS = {
    "FLOAT": "float_val", "DOUBLE": "double_val", "INT32": "int_val", "INT16": "int_val", "INT8": "int_val",
    "UINT16": "int_val", "UINT8": "int_val", "STRING": "string_val", "INT64": "int64_val", "BOOL": "bool_val",
    "HALF": "half_val", "BFLOAT16": "half_val", "UINT32": "uint32_val", "UINT64": "uint64_val",
}
ALL = ["tensor_content"] + sorted(set(FIELDS.values()))
MODELS = {
    "all": {"in_" + name.lower(): (name, [-1, 4]) for name in FIELDS},
    "fixed": {"x": ("FLOAT", [2, 3])},
    "any": {"x": ("INT64", None)},
    "resnet50": {"input": ("FLOAT", [-1, 16, 16, 3])},
}


def fault(name, kind, shape, t):
    """Tells what is wrong with a tensor."""
    if t.dtype != types.DataType.Value("DT_" + kind):
        return "%s has the datatype %d" % (name, t.dtype)
    dims, n = [d.size for d in t.tensor_shape.dim], 1
    if shape and (len(dims) != len(shape) or any(w not in (-1, d) for w, d in zip(shape, dims))):
        return "%s has the shape %s" % (name, dims)
    for d in dims:
        n *= d
    found = [f for f in ALL if len(getattr(t, f))]
    if found != [FIELDS[kind]] or len(getattr(t, FIELDS[kind])) != n:
        return "%s: %d elements in %s" % (name, n, found)


class Servicer(prediction_service_pb2_grpc.PredictionServiceServicer):
    def find(self, spec, context):
        if spec.name not in MODELS:
            context.abort(grpc.StatusCode.NOT_FOUND, "Servable not found for request: Latest(%s)" % spec.name)
        if spec.WhichOneof("version_choice") and spec.version_label != "stable":
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "Unrecognized servable version label: %s" % spec.version_label)
        return MODELS[spec.name]

    def GetModelMetadata(self, request, context):
        model = self.find(request.model_spec, context)
        if list(request.metadata_field) != ["signature_def"]:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "metadata_field")
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for signature in ("serving_default", "other"):
            s = signatures.signature_def[signature]
            for name, (kind, shape) in model.items():
                for infos, key in ((s.inputs, name), (s.outputs, "out_" + name)):
                    infos[key].dtype = types.DataType.Value("DT_" + kind)
                    if shape is None:
                        infos[key].tensor_shape.unknown_rank = True
                    for d in shape or []:
                        infos[key].tensor_shape.dim.add(size=d)
        answer = get_model_metadata_pb2.GetModelMetadataResponse()
        answer.metadata["signature_def"].Pack(signatures)
        return answer

    def Predict(self, request, context):
        model = self.find(request.model_spec, context)
        meta = dict(context.invocation_metadata())
        if request.model_spec.signature_name == "other" and meta.get("x-key") != "secret":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "signature other needs a key")
        if set(request.inputs) != set(model):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "inputs are %s" % sorted(request.inputs))
        answer = predict_pb2.PredictResponse()
        for name, t in request.inputs.items():
            why = fault(name, *model[name], t)
            if why:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, why)
            answer.outputs["out_" + name].CopyFrom(t)
        return answer


server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Servicer(), server)
print(server.add_insecure_port("127.0.0.1:" + sys.argv[1]), flush=True)
server.start()
server.wait_for_termination()
