/**
 * Exports and trimming of agents that are killed at any request, with its answer or before it, that are paused
 * and go on when others have taken over: every row is in exactly one table of each export, and no row goes
 * from the queue that a vital consumer, an export or a floor still needs.
 */
import { type Random, seededRandom } from "@qyt/base";
import { FakeClock, pick, testRandom } from "@qyt/testing";
import { describe, expect, test } from "vitest";
import { AlertManager } from "../alerts/alert-manager.ts";
import { type TestContext, testContext } from "../testing/agent-context.ts";
import { exportConfig } from "../testing/export-world.ts";
import { FakeCluster, type Fate } from "../testing/fake-cluster.ts";
import type { FakeQueue } from "../testing/fake-queue.ts";
import {
  consumerSnapshot,
  lookupOf,
  queueRow,
  queueSnapshot,
  registration,
  testQueue,
} from "../testing/snapshots.ts";
import { Trimmer } from "../trimming/trimmer.ts";
import { ExportManager } from "./export-manager.ts";
import { QueueExports } from "./queue-exports.ts";

const directories = ["//tmp/fast", "//tmp/slow"];
const retainedRows = 3n;
const exportsOfQueue = new Map([
  ["fast", exportConfig({ exportDirectory: "//tmp/fast", exportPeriodSeconds: 2 })],
  ["slow", exportConfig({ exportDirectory: "//tmp/slow", exportPeriodSeconds: 5 })],
]);

type Death = { afterRequests: number; readonly fate: Fate };

class Agent {
  readonly context: TestContext;
  readonly exports: QueueExports;
  readonly trimmer: Trimmer;
  /** Ends the process at a request to come. */
  death: Death | null = null;
  isDead = false;
  /** What the network does to the requests of a process that goes on. */
  network: () => Fate = () => "deliver";
  #paused: Promise<void> | null = null;
  #resume: () => void = () => {};

  constructor(cluster: FakeCluster, implementation: "old" | "new", seed: number) {
    const client = cluster.client(async () => {
      await this.#paused;
      if (this.isDead) {
        return "hang";
      }
      if (this.death !== null && this.death.afterRequests-- <= 0) {
        this.isDead = true;
        return this.death.fate;
      }
      return this.network();
    });
    this.context = testContext(cluster.clock, client, testQueue.cluster, seed);
    this.context.configureExporter({
      implementation,
      retryBackoff: { minBackoffMs: 500, maxBackoffMs: 4_000, multiplier: 1.5, jitter: 0.1 },
    });
    const alerts = new AlertManager();
    this.exports = new QueueExports(this.context, testQueue, new ExportManager(this.context), alerts);
    this.trimmer = new Trimmer(this.context);
  }

  pause(): void {
    this.#paused = new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  resume(): void {
    this.#paused = null;
    this.#resume();
  }
}

class Simulation {
  readonly clock = new FakeClock();
  readonly cluster = new FakeCluster(this.clock);
  readonly queue: FakeQueue;
  readonly agents: Agent[] = [];
  readonly #random: Random;
  readonly #offsets: bigint[] = [0n, 0n];
  kills = 0;

  constructor(random: Random) {
    this.#random = random;
    // Shorter than what tasks ask for, so that the locks of the dead do not keep the living out for long.
    this.cluster.maxTransactionTimeoutMs = 3_000;
    this.queue = this.cluster.createQueue(testQueue.path, 2);
    for (const directory of directories) {
      this.cluster.createDirectory(directory, this.queue.id);
    }
  }

  below(bound: number): number {
    return this.#random.below(bound);
  }

  start(implementation = pick(this.#random, ["old", "new"] as const)): Agent {
    const agent = new Agent(this.cluster, implementation, this.#random.uint32());
    this.agents.push(agent);
    return agent;
  }

  /** A process that is dead takes no part any more. */
  bury(): void {
    for (const agent of this.agents.filter(({ isDead }) => isDead)) {
      void agent.exports.stop();
      this.agents.splice(this.agents.indexOf(agent), 1);
      this.kills++;
    }
  }

  /** A second of passes of all agents, then the invariants. */
  async second(): Promise<void> {
    const row = queueRow({ objectId: this.queue.id, exports: exportsOfQueue });
    for (const agent of this.agents) {
      agent.exports.update(row);
      void agent.trimmer.trim(this.#view(agent)).catch(() => {});
    }
    await this.clock.advance(1_000);
    this.bury();
    this.check();
  }

  write(): void {
    const tablet = this.below(2);
    this.queue.push(tablet, 1 + this.below(5));
    if (this.below(3) > 0) {
      this.queue.flush(tablet);
    }
  }

  read(): void {
    const partition = this.below(2);
    const offset = this.#offsets[partition] ?? 0n;
    const unread = this.queue.tablet(partition).upperRowIndex - offset;
    this.#offsets[partition] = offset + BigInt(this.below(Number(unread) + 1));
  }

  check(): void {
    const exported = directories.map((directory) => this.#exportedCounts(directory));
    for (const [index, tablet] of this.queue.tablets.entries()) {
      const limits = [
        this.#offsets[index] ?? 0n,
        tablet.upperRowIndex > retainedRows ? tablet.upperRowIndex - retainedRows : 0n,
        ...exported.map((counts) => counts[index] ?? 0n),
      ];
      for (const limit of limits) {
        expect(tablet.trimmedRowCount).toBeLessThanOrEqual(limit);
      }
    }
  }

  /** Rows exported of each tablet; each is there once, and they are in order. */
  #exportedCounts(directory: string): bigint[] {
    const next = this.queue.tablets.map(() => 0n);
    for (const name of this.cluster.tableNames(directory)) {
      for (const chunk of this.cluster.table(`${directory}/${name}`).chunks) {
        expect(chunk.startRowIndex).toBe(next[chunk.tabletIndex]);
        next[chunk.tabletIndex] = chunk.startRowIndex + chunk.rowCount;
      }
    }
    return next;
  }

  /** Everything goes well for a while: then all rows are exported. */
  async finish(): Promise<void> {
    for (const agent of this.agents) {
      agent.death = null;
      agent.network = () => "deliver";
      agent.resume();
    }
    if (this.agents.length === 0) {
      this.start();
    }
    this.queue.flush(0);
    this.queue.flush(1);
    for (let second = 0; second < 20; second++) {
      await this.second();
    }
    for (const directory of directories) {
      expect(this.#exportedCounts(directory)).toEqual(
        this.queue.tablets.map(({ upperRowIndex }) => upperRowIndex),
      );
    }
    for (const agent of this.agents) {
      void agent.exports.stop();
    }
  }

  #view(agent: Agent): Parameters<Trimmer["trim"]>[0] {
    return {
      queue: queueSnapshot({
        objectId: this.queue.id,
        autoTrim: { retainedRows },
        exports: exportsOfQueue,
        registrations: [registration("c", true)],
        partitions: this.queue.tablets.map(({ trimmedRowCount, upperRowIndex }) => ({
          lowerRowIndex: trimmedRowCount,
          upperRowIndex,
        })),
      }),
      consumer: lookupOf([consumerSnapshot("c", this.#offsets)]),
      consumersSinceMs: 0,
      exports: agent.exports.progress(),
    };
  }
}

describe.each(["old", "new"] as const)(
  "an agent of the %s implementation, killed at each of its requests",
  (implementation) => {
    test.each(["lose request", "lose answer"] as const)(
      "%s",
      async (fate) => {
        let isDone = false;
        for (let afterRequests = 0; !isDone; afterRequests++) {
          const simulation = new Simulation(seededRandom(afterRequests));
          simulation.start(implementation).death = { afterRequests, fate };
          for (let second = 0; second < 8; second++) {
            simulation.write();
            simulation.read();
            await simulation.second();
          }
          isDone = simulation.kills === 0;
          simulation.start(implementation);
          await simulation.finish();
          expect(afterRequests).toBeLessThan(500);
        }
      },
      120_000,
    );
  },
);

test("1,000 kills at random moments, with pauses and agents side by side", async () => {
  const random = testRandom("kills");
  let kills = 0;
  while (kills < 1_000) {
    const simulation = new Simulation(seededRandom(random.uint32()));
    simulation.start();
    for (let step = 0; step < 100; step++) {
      const agent = simulation.agents[0] ?? simulation.start();
      if (agent.death === null) {
        const fate = simulation.below(2) === 0 ? "lose request" : "lose answer";
        agent.death = { afterRequests: simulation.below(30), fate };
      }
      simulation.write();
      simulation.read();
      if (simulation.below(10) === 0) {
        // Paused longer than it may hold its transaction, or shorter; another one takes over meanwhile.
        agent.pause();
        simulation.start();
        for (let second = simulation.below(6); second > 0; second--) {
          await simulation.second();
        }
        agent.resume();
      }
      await simulation.second();
    }
    await simulation.finish();
    kills += simulation.kills;
  }
  expect(kills).toBeGreaterThanOrEqual(1_000);
}, 300_000);

test.each(["old", "new"] as const)(
  "a network that loses requests and answers of the %s implementation",
  async (implementation) => {
    const random = testRandom("network");
    for (let run = 0; run < 10; run++) {
      const simulation = new Simulation(seededRandom(random.uint32()));
      const agent = simulation.start(implementation);
      agent.network = () =>
        simulation.below(8) > 0 ? "deliver" : simulation.below(2) === 0 ? "lose request" : "lose answer";
      for (let second = 0; second < 40; second++) {
        simulation.write();
        simulation.read();
        await simulation.second();
      }
      await simulation.finish();
    }
  },
  120_000,
);
