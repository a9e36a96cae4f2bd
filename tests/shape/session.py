"""Runs the workbench in a terminal of its own: a scripted model proposes a write, and the script presses y.

session.py PROGRAM TRACER FOLDER leaves FOLDER/trace (see tracer.c) and FOLDER/rec.jsonl."""

import fcntl, json, os, pty, select, signal, struct, subprocess, sys, termios, time

LIMIT_S = 60
MODEL = [
    {"type": "session.started", "v": 1, "session": "walk"},
    {"type": "turn.started", "prompt": "write"},
    {"type": "model.responded", "step": 1, "text": "I will write it.", "stop": "tool_use",
     "tool_calls": [{"id": "c1", "name": "write_file", "arguments": {"path": "a.txt", "content": "new\n"}}]},
    {"type": "model.responded", "step": 2, "text": "Done.", "tool_calls": [], "stop": "end_turn"},
]


def build_tracer(source, folder):
    library = os.path.join(folder, "tracer.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source, "-lpthread"], check=True)
    return library


def recorded(path, text):
    try:
        with open(path) as file:
            return text in file.read()
    except FileNotFoundError:
        return False


class Terminal:
    def __init__(self, command, folder, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(command[0], command, environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.shown = b""

    def run_until(self, done, what):
        """Reads its output, so that it never waits for this process."""
        end = time.monotonic() + LIMIT_S
        while not done():
            if time.monotonic() > end:
                sys.exit("shape: waited for " + what + "; the terminal shows\n" + self.shown[-3000:].decode(errors="replace"))
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.shown += os.read(self.fd, 65536)
                except OSError:
                    sys.exit("shape: the program ended before " + what + "\n" + self.shown[-3000:].decode(errors="replace"))

    def end(self):
        """Gives it time to end its children."""
        os.kill(self.pid, signal.SIGTERM)
        end = time.monotonic() + 5
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                return
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    time.sleep(0.05)

    def run_for(self, seconds):
        end = time.monotonic() + seconds
        self.run_until(lambda: time.monotonic() >= end, "time")


def main(program, tracer, folder):
    os.makedirs(os.path.join(folder, "ws"), exist_ok=True)
    with open(os.path.join(folder, "ws", "a.txt"), "w") as file:
        file.write("old\n")
    with open(os.path.join(folder, "model.jsonl"), "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in MODEL)
    record = os.path.join(folder, "rec.jsonl")
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "xterm-256color", "LANG": "C.UTF-8",
                   "LD_PRELOAD": build_tracer(tracer, folder), "SHAPE_TRACE": os.path.join(folder, "trace")}
    terminal = Terminal([program, "run", "--workspace", "ws", "--model", "scripted:model.jsonl", "--record", "rec.jsonl",
                         "write"], folder, environment)
    try:
        terminal.run_until(lambda: recorded(record, '"held"'), "the question")
        terminal.run_for(2)  # a new question ignores answers at first
        os.write(terminal.fd, b"y")
        terminal.run_until(lambda: recorded(record, '"turn.finished"'), "the end of the turn")
    finally:
        terminal.end()


if __name__ == "__main__":
    main(*sys.argv[1:])
