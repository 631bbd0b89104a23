/**
 * What a vital registration says about each partition of its queue: how far the consumer is, that it does not
 * concern the partition, or why it is not known.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (TQueueTrimSession).
 */
import { YtError } from "@qyt/base";
import {
  type ConsumerLookup,
  concerns,
  concernsAll,
  consumerAttributes,
  keyOf,
} from "../objects/registrations.ts";
import type { RegistrationRow } from "../objects/state-rows.ts";
import type { ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";

export interface VitalReader {
  /** The index of the first unread row; `null`: the registration does not concern the partition. */
  offset(partitionIndex: number): bigint | null | YtError;
}

/**
 * @param sinceMs Unix milliseconds; an earlier snapshot of the consumer is as good as none
 * @throws YtError when nothing is known of a consumer that reads all partitions: nothing may be trimmed then
 */
export function vitalReader(
  registration: RegistrationRow,
  consumer: ConsumerLookup,
  sinceMs: number,
): VitalReader {
  const who = consumerAttributes(registration);
  const snapshot = consumer(registration.consumer);
  const unknown = unknownReason(snapshot, registration, sinceMs)?.withAttributes(who);
  if (unknown !== undefined) {
    if (concernsAll(registration)) {
      throw unknown;
    }
    return { offset: (partitionIndex) => (concerns(registration, partitionIndex) ? unknown : null) };
  }
  const partitions = snapshot?.queues.get(keyOf(registration))?.partitions ?? [];
  return {
    offset(partitionIndex) {
      if (!concerns(registration, partitionIndex)) {
        return null;
      }
      const partition = partitions[partitionIndex];
      if (partition === undefined) {
        return new YtError(
          `Registered vital consumer snapshot does not know partition ${partitionIndex} of the queue yet`,
          { attributes: who },
        );
      }
      return partition.error === null
        ? partition.nextRowIndex
        : partition.error.wrap(`Registered vital consumer has an error in partition ${partitionIndex}`, who);
    },
  };
}

function unknownReason(
  consumer: ConsumerSnapshot | undefined,
  registration: RegistrationRow,
  sinceMs: number,
): YtError | undefined {
  const skipped = "Trimming iteration skipped due to";
  if (consumer === undefined) {
    return new YtError(`${skipped} missing registered vital consumer`);
  }
  if (consumer.passInstantMs < sinceMs) {
    return new YtError(
      `${skipped} outdated registered vital consumer: its cluster is slow, or does not answer`,
    );
  }
  if (consumer.error !== null) {
    return consumer.error.wrap(`${skipped} erroneous registered vital consumer`);
  }
  const sub = consumer.queues.get(keyOf(registration));
  if (sub === undefined) {
    return new YtError(
      `${skipped} registered vital consumer snapshot not containing information about queue`,
    );
  }
  return sub.error?.wrap(`${skipped} erroneous queue sub-snapshot in registered vital consumer`);
}
