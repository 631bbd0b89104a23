/**
 * Follows one consumer: a snapshot with each pass.
 *
 * Specified in: yt/yt/server/queue_agent/consumer_controller.cpp (TConsumerController).
 */
import type { YtError } from "@qyt/base";
import type { ObjectReference } from "../objects/reference.ts";
import type { ConsumerRow, RegistrationRow } from "../objects/state-rows.ts";
import { mapNode, type OrchidNode, valueNode } from "../orchid/orchid-node.ts";
import { ConsumerCollector } from "../snapshots/consumer-collector.ts";
import type { ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";
import {
  type ConsumerStatusParts,
  consumerPartitionsToYson,
  consumerStatusToYson,
} from "../snapshots/consumer-status.ts";
import { instantFromMs } from "../snapshots/instants.ts";
import { notProcessedYet } from "../snapshots/queue-status.ts";
import { type ControllerEnvironment, PassGate } from "./controller-environment.ts";
import type { ConsumerObject } from "./object-registry.ts";
import { rowNodes } from "./row-representation.ts";

export class ConsumerController implements ConsumerObject {
  readonly reference: ObjectReference;
  readonly isLeading: boolean;
  readonly isStateless = false;
  readonly #environment: ControllerEnvironment;
  readonly #collector: ConsumerCollector;
  readonly #gate: PassGate;
  #row: ConsumerRow;
  #registrations: readonly RegistrationRow[];
  #snapshot: ConsumerSnapshot;

  constructor(
    environment: ControllerEnvironment,
    row: ConsumerRow,
    registrations: readonly RegistrationRow[],
    isLeading: boolean,
  ) {
    const { context, reads, origin } = environment;
    this.reference = row.reference;
    this.isLeading = isLeading;
    this.#environment = environment;
    this.#row = row;
    this.#registrations = registrations;
    this.#collector = new ConsumerCollector(row.reference, reads, origin);
    this.#gate = new PassGate(context, row.reference);
    this.#snapshot = consumerSnapshotWithError(row, registrations, origin.mark(notProcessedYet("Consumer")));
  }

  /** Made when asked for: thousands of objects are seldom looked into. */
  get orchid(): OrchidNode {
    return mapNode({
      leading: valueNode(() => this.isLeading),
      pass_index: valueNode(() => BigInt(this.#snapshot.passIndex)),
      pass_instant: valueNode(() => instantFromMs(this.#snapshot.passInstantMs)),
      ...rowNodes(() => this.#row),
      status: valueNode(() => consumerStatusToYson(this.#snapshot, this.#parts())),
      partitions: valueNode(() => consumerPartitionsToYson(this.#snapshot, this.#parts())),
    });
  }

  get snapshot(): ConsumerSnapshot {
    return this.#snapshot;
  }

  update(row: ConsumerRow, registrations: readonly RegistrationRow[]): void {
    this.#row = row;
    this.#registrations = registrations;
  }

  get isPassing(): boolean {
    return this.#gate.isRunning;
  }

  pass(): Promise<void> {
    return this.#gate.run(() => this.#pass());
  }

  collectAlerts(): void {
    // Consumers have no alerts.
  }

  async stop(): Promise<void> {
    await this.#gate.stop();
    this.#collector.close();
  }

  async #pass(): Promise<void> {
    const { context, profiler, registry } = this.#environment;
    const startMs = context.clock.monotonic();
    const previous = this.#snapshot;
    const snapshot = await this.#collector.collect({
      row: this.#row,
      registrations: this.#registrations,
      previous,
      queue: registry.queue,
      nowMs: context.clock.now(),
    });
    if (this.#gate.isStopped) {
      return;
    }
    this.#snapshot = snapshot;
    profiler.passEnded?.(snapshot, this.isLeading, context.clock.monotonic() - startMs);
    if (this.isLeading && snapshot.bannedSinceMs === null) {
      profiler.consumerPass?.(previous, snapshot);
    }
  }

  #parts(): ConsumerStatusParts {
    const { context, registry } = this.#environment;
    return { host: context.host, queue: registry.queue, nowMs: context.clock.now() };
  }
}

/** A snapshot of a consumer of which nothing is known but why. */
export function consumerSnapshotWithError(
  row: ConsumerRow,
  registrations: readonly RegistrationRow[],
  error: YtError,
): ConsumerSnapshot {
  return {
    kind: "consumer",
    reference: row.reference,
    row,
    registrations,
    error,
    passIndex: -1,
    passInstantMs: 0,
    bannedSinceMs: null,
    queues: new Map(),
  };
}
