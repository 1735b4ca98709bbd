"""The errors of runs. docs/exit-codes.md of Redline explains the exit codes."""

from __future__ import annotations

from typing import Optional, Type

from ._result import Result


class RedlineError(Exception):
    """A command did not end with exit code 0.

    ``str(error)`` is the program's message. ``result`` is what was measured, or None.
    """

    def __init__(self, message: str, exit_code: int, stdout: str = "", stderr: str = "", result: Optional[Result] = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr
        self.result = result


class Unstable(RedlineError):
    """The only or first level did not become stable (exit code 2)."""


class NoRequests(RedlineError):
    """No request ended within the measurement windows (exit code 3)."""


class RuleFailed(RedlineError):
    """A rule of ``assert_`` does not hold, or the run is worse than the baseline (exit code 4)."""


class NotJudged(RedlineError):
    """Rules or a baseline were given, and the run cannot be judged (exit code 5)."""


class Interrupted(RedlineError):
    """A signal ended the run (exit code 130)."""


def error_of(exit_code: int) -> Type[RedlineError]:
    """The class of the error for an exit code."""
    return {2: Unstable, 3: NoRequests, 4: RuleFailed, 5: NotJudged, 130: Interrupted}.get(exit_code, RedlineError)
