"""Run commands without the seconds that it takes to import scikit-learn.

A server imports everything once and forks for each command, which has its own process, exit code,
folder and pipes. The client sends these to the server, and waits.

    python command_server.py serve SOCKET
    python command_server.py run SOCKET ARGUMENT...
"""

import array
import importlib
import json
import os
import signal
import socket
import sys

IMPORTED = (
    "dpfit.models.additive",
    "dpfit.cli.run",
    "dpfit.demo",
    "dpfit.models.linear",
    "dpfit.models.file",
    "matplotlib.pyplot",
    "narwhals",
    "pandas",
    "pyarrow.csv",
    "pyarrow.parquet",
    "typer.rich_utils",
)


def serve(path):
    for name in IMPORTED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(connection)
            connection.close()


def _answer(connection):
    from dpfit.cli import main

    message, handles, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    folder, arguments = json.loads(message)
    for place, handle in enumerate(handles):
        os.dup2(handle, place)
        os.close(handle)
    # Reopened, because the old streams remember what they were opened on.
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(place, mode, closefd=False) for place, mode in enumerate("rww")
    )
    os.chdir(folder)
    try:
        code = main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 99
    connection.sendall(array.array("i", [code]).tobytes())
    os._exit(0)


def run(path, arguments):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        socket.send_fds(client, [json.dumps([os.getcwd(), arguments]).encode()], [0, 1, 2])
        # Only the server's process keeps the pipes open, until it ends.
        for place in (0, 1, 2):
            os.close(place)
        code = client.recv(4)
    os._exit(array.array("i", code)[0] if code else 98)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        run(sys.argv[2], sys.argv[3:])
