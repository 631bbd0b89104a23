/** Requests that are given up before there is a connection for them. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { expect, it } from "vitest";
import { undiciTransport } from "./transport.ts";

it("gives a request up at once while the other side does not finish the TLS handshake", async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const address = silent.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const transport = undiciTransport({ connectTimeoutMs: 600_000 });
  const controller = new AbortController();
  const url = `https://127.0.0.1:${port}/`;
  const connected = once(silent, "connection");
  const sent = transport.send({
    method: "GET",
    url,
    headers: [],
    timeoutMs: 600_000,
    signal: controller.signal,
  });
  await connected;
  controller.abort(new Error("no longer wanted"));
  await expect(sent).rejects.toThrow("no longer wanted");
  for (const socket of sockets) {
    socket.destroy();
  }
  silent.close();
  await transport.close();
});
