"""Finds the redline program, and runs it as the command perf_analyzer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from typing import Iterator, NoReturn

_NAME = "redline.exe" if os.name == "nt" else "redline"


def _version() -> str:
    """The version of this package, or 0+clone where it is not installed, as in a clone of the source."""
    try:
        return metadata.version("redline-bench")
    except metadata.PackageNotFoundError:
        return "0+clone"


__version__ = _version()


def program() -> str:
    """The path of the redline program: that of ``REDLINE_PROGRAM``, the one of this package, or one in PATH."""
    named = os.environ.get("REDLINE_PROGRAM")
    if named:
        return named
    for folder in _folders():
        path = os.path.join(folder, _NAME)
        if os.path.isfile(path):
            return path
    found = shutil.which(_NAME)
    if found is None:
        raise FileNotFoundError("the redline program is not installed: run 'pip install --force-reinstall redline-bench', or set REDLINE_PROGRAM")
    return found


def _folders() -> Iterator[str]:
    """The folders into which pip puts programs: of the environment, of the user, and of ``pip install --target``."""
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", "nt_user" if os.name == "nt" else "posix_user")
    yield os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin")


def perf_analyzer() -> NoReturn:
    """The command perf_analyzer: the program under that name."""
    arguments = ["perf_analyzer", *sys.argv[1:]]
    if os.name == "nt":  # there, exec would end this process before the program has ended
        sys.exit(subprocess.call(arguments, executable=program()))
    os.execv(program(), arguments)
