# Runs llama.cpp's own HTTP server, which the package xllamacpp carries, until standard input ends.
# Usage: llama.py MODEL PORT PARALLEL CONTEXT
import sys

import xllamacpp

model, port, parallel, context = sys.argv[1], *map(int, sys.argv[2:5])
p = xllamacpp.CommonParams()
p.model.path = model
p.model_alias = {"tiny"}
p.hostnames = ["127.0.0.1"]
p.port = port
p.n_parallel = parallel
p.n_ctx = parallel * context
p.n_threads_http = parallel + 8
p.cpuparams.n_threads = 1
p.cpuparams_batch.n_threads = 1
p.endpoint_metrics = True
p.warmup = False
p.cache_prompt = False
server = xllamacpp.Server(p)
print("ready", server.listening_address, flush=True)
sys.stdin.read()
