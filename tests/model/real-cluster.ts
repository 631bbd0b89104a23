/** A cluster for many histories, over a store that outlives its restarts. */
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { YtError } from "@qyt/base";
import { type Cluster, MemoryStore, openLmdbStore, type Store } from "@qyt/server";
import { ForgetfulStore } from "@qyt/testing";
import { startTestCluster } from "../../packages/server/src/cluster-fixture.ts";
import { type Door, driverDoor, httpDoor } from "./door.ts";
import { consumerNames } from "./queue-model.ts";

export interface ClusterKind {
  readonly store: "memory" | "lmdb";
  readonly door: "driver" | "http";
}

const doors = { driver: driverDoor, http: httpDoor } as const;

export const clusterName = "pythia";
export const producerPath = "//model/producer";
export const consumerPath = (name: string): string => `//model/consumer-${name}`;

export class RealCluster {
  readonly #kind: ClusterKind;
  readonly #openStore: () => Promise<Store>;
  readonly #removeStore: () => Promise<void>;
  #cluster: Cluster;
  door: Door;
  #histories = 0;
  restarts = 0;
  /** How often a command ended how: `insert_rows done`, `insert_rows 1702`. */
  readonly outcomes = new Map<string, number>();

  private constructor(
    kind: ClusterKind,
    openStore: () => Promise<Store>,
    removeStore: () => Promise<void>,
    cluster: Cluster,
  ) {
    this.#kind = kind;
    this.#openStore = openStore;
    this.#removeStore = removeStore;
    this.#cluster = cluster;
    this.door = doors[kind.door](cluster);
  }

  /** Starts a cluster with the two consumers and the producer, which all histories share. */
  static async start(kind: ClusterKind): Promise<RealCluster> {
    let openStore: () => Promise<Store>;
    let removeStore = (): Promise<void> => Promise.resolve();
    if (kind.store === "lmdb") {
      const directory = await fastDirectory();
      openStore = () => openLmdbStore(directory);
      removeStore = () => rm(directory, { recursive: true, force: true });
    } else {
      const memory = new MemoryStore();
      // Closing the cluster leaves the store beneath open for the next one.
      openStore = () => Promise.resolve(new ForgetfulStore(memory));
    }
    const cluster = new RealCluster(kind, openStore, removeStore, await open(openStore));
    for (const name of consumerNames) {
      await cluster.door.call("create", {
        type: "queue_consumer",
        path: consumerPath(name),
        recursive: true,
      });
    }
    await cluster.door.call("create", { type: "queue_producer", path: producerPath });
    return cluster;
  }

  /** A name that no earlier history has. */
  freshName(): string {
    return `h${++this.#histories}`;
  }

  count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  async restart(): Promise<void> {
    await this.#stop();
    this.#cluster = await open(this.#openStore);
    this.door = doors[this.#kind.door](this.#cluster);
    this.restarts++;
  }

  async close(): Promise<void> {
    await this.#stop();
    await this.#removeStore();
  }

  async #stop(): Promise<void> {
    await this.door.close();
    await this.#cluster.close(100);
  }
}

/**
 * In memory where there is a file system for that, with room: what the store does is the same, and waiting
 * for a disk is left to the crash tests.
 */
async function fastDirectory(): Promise<string> {
  const free = await statfs("/dev/shm").then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return mkdtemp(join(free > 1 << 30 ? "/dev/shm" : tmpdir(), "qyt-model-"));
}

async function open(openStore: () => Promise<Store>): Promise<Cluster> {
  return startTestCluster({ name: clusterName, store: await openStore() });
}

/** The codes of an error and of all inside it. @throws what is no YtError: a bug */
export function codesOf(thrown: unknown): number[] {
  if (!(thrown instanceof YtError)) {
    throw thrown;
  }
  return [thrown.code, ...thrown.innerErrors.flatMap(codesOf)];
}
