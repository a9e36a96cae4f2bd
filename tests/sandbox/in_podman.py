#!/usr/bin/python3
"""Runs a test of the harness's protocol against harnesses in containers.

    in_podman.py IMAGE TEST…

The test takes the program in KEYTURN_HARNESS for the harness. That program starts a container with the product's own
vector and passes its options on. Containers are removed when the test has ended, even if the test killed their client.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True
import rig

# With both kinds of cgroups mounted, the product selects this runtime itself, at its second try.
AGAIN = os.path.isdir("/sys/fs/cgroup/unified") and shutil.which("runc") is not None
LABEL = "keyturn.test"


def be_harness(image, label, tools, workspace, *options):
    """Becomes a container; the folders are those of the test."""
    host = types.SimpleNamespace(tools=tools.partition("=")[2], work=workspace.partition("=")[2])
    argv = rig.argv_for("podman", image, host, options, AGAIN)
    argv.remove("--end-with-input")  # these tests also write to a pipe that ends before the answers come
    if not os.path.isdir(host.tools):
        at = argv.index("--volume")
        argv[at : at + 2] = []
        argv += ["--tools", "/nowhere"]
    at = argv.index("run") + 1
    argv[at:at] = ["--label", f"{LABEL}={label}"]
    os.chmod(os.path.dirname(host.tools), 0o755)  # the sandbox's user needs access through this folder
    os.chdir(host.work)  # the engine may leave files in its current folder
    os.execvp(argv[0], argv)


def remove_containers(label):
    ours = ["podman", "ps", "-aq", "--filter", f"label={LABEL}={label}"]
    if found := subprocess.run(ours, stdout=subprocess.PIPE, text=True).stdout.split():
        subprocess.run(["podman", "rm", "--force", "--time", "0", *found], stdout=subprocess.DEVNULL)


def main(image, *test):
    label = str(os.getpid())
    with tempfile.TemporaryDirectory(prefix="keyturn-podman-") as folder:
        program = os.path.join(folder, "keyturn-harness")
        with open(program, "w") as file:
            file.write("#!/bin/sh\n")
            for name in ("HOME", "XDG_RUNTIME_DIR"):  # the test gives its harness no environment
                if name in os.environ:
                    file.write(f"export {name}='{os.environ[name]}'\n")
            file.write(f"exec /usr/bin/python3 '{os.path.abspath(__file__)}' --be-harness {image} {label} \"$@\"\n")
        os.chmod(program, 0o755)
        try:
            return subprocess.run(test, env={**os.environ, "KEYTURN_HARNESS": program}).returncode
        finally:
            remove_containers(label)


if sys.argv[1] == "--be-harness":
    be_harness(*sys.argv[2:])
sys.exit(1 if main(*sys.argv[1:]) else 0)
