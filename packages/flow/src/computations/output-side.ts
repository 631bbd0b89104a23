/**
 * What becomes of a job's outputs: kept in the store, written with the epoch, and after its commit handed to the
 * receivers; and whether there is room for more.
 * Specified in: yt/yt/flow/library/cpp/computation/computation_base.cpp.
 */
import type { FlowTransaction } from "../cluster/flow-cluster.ts";
import type { Message, StreamId } from "../model/message.ts";
import type { WatermarkStrategy } from "../spec/watermark-strategy.ts";
import { holdingEventTimestamp } from "../watermarks/percentile.ts";
import type { JobConditions, JobContext } from "./job-context.ts";
import { OutputStore, type StoredOutput } from "./output-store.ts";
import type { SinkSet } from "./sink-set.ts";
import { nothingInflight, type StreamState } from "./stream-reports.ts";

export class OutputSide {
  readonly #job: JobContext;
  readonly #sinks: SinkSet;
  readonly #store: OutputStore;
  readonly #percentile: WatermarkStrategy["watermarkPercentile"];
  readonly #onDone: (output: StoredOutput) => void;
  /** For consumers, after the commit. */
  #unsent: StoredOutput[] = [];

  /** @param onDone called when no receiver needs an output any more */
  constructor(
    job: JobContext,
    sinks: SinkSet,
    options: {
      readonly isPersistent: boolean;
      readonly maxChunkMessageCount: () => number;
      readonly onDone?: (output: StoredOutput) => void;
    },
  ) {
    this.#job = job;
    this.#sinks = sinks;
    this.#percentile = job.spec.watermarkStrategy.watermarkPercentile;
    this.#onDone = options.onDone ?? (() => {});
    this.#store = new OutputStore({
      cluster: job.cluster,
      pipelinePath: job.pipelinePath,
      partitionId: job.partition.partitionId,
      isPersistent: options.isPersistent,
      maxChunkMessageCount: options.maxChunkMessageCount,
    });
  }

  get count(): number {
    return this.#store.count;
  }

  /** Brings back what a former job has not delivered. It goes out with the first commit. */
  async init(): Promise<void> {
    for (const output of await this.#store.load()) {
      output.waiting = this.#receiverCount(output.message.streamId);
      if (output.waiting === 0) {
        output.waiting = 1;
        this.#done(output);
      } else {
        this.#handOut(output);
      }
    }
  }

  /** Takes an output of the epoch. Sinks have it at once: synchronous ones write it with the epoch. */
  add(message: Message): StoredOutput {
    const output = this.#store.add(message, this.#receiverCount(message.streamId));
    if (output.waiting === 0) {
      this.#onDone(output);
    } else {
      this.#handOut(output);
    }
    return output;
  }

  #handOut(output: StoredOutput): void {
    if (this.#sinks.countOf(output.message.streamId) > 0) {
      this.#sinks.distribute(output.message, () => this.#done(output));
    }
    if (this.#job.outbox.consumerCount(output.message.streamId) > 0) {
      this.#unsent.push(output);
    }
  }

  write(transaction: FlowTransaction): void {
    this.#store.write(transaction);
  }

  /** The epoch is committed: its outputs may be seen. */
  release(): void {
    const unsent = this.#unsent;
    this.#unsent = [];
    if (unsent.length > 0) {
      this.#job.outbox.send(unsent, (output) => this.#done(output));
    }
  }

  #done(output: StoredOutput): void {
    if (this.#store.done(output)) {
      this.#onDone(output);
    }
  }

  #receiverCount(streamId: StreamId): number {
    return this.#sinks.countOf(streamId) + this.#job.outbox.consumerCount(streamId);
  }

  /** Whether more outputs of a stream may be made. */
  isAllowed(streamId: StreamId, conditions: JobConditions): boolean {
    const { outputStoreCountLimit, outputStoreByteSizeLimit } = conditions.dynamicSpec;
    return (
      !conditions.blockedStreams.has(streamId) &&
      !this.#job.outbox.isFull(streamId) &&
      this.#store.count < outputStoreCountLimit &&
      this.#store.byteSize < outputStoreByteSizeLimit
    );
  }

  /** Streams that outputs must not be made from at the moment. */
  heldStreams(
    conditions: JobConditions,
    dependency: ReadonlyMap<StreamId, ReadonlySet<StreamId>>,
  ): ReadonlySet<StreamId> {
    const held = new Set<StreamId>();
    for (const streamId of this.#job.spec.outputStreamIds) {
      if (!this.isAllowed(streamId, conditions)) {
        for (const parent of dependency.get(streamId) ?? []) {
          held.add(parent);
        }
      }
    }
    return held;
  }

  stateOf(streamId: StreamId): StreamState {
    const stream = this.#store.ofStream(streamId);
    if (stream === undefined || stream.count === 0) {
      return { ...nothingInflight, isEmpty: this.#store.isErased(streamId) };
    }
    return {
      count: stream.count,
      byteSize: stream.byteSize,
      isEmpty: false,
      isSuspended: false,
      minSystemTimestamp: this.#store.minSystemTimestamp(streamId),
      minEventTimestamp: holdingEventTimestamp(this.#store.eventTimestamps(streamId), this.#percentile),
    };
  }
}
