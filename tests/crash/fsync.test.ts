/**
 * Watches the system calls of the real process: between each request that changes something and its answer
 * the data file is written, flushed with fdatasync, and then the page that makes it valid is written through
 * a descriptor that was opened to flush each write.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { mapOf } from "@qyt/base";
import { YtClient } from "@qyt/client";
import { freePort, temporaryDirectory } from "@qyt/testing";
import { writeYson } from "@qyt/yson";
import { expect, it } from "vitest";
import { rowsOfBatch } from "./rows.ts";
import { findExchanges, parseSystemCalls } from "./system-calls.ts";
import { consumerPath, createObjects, inputQueue, outputQueue, producerPath } from "./workload.ts";

const traced =
  "openat,read,recvfrom,recvmsg,fdatasync,fsync,msync,write,pwrite64,writev,pwritev,sendmsg,sendto";
const canTrace = spawnSync("strace", ["-D", "-o", "/dev/null", "true"]).status === 0;
if (!canTrace) {
  console.info(
    "Skipped: there is no strace here, or it may not trace. Nothing watches the flushes in this run.",
  );
}
const qyt = fileURLToPath(new URL("../../packages/cli/bin/qyt.js", import.meta.url));

it.skipIf(!canTrace)("flushes the data file before every answer", { timeout: 120_000 }, async () => {
  const directory = await temporaryDirectory("fsync");
  const log = join(directory.path, "system-calls");
  const address = `127.0.0.1:${await freePort()}`;
  const server = spawn("strace", [
    ...["-D", "-f", "-y", "-s", "64", "-e", `trace=${traced}`, "-e", "signal=none", "-o", log],
    ...[
      process.execPath,
      qyt,
      "up",
      "--data-dir",
      join(directory.path, "data"),
      "--cluster",
      `crash=${address}`,
      // Only what this test asks for is to write.
      "--no-queue-agent",
    ],
  ]);
  try {
    await ready(server);
    const client = new YtClient({ proxy: address, retries: false });
    const sent = await changeThings(client);
    await client.close();
    const ended = new Promise((resolve) => server.once("close", resolve));
    server.kill("SIGTERM");
    await ended;
    verify(readFileSync(log, "latin1"), sent);
  } finally {
    server.kill("SIGKILL");
    await directory.remove();
  }
});

/** Every way to change something, alone and side by side. Returns how many such requests there were. */
async function changeThings(client: YtClient): Promise<Readonly<Record<string, number>>> {
  await createObjects(client);
  const rows = (name: string, size = 10) => rowsOfBatch(name, size);
  for (let i = 0; i < 10; ++i) {
    await client.insertRows(inputQueue, rows(`insert-${i}`, 1 + i * 20));
  }
  await Promise.all(Array.from({ length: 20 }, (_, i) => client.insertRows(inputQueue, rows(`beside-${i}`))));
  const { epoch } = await client.createQueueProducerSession(producerPath, inputQueue, "session");
  for (let i = 0; i < 5; ++i) {
    await client.pushQueueProducer(producerPath, inputQueue, "session", epoch, rows(`push-${i}`), {
      sequenceNumber: BigInt(i * 10),
    });
  }
  for (let i = 0; i < 5; ++i) {
    const transactionId = await client.startTransaction({ type: "tablet" });
    await client.insertRows(outputQueue, rows(`both-${i}`), { transactionId });
    const offsets = { oldOffset: BigInt(i), newOffset: BigInt(i + 1) };
    await client.advanceQueueConsumer(consumerPath, inputQueue, 0, offsets, { transactionId });
    await client.commitTransaction(transactionId);
  }
  await client.advanceQueueConsumer(consumerPath, inputQueue, 0, { oldOffset: 5n, newOffset: 6n });
  await client.trimRows(inputQueue, 0, 1n);
  await client.set(`${inputQueue}/@note`, writeYson(mapOf({ a: 1n }), "binary"));
  await client.create("map_node", "//crash/directory");
  await client.remove("//crash/directory");
  return {
    "PUT /api/v4/insert_rows": 35,
    "POST /api/v4/create_queue_producer_session": 1,
    "PUT /api/v4/push_queue_producer": 5,
    "POST /api/v4/commit_transaction": 5,
    "POST /api/v4/advance_queue_consumer": 6,
    "POST /api/v4/trim_rows": 1,
    "PUT /api/v4/set": 1,
    "POST /api/v4/remove": 1,
  };
}

/** What only joins a transaction is not flushed. */
const inTransaction = { "PUT /api/v4/insert_rows": 5, "POST /api/v4/advance_queue_consumer": 5 } as const;

function verify(log: string, sent: Readonly<Record<string, number>>): void {
  const calls = parseSystemCalls(log);
  const isDataFile = (descriptor: string): boolean => descriptor.endsWith("/data.mdb>");
  const flushing = new Set(
    calls
      .filter(({ name, args }) => name === "openat" && args.includes("data.mdb") && args.includes("O_DSYNC"))
      .map(({ result }) => result.trim()),
  );
  expect(flushing.size, "the descriptor that flushes each write").toBe(1);
  const writes = calls.filter(({ name, descriptor }) => /write/.test(name) && isDataFile(descriptor));
  const metaWrites = writes.filter(({ descriptor }) => flushing.has(descriptor));
  const dataWrites = writes.filter(({ descriptor }) => !flushing.has(descriptor));
  const flushes = calls.filter(
    ({ name, descriptor, result }) => name === "fdatasync" && isDataFile(descriptor) && result.trim() === "0",
  );
  const unflushed = new Map<string, number>();
  const exchanges = findExchanges(calls);
  for (const { request, requestLine, answerLine } of exchanges) {
    if (sent[request] === undefined) {
      continue;
    }
    // Some commit lies wholly between request and answer: data, flush, meta page, in this order.
    const isDurable = metaWrites.some((meta) =>
      meta.begin > requestLine && meta.end < answerLine
        ? flushes.some(
            (flush) =>
              flush.begin > requestLine &&
              flush.end < meta.begin &&
              dataWrites.some(({ begin, end }) => begin > requestLine && end < flush.begin) &&
              !dataWrites.some(({ begin }) => begin > flush.begin && begin < meta.begin),
          )
        : false,
    );
    if (!isDurable) {
      unflushed.set(request, (unflushed.get(request) ?? 0) + 1);
    }
  }
  for (const [request, count] of Object.entries(sent)) {
    expect(exchanges.filter((exchange) => exchange.request === request).length, request).toBe(count);
  }
  expect(Object.fromEntries(unflushed)).toEqual(inTransaction);
}

async function ready(server: ChildProcess): Promise<void> {
  let output = "";
  await new Promise<void>((resolve, reject) => {
    for (const stream of [server.stdout, server.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (output.includes("qyt is ready")) {
          resolve();
        }
      });
    }
    server.once("error", reject);
    server.once("close", (code) => reject(new Error(`It ended with ${code}:\n${output}`)));
  });
}
