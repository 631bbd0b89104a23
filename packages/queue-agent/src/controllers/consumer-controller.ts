/**
 * Follows one consumer: a snapshot with each pass.
 *
 * Specified in: yt/yt/server/queue_agent/consumer_controller.cpp (TConsumerController).
 */
import type { ConsumerRow, RegistrationRow } from "../objects/state-rows.ts";
import { type OrchidNode, valueNode } from "../orchid/orchid-node.ts";
import { ConsumerCollector } from "../snapshots/consumer-collector.ts";
import { type ConsumerSnapshot, consumerSnapshotWithError } from "../snapshots/consumer-snapshot.ts";
import {
  type ConsumerStatusParts,
  consumerPartitionsToYson,
  consumerStatusToYson,
} from "../snapshots/consumer-status.ts";
import type { PassInput } from "../snapshots/object-snapshot.ts";
import { notProcessedYet } from "../snapshots/queue-status.ts";
import type { ControllerEnvironment } from "./controller-environment.ts";
import { ObjectController } from "./object-controller.ts";

export class ConsumerController extends ObjectController<ConsumerRow, ConsumerSnapshot> {
  readonly #collector: ConsumerCollector;

  constructor(
    environment: ControllerEnvironment,
    row: ConsumerRow,
    registrations: readonly RegistrationRow[],
    isLeading: boolean,
  ) {
    const { reads, origin } = environment;
    const error = origin.mark(notProcessedYet("Consumer"));
    super(environment, isLeading, consumerSnapshotWithError(row, registrations, error));
    this.#collector = new ConsumerCollector(row.reference, reads, origin);
  }

  override collectAlerts(): void {
    // Consumers have no alerts.
  }

  protected override statusNodes(): Readonly<Record<string, OrchidNode>> {
    return {
      status: valueNode(() => consumerStatusToYson(this.snapshot, this.#parts())),
      partitions: valueNode(() => consumerPartitionsToYson(this.snapshot, this.#parts())),
    };
  }

  protected override collect(input: PassInput<ConsumerRow, ConsumerSnapshot>): Promise<ConsumerSnapshot> {
    return this.#collector.collect({ ...input, queue: this.environment.registry.queue });
  }

  protected override async follow(previous: ConsumerSnapshot, snapshot: ConsumerSnapshot): Promise<void> {
    if (this.isLeading && snapshot.bannedSinceMs === null) {
      this.environment.profiler.consumerPass?.(previous, snapshot);
    }
  }

  protected override close(): void {
    this.#collector.close();
  }

  #parts(): ConsumerStatusParts {
    const { context, registry } = this.environment;
    return { host: context.host, queue: registry.queue, nowMs: context.clock.now() };
  }
}
