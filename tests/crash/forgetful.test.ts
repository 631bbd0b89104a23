/**
 * The workload of the crash test on a store that forgets what was not flushed, crashed at every write in
 * turn: before it, and with some of what was queued behind it on the disk though nobody was told. The whole
 * server runs in this process, over its HTTP interface.
 */
import { seededRandom } from "@qyt/base";
import { type Cluster, MemoryStore } from "@qyt/server";
import { FakeClock, ForgetfulStore, settle } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { startTestCluster } from "../../packages/server/src/cluster-fixture.ts";
import { Ledger } from "./ledger.ts";
import {
  connect,
  createActors,
  createObjects,
  type Life,
  runUntilCrash,
  verifyAllRows,
  verifyNewRows,
} from "./workload.ts";

const seed = Number(process.env.QYT_SEED ?? Math.floor(Math.random() * 0x1_0000_0000));
/** The crash comes at the first write of the workload, the second, … */
const crashPoints = Number(process.env.QYT_CRASH_POINTS ?? 60);

describe(`a store that forgets what was not flushed, QYT_SEED=${seed}`, () => {
  it(`keeps every promise, crashed at each of ${crashPoints} writes`, {
    timeout: 60_000 + crashPoints * 3_000,
  }, async () => {
    let storedBatches = 0;
    for (let crashPoint = 0; crashPoint < crashPoints; ++crashPoint) {
      try {
        storedBatches += await crashAtWrite(crashPoint);
      } catch (error) {
        throw new Error(`Crashed at write ${crashPoint}, QYT_SEED=${seed}: ${String(error)}`, {
          cause: error,
        });
      }
    }
    expect(storedBatches).toBeGreaterThan(crashPoints);
  });
});

/** One workload with a crash in the middle and one after it. Returns how many batches survived. */
async function crashAtWrite(crashPoint: number): Promise<number> {
  const random = seededRandom(seed + crashPoint);
  const clock = new FakeClock();
  const ledger = new Ledger();
  const actors = createActors();
  let store = new ForgetfulStore(new MemoryStore());
  let cluster = await start(store, clock);
  const client = connect(cluster.address);
  await createObjects(client);
  await client.close();

  for (let life = 0; life < 2; ++life) {
    const allowed = life === 0 ? crashPoint : random.below(2 * crashPoints);
    store.hold();
    store.release(allowed);
    const lastWrite = store.writeCount + allowed;
    const alive: Life = { client: connect(cluster.address), ledger, random };
    let isOver = false;
    const running = Promise.all(actors.map((actor) => runUntilCrash(actor, alive, () => isOver)));
    await Promise.race([running, blocked(store, lastWrite, clock, random.below(20))]);
    isOver = true;
    const survivors = random.below(store.unflushedCount + 1);
    const next = await store.crash(survivors);
    // Ends its connections; what it had in flight never ends.
    void cluster.close(0);
    await clock.advance(1);
    await running;
    await alive.client.close();

    clock.setNow(clock.now() + 1);
    store = next;
    cluster = await start(store, clock);
    const reborn: Life = { client: connect(cluster.address), ledger, random };
    await verifyNewRows(reborn);
    for (const actor of actors) {
      await actor.afterCrash?.(reborn);
    }
    await verifyAllRows(reborn);
    await reborn.client.close();
  }
  await cluster.close(0);
  return ledger.storedCount;
}

/** Resolves when no more is flushed and so many more turns of the event loop have queued more behind it. */
async function blocked(
  store: ForgetfulStore,
  lastWrite: number,
  clock: FakeClock,
  turns: number,
): Promise<void> {
  for (let left = turns; left >= 0; ) {
    await settle(1);
    if (store.unflushedCount > 0 && store.writeCount >= lastWrite) {
      --left;
    } else if (turns % 2 === 0) {
      // Flushes of stores and other work in the background belong to the workload.
      await clock.advance(20);
    }
  }
}

function start(store: ForgetfulStore, clock: FakeClock): Promise<Cluster> {
  return startTestCluster({ name: "crash", clock, store });
}
