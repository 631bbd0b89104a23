/**
 * Kills the agent and the server, real processes, while rows are written, flushed, exported by two exports and
 * trimmed behind them: every row is in exactly one table of each export, in the order it has in its tablet.
 * `QYT_KILLS` says how many kills (default 30), `QYT_TEST_SEED` repeats a run's choices.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@qyt/client";
import {
  between,
  freePort,
  type ProgramProcess,
  startAgentProcess,
  startProcess,
  temporaryDirectory,
  testRandom,
} from "@qyt/testing";
import { fromYson } from "@qyt/yson";
import { expect, it } from "vitest";
import { eventually } from "./agent-fixture.ts";
import {
  agentConfig,
  createExportedQueue,
  exportedData,
  exports,
  kills,
  queue,
  tablets,
  trimAutomatically,
} from "./kills-fixture.ts";

it(`exports each row once over ${kills} kills`, { timeout: 120_000 + kills * 15_000 }, async () => {
  const random = testRandom("export kills");
  const folder = await temporaryDirectory("export-kills");
  const address = `127.0.0.1:${await freePort()}`;
  const serverArgs = [
    ...["--data-dir", join(folder.path, "data"), "--cluster", `primary=${address}`],
    "--no-queue-agent",
  ];
  const client = createClient({ proxy: address });

  const startAgent = async (): Promise<ProgramProcess> => {
    const file = join(folder.path, "agent.yson");
    await writeFile(file, agentConfig(random));
    return startAgentProcess({ args: ["--config", file, "--proxy", address] });
  };

  let server = await startProcess({ args: serverArgs });
  let agent = await startAgent();
  try {
    await createExportedQueue(client);
    await trimAutomatically(client);

    const written: number[][] = tablets.map(() => []);
    let next = 0;
    for (let kill = 0; kill < kills; kill++) {
      for (const [tablet, numbers] of written.entries()) {
        const count = between(random, 1, 5);
        const fresh = Array.from({ length: count }, (_, index) => next + index);
        next += count;
        // Acknowledged, so they are there for good: nothing is killed while they are written.
        await client.insertRows(
          queue,
          fresh.map((data) => ({ $tablet_index: BigInt(tablet), data: String(data) })),
        );
        numbers.push(...fresh);
      }
      await new Promise((resolve) => setTimeout(resolve, between(random, 0, 1_500)));
      if (kill % 2 === 0) {
        await agent.kill();
        agent = await startAgent();
      } else {
        await server.kill();
        server = await startProcess({ args: serverArgs });
      }
    }
    for (const directory of Object.values(exports)) {
      const rows = await eventually(async () => {
        const found = (await exportedData(client, directory)).map(Number);
        expect(found.length).toBeGreaterThanOrEqual(next);
        return found;
      }, 90_000);
      for (const numbers of written) {
        const mine = new Set(numbers);
        expect(rows.filter((row) => mine.has(row))).toEqual(numbers);
      }
      expect(rows).toHaveLength(next);
    }
    // Exported rows go from the queue, and only they.
    await eventually(async () => {
      const counts = fromYson(await client.get(`${queue}/@tablets`));
      expect(Array.isArray(counts) ? counts.map((tablet) => Object(tablet).trimmed_row_count) : []).toEqual(
        written.map((numbers) => BigInt(numbers.length)),
      );
    }, 30_000);
  } catch (thrown) {
    throw new Error(`${String(thrown)}\n--- agent:\n${agent.output}\n--- server:\n${server.output}`, {
      cause: thrown,
    });
  } finally {
    await agent.kill();
    await server.kill();
    await client.close();
    await folder.remove();
  }
});
