/** What parts of the agent ask of a registration. */

import type { ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";
import { subConsumerKey } from "../snapshots/consumer-snapshot.ts";
import { type ObjectReference, referenceToString } from "./reference.ts";
import type { RegistrationRow } from "./state-rows.ts";

/** The latest snapshot of a consumer in this process. */
export type ConsumerLookup = (reference: ObjectReference) => ConsumerSnapshot | undefined;

/** Whether the registration is one for the partition. */
export function concerns(registration: RegistrationRow, partitionIndex: number): boolean {
  const { partitions } = registration;
  return concernsAll(registration) || (partitions?.includes(BigInt(partitionIndex)) ?? false);
}

/** No list, or an empty one, stands for all partitions. */
export function concernsAll({ partitions }: RegistrationRow): boolean {
  return partitions === null || partitions.length === 0;
}

/** The consumer of a registration as attributes of an error or tags of an alert. */
export function consumerAttributes(registration: RegistrationRow): Readonly<Record<string, string>> {
  const consumer = referenceToString(registration.consumer);
  const { consumerName } = registration;
  return consumerName === null ? { consumer } : { consumer, consumer_name: consumerName };
}

/** The key of the registration's queue in the consumer's snapshot. */
export function keyOf(registration: RegistrationRow): string {
  return subConsumerKey(registration.queue, registration.consumerName);
}
