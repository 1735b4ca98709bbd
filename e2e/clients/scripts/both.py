"""What must hold over HTTP and over gRPC alike, with blocking clients and with others: each check takes a client module and a client."""

import numpy as np

from common import LEFT, RIGHT, check_sum, fails, member, pair, same, tensor


def health(_, c):
    assert c.is_server_live() and c.is_server_ready()
    assert c.is_model_ready("simple") and c.is_model_ready("simple", "1")
    assert not c.is_model_ready("nobody") and not c.is_model_ready("simple", "7")


def metadata(_, c):
    server = c.get_server_metadata()
    extensions = set(member(server, "extensions"))
    assert {"sequence", "model_repository", "statistics", "trace", "system_shared_memory",
            "binary_tensor_data"} <= extensions, extensions
    model = c.get_model_metadata("simple")
    assert member(model, "name") == "simple" and list(member(model, "versions")) == ["1"]
    first = member(model, "inputs")[0]
    assert member(first, "name") == "INPUT0" and member(first, "datatype") == "INT32"
    assert [int(d) for d in member(first, "shape")] == [-1, 16]
    fails("Request for unknown model: 'nobody' is not found", c.get_model_metadata, "nobody")


def config(_, c):
    got = c.get_model_config("simple")
    got = got if isinstance(got, dict) else got.config
    assert member(got, "name") == "simple" and member(got, "max_batch_size") == 8
    assert len(member(got, "input")) == 2 and member(member(got, "input")[0], "name") == "INPUT0"
    assert member(got, "dynamic_batching") is not None


def counted(c, model):
    stats = c.get_inference_statistics(model)
    return member(stats, "model_stats")[0]


def statistics(client, c):
    def number(value, *path):
        for name in path:
            value = member(value, name)
        return int(value)

    before = counted(c, "simple")
    for _ in range(3):
        c.infer("simple", pair(client))
    after = counted(c, "simple")
    assert number(after, "inference_count") - number(before, "inference_count") == 3
    assert number(after, "execution_count") - number(before, "execution_count") == 3
    for stage in ("success", "queue", "compute_input", "compute_infer", "compute_output"):
        assert number(after, "inference_stats", stage, "count") - number(before, "inference_stats", stage, "count") == 3, stage
    assert number(after, "inference_stats", "success", "ns") > number(before, "inference_stats", "success", "ns")
    one = [b for b in member(after, "batch_stats") if int(member(b, "batch_size")) == 1]
    assert len(one) == 1 and number(one[0], "compute_infer", "count") >= 3
    everything = member(c.get_inference_statistics(), "model_stats")
    assert len(everything) > 20, len(everything)
    fails("requested model 'nobody' is not available", c.get_inference_statistics, "nobody")


def infer(client, c):
    result = c.infer("simple", pair(client), request_id="seven", outputs=[
        client.InferRequestedOutput("OUTPUT0"), client.InferRequestedOutput("OUTPUT1")])
    check_sum(result)
    assert member(result.get_response(), "id") == "seven" and member(result.get_response(), "model_version") == "1"
    check_sum(c.infer("simple", pair(client), model_version="1", priority=1, timeout=60_000_000))
    result = c.infer("simple", pair(client), outputs=[client.InferRequestedOutput("OUTPUT1")])
    assert result.as_numpy("OUTPUT0") is None
    same(result.as_numpy("OUTPUT1"), LEFT - RIGHT)
    batch = np.arange(64, dtype=np.int32).reshape(4, 16)
    result = c.infer("simple", [tensor(client, "INPUT0", batch), tensor(client, "INPUT1", batch)])
    same(result.as_numpy("OUTPUT0"), 2 * batch)


def datatypes(client, c):
    words = np.array([[str(i).encode() for i in range(16)]], dtype=np.object_)
    result = c.infer("simple_string", [tensor(client, "INPUT0", words), tensor(client, "INPUT1", words)])
    assert [int(v) for v in result.as_numpy("OUTPUT0")[0]] == [2 * i for i in range(16)]
    small = np.arange(16, dtype=np.int8).reshape(1, 16)
    same(c.infer("simple_int8", [tensor(client, "INPUT0", small), tensor(client, "INPUT1", small)]).as_numpy("OUTPUT1"), small - small)
    texts = np.array([["", "grüße", "\x00\xff"]], dtype=np.object_)
    result = c.infer("simple_identity", [tensor(client, "INPUT0", texts)])
    assert [v.decode() for v in result.as_numpy("OUTPUT0")[0]] == list(texts[0])
    values = np.array([[1.5, -0.25, 3e38]], dtype=np.float32)
    same(c.infer("custom_identity_fp32", [tensor(client, "INPUT0", values)]).as_numpy("OUTPUT0"), values)
    empty = np.zeros((1, 0), dtype=np.float32)
    same(c.infer("custom_identity_fp32", [tensor(client, "INPUT0", empty)]).as_numpy("OUTPUT0"), empty)
    result = c.infer("identity_optional", [tensor(client, "INPUT0", values)])
    same(result.as_numpy("OUTPUT0"), values)
    assert result.as_numpy("OUTPUT1") is None


def reshape(client, c):
    values = np.array([[1], [2]], dtype=np.int32)
    result = c.infer("reshaped", [tensor(client, "INPUT0", values)])
    same(result.as_numpy("OUTPUT0"), values)
    assert member(result.get_response(), "model_version") == "3"


def sequences(client, c):
    for number, (sequence, other) in enumerate([(1007, 1008), ("first", "second")]):
        totals = {sequence: 0, other: 0}
        for value in (11, 7, 5):
            for name in (sequence, other):
                sign = 1 if name == sequence else -1
                result = c.infer("sequence_accumulate", [tensor(client, "INPUT", np.array([[sign * value]], dtype=np.int32))],
                                 sequence_id=name, sequence_start=value == 11, sequence_end=value == 5)
                totals[name] += sign * value
                same(result.as_numpy("OUTPUT"), [[totals[name]]])
    one = [tensor(client, "INPUT", np.array([[1]], dtype=np.int32))]
    fails("must specify the START flag on the first request of the sequence", c.infer, "sequence_accumulate", one, sequence_id=99)
    fails("must specify a non-zero or non-empty correlation ID", c.infer, "sequence_accumulate", one)


def repository(client, c):
    names = {member(m, "name") for m in entries(c.get_model_repository_index())}
    assert {"simple", "ensemble", "repeat_int32"} <= names, names
    c.unload_model("custom_zero_1_int32")
    wait_until(lambda: not c.is_model_ready("custom_zero_1_int32"))
    values = [tensor(client, "INPUT0", np.array([[1, 2]], dtype=np.int32))]
    fails("Request for unknown model: 'custom_zero_1_int32' has no available versions", c.infer, "custom_zero_1_int32", values)
    line = [m for m in entries(c.get_model_repository_index()) if member(m, "name") == "custom_zero_1_int32"][0]
    assert member(line, "state") == "UNAVAILABLE" and member(line, "reason") == "unloaded", line
    c.load_model("custom_zero_1_int32", config=OVERRIDE)
    got = c.get_model_config("custom_zero_1_int32")
    assert member(got if isinstance(got, dict) else got.config, "max_batch_size") == 4
    two = np.array([[1, 2], [3, 4]], dtype=np.int32)
    same(c.infer("custom_zero_1_int32", [tensor(client, "INPUT0", two)]).as_numpy("OUTPUT0"), two)
    c.load_model("custom_zero_1_int32")
    fails("batch-size must be <= 1", c.infer, "custom_zero_1_int32", [tensor(client, "INPUT0", two)])
    fails("failed to load 'nobody', failed to poll from model repository", c.load_model, "nobody")


OVERRIDE = """{"backend": "identity", "max_batch_size": 4,
  "input": [{"name": "INPUT0", "data_type": "TYPE_INT32", "dims": [-1]}],
  "output": [{"name": "OUTPUT0", "data_type": "TYPE_INT32", "dims": [-1]}]}"""


def entries(index):
    return index if isinstance(index, list) else index.models


def wait_until(condition):
    import time

    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen in 60 s"
        time.sleep(0.02)


def settings(_, c):
    def values(got):
        got = got if isinstance(got, dict) else {k: list(v.value) for k, v in got.settings.items()}
        return {k: v if isinstance(v, list) else [v] for k, v in got.items()}

    assert values(c.get_trace_settings())["trace_level"] == ["OFF"]
    got = values(c.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"], "trace_rate": "5"}))
    assert got["trace_level"] == ["TIMESTAMPS"] and got["trace_rate"] == ["5"], got
    got = values(c.update_trace_settings(settings={"trace_level": None, "trace_rate": None}))
    assert got["trace_level"] == ["OFF"] and got["trace_rate"] == ["1000"], got


def parameters(client, c):
    check_sum(c.infer("simple", pair(client), parameters={"tenant": "a", "level": 3, "hot": True}))
    fails("reserved", c.infer, "simple", pair(client), parameters={"triton_mine": 1})


def wrong_requests(client, c):
    fails("Request for unknown model: 'nobody' is not found", c.infer, "nobody", pair(client))
    fails("expected 2 inputs but got 1 inputs for model 'simple'", c.infer, "simple", pair(client)[:1])
    short = np.zeros((1, 15), dtype=np.int32)
    fails("unexpected shape for input 'INPUT1' for model 'simple'. Expected [-1,16], got [1,15]", c.infer, "simple",
          [tensor(client, "INPUT0", short), tensor(client, "INPUT1", short)])
    real = np.zeros((1, 16), dtype=np.float32)
    fails("inference input 'INPUT1' data-type is 'FP32', but model 'simple' expects 'INT32'", c.infer, "simple",
          [tensor(client, "INPUT0", real), tensor(client, "INPUT1", real)])


def shared_memory(client, c):
    import tritonclient.utils.shared_memory as shm

    name = client.__name__.replace(".", "_")
    size = LEFT.nbytes
    source = shm.create_shared_memory_region(name + "_in", "/" + name + "_in", 2 * size)
    target = shm.create_shared_memory_region(name + "_out", "/" + name + "_out", 2 * size)
    try:
        shm.set_shared_memory_region(source, [LEFT, RIGHT])
        c.register_system_shared_memory(name + "_in", "/" + name + "_in", 2 * size)
        c.register_system_shared_memory(name + "_out", "/" + name + "_out", 2 * size)
        status = c.get_system_shared_memory_status(name + "_in")
        status = status[0] if isinstance(status, list) else status.regions[name + "_in"]
        assert member(status, "key") == "/" + name + "_in" and int(member(status, "byte_size")) == 2 * size
        inputs, outputs = [], []
        for i in range(2):
            inputs.append(client.InferInput(f"INPUT{i}", [1, 16], "INT32"))
            inputs[-1].set_shared_memory(name + "_in", size, offset=i * size)
            outputs.append(client.InferRequestedOutput(f"OUTPUT{i}"))
            outputs[-1].set_shared_memory(name + "_out", size, offset=i * size)
        result = c.infer("simple", inputs, outputs=outputs)
        assert result.get_output("OUTPUT0") is not None
        same(shm.get_contents_as_numpy(target, np.int32, [1, 16]), LEFT + RIGHT)
        same(shm.get_contents_as_numpy(target, np.int32, [1, 16], offset=size), LEFT - RIGHT)
        fails("Unable to find shared memory region: 'stranger'", c.infer, "simple", [elsewhere(client, "stranger", size), inputs[1]])
        fails("already in manager", c.register_system_shared_memory, name + "_in", "/" + name + "_in", size)
        c.unregister_system_shared_memory(name + "_in")
        fails("Unable to find", c.get_system_shared_memory_status, name + "_in")
    finally:
        c.unregister_system_shared_memory()
        shm.destroy_shared_memory_region(source)
        shm.destroy_shared_memory_region(target)


def elsewhere(client, region, size):
    t = client.InferInput("INPUT0", [1, 16], "INT32")
    t.set_shared_memory(region, size)
    return t


CHECKS = [health, metadata, config, statistics, infer, datatypes, reshape, sequences, repository, settings,
          parameters, wrong_requests, shared_memory]


def tests(client, connect):
    """A test for each check, under its name: a script adds them to its own."""
    return {f"test_{check.__name__}": lambda check=check: check(client, connect()) for check in CHECKS}
