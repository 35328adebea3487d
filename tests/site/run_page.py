"""Run the blocks of a page in the current folder: JSON in, JSON out.

Python blocks share a namespace, as in a session of a user. Each command of a console block runs in
a shell of its own.
"""

import contextlib
import io
import json
import subprocess
import sys
import traceback

import same_noise


def main():
    same_noise.patch()
    namespace = {"__name__": "__main__"}
    results = []
    for number, (language, code) in enumerate(json.load(sys.stdin)):
        if language == "python":
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    exec(compile(code, f"block {number}", "exec"), namespace)
                problem = ""
            except Exception:
                problem = traceback.format_exc()
            results.append([printed.getvalue(), problem])
            if problem:
                break
        else:
            done = subprocess.run(
                ["bash", "-o", "pipefail", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            results.append([done.stdout, ""])
    json.dump(results, sys.stderr)


if __name__ == "__main__":
    main()
