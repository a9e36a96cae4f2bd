"""Tries to reach port $PORT of this machine's loopback: directly, and through its proxy, by every name and spelling
of the address. Prints "reached" and how."""

import os
import socket
import struct
from urllib.parse import urlsplit

PORT = int(os.environ["PORT"])
NAMES = ["127.0.0.1", "localhost", "LOCALHOST", "localhost.", "a.localhost", "[::1]", "::1", "0.0.0.0", "[::]", "0",
         "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "2130706433", "0x7f.1",
         "0x7f000001", "127.1", "0177.0.0.1", "127.0.0.2", "ip6-localhost", os.environ.get("HOST_NAME", "localhost")]
ADDRESSES = [(1, socket.inet_aton("127.0.0.1")), (1, socket.inet_aton("0.0.0.0"))] + [
    (4, socket.inet_pton(socket.AF_INET6, text)) for text in ("::1", "::", "::ffff:127.0.0.1", "::ffff:0:0")]


def reached(how):
    print("reached", how, flush=True)


def direct():
    for host in ("127.0.0.1", "::1", "0.0.0.0"):
        try:
            socket.create_connection((host, PORT), 2).close()
            reached("directly as " + host)
        except OSError:
            pass


def proxy():
    url = urlsplit(os.environ["http_proxy"])
    return socket.create_connection((url.hostname, url.port), 20)


def answer(request, greeting=False):
    connection = proxy()
    if greeting:
        connection.sendall(b"\x05\x01\x00")
        assert connection.recv(2) == b"\x05\x00"
    connection.sendall(request)
    return connection.recv(4096)


def forwarded():
    for name in NAMES:
        target = "%s:%d" % (name, PORT)
        if answer(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target)).encode()).startswith(b"HTTP/1.1 200"):
            reached("by CONNECT " + target)
        plain = answer(("GET http://%s/ HTTP/1.1\r\nHost: example.org\r\n\r\n" % target).encode())
        if not plain.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 ", b"HTTP/1.1 502 ")):
            reached("by GET http://" + target)
        bare = name.encode()
        if answer(b"\x05\x01\x00\x03" + bytes([len(bare)]) + bare + struct.pack(">H", PORT), True)[1] == 0:
            reached("by SOCKS " + target)
    for kind, address in ADDRESSES:
        if answer(b"\x05\x01\x00" + bytes([kind]) + address + struct.pack(">H", PORT), True)[1] == 0:
            reached("by SOCKS to the address " + address.hex())


direct()
if os.environ.get("http_proxy") and os.environ.get("WORKSPACE_DIR"):
    forwarded()
    print("tried all", flush=True)
