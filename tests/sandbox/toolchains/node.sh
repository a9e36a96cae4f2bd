# Runs JavaScript with node: processes, threads, files, sockets, WebAssembly, a web server and its own test runner.
# needs: node
set -eu
cat >small.test.mjs <<'J'
import assert from "node:assert";
import { execFile, fork, spawn } from "node:child_process";
import { createHash, randomBytes, scryptSync } from "node:crypto";
import { lookup } from "node:dns/promises";
import { mkdir, readFile, rm, watch, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { networkInterfaces } from "node:os";
import test from "node:test";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { gzipSync, gunzipSync } from "node:zlib";

test("a command", async () => {
    const { stdout } = await promisify(execFile)("sh", ["-c", "echo out"]);
    assert.equal(stdout, "out\n");
});
test("a stream of a process", async () => {
    const child = spawn("cat");
    child.stdin.end("through");
    let text = "";
    for await (const part of child.stdout) text += part;
    assert.equal(text, "through");
});
test("another node", async () => {
    await writeFile("child.mjs", "process.send({ pid: process.pid }); process.disconnect();");
    const child = fork("./child.mjs");
    const [message] = await new Promise((done) => child.once("message", (...all) => done(all)));
    assert.ok(message.pid > 0);
});
test("threads", async () => {
    const code = "require('worker_threads').parentPort.postMessage(6 * 7)";
    const all = [1, 2, 3].map(() => new Promise((done) => new Worker(code, { eval: true }).once("message", done)));
    assert.deepEqual(await Promise.all(all), [42, 42, 42]);
});
test("files", async () => {
    await mkdir("a/b", { recursive: true });
    await writeFile("a/b/c", "text");
    assert.equal(await readFile("a/b/c", "utf8"), "text");
    await rm("a", { recursive: true });
});
test("a watched folder", async () => {
    await mkdir("watched");
    const end = new AbortController();
    const events = watch("watched", { signal: end.signal })[Symbol.asyncIterator]();
    const next = events.next();
    await writeFile("watched/x", "");
    assert.equal((await next).value.filename, "x");
    end.abort();
});
test("a web server", async () => {
    const server = createServer((_, answer) => answer.end("served")).listen(0, "127.0.0.1");
    await new Promise((done) => server.once("listening", done));
    const answer = await fetch(`http://127.0.0.1:${server.address().port}/`);
    assert.equal(await answer.text(), "served");
    server.closeAllConnections();
    server.close();
});
test("a web server on localhost", async () => {
    const server = createServer((_, answer) => answer.end("served")).listen(0, "localhost");
    await new Promise((done) => server.once("listening", done));
    const answer = await fetch(`http://localhost:${server.address().port}/`);
    assert.equal(await answer.text(), "served");
    server.closeAllConnections();
    server.close();
});
test("addresses", async () => {
    assert.ok(networkInterfaces().lo);
    assert.ok((await lookup("127.0.0.1")).address);
});
test("WebAssembly", async () => {
    const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0,
        10, 6, 1, 4, 0, 65, 42, 11]);
    assert.equal((await WebAssembly.instantiate(bytes)).instance.exports.f(), 42);
});
test("crypto and compression", () => {
    assert.equal(createHash("sha256").update("").digest("hex").slice(0, 8), "e3b0c442");
    assert.equal(scryptSync("a", randomBytes(8), 32).length, 32);
    assert.equal(gunzipSync(gzipSync("squeezed")).toString(), "squeezed");
});
J
node --test small.test.mjs
mkdir again # libuv asks for io_uring, and does without it
cd again
UV_USE_IO_URING=1 node --test ../small.test.mjs
