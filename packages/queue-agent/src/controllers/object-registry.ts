/**
 * The objects of this process, led and followed, with their latest snapshots: what passes of one object read
 * of another one, and what the Orchid shows.
 */
import type { AlertManager } from "../alerts/alert-manager.ts";
import type { QueueExports } from "../exports/queue-exports.ts";
import type { ObjectReference } from "../objects/reference.ts";
import { referenceToString } from "../objects/reference.ts";
import type { ConsumerRow, QueueRow, RegistrationRow } from "../objects/state-rows.ts";
import type { OrchidNode } from "../orchid/orchid-node.ts";
import type { ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";
import type { QueueSnapshot } from "../snapshots/queue-snapshot.ts";

/** What the agent asks of a controller. */
export interface AgentObject<Row, Snapshot> {
  readonly reference: ObjectReference;
  /** Followed objects are only looked at. */
  readonly isLeading: boolean;
  /** It has no state and is made anew by every poll pass. */
  readonly isStateless: boolean;
  /** Of the latest pass; before the first one it says that. */
  readonly snapshot: Snapshot;
  /** The node below `queues` or `consumers`. */
  readonly orchid: OrchidNode;
  /** What the next pass works on. */
  update(row: Row, registrations: readonly RegistrationRow[]): void;
  readonly isPassing: boolean;
  /** Starts no second pass while one is under way, but waits for that one. Never rejects. */
  pass(): Promise<void>;
  /** Makes alerts visible that were published since the last call. */
  collectAlerts(): void;
  stop(): Promise<void>;
}

/** What the leader of a queue knows beside its snapshots, for metrics. */
export interface QueueLeadership {
  readonly alerts: Pick<AlertManager, "active">;
  readonly exports: Pick<QueueExports, "states">;
}

export interface QueueObject extends AgentObject<QueueRow, QueueSnapshot> {
  /** Absent: it is only followed, or cannot be. */
  readonly leadership?: QueueLeadership | undefined;
}
export type ConsumerObject = AgentObject<ConsumerRow, ConsumerSnapshot>;

export class ObjectRegistry {
  #queues: ReadonlyMap<string, QueueObject> = new Map();
  #consumers: ReadonlyMap<string, ConsumerObject> = new Map();

  get queues(): ReadonlyMap<string, QueueObject> {
    return this.#queues;
  }

  get consumers(): ReadonlyMap<string, ConsumerObject> {
    return this.#consumers;
  }

  /** Puts both maps in place at once. */
  replace(queues: ReadonlyMap<string, QueueObject>, consumers: ReadonlyMap<string, ConsumerObject>): void {
    this.#queues = queues;
    this.#consumers = consumers;
  }

  /** The latest snapshot of a queue; `undefined`: neither led nor followed here. */
  readonly queue = (reference: ObjectReference): QueueSnapshot | undefined =>
    this.#queues.get(referenceToString(reference))?.snapshot;

  readonly consumer = (reference: ObjectReference): ConsumerSnapshot | undefined =>
    this.#consumers.get(referenceToString(reference))?.snapshot;
}
