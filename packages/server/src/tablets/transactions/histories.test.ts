/**
 * Generated histories of transactions that run at the same time over a store that fails and dies: whatever
 * happens, nothing is read that was not committed, nothing is lost, and who locks what he reads is serialisable.
 */
import { defined, type Random, turn } from "@qyt/base";
import {
  between,
  chance,
  checkHistory,
  type HistoryRead,
  type HistoryTransaction,
  type HistoryVersion,
  pick,
  testRandom,
} from "@qyt/testing";
import { expect, test } from "vitest";
import type { DynamicTableHandle } from "../tables/index.ts";
import { EngineFixture } from "./engine-fixture.ts";
import type { TabletTransaction } from "./tablet-transaction.ts";

const schema = "[{name=k;type=int64;sort_order=ascending};{name=v;type=int64}]";
const historyCount = 5_000;
const keysPerHistory = 4;

class Client {
  readonly id: number;
  readonly transaction: TabletTransaction;
  readonly locksReads: boolean;
  readonly reads: HistoryRead[] = [];
  readonly writes = new Map<number, number>();
  outcome: HistoryTransaction["outcome"] = "refused";
  commit: bigint | undefined;
  isEnded = false;

  constructor(id: number, transaction: TabletTransaction, locksReads: boolean) {
    this.id = id;
    this.transaction = transaction;
    this.locksReads = locksReads;
  }

  toHistory(): HistoryTransaction {
    return {
      id: this.id,
      start: this.transaction.startTimestamp,
      outcome: this.outcome,
      commit: this.commit,
      reads: this.reads,
      writes: [...this.writes].map(([key, value]) => ({ key, value })),
    };
  }
}

class World {
  /** How the transactions of all histories ended. */
  readonly outcomes = { committed: 0, refused: 0, unknown: 0 };
  readonly #random: Random;
  #engine: EngineFixture;
  #table: DynamicTableHandle;
  #values = 0;

  constructor(random: Random, engine: EngineFixture, table: DynamicTableHandle) {
    this.#random = random;
    this.#engine = engine;
    this.#table = table;
  }

  static async open(random: Random): Promise<World> {
    const engine = await EngineFixture.open();
    return new World(random, engine, await engine.createTable("//tmp/t", schema));
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  /** A few transactions over a few rows, their steps in any order; the problems found. */
  async runHistory(firstKey: number): Promise<string[]> {
    const random = this.#random;
    const all: Client[] = [];
    const live = new Set<Client>();
    const running: Promise<void>[] = [];
    const clientCount = between(random, 3, 8);
    const crashAt = chance(random, 0.1) ? between(random, 4, 16) : undefined;
    for (let step = 0; step < 60 && (all.length < clientCount || live.size > 0); step++) {
      if (step === crashAt) {
        await this.#crash(all, live);
        // Commits that nobody answers any more.
        running.length = 0;
        continue;
      }
      if (all.length < clientCount && (live.size === 0 || chance(random, 0.3))) {
        const client = new Client(all.length + 1, this.#engine.begin(), chance(random, 0.5));
        all.push(client);
        live.add(client);
        continue;
      }
      const client = pick(random, [...live]);
      await this.#step(client, firstKey + random.below(keysPerHistory), live, running);
      await this.#disturb();
    }
    this.#engine.store.release();
    await Promise.all(running);
    for (const { transaction } of live) {
      transaction.abort();
    }
    for (const { outcome } of all) {
      this.outcomes[outcome]++;
    }
    return checkHistory(
      all.map((client) => client.toHistory()),
      this.#versions(firstKey),
    );
  }

  async #step(client: Client, key: number, live: Set<Client>, running: Promise<void>[]): Promise<void> {
    const { transaction } = client;
    const kind = this.#random.below(10);
    if (kind < 4) {
      await this.#read(client, key);
    } else if (kind < 7) {
      const value = ++this.#values;
      this.#engine.insert(transaction, this.#table, `{k=${key};v=${value}}`);
      client.writes.set(key, value);
    } else if (kind < 9) {
      live.delete(client);
      running.push(this.#commit(client));
    } else if (chance(this.#random, 0.3)) {
      live.delete(client);
      client.isEnded = true;
      transaction.abort();
    }
  }

  async #read(client: Client, key: number): Promise<void> {
    if (client.writes.has(key)) {
      return;
    }
    if (client.locksReads) {
      await this.#engine.lock(client.transaction, this.#table, `{k=${key}}`, [], "shared_strong");
    }
    const [row] = client.transaction.lookup(this.#table, [[BigInt(key)]]);
    const value = row === undefined ? undefined : Number(row[1]);
    client.reads.push({ key, value, isLocked: client.locksReads });
  }

  async #commit(client: Client): Promise<void> {
    client.outcome = "unknown";
    const ended = client.transaction.commit().then(
      (timestamp) => {
        client.outcome = "committed";
        client.commit = timestamp;
      },
      () => {
        client.outcome = "refused";
      },
    );
    await ended.finally(() => {
      client.isEnded = true;
    });
  }

  /** Holds flushes back, lets them go, makes one fail, or lets the event loop turn. */
  async #disturb(): Promise<void> {
    const { store } = this.#engine;
    const kind = this.#random.below(20);
    if (kind < 3) {
      store.hold();
    } else if (kind < 8) {
      store.release();
    } else if (kind === 8) {
      store.failAt(between(this.#random, 1, 3));
    } else if (kind < 13) {
      await turn();
    }
  }

  /** The process dies with what is in flight, of which some had reached the disk; another one opens the store. */
  async #crash(all: readonly Client[], live: Set<Client>): Promise<void> {
    const { store, durable, clock } = this.#engine;
    await store.crash(this.#random.below(store.unflushedCount + 1));
    for (const client of all) {
      // Who has not heard of his commit will not any more.
      if (!client.isEnded && !live.has(client)) {
        client.outcome = "unknown";
      }
    }
    live.clear();
    this.#engine = await EngineFixture.open({ durable, clock });
    this.#table = this.#engine.table("//tmp/t");
  }

  #versions(firstKey: number): Map<number, HistoryVersion[]> {
    const found = new Map<number, HistoryVersion[]>();
    const { rows } = this.#table;
    for (let key = firstKey; key < firstKey + keysPerHistory; key++) {
      const versions = rows.versions(
        rows.encodeKey([BigInt(key)]),
        this.#engine.transactions.visibleTimestamp,
        1_000,
      );
      found.set(
        key,
        versions.map(({ timestamp, cells }) => ({
          timestamp,
          value: Number(defined(cells[0], "cell").value),
        })),
      );
    }
    return found;
  }
}

test(`${historyCount} histories have no anomaly`, { timeout: 180_000 }, async () => {
  const random = testRandom("histories");
  const world = await World.open(random);
  for (let history = 0; history < historyCount; history++) {
    expect(await world.runHistory(history * keysPerHistory), `history ${history}`).toEqual([]);
  }
  // Not because nothing happened.
  const { committed, refused, unknown } = world.outcomes;
  expect([committed > historyCount, refused > historyCount / 2, unknown > 50]).toEqual([true, true, true]);
  await world.close();
});
