/** Every queue function of the real Python library. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasEnvironment, pythonOf } from "./real-yt.ts";
import { RunningCluster } from "./running-cluster.ts";

const script = fileURLToPath(new URL("./python/queue_round_trips.py", import.meta.url));

const roundTrips = [
  ["registers, lists by each filter, and unregisters", "registrations"],
  ["pulls with limits, raw, through a consumer, and below the trimmed rows", "pulls"],
  ["advances on either side, from the offset that is expected, in a tablet transaction", "advances"],
  ["opens sessions, pushes, repeats, and is fenced out", "producers"],
  ["pulls, pushes, inserts and advances in one tablet transaction", "transaction"],
] as const;

for (const environment of ["full", "plain"] as const) {
  describe.skipIf(!hasEnvironment(environment))(`Python queue functions, ${environment} client`, () => {
    let cluster: RunningCluster;
    beforeAll(async () => {
      cluster = await RunningCluster.start();
    });
    afterAll(() => cluster?.stop());

    it.each(roundTrips)("%s", { timeout: 120_000 }, async (_title, name) => {
      const args = ["-B", script, cluster.address, name];
      const { stdout, stderr, exit } = await cluster.run(pythonOf(environment), args);
      expect({ exit, stdout }, stderr).toEqual({ exit: 0, stdout: `ok ${name}\n` });
    });
  });
}
