/**
 * Kills the real process at random moments under load and checks after each restart that every promise it
 * made was kept. `QYT_SEED` repeats a run's choices, `QYT_KILLS` says how many kills (default 50).
 *
 * SIGKILL leaves the page cache alone, so this proves nothing of flushing: `fsync.test.ts` and
 * `forgetful.test.ts` do.
 */
import { join } from "node:path";
import { seededRandom } from "@qyt/base";
import { between, chance, freePort, ProgramProcess, startProcess, temporaryDirectory } from "@qyt/testing";
import { expect, it } from "vitest";
import { Ledger } from "./ledger.ts";
import {
  type Actor,
  connect,
  createActors,
  createObjects,
  type Life,
  runUntilCrash,
  verifyAllRows,
  verifyNewRows,
} from "./workload.ts";

const kills = Number(process.env.QYT_KILLS ?? 50);
const seed = Number(process.env.QYT_SEED ?? Math.floor(Math.random() * 0x1_0000_0000));

it(`keeps every promise over ${kills} kills`, { timeout: 60_000 + kills * 15_000 }, async () => {
  console.info(`crash test: QYT_SEED=${seed}`);
  const random = seededRandom(seed);
  const directory = await temporaryDirectory("crash");
  const address = `127.0.0.1:${await freePort()}`;
  const args = [
    ...["--data-dir", join(directory.path, "data"), "--cluster", `crash=${address}`],
    // A queue agent would only take time from the kills; what happens to it is tested beside it.
    "--no-queue-agent",
  ];
  const ledger = new Ledger();
  const actors = createActors();
  let server = await startProcess({ args });
  const client = connect(address);
  try {
    await createObjects(client);
    for (let kill = 1; kill <= kills; ++kill) {
      const life: Life = { client, ledger, random };
      try {
        await liveAndDie(server, life, actors);
        if (chance(random, 0.15)) {
          await dieWhileStarting(args, between(random, 50, 700));
        }
        server = await startProcess({ args });
        await verifyNewRows(life);
        for (const actor of actors) {
          await actor.afterCrash?.(life);
        }
      } catch (error) {
        throw new Error(
          `After kill ${kill} of ${kills}, QYT_SEED=${seed}: ${describe(error)}\n${server.output}`,
          {
            cause: error,
          },
        );
      }
    }
    const life: Life = { client, ledger, random };
    await verifyAllRows(life);
    expect(await server.stop("SIGTERM")).toEqual({ code: 0, signal: null });
    server = await startProcess({ args });
    await verifyNewRows(life);
    await verifyAllRows(life);
    console.info(
      `crash test: ${ledger.rowCount} rows in ${ledger.storedCount} batches; ${ledger.lostCount} not acknowledged and not stored`,
    );
    expect(ledger.storedCount).toBeGreaterThan(kills);
  } finally {
    await server.kill();
    await client.close();
    await directory.remove();
  }
});

/**
 * All actors at work, until a random moment: so many steps of theirs, on a machine of any speed, and then
 * some milliseconds more, as a step ends when its answer has come.
 */
async function liveAndDie(server: ProgramProcess, life: Life, actors: readonly Actor[]): Promise<void> {
  const { random } = life;
  let isOver = false;
  let stepsLeft = chance(random, 0.2) ? between(random, 1, 10) : between(random, 10, 220);
  let onMoment = (): void => {};
  const moment = new Promise<void>((resolve) => {
    onMoment = resolve;
  });
  const running = actors.map((actor) =>
    runUntilCrash(actor, life, () => {
      if (--stepsLeft === 0) {
        setTimeout(onMoment, random.below(15));
      }
      return isOver;
    }),
  );
  try {
    // An actor that finds something wrong ends the test at once.
    await Promise.race([moment, Promise.all(running)]);
  } finally {
    isOver = true;
    await server.kill();
  }
  await Promise.all(running);
}

async function dieWhileStarting(args: readonly string[], lifetimeMs: number): Promise<void> {
  const server = ProgramProcess.spawn({ args: ["up", ...args] });
  await new Promise((resolve) => setTimeout(resolve, lifetimeMs));
  await server.kill();
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
