"""What the client scripts share: addresses, tensors and checks."""

import json
import os

import numpy as np

ADDRESSES = json.loads(os.environ["ADDRESSES"])
HTTP, GRPC = ADDRESSES["http"], ADDRESSES["grpc"]
LEFT = np.arange(16, dtype=np.int32).reshape(1, 16)
RIGHT = np.full((1, 16), 3, dtype=np.int32)


def tensor(client, name, array, datatype=None, **how):
    """An input of the client module's own kind."""
    from tritonclient.utils import np_to_triton_dtype

    t = client.InferInput(name, list(array.shape), datatype or np_to_triton_dtype(array.dtype))
    t.set_data_from_numpy(array, **how)
    return t


def pair(client, **how):
    """The inputs of the model simple."""
    return [tensor(client, "INPUT0", LEFT, **how), tensor(client, "INPUT1", RIGHT, **how)]


def same(got, want):
    assert np.array_equal(got, want), f"got {got!r}, want {want!r}"


def check_sum(result):
    same(result.as_numpy("OUTPUT0"), LEFT + RIGHT)
    same(result.as_numpy("OUTPUT1"), LEFT - RIGHT)


def fails(text, function, *args, **kwargs):
    """The call must fail with an InferenceServerException whose message has the text."""
    from tritonclient.utils import InferenceServerException

    try:
        function(*args, **kwargs)
    except InferenceServerException as e:
        assert text in str(e), f"the error is {e!s}, want {text!r} in it"
        return e
    raise AssertionError(f"no error; want one with {text!r}")


def member(value, name):
    """A member of a JSON object, or a field of a message."""
    return value[name] if isinstance(value, dict) else getattr(value, name)
