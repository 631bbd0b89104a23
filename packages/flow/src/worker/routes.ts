/** Which job a message goes to: the computations that read its stream, and the partition that has its key. */
import type { TableSchema } from "@qyt/schema";
import { compileKey, type KeyOf } from "../model/group-by.ts";
import type { ComputationId, JobId, Message, PartitionId, StreamId } from "../model/message.ts";
import type { PartitionLayout } from "../protocol/protocol.ts";
import type { ComputationSpec } from "../spec/computation-spec.ts";

/** A computation that reads a stream. */
export interface Consumer {
  readonly computationId: ComputationId;
  readonly keyOf: KeyOf;
}

/** A partition that takes input. */
export interface Target {
  readonly partitionId: PartitionId;
  readonly lower: bigint;
  readonly upper: bigint | undefined;
  /** The job that runs it, and where; `undefined` while there is none. */
  readonly jobId: JobId | undefined;
  readonly address: string | undefined;
}

/** Who reads which stream. Fixed by the static spec. */
export class ConsumerTable {
  readonly #consumers = new Map<StreamId, Consumer[]>();

  /** @throws YtError when a group-by schema does not fit a stream */
  constructor(
    computations: ReadonlyMap<ComputationId, ComputationSpec>,
    streams: ReadonlyMap<StreamId, TableSchema>,
  ) {
    for (const [computationId, spec] of computations) {
      for (const streamId of spec.inputStreamIds) {
        const schema = streams.get(streamId);
        if (schema !== undefined) {
          const keyOf = compileKey(spec.groupBySchema, schema);
          this.#consumers.set(streamId, [...this.of(streamId), { computationId, keyOf }]);
        }
      }
    }
  }

  of(streamId: StreamId): readonly Consumer[] {
    return this.#consumers.get(streamId) ?? [];
  }
}

/** Partitions by computation and key. A new one is made with each layout. */
export class PartitionTable {
  /** Sorted by their lower bounds. */
  readonly #targets = new Map<ComputationId, Target[]>();

  constructor(partitions: readonly PartitionLayout[]) {
    for (const partition of partitions) {
      if (partition.range !== undefined && partition.state === "executing") {
        const target: Target = {
          partitionId: partition.partitionId,
          lower: partition.range.lower,
          upper: partition.range.upper,
          jobId: partition.currentJobId,
          address: partition.workerAddress,
        };
        this.#targets.set(partition.computationId, [
          ...(this.#targets.get(partition.computationId) ?? []),
          target,
        ]);
      }
    }
    for (const targets of this.#targets.values()) {
      targets.sort((left, right) => (left.lower < right.lower ? -1 : 1));
    }
  }

  /** The partition that a message belongs to; `undefined` while there is none. */
  find(consumer: Consumer, message: Message): Target | undefined {
    const targets = this.#targets.get(consumer.computationId);
    if (targets === undefined) {
      return undefined;
    }
    if (targets.length === 1 && targets[0]?.lower === 0n && targets[0].upper === undefined) {
      return targets[0];
    }
    const [first] = consumer.keyOf(message.payload);
    const key = typeof first === "bigint" ? first : 0n;
    let low = 0;
    let high = targets.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((targets[middle]?.lower ?? 0n) <= key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const found = targets[low - 1];
    return found !== undefined && (found.upper === undefined || key < found.upper) ? found : undefined;
  }
}
