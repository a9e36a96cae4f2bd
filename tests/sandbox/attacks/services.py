"""Serves HTTP, HTTPS and an echo on 127.0.0.1, as the hosts of test_network.c.

    services.py FOLDER     serves the folder; makes cert.pem in it. Prints three ports on one line. Ends with its input.
"""

import http.server
import os
import socket
import ssl
import subprocess
import sys
import threading


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """One of the tests is a client that does not trust our certificate."""


def serve(folder, context=None):
    handler = lambda *args: Handler(*args, directory=folder)
    server = Server(("127.0.0.1", 0), handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def echo(connection):
    """Answers after the end of the input: the other side must have closed its direction."""
    said = b""
    while piece := connection.recv(65536):
        said += piece
    connection.sendall(b"heard " + said)
    connection.close()


def listen():
    server = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            threading.Thread(target=echo, args=(server.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()[1]


def main():
    folder = sys.argv[1]
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        + ["-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    print(serve(folder), serve(folder, context), listen(), flush=True)
    sys.stdin.read()


main()
