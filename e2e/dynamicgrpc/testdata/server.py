"""The echo service of perf_analyzer's guide, and with the argument "reflection" one that describes itself."""
import sys
from concurrent import futures

import grpc
import simple_pb2
import simple_pb2_grpc


class Simple(simple_pb2_grpc.SimpleServicer):
    def Echo(self, request_iterator, context):
        for request in request_iterator:
            yield simple_pb2.Response(message=request.message)

    def Once(self, request, context):
        if request.message != "hello":
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "say hello")
        return simple_pb2.Response(message=request.message)


server = grpc.server(futures.ThreadPoolExecutor(max_workers=10))
simple_pb2_grpc.add_SimpleServicer_to_server(Simple(), server)
if "reflection" in sys.argv:
    from grpc_reflection.v1alpha import reflection

    reflection.enable_server_reflection(["v1.Simple"], server)
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()
