"""Writes ten messages, each after its length in the machine's byte order."""
import sys

import simple_pb2

for i in range(10):
    message = simple_pb2.Request(message="Message-%d" % i).SerializeToString()
    sys.stdout.buffer.write(len(message).to_bytes(4, byteorder=sys.byteorder))
    sys.stdout.buffer.write(message)
