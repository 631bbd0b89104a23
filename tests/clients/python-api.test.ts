/** The real Python library: Cypress, transactions, tables and queues through its API. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClustersForYt, hasEnvironment } from "./real-yt.ts";

const script = fileURLToPath(new URL("./python/api_round_trips.py", import.meta.url));

const roundTrips = [
  ["Cypress nodes, attributes, copies, moves and links", "cypress"],
  ["master transactions and locks", "master_transaction"],
  ["[http 136] a dynamic table and tablet transactions, without a retry", "dynamic_table"],
  ["[http 137] write_table and read_table, leaving no transaction behind", "static_table"],
  ["queues and consumers", "queue"],
] as const;

for (const environment of ["full", "plain"] as const) {
  describe.skipIf(!hasEnvironment(environment))(`Python API, ${environment} client`, () => {
    let clusters: ClustersForYt;
    beforeAll(async () => {
      // Without the queue agent, which holds transactions of its own.
      clusters = await ClustersForYt.start(["pythia"], ["--no-queue-agent"]);
    });
    afterAll(() => clusters?.stop());

    it.each(roundTrips)("%s", { timeout: 120_000 }, async (_title, name) => {
      const { stdout, stderr, exit } = await clusters.bash(environment, `python '${script}' pythia ${name}`);
      expect({ exit, stdout }, stderr).toEqual({ exit: 0, stdout: `ok ${name}\n` });
    });
  });
}
