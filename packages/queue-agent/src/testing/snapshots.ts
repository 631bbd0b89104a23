/** Snapshots of queues and consumers for tests: what a test does not name has a plain default. */
import type { YtError } from "@qyt/base";
import type { AutoTrimConfig, StaticExportConfigs } from "../objects/object-configs.ts";
import { defaultAutoTrimConfig } from "../objects/object-configs.ts";
import { type ObjectReference, referenceToString } from "../objects/reference.ts";
import type { ConsumerRow, QueueRow, RegistrationRow } from "../objects/state-rows.ts";
import {
  type ConsumerPartitionSnapshot,
  type ConsumerSnapshot,
  type SubConsumerSnapshot,
  subConsumerKey,
} from "../snapshots/consumer-snapshot.ts";
import type { QueuePartitionSnapshot, QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import { emptyRateCounter } from "../snapshots/rates.ts";

const noRates = { rowCount: emptyRateCounter, dataWeight: emptyRateCounter };

export const testQueue: ObjectReference = { cluster: "pythia", path: "//tmp/q" };
const testQueueId = "1-2-3-4";

function consumerReference(name: string): ObjectReference {
  return { cluster: "pythia", path: `//tmp/${name}` };
}

/** Of rows of both kinds, in sync. */
const commonColumns = {
  rowRevision: 1n,
  revision: 100n,
  objectType: "table",
  queueAgentStage: "production",
  synchronizationError: null,
  queueAgentBanned: null,
  profilingTag: null,
};

export interface QueueOptions {
  readonly reference?: ObjectReference;
  readonly objectId?: string | null;
  /** Default: `objectId`. */
  readonly tableId?: string | null;
  readonly autoTrim?: Partial<AutoTrimConfig> | null;
  readonly exports?: StaticExportConfigs | null;
  /** Default: false. */
  readonly isReplica?: boolean;
  readonly error?: YtError | null;
  readonly registrations?: readonly RegistrationRow[];
  readonly partitions?: readonly Partial<QueuePartitionSnapshot>[];
}

export function queueRow(options: QueueOptions = {}): QueueRow {
  const { reference = testQueue, objectId = testQueueId, autoTrim, exports = null } = options;
  return {
    kind: "queue",
    reference,
    ...commonColumns,
    dynamic: true,
    sorted: false,
    autoTrimConfig: autoTrim === null ? null : { ...defaultAutoTrimConfig, enable: true, ...autoTrim },
    staticExportConfig: exports,
    objectId,
    rawAutoTrimConfig: null,
    rawStaticExportConfig: null,
  };
}

export function queueSnapshot(options: QueueOptions = {}): QueueSnapshot {
  const row = queueRow(options);
  return {
    kind: "queue",
    reference: options.reference ?? testQueue,
    row,
    tableId: options.tableId === undefined ? row.objectId : options.tableId,
    passIndex: 1,
    passInstantMs: 0,
    error: options.error ?? null,
    bannedSinceMs: null,
    registrations: options.registrations ?? [],
    hasTimestampColumn: true,
    hasCumulativeDataWeightColumn: true,
    isReplica: options.isReplica ?? false,
    partitions: (options.partitions ?? []).map((partition, partitionIndex) => ({
      partitionIndex,
      error: null,
      tabletId: `0-0-0-${partitionIndex}`,
      tabletState: "mounted",
      cellId: "0-0-0-1",
      host: null,
      lowerRowIndex: 0n,
      upperRowIndex: 0n,
      lastWriteTimestamp: 0n,
      cumulativeDataWeight: null,
      trimmedDataWeight: null,
      writeRates: noRates,
      ...partition,
    })),
  };
}

export function registration(
  name: string,
  vital: boolean,
  options: { readonly partitions?: readonly bigint[] | null; readonly consumerName?: string } = {},
): RegistrationRow {
  return {
    queue: testQueue,
    consumer: consumerReference(name),
    consumerName: options.consumerName ?? null,
    vital,
    partitions: options.partitions ?? null,
  };
}

type PartitionInput = bigint | Partial<ConsumerPartitionSnapshot>;

export interface ConsumerOptions {
  readonly error?: YtError | null;
  /** Unix milliseconds; default 0. */
  readonly passInstantMs?: number;
  /** Of the queue's entry; its offsets do not count then. */
  readonly subError?: YtError | null;
  /** Leaves the queue out of the consumer's snapshot. */
  readonly isQueueUnknown?: boolean;
  /** Names of a multi-consumer with their offsets. */
  readonly names?: Readonly<Record<string, readonly PartitionInput[]>>;
}

/** A consumer of `testQueue` with an offset (or more) for each partition. */
export function consumerSnapshot(
  name: string,
  partitions: readonly PartitionInput[],
  options: ConsumerOptions = {},
): ConsumerSnapshot {
  const queues = new Map<string, SubConsumerSnapshot>();
  const add = (consumerName: string | null, inputs: readonly PartitionInput[]): void => {
    queues.set(subConsumerKey(testQueue, consumerName), {
      queue: testQueue,
      consumerName,
      error: options.subError ?? null,
      partitions: options.subError ? [] : inputs.map(consumerPartition),
    });
  };
  if (options.names !== undefined) {
    for (const [consumerName, inputs] of Object.entries(options.names)) {
      add(consumerName, inputs);
    }
  } else if (options.isQueueUnknown !== true) {
    add(null, partitions);
  }
  const reference = consumerReference(name);
  return {
    kind: "consumer",
    reference,
    row: consumerRow(reference),
    passIndex: 1,
    passInstantMs: options.passInstantMs ?? 0,
    error: options.error ?? null,
    bannedSinceMs: null,
    registrations: [],
    queues,
  };
}

function consumerPartition(input: PartitionInput, partitionIndex: number): ConsumerPartitionSnapshot {
  return {
    partitionIndex,
    error: null,
    nextRowIndex: 0n,
    lastConsumeTimestamp: 0n,
    cumulativeDataWeight: null,
    nextRowTimestamp: null,
    offsetSinceMs: 0,
    readRates: noRates,
    ...(typeof input === "bigint" ? { nextRowIndex: input } : input),
  };
}

export function consumerRow(reference: ObjectReference): ConsumerRow {
  return {
    kind: "consumer",
    reference,
    ...commonColumns,
    treatAsQueueConsumer: true,
    schema: null,
    isMultiConsumer: false,
  };
}

/** Finds snapshots by reference. */
export function lookupOf(
  snapshots: readonly ConsumerSnapshot[],
): (reference: ObjectReference) => ConsumerSnapshot | undefined {
  const byReference = new Map(snapshots.map((one) => [referenceToString(one.reference), one]));
  return (reference) => byReference.get(referenceToString(reference));
}
