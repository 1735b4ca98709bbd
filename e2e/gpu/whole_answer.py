"""Sends one small request to the identity model and ends with an error unless the answer is the input: with a numpy that
does not fit, Triton's Python backend answers with empty outputs and says nothing."""
import json
import sys
import urllib.request

sent = [1.0, 2.5, -3.0, 4.0]
body = {"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1, 4], "data": sent}]}
url = f"http://{sys.argv[1]}/v2/models/custom_identity_fp32/infer"
with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode()), timeout=20) as answer:
    got = json.load(answer)["outputs"][0]["data"]
if got != sent:
    sys.exit(f"the server's answer is not the input: sent {sent}, got {got}; install numpy below 2 for its Python backend")
