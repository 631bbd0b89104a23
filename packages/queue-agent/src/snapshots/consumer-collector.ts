/**
 * Builds the snapshots of one consumer: offsets from its table, rows around them from each queue's cluster,
 * boundaries from the latest snapshots of the queues in this process.
 *
 * Specified in: yt/yt/server/queue_agent/consumer_controller.cpp (TConsumerSnapshotBuildSession).
 */
import { toYtError, YtError } from "@qyt/base";
import { timestampFromMs } from "@qyt/schema";
import { type ObjectReference, referenceToString } from "../objects/reference.ts";
import type { ConsumerRow, RegistrationRow } from "../objects/state-rows.ts";
import type { AgentReads } from "../reads/agent-reads.ts";
import { type ConsumerTableKind, consumerTableKind } from "./consumer-schema.ts";
import {
  type ConsumerPartitionSnapshot,
  type ConsumerSnapshot,
  type ReadRates,
  type SubConsumerSnapshot,
  subConsumerKey,
} from "./consumer-snapshot.ts";
import type { ErrorOrigin } from "./error-origin.ts";
import { instantFromMs } from "./instants.ts";
import { NextRows } from "./next-rows.ts";
import {
  type OffsetRow,
  type OffsetsRead,
  OffsetTable,
  type OffsetTarget,
  offsetsError,
} from "./offset-table.ts";
import type { QueueSnapshot } from "./queue-snapshot.ts";
import { emptyRateCounter, updatedIfKnown, updateRateCounter } from "./rates.ts";

export interface ConsumerPassInput {
  readonly row: ConsumerRow;
  readonly registrations: readonly RegistrationRow[];
  readonly previous: ConsumerSnapshot | undefined;
  /** The latest snapshot of a queue in this process. */
  readonly queue: (reference: ObjectReference) => QueueSnapshot | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

const emptyReadRates: ReadRates = { rowCount: emptyRateCounter, dataWeight: emptyRateCounter };

export class ConsumerCollector {
  readonly #reference: ObjectReference;
  readonly #reads: AgentReads;
  readonly #origin: ErrorOrigin;
  readonly #table: OffsetTable;
  readonly #nextRows = new Map<string, NextRows>();
  #kind: { readonly schema: ConsumerRow["schema"]; readonly kind: ConsumerTableKind } | undefined;

  constructor(reference: ObjectReference, reads: AgentReads, origin: ErrorOrigin) {
    this.#reference = reference;
    this.#reads = reads;
    this.#origin = origin;
    this.#table = new OffsetTable(reads.cluster(reference.cluster), reference.path);
  }

  /** Never throws: what fails is the snapshot's error, or that of one of its queues. */
  async collect(input: ConsumerPassInput): Promise<ConsumerSnapshot> {
    const { row, previous, registrations, nowMs } = input;
    const bannedSinceMs = row.queueAgentBanned === true ? (previous?.bannedSinceMs ?? nowMs) : null;
    const common = {
      kind: "consumer" as const,
      reference: this.#reference,
      row,
      registrations,
      passIndex: (previous?.passIndex ?? -1) + 1,
      passInstantMs: nowMs,
      bannedSinceMs,
    };
    try {
      this.#requireReady(row, bannedSinceMs);
      return { ...common, error: null, queues: await this.#queues(this.#kindOf(row), input) };
    } catch (thrown) {
      return {
        ...common,
        error: this.#origin.again(toYtError(thrown), previous?.error),
        queues: new Map(),
      };
    }
  }

  #requireReady(row: ConsumerRow, bannedSinceMs: number | null): void {
    if (row.synchronizationError !== null) {
      throw new YtError("Consumer synchronization failed", { inner: [row.synchronizationError] });
    }
    if (row.rowRevision === null) {
      throw new YtError("Consumer is not in-sync yet");
    }
    if (row.objectType === null) {
      throw new YtError("Consumer object type is not known yet");
    }
    if (bannedSinceMs !== null) {
      throw new YtError(
        `Consumer is banned by "queue_agent_banned" attribute (BannedSince: ${instantFromMs(bannedSinceMs)})`,
      );
    }
    if (row.objectType === "replicated_table" || row.objectType === "chaos_replicated_table") {
      throw new YtError("No replicated table mapping row is known for replicated consumer");
    }
    if (row.schema === null) {
      throw new YtError("Consumer schema is not known yet");
    }
  }

  #kindOf({ schema }: ConsumerRow): ConsumerTableKind {
    if (this.#kind?.schema !== schema) {
      this.#kind = { schema, kind: consumerTableKind(schema) };
    }
    return this.#kind.kind;
  }

  async #queues(
    kind: ConsumerTableKind,
    input: ConsumerPassInput,
  ): Promise<ReadonlyMap<string, SubConsumerSnapshot>> {
    const targets = new Map<string, OffsetTarget>();
    for (const { queue } of input.registrations) {
      const snapshot = input.queue(queue);
      if (snapshot?.error === null) {
        targets.set(referenceToString(queue), { queue, partitionCount: snapshot.partitions.length });
      }
    }
    let offsets: OffsetsRead | YtError;
    try {
      offsets = await this.#table.read(kind, [...targets.values()]);
    } catch (thrown) {
      offsets = offsetsError(this.#reference, toYtError(thrown));
    }
    const entries = await Promise.all(
      input.registrations.map(async (registration): Promise<[string, SubConsumerSnapshot]> => {
        const { queue, consumerName } = registration;
        const key = subConsumerKey(queue, consumerName);
        const previous = input.previous?.queues.get(key);
        const common = { queue, consumerName };
        const failed = (error: YtError): [string, SubConsumerSnapshot] => [
          key,
          { ...common, error: this.#origin.again(error, previous?.error), partitions: [] },
        ];
        const snapshot = input.queue(queue);
        if (snapshot === undefined) {
          return failed(new YtError(`Queue "${referenceToString(queue)}" snapshot is missing`));
        }
        if (snapshot.error !== null) {
          return failed(snapshot.error);
        }
        if (offsets instanceof YtError) {
          return failed(offsets);
        }
        const partitions = await this.#partitions(key, snapshot, offsets, previous, input.nowMs);
        return [key, { ...common, error: null, partitions }];
      }),
    );
    const queues = new Map(entries);
    for (const key of this.#nextRows.keys()) {
      if (!queues.has(key)) {
        this.#nextRows.delete(key);
      }
    }
    return queues;
  }

  async #partitions(
    key: string,
    queue: QueueSnapshot,
    { offsets, lastWriteTimestamp }: OffsetsRead,
    previous: SubConsumerSnapshot | undefined,
    nowMs: number,
  ): Promise<readonly ConsumerPartitionSnapshot[]> {
    const nextRows = this.#nextRows.get(key) ?? new NextRows();
    this.#nextRows.set(key, nextRows);
    const rows = offsets.get(key);
    const around = await nextRows.read(queue, (index) => rows?.get(index), this.#reads.rows(queue.reference));
    return queue.partitions.map((partition, partitionIndex): ConsumerPartitionSnapshot => {
      const before = previous?.partitions[partitionIndex];
      const row = rows?.get(partitionIndex);
      const nextRowIndex = row?.nextRowIndex ?? 0n;
      const isSameOffset = before?.nextRowIndex === nextRowIndex;
      const common = {
        partitionIndex,
        error: partition.error,
        nextRowIndex,
        lastConsumeTimestamp: consumeTimestampOf(row, before, lastWriteTimestamp, nowMs),
        offsetSinceMs: isSameOffset ? before.offsetSinceMs : nowMs,
      };
      if (partition.error !== null) {
        return {
          ...common,
          cumulativeDataWeight: row?.cumulativeDataWeight ?? null,
          nextRowTimestamp: null,
          readRates: emptyReadRates,
        };
      }
      const { cumulativeDataWeight = null, nextRowTimestamp = null } = around[partitionIndex] ?? {};
      const rates = before === undefined || before.error !== null ? emptyReadRates : before.readRates;
      return {
        ...common,
        cumulativeDataWeight,
        nextRowTimestamp,
        readRates: {
          rowCount: updateRateCounter(rates.rowCount, Number(nextRowIndex), nowMs),
          // In front of the first row nothing has been read, whatever it weighs.
          dataWeight: updatedIfKnown(
            rates.dataWeight,
            nextRowIndex === 0n ? 0n : cumulativeDataWeight,
            nowMs,
          ),
        },
      };
    });
  }
}

/**
 * When the offset was written. A server that does not tell it by row tells at least when the table was last
 * written: an offset that moved since the previous pass was written not later than that.
 */
function consumeTimestampOf(
  row: OffsetRow | undefined,
  before: ConsumerPartitionSnapshot | undefined,
  lastWriteTimestamp: bigint | null,
  nowMs: number,
): bigint {
  if (row === undefined) {
    return 0n;
  }
  if (row.consumeTimestamp !== null) {
    return row.consumeTimestamp;
  }
  return before?.nextRowIndex === row.nextRowIndex && before.lastConsumeTimestamp !== 0n
    ? before.lastConsumeTimestamp
    : (lastWriteTimestamp ?? timestampFromMs(nowMs));
}
