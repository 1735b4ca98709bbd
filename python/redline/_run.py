"""Runs commands of the redline program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Tuple

from ._errors import error_of
from ._program import program
from ._result import Result


class Output(NamedTuple):
    """What a command printed."""

    stdout: str
    stderr: str
    exit_code: int

    def __repr__(self) -> str:
        return "<redline.Output exit code %d, %d lines>" % (self.exit_code, self.stdout.count("\n"))


def profile(**options: Any) -> Result:
    """Runs ``redline profile``: loads a server and measures throughput, latency and failures."""
    return measure("profile", **options)


def llm(**options: Any) -> Result:
    """Runs ``redline llm``: loads a language model and measures it token by token."""
    return measure("llm", **options)


def find(traffic: str, **options: Any) -> Result:
    """Runs ``redline find``: searches for the highest load at which objectives hold. ``traffic`` is "profile" or "llm"."""
    return measure("find", traffic, **options)


def tune(traffic: str = "profile", **options: Any) -> Result:
    """Runs ``redline tune``: searches for the best configuration of a model. ``vary`` takes a list: ``["instances=1..4"]``."""
    return measure("tune", traffic, **options)


def measure(command: str, *arguments: str, **options: Any) -> Result:
    """Runs a command that has the option ``--json FILE`` and returns its result.

    Raises RedlineError if the command does not end with exit code 0; the error has the result as far as there is one.
    """
    with tempfile.TemporaryDirectory(prefix="redline-") as folder:
        path = os.fspath(options.pop("json", None) or os.path.join(folder, "result.json"))
        output = _call([command, *arguments, *_spelled({**options, "json": path})])
        result = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                result = Result(json.load(file), text=output.stdout, records=options.get("records"))
    if output.exit_code != 0 or result is None:
        raise _error(command, output, result)
    return result


def run(command: str, *arguments: str, **options: Any) -> Output:
    """Runs any command and returns what it printed. Raises RedlineError if it does not end with exit code 0."""
    output = _call([command, *arguments, *_spelled(options)])
    if output.exit_code != 0:
        raise _error(command, output, None)
    return output


def version() -> Dict[str, Any]:
    """The version of the program: ``version``, ``commit``, ``go``, ``os``, ``arch``, ``native``, ``result_schema``."""
    about: Dict[str, Any] = json.loads(run("version", json=True).stdout)
    return about


def _error(command: str, output: Output, result: "Result | None") -> Exception:
    lines = [line for line in output.stderr.splitlines() if line.strip()]
    named = [line for line in lines if line.startswith("redline %s: " % command)]
    message = (named or lines)[-1] if lines else "redline %s ended with exit code %d" % (command, output.exit_code)
    return error_of(output.exit_code)(message, output.exit_code, output.stdout, output.stderr, result)


def _call(arguments: List[str]) -> Output:
    # In a session of its own the program does not get the interrupt of the terminal, so that one interrupt arrives once.
    own: Dict[str, Any] = {"start_new_session": True}
    stop = signal.SIGINT
    if os.name == "nt":
        own = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP")}
        stop = getattr(signal, "CTRL_BREAK_EVENT")
    process = subprocess.Popen(
        [program(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", **own
    )
    try:
        stdout, stderr = process.communicate()
    except KeyboardInterrupt:
        process.send_signal(stop)
        process.communicate()
        raise
    return Output(stdout, stderr, process.returncode)


def _spelled(options: Mapping[str, Any]) -> List[str]:
    """The keyword arguments as a command line."""
    words: List[str] = []
    for name, value in options.items():
        # Python has words of its own, such as assert: a trailing underscore is not part of the name.
        option = name.rstrip("_").replace("_", "-")
        for text in _values(value):
            if len(option) == 1:
                words += ["-" + option] if text is None else ["-" + option, text]
            else:
                words += ["--" + option] if text is None else ["--%s=%s" % (option, text)]
    return words


def _values(value: Any) -> "Iterable[str | None]":
    """The values that an option is given with; None is a switch."""
    if value is None or value is False:
        return
    if value is True:
        yield None
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield "%s:%s" % (key, item)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item)
    elif isinstance(value, tuple):
        yield _colons(value)
    elif isinstance(value, os.PathLike):
        yield os.fspath(value)
    else:
        yield str(value)


def _colons(values: Tuple[Any, ...]) -> str:
    return ":".join(str(value) for value in values)
