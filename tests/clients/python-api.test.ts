/** The real Python library: Cypress, transactions, tables and queues through its API. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClustersForYt, hasEnvironment } from "./real-yt.ts";

function script(name: string): string {
  return fileURLToPath(new URL(`./python/${name}.py`, import.meta.url));
}

const roundTrips = [
  ["Cypress nodes, attributes, copies, moves and links", "cypress"],
  ["master transactions and locks", "master_transaction"],
  ["[http 136] a dynamic table and tablet transactions, without a retry", "dynamic_table"],
  ["[http 137] write_table and read_table, leaving no transaction behind", "static_table"],
  ["queues and consumers", "queue"],
] as const;

const families = [
  ["Cypress: nodes, attributes, search", "cypress"],
  ["master transactions: nested ones, locks, prerequisites", "transactions"],
  ["batches", "batches"],
  ["static tables, also written and read in parallel", "static_tables"],
  ["sorted dynamic tables", "sorted_tables"],
  ["ordered dynamic tables", "ordered_tables"],
  ["[http 137] write_file and read_file: whole, in parts, compressed, in parallel, by hash", "files"],
] as const;

for (const environment of ["full", "plain"] as const) {
  describe.skipIf(!hasEnvironment(environment))(`Python API, ${environment} client`, () => {
    let clusters: ClustersForYt;
    beforeAll(async () => {
      // Without the queue agent, which holds transactions of its own.
      clusters = await ClustersForYt.start(["pythia"], ["--no-queue-agent"]);
    });
    afterAll(() => clusters?.stop());

    async function expectOk(file: string, name: string): Promise<void> {
      const { stdout, stderr, exit } = await clusters.bash(
        environment,
        `python '${script(file)}' pythia ${name}`,
      );
      expect({ exit, stdout }, stderr).toEqual({ exit: 0, stdout: `ok ${name}\n` });
    }

    it.each(roundTrips)("%s", { timeout: 120_000 }, (_title, name) => expectOk("api_round_trips", name));

    describe("function by function", () => {
      it.each(families)("%s", { timeout: 120_000 }, (_title, name) => expectOk("api_functions", name));
    });
  });
}
