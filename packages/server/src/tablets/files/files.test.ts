import { createHash } from "node:crypto";
import { mapOf } from "@qyt/base";
import { parseRichPath } from "@qyt/yson";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keyspace, prefixRange, storeKey } from "../../cell/index.ts";
import { failure, root, StaticFixture } from "../static/static-fixture.ts";
import { readFile, writeFile } from "./file-data.ts";

let fixture: StaticFixture;

beforeEach(async () => {
  fixture = await StaticFixture.open();
  await fixture.cypress.create(root, { type: "file", path: "//tmp/f" });
});
afterEach(() => fixture.close());

async function* parts(bytes: Buffer, size: number): AsyncGenerator<Buffer, void, void> {
  for (let start = 0; start < bytes.length; start += size) {
    yield bytes.subarray(start, start + size);
  }
}

function write(
  path: string,
  bytes: Buffer,
  options: { size?: number; context?: typeof root; computeMd5?: boolean } = {},
) {
  return writeFile(fixture.tables, options.context ?? root, {
    path: parseRichPath(path),
    computeMd5: options.computeMd5 ?? false,
    body: parts(bytes, options.size ?? 10_000),
  });
}

async function read(path: string, offset = 0n, length?: bigint, context = root): Promise<Buffer> {
  const { chunks } = readFile(fixture.tables, context, {
    path: parseRichPath(path),
    offset,
    length,
    signal: new AbortController().signal,
  });
  const found: Buffer[] = [];
  for await (const chunk of chunks) {
    found.push(chunk);
  }
  return Buffer.concat(found);
}

function bytesOf(length: number, seed: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => (i * 31 + seed * 7 + (i >> 8)) & 0xff));
}

test("bytes come back, whole and in ranges, over appended parts", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(40_000), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 20_000 }),
      fc.nat(60_000),
      fc.option(fc.nat(60_000), { nil: undefined }),
      async (lengths, size, offset, length) => {
        const pieces = lengths.map((count, index) => bytesOf(count, index));
        for (const [index, piece] of pieces.entries()) {
          await write(index === 0 ? "//tmp/f" : "<append=%true>//tmp/f", piece, { size });
        }
        const whole = Buffer.concat(pieces);
        expect(await fixture.get("//tmp/f/@uncompressed_data_size")).toBe(BigInt(whole.length));
        expect((await read("//tmp/f")).equals(whole)).toBe(true);
        const part = await read("//tmp/f", BigInt(offset), length === undefined ? undefined : BigInt(length));
        expect(part.equals(whole.subarray(offset, length === undefined ? undefined : offset + length))).toBe(
          true,
        );
      },
    ),
    { numRuns: 25 },
  );
});

test("a failed upload leaves the file as it was, and nothing behind", async () => {
  await write("//tmp/f", bytesOf(100_000, 1));
  async function* broken(): AsyncGenerator<Buffer, void, void> {
    yield bytesOf(3_000_000, 2);
    throw new Error("the client is gone");
  }
  const path = parseRichPath("//tmp/f");
  await expect(writeFile(fixture.tables, root, { path, computeMd5: false, body: broken() })).rejects.toThrow(
    "gone",
  );
  expect((await read("//tmp/f")).equals(bytesOf(100_000, 1))).toBe(true);
  await fixture.cypress.remove(root, { path: "//tmp/f" });
  await fixture.tables.environment.chunks.settled();
  await fixture.clock.advance(10_000);
  const { from, to } = prefixRange(storeKey(keyspace.rowBlocks));
  expect([...fixture.store.range(from, to)]).toEqual([]);
});

test("transactions, snapshot locks, copies and restarts", async () => {
  const text = async (path: string, context = root): Promise<string> =>
    (await read(path, 0n, undefined, context)).toString();
  await write("//tmp/f", Buffer.from("one"));
  const transactionId = await fixture.cypress.startTransaction(root, { timeoutMs: 60_000 });
  const context = { user: "root", transactionId };
  const { nodeId } = await fixture.cypress.lock(context, { path: "//tmp/f", mode: "snapshot" });
  await write("<append=%true>//tmp/f", Buffer.from(" two"));
  await fixture.cypress.copy(root, { sourcePath: "//tmp/f", destinationPath: "//tmp/g" });
  fixture = await fixture.reopen();
  await write("//tmp/f", Buffer.from("three"));
  expect(await text(`#${nodeId}`, context)).toBe("one");
  expect(await text("//tmp/g")).toBe("one two");
  expect(await text("//tmp/f")).toBe("three");
});

test("the MD5 is known when it was asked for", async () => {
  const bytes = bytesOf(300_000, 3);
  await write("//tmp/f", bytes, { computeMd5: true });
  expect(await fixture.get("//tmp/f/@md5")).toBe(createHash("md5").update(bytes).digest("hex"));
  await write("<append=%true>//tmp/f", Buffer.from("x"));
  expect((await failure(fixture.get("//tmp/f/@md5"))).code).toBe(500);
});

test("attributes that clients ask for, and what is no file", async () => {
  expect(await fixture.get("//tmp/f/@chunk_count")).toBe(0n);
  await fixture.cypress.set(root, { path: "//tmp/f/@executable", value: true });
  expect(await fixture.get("//tmp/f/@executable")).toBe(true);
  await fixture.cypress.create(root, {
    type: "file",
    path: "//tmp/g",
    attributes: mapOf({ file_name: "x" }),
  });
  expect(await fixture.get("//tmp/g/@file_name")).toBe("x");
  await fixture.create("//tmp/t");
  expect((await failure(write("//tmp/t", Buffer.from("x")))).code).toBe(1006);
});
