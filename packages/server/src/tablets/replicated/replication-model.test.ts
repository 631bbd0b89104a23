/**
 * Replication under anything that can happen: writes of all kinds, replicas that are enabled, disabled and
 * change their mode, unmounts, failures of the disk, crashes at any write. Whatever the order, an enabled
 * replica ends with every row of the log exactly once and in order, tablet by tablet; a synchronous one never
 * misses a row that was acknowledged while it was in sync.
 */
import { defined, type Random, seededRandom, YtError } from "@qyt/base";
import { between, chance, pick, testRandom } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { queueSchema, ReplicationFixture, sortedSchema } from "./replication-fixture.ts";

const tabletCount = 2;
const replicaPaths = ["//tmp/r0", "//tmp/r1"];
const histories = 12;
const steps = 40;

interface Kind {
  readonly schema: string;
  readonly more: string;
  /** Writes something that no other call writes. */
  write(world: ReplicationFixture, random: Random, serial: number): Promise<unknown>;
  /** What a table has to show for what the log says. */
  content(world: ReplicationFixture, path: string): unknown;
}

const queue: Kind = {
  schema: queueSchema,
  more: `tablet_count=${tabletCount}`,
  write(world, random, serial) {
    const rows = Array.from(
      { length: between(random, 1, 4) },
      (_, index) => `{a=${serial * 10 + index};"$tablet_index"=${random.below(tabletCount)}}`,
    );
    return world.write(rows.join(";"), { requireSyncReplica: false });
  },
  content: (world, path) => [world.rows(path, 0), world.rows(path, 1)],
};

const sorted: Kind = {
  schema: sortedSchema,
  more: "pivot_keys=[[];[3]]",
  write(world, random, serial) {
    const key = random.below(6);
    const other = random.below(6);
    switch (random.below(4)) {
      case 0:
        return world.delete(`{k=${key}};{k=${other}}`, { requireSyncReplica: false });
      case 1:
        return world.write(`{k=${key};v=u${serial}}`, { update: true, requireSyncReplica: false });
      default:
        return world.write(`{k=${key};v=w${serial};n=${serial}};{k=${other};v=x${serial}}`, {
          requireSyncReplica: false,
        });
    }
  },
  content: (world, path) => world.scan(path),
};

class History {
  readonly #world: ReplicationFixture;
  readonly #random: Random;
  readonly #kind: Kind;
  readonly #ids: string[] = [];
  #serial = 0;

  constructor(world: ReplicationFixture, random: Random, kind: Kind) {
    this.#world = world;
    this.#random = random;
    this.#kind = kind;
  }

  async run(): Promise<void> {
    const world = this.#world;
    await world.createTable(this.#kind.schema, this.#kind.more);
    // What all rows are: a replica that is synchronous from the first row on and never disturbed.
    await world.addReplica("//tmp/all", { more: this.#kind.more });
    for (const path of replicaPaths) {
      const options = { enabled: chance(this.#random, 0.5), more: this.#kind.more };
      this.#ids.push(await world.addReplica(path, options));
    }
    for (let step = 0; step < steps; step++) {
      await this.#step();
    }
    await this.#settle();
    const expected = this.#kind.content(world, "//tmp/all");
    for (const path of replicaPaths) {
      expect(this.#kind.content(world, path)).toEqual(expected);
    }
    this.#checkLog();
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const world = this.#world;
    const { store } = world.engine;
    const id = defined(pick(random, this.#ids), "replica");
    switch (random.below(10)) {
      case 0:
        await this.#tolerant(world.alter(id, { enabled: chance(random, 0.6) }));
        return;
      case 1:
        await this.#tolerant(world.alter(id, { mode: chance(random, 0.5) ? "sync" : "async" }));
        return;
      case 2: {
        const path = chance(random, 0.5) ? world.path : defined(pick(random, replicaPaths), "path");
        await this.#tolerant(world.unmount(path));
        await this.#tolerant(world.mount(path));
        return;
      }
      case 3:
        await world.engine.clock.advance(chance(random, 0.3) ? 400_000 : 1_100);
        return;
      case 4: {
        store.hold();
        const writes = [this.#write(), this.#write(), this.#write()];
        void this.#tolerant(world.alter(id, { enabled: chance(random, 0.7) }));
        await yieldTurns();
        await world.crash(random.below(store.unflushedCount + 1));
        // They never settle: the process that was asked is dead.
        void writes;
        return;
      }
      case 5: {
        store.failAt(between(random, 1, 2));
        await Promise.all([this.#write(), this.#write()]);
        store.failAt(Number.POSITIVE_INFINITY);
        await yieldTurns();
        return;
      }
      default:
        await this.#write();
    }
  }

  #write(): Promise<void> {
    return this.#tolerant(this.#kind.write(this.#world, this.#random, ++this.#serial));
  }

  /** Refusals are part of the game: a tablet that is unmounted, a replica that is behind, a broken disk. */
  async #tolerant(promise: Promise<unknown>): Promise<void> {
    await promise.catch((thrown: unknown) => {
      if (!(thrown instanceof YtError)) {
        throw thrown;
      }
    });
  }

  async #settle(): Promise<void> {
    const world = this.#world;
    for (const path of [world.path, "//tmp/all", ...replicaPaths]) {
      await world.mount(path);
    }
    for (const id of this.#ids) {
      await world.alter(id, { enabled: true });
    }
    const { clock } = world.engine;
    await clock.advanceUntil(
      async () => {
        await world.replicated();
        const log = defined(world.engine.tables.replication.logOf(world.engine.table(world.path).id), "log");
        return log.replicas.every(({ id }) => log.isInSync(id));
      },
      1_000,
      60_000,
    );
  }

  /** No queue replica has a row twice, and none is without its log. */
  #checkLog(): void {
    if (this.#kind === queue) {
      const log = this.#world.engine.table(this.#world.path);
      for (let index = 0; index < tabletCount; index++) {
        const rows = this.#world.rows("//tmp/all", index);
        expect(new Set(rows).size).toBe(rows.length);
        expect(rows.length).toBe(log.readableTablet(index).visible.totalRowCount);
      }
    }
  }
}

async function yieldTurns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

const seeds = testRandom("histories of replication");

describe.each([
  ["a queue", queue],
  ["a sorted table", sorted],
] as const)("replicas of %s", (_name, kind) => {
  it.each(Array.from({ length: histories }, (_, seed) => seed + 1))(
    "have every row once and in order (history %i)",
    async () => {
      const world = await ReplicationFixture.open();
      try {
        await new History(world, seededRandom(seeds.uint32()), kind).run();
      } finally {
        await world.close();
      }
    },
  );
});

describe("a crash at every write of a replication", () => {
  /** A backlog, its replication and writes behind it; dies when so many writes were flushed. */
  async function crashAfter(kind: Kind, flushed: number): Promise<boolean> {
    const world = await ReplicationFixture.open();
    const random = seededRandom(7);
    try {
      await world.createTable(kind.schema, kind.more);
      const id = await world.addReplica("//tmp/r0", { enabled: false, mode: "sync", more: kind.more });
      await world.addReplica("//tmp/all", { more: kind.more });
      for (let serial = 1; serial <= 5; serial++) {
        await kind.write(world, random, serial);
      }
      await world.replicated();
      const { store } = world.engine;
      const before = store.writeCount;
      store.hold();
      store.release(flushed);
      const work = (async () => {
        await world.alter(id, { enabled: true });
        await world.replicated();
        await kind.write(world, random, 6);
        await kind.write(world, random, 7);
        await world.replicated();
      })().catch(() => undefined);
      let isDone = false;
      void work.then(() => {
        isDone = true;
      });
      for (let turn = 0; turn < 200 && !isDone; turn++) {
        await yieldTurns();
      }
      const written = store.writeCount - before;
      await world.crash();
      await world.alter(id, { enabled: true });
      await world.engine.clock.advance(2_000);
      await world.replicated();
      expect(kind.content(world, "//tmp/r0")).toEqual(kind.content(world, "//tmp/all"));
      return written < flushed;
    } finally {
      await world.close();
    }
  }

  it.each([
    ["a queue", queue],
    ["a sorted table", sorted],
  ] as const)("leaves both or neither of rows and progress: %s", async (_name, kind) => {
    let flushed = 0;
    for (let isPast = false; !isPast; flushed++) {
      isPast = await crashAfter(kind, flushed);
    }
    expect(flushed).toBeGreaterThan(4);
  });
});
