"""Checks the installed module redline as its user sees it. Arguments: a notebook, and Go's name of the processor."""

import json
import os
import sys

import redline

assert redline.version()["arch"] == sys.argv[2], redline.version()
assert redline.__version__[0].isdigit() and redline.__version__ != "0+clone", redline.__version__

# A result as objects.
result = redline.profile(m="simple", embedded=True, concurrency_range=2, request_count=40, records="requests.parquet")
assert result.verdict in ("valid", "client-limited", "too-short"), result.reasons
assert [level.concurrency for level in result.levels] == [2], result.data
level = result.levels[0]
for thing in (result, level, level.latency, result.records, redline.run("version")):
    assert repr(thing).startswith("<redline.") and len(repr(thing)) < 100, repr(thing)
assert level.requests == 40 and level.failed == 0 and level.throughput > 0
assert 0 < level.latency.min_ms <= level.latency.percentile_ms(50) <= level.latency.percentile_ms(99) <= level.latency.max_ms
assert "Request concurrency: 2" in result.text and "profile" in result.command_line
assert os.path.exists("requests.parquet") and result.records.path == "requests.parquet"

# A language model has named metrics.
result = redline.llm(m="mock-llm", embedded=True, streaming=True, concurrency=[1], request_count=4, output_tokens_mean=4, artifact_dir="llm")
metric = result.levels[0].metrics["time_to_first_token"]
assert metric.unit == "ms" and metric.percentiles[50] > 0, metric.data

# Errors are exceptions with the program's message, and with the result if there is one.
try:
    redline.profile(m="simple", u="127.0.0.1:1")
except redline.RedlineError as error:
    assert error.exit_code == 99 and "127.0.0.1:1" in str(error) and error.result is None, error
else:
    raise AssertionError("no error for a server that cannot be reached")
try:
    redline.profile(m="simple", embedded=True, request_count=20, assert_="p99<1ns")
except redline.RuleFailed as error:
    assert error.result is not None and not error.result.checks[0].ok, error.stderr
except redline.NotJudged:
    pass  # a busy machine
else:
    raise AssertionError("no error for a rule that cannot hold")
try:
    redline.profile(no_such_option=1)
except redline.RedlineError as error:
    assert "no-such-option" in error.stderr, error.stderr
else:
    raise AssertionError("no error for an unknown option")

try:
    redline.find("profile", m="simple", u="127.0.0.1:1", slo="avg<5ms")
except redline.RedlineError as error:
    assert error.exit_code == 99 and "127.0.0.1:1" in str(error), error.stderr
else:
    raise AssertionError("no error for a search on a server that cannot be reached")

# Any other command.
assert "Usage: redline compare" in redline.run("help", "compare").stdout

# Without pandas, the error says how to get it.
try:
    result.frame()
except ImportError as error:
    assert "pip install 'redline-bench[frames]'" in str(error), error
    assert not os.environ.get("FRAMES"), error

if os.environ.get("FRAMES"):
    with open(sys.argv[1], encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    names: dict = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            try:
                exec("".join(cell["source"]), names)
            except redline.NoRequests as error:  # on a machine that stands still
                sys.exit(error.exit_code)
    assert list(names["levels"]["concurrency"]) == [1, 2, 3, 4], names["levels"]
    assert len(names["requests"]) > 0 and names["slowest"] > 0
