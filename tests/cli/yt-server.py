"""Runs the real `yt` command again and again: imported once, forked for each command line.

Reads one JSON document a line, {"args": […], "stdin": "base64"}, and answers each with
{"exit": n, "stdout": "base64", "stderr": "base64"}.
"""
import base64
import json
import os
import sys
import tempfile

import yt.cli.yt_binary as binary
from yt.wrapper.cli_helpers import run_main


def run(args, stdin, stdout, stderr):
    os.dup2(stdin, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    sys.argv = ["yt"] + args
    code = 0
    try:
        run_main(binary.main_func)
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else 0 if exit.code is None else 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


for line in sys.stdin:
    request = json.loads(line)
    # Short enough for the buffer of a pipe, so that nobody has to read it first.
    stdin, feed = os.pipe()
    os.write(feed, base64.b64decode(request["stdin"]))
    os.close(feed)
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        child = os.fork()
        if child == 0:
            run(request["args"], stdin, stdout.fileno(), stderr.fileno())
        os.close(stdin)
        _, status = os.waitpid(child, 0)
        answer = {"exit": os.waitstatus_to_exitcode(status)}
        for name, file in (("stdout", stdout), ("stderr", stderr)):
            file.seek(0)
            answer[name] = base64.b64encode(file.read()).decode()
        print(json.dumps(answer), flush=True)
