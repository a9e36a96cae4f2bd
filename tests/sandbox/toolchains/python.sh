# Runs Python: unittest, processes of all kinds, threads, asyncio, sockets, sqlite, compiled files and a built wheel's parts.
# needs: python3
set -eu
cat >test_small.py <<'P'
import asyncio, compileall, ctypes, grp, hashlib, mmap, multiprocessing, os, pty, pwd, selectors, socket, sqlite3, subprocess, sys
import tempfile, threading, unittest, zipfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor


def twice(n):
    return 2 * n


async def run_command():
    child = await asyncio.create_subprocess_exec("echo", "out", stdout=asyncio.subprocess.PIPE)
    return (await child.communicate())[0]


async def serve():
    async def answer(reader, writer):
        writer.write(await reader.readline())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"line\n")
        line = await reader.readline()
        writer.close()
        return line


class Small(unittest.TestCase):
    def test_processes(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method), multiprocessing.get_context(method).Pool(2) as pool:
                self.assertEqual(pool.map(twice, range(8)), [2 * n for n in range(8)])

    def test_executors(self):
        for kind in (ProcessPoolExecutor, ThreadPoolExecutor):
            with self.subTest(kind), kind(2) as executor:
                self.assertEqual(list(executor.map(twice, range(4))), [0, 2, 4, 6])

    def test_shared_memory(self):
        from multiprocessing.shared_memory import SharedMemory

        memory = SharedMemory(create=True, size=4096)
        memory.buf[0] = 7
        again = SharedMemory(memory.name)
        self.assertEqual(again.buf[0], 7)
        again.close()
        memory.close()
        memory.unlink()
        value = multiprocessing.Value("i", 0)
        child = multiprocessing.Process(target=lambda: setattr(value, "value", 5))
        child.start()
        child.join()
        self.assertEqual(value.value, 5)
        self.assertEqual(len(mmap.mmap(-1, 8192)), 8192)

    def test_subprocess(self):
        self.assertEqual(subprocess.check_output("echo $((6 * 7))", shell=True), b"42\n")
        self.assertEqual(subprocess.run(["false"], start_new_session=True).returncode, 1)

    def test_asyncio(self):
        self.assertEqual(asyncio.run(run_command()), b"out\n")
        self.assertEqual(asyncio.run(serve()), b"line\n")

    def test_threads(self):
        found = []
        threads = [threading.Thread(target=found.append, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(found), list(range(8)))

    def test_sockets(self):
        self.assertTrue(socket.getaddrinfo("127.0.0.1", 80))
        self.assertIn("127.0.0.1", [found[4][0] for found in socket.getaddrinfo("localhost", 80)])
        with socket.create_server(("localhost", 0)) as server:
            socket.create_connection(("localhost", server.getsockname()[1])).close()
        self.assertIn("lo", [name for _, name in socket.if_nameindex()])
        for family, kind in ((socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_INET6, socket.SOCK_STREAM),
                             (socket.AF_UNIX, socket.SOCK_SEQPACKET)):
            socket.socket(family, kind).close()

    def test_user(self):
        self.assertTrue(pwd.getpwuid(os.getuid()).pw_name)
        self.assertTrue(grp.getgrgid(os.getgid()).gr_name)

    def test_terminal(self):
        ends = pty.openpty()
        os.write(ends[1], b"typed")
        self.assertEqual(os.read(ends[0], 5), b"typed")

    def test_native(self):
        callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(twice)
        self.assertEqual(callback(21), 42)
        self.assertEqual(ctypes.CDLL(None).getpid(), os.getpid())

    def test_database(self):
        base = sqlite3.connect("small.db")
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("CREATE TABLE t (n)")
        base.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(100)])
        base.commit()
        self.assertEqual(base.execute("SELECT sum(n) FROM t").fetchone(), (4950,))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/one.py", "w") as file:
                file.write("x = 1\n")
            self.assertTrue(compileall.compile_dir(folder, quiet=1))
            with zipfile.ZipFile(f"{folder}/z.whl", "w") as wheel:
                wheel.write(f"{folder}/one.py")
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
        self.assertEqual(hashlib.sha256(b"").hexdigest()[:8], "e3b0c442")


if __name__ == "__main__":
    unittest.main()
P
python3 -m unittest -q test_small
