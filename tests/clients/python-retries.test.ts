/**
 * Retries of the real Python library, through a proxy that answers 503 first, and that cuts connections after
 * the commit and before the answer: mutation ids and producer sessions make them harmless.
 */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Fault, FaultyProxy } from "./faulty-proxy.ts";
import { hasEnvironment, pythonOf } from "./real-yt.ts";
import { RunningCluster } from "./running-cluster.ts";

const script = fileURLToPath(new URL("./python/retries.py", import.meta.url));

const refusedThenLost: readonly Fault[] = ["refuse", "cut", "cut"];
const lostAnswer: readonly Fault[] = ["cut"];

interface Disturbance {
  readonly title: string;
  readonly name: string;
  /** The faults that the first requests for these commands meet. */
  readonly faults: Readonly<Record<string, readonly Fault[]>>;
}

const disturbances: readonly Disturbance[] = [
  { title: "create makes one node", name: "create", faults: { create: refusedThenLost } },
  {
    title: "set, copy, move and remove take place once",
    name: "nodes",
    faults: { set: refusedThenLost, copy: refusedThenLost, move: refusedThenLost, remove: refusedThenLost },
  },
  {
    title: "a master transaction starts and commits once",
    name: "master_transaction",
    faults: { start_transaction: refusedThenLost, commit_transaction: refusedThenLost },
  },
  { title: "a batch takes place once", name: "batch", faults: { execute_batch: refusedThenLost } },
  {
    title: "a consumer is registered and unregistered",
    name: "registrations",
    faults: { register_queue_consumer: refusedThenLost, unregister_queue_consumer: refusedThenLost },
  },
  { title: "an offset advances once", name: "advance", faults: { advance_queue_consumer: refusedThenLost } },
  {
    title: "a session is opened once",
    name: "session",
    faults: { create_queue_producer_session: refusedThenLost },
  },
  { title: "pushed rows are written once", name: "push", faults: { push_queue_producer: refusedThenLost } },
  {
    title: "a tablet transaction takes place once, whichever of its answers is lost",
    name: "tablet_transaction",
    faults: {
      start_transaction: lostAnswer,
      push_queue_producer: lostAnswer,
      advance_queue_consumer: lostAnswer,
      commit_transaction: lostAnswer,
    },
  },
  {
    title: "inserted rows are written at least once: a lost answer writes them twice",
    name: "insert_rows",
    faults: { insert_rows: ["refuse", "cut"] },
  },
  {
    title: "a tablet transaction with a lost answer to insert_rows fails as a whole",
    name: "insert_rows_in_transaction",
    faults: { insert_rows: lostAnswer },
  },
  {
    title: "reads and writes of tables go on",
    name: "reads",
    faults: {
      pull_queue: ["refuse", "cut"],
      read_table: ["refuse", "cut", "tear"],
      write_table: ["refuse", "cut"],
    },
  },
];

for (const environment of ["full", "plain"] as const) {
  describe.skipIf(!hasEnvironment(environment))(`Python retries, ${environment} client`, () => {
    let cluster: RunningCluster;
    let proxy: FaultyProxy;
    beforeAll(async () => {
      cluster = await RunningCluster.start();
      proxy = await FaultyProxy.start(cluster.address);
    });
    afterAll(async () => {
      await proxy?.stop();
      await cluster?.stop();
    });

    it.each(disturbances.map((disturbance) => [disturbance.title, disturbance] as const))(
      "%s",
      { timeout: 120_000 },
      async (_title, { name, faults }) => {
        proxy.takeSeen();
        for (const [command, list] of Object.entries(faults)) {
          proxy.plan(command, list);
        }
        const args = ["-B", script, proxy.address, cluster.address, name];
        const { stdout, stderr, exit } = await cluster.run(pythonOf(environment), args);
        expect({ exit, stdout }, stderr).toEqual({ exit: 0, stdout: `ok ${name}\n` });
        const seen = proxy.takeSeen();
        for (const [command, list] of Object.entries(faults)) {
          const met = seen.filter((request) => request.command === command).map(({ fault }) => fault);
          // Every fault was met, and a request got through after it.
          expect({ command, met: met.slice(0, list.length + 1) }).toEqual({
            command,
            met: [...list, undefined],
          });
        }
      },
    );
  });
}
