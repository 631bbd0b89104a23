/**
 * Stands for a queue that no controller can follow: its row says why. It has no state, and every poll pass
 * makes it anew.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (TErrorQueueController, UpdateQueueController).
 */
import { YtError } from "@qyt/base";
import { unfollowedExportsStatus } from "../exports/queue-exports.ts";
import type { ObjectReference } from "../objects/reference.ts";
import type { QueueRow, RegistrationRow } from "../objects/state-rows.ts";
import { mapNode, type OrchidNode, valueNode } from "../orchid/orchid-node.ts";
import { type QueueSnapshot, queueSnapshotWithError } from "../snapshots/queue-snapshot.ts";
import { queueErrorStatus } from "../snapshots/queue-status.ts";
import type { ControllerEnvironment } from "./controller-environment.ts";
import type { QueueObject } from "./object-registry.ts";
import { rowNodes } from "./row-representation.ts";

/** Why the queue cannot be followed; `null`: it can. */
export function queueRowError(row: QueueRow): YtError | null {
  if (row.synchronizationError !== null) {
    return new YtError("Queue synchronization error", { inner: [row.synchronizationError] });
  }
  if (row.rowRevision === null) {
    return new YtError("Queue is not in-sync yet");
  }
  switch (row.objectType) {
    case null:
      return new YtError("Object type is not known yet");
    case "replicated_table":
    case "chaos_replicated_table":
      return new YtError(
        "No replicated table mapping row is known for replicated queue: this queue agent does not follow replicated queues; see the statuses of the tables that are its replicas (@replicas)",
      );
    case "table":
      return row.dynamic === true && row.sorted === false
        ? null
        : new YtError(
            `Only ordered dynamic tables are supported as queues, not dynamic="${row.dynamic}" and sorted="${row.sorted}"`,
          );
    default:
      return new YtError(`Invalid queue object type "${row.objectType}"`);
  }
}

export class ErrorQueueController implements QueueObject {
  readonly reference: ObjectReference;
  readonly isLeading: boolean;
  readonly isStateless = true;
  readonly isPassing = false;
  readonly snapshot: QueueSnapshot;
  readonly orchid: OrchidNode;

  constructor(
    { context, origin }: Pick<ControllerEnvironment, "context" | "origin">,
    row: QueueRow,
    registrations: readonly RegistrationRow[],
    isLeading: boolean,
    reason: YtError,
  ) {
    const error = origin.mark(reason);
    this.reference = row.reference;
    this.isLeading = isLeading;
    this.snapshot = queueSnapshotWithError(row, registrations, error);
    this.orchid = mapNode({
      ...rowNodes(() => row),
      status: valueNode(() =>
        queueErrorStatus(error, {
          host: context.host,
          alerts: new Map(),
          exports: unfollowedExportsStatus(row),
          nowMs: 0,
        }),
      ),
      partitions: valueNode(() => []),
    });
  }

  update(): void {
    // Nothing of it lasts.
  }

  async pass(): Promise<void> {
    // There is nothing to look at.
  }

  collectAlerts(): void {
    // It has none.
  }

  async stop(): Promise<void> {
    // Nothing runs.
  }
}
