"""Runs the functions of a client script that are named test_*, and says how each ended, one line each.

Usage: run.py SCRIPT. The addresses of the server are in the environment variable ADDRESSES, as JSON.
"""

import asyncio
import importlib
import inspect
import sys
import traceback


def main(name):
    script = importlib.import_module(name)
    failed = 0
    for test, function in list(vars(script).items()):
        if not test.startswith("test_"):
            continue
        try:
            if inspect.iscoroutinefunction(function):
                asyncio.run(function())
            else:
                function()
            print("ok", test, flush=True)
        except BaseException:
            failed += 1
            print("FAIL", test, flush=True)
            print(traceback.format_exc(), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
