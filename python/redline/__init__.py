"""Load inference servers and measure throughput, latency and failures.

Each function runs a command of the ``redline`` program, which is part of this package::

    import redline

    result = redline.profile(m="simple", embedded=True, concurrency_range=(1, 4))
    print(result.verdict, result.levels[0].throughput)
    result.frame()  # a pandas DataFrame, one row per level

A keyword argument is an option of the command, with ``-`` written as ``_``:

======================  =============================================
``name="text"``         ``--name=text``; numbers and paths likewise
``m="text"``            ``-m text``, an option of one letter
``name=True``           ``--name``; ``False`` and ``None`` omit the option
``name=[1, 2]``         the option is given once for each value
``name=(1, 8, 2)``      ``--name=1:8:2``
``name={"A": "b"}``     ``--name=A:b``, once for each item
======================  =============================================

``redline COMMAND --help`` lists the options. A run that does not end with exit code 0 raises a :class:`RedlineError`.
"""

from ._errors import Interrupted, NoRequests, NotJudged, RedlineError, RuleFailed, Unstable
from ._program import __version__, program
from ._result import Check, Latency, Level, Metric, Records, Result
from ._run import Output, find, llm, measure, profile, run, tune, version

__all__ = [
    "Check",
    "Interrupted",
    "Latency",
    "Level",
    "Metric",
    "NoRequests",
    "NotJudged",
    "Output",
    "Records",
    "RedlineError",
    "Result",
    "RuleFailed",
    "Unstable",
    "__version__",
    "find",
    "llm",
    "measure",
    "profile",
    "program",
    "run",
    "tune",
    "version",
]
