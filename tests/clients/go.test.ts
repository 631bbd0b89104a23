/** The real Go SDK, driven by the program in ./go that `scripts/bootstrap.mjs --clients` builds. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RunningCluster } from "./running-cluster.ts";

const program = fileURLToPath(new URL("../../.clients/go/round-trips", import.meta.url));

/** False where Go is not installed, with a line that says so. In CI it must be there. */
function hasProgram(): boolean {
  const isThere = existsSync(program);
  if (!isThere && process.env.CI === undefined) {
    process.stderr.write(
      "SKIPPED: tests with the Go SDK: .clients/go is not there (node scripts/bootstrap.mjs --clients makes it, where Go is)\n",
    );
    return false;
  }
  return true;
}

const roundTrips = [
  ["[http 138] nodes, attributes, copies, moves, links, errors by code", "nodes"],
  ["batches of requests", "batch"],
  ["master transactions and locks", "master_transactions"],
  ["[http 138] a static table", "static_table"],
  ["[http 138] a sorted dynamic table: insert, look up, select, delete", "dynamic_table"],
  ["tablet transactions, and a conflict of two", "tablet_transactions"],
  ["an ordered table", "ordered_table"],
  ["a producer: sessions, pushes, repeated rows, zombies, a push in a transaction", "producer"],
] as const;

/** `default` is the SDK's own choice, `z-zstd_3` on the wire. */
const codecs = ["none", "gzip", "default", "brotli_6"] as const;

describe.skipIf(!hasProgram()).each(codecs)("Go SDK, codec %s", (codec) => {
  let cluster: RunningCluster;
  beforeAll(async () => {
    cluster = await RunningCluster.start();
  });
  afterAll(() => cluster?.stop());

  it.each(roundTrips)("%s", { timeout: 120_000 }, async (_title, name) => {
    const { stdout, stderr, exit } = await cluster.run(program, [cluster.address, codec, name]);
    expect({ exit, stdout }, stderr).toEqual({ exit: 0, stdout: `ok ${name}\n` });
  });
});
