/** The outputs of one job on their way to other jobs: a lane for each partition that gets some. */
import type { Outbox } from "../computations/job-context.ts";
import type { StoredOutput } from "../computations/output-store.ts";
import type { JobId, PartitionId, StreamId } from "../model/message.ts";
import { Lane, type Parcel } from "./lane.ts";
import type { ConsumerTable, PartitionTable, Target } from "./routes.ts";

export interface JobOutboxOptions {
  readonly partitionId: PartitionId;
  readonly jobId: JobId;
  readonly consumers: ConsumerTable;
  readonly partitions: PartitionTable;
  /** How many bytes may be on their way, as it is now. */
  readonly byteLimit: () => number;
  /** Lanes have something to send. */
  readonly onWork: (lanes: Iterable<Lane>) => void;
}

export class JobOutbox implements Outbox {
  readonly #options: JobOutboxOptions;
  #partitions: PartitionTable;
  readonly #lanes = new Map<PartitionId, Lane>();
  /** For keys that no partition has at the moment. */
  #homeless: Parcel[] = [];
  #byteSize = 0;
  #order = 0;
  #isClosed = false;

  constructor(options: JobOutboxOptions) {
    this.#options = options;
    this.#partitions = options.partitions;
  }

  get lanes(): Iterable<Lane> {
    return this.#lanes.values();
  }

  consumerCount(streamId: StreamId): number {
    return this.#options.consumers.of(streamId).length;
  }

  isFull(streamId: StreamId): boolean {
    return this.consumerCount(streamId) > 0 && this.#byteSize >= this.#options.byteLimit();
  }

  send(outputs: readonly StoredOutput[], done: (output: StoredOutput) => void): void {
    const touched = new Set<Lane>();
    for (const output of outputs) {
      for (const consumer of this.#options.consumers.of(output.message.streamId)) {
        this.#order += 1;
        this.#byteSize += output.byteSize;
        this.#route({ order: this.#order, output, consumer, done }, touched);
      }
    }
    this.#options.onWork(touched);
  }

  /** Takes up a new layout: finds new ways for what the old ones are gone for. */
  relocate(partitions: PartitionTable, targets: ReadonlyMap<PartitionId, Target>): void {
    this.#partitions = partitions;
    let parcels = this.#homeless;
    this.#homeless = [];
    for (const [partitionId, lane] of this.#lanes) {
      const target = targets.get(partitionId);
      if (target === undefined) {
        parcels = parcels.concat(lane.drain());
        this.#lanes.delete(partitionId);
      } else {
        lane.retarget(target);
      }
    }
    parcels.sort((left, right) => left.order - right.order);
    for (const parcel of parcels) {
      this.#route(parcel, undefined);
    }
    this.#options.onWork(this.#lanes.values());
  }

  /** The job is over: nothing more is sent, and nobody is told. */
  close(): void {
    this.#isClosed = true;
    this.#lanes.clear();
    this.#homeless = [];
  }

  #route(parcel: Parcel, touched: Set<Lane> | undefined): void {
    const target = this.#partitions.find(parcel.consumer, parcel.output.message);
    if (target === undefined) {
      this.#homeless.push(parcel);
      return;
    }
    let lane = this.#lanes.get(target.partitionId);
    if (lane === undefined) {
      lane = new Lane(this.#options, target, (finished) => this.#done(finished));
      this.#lanes.set(target.partitionId, lane);
    }
    lane.add(parcel);
    touched?.add(lane);
  }

  #done(parcel: Parcel): void {
    this.#byteSize -= parcel.output.byteSize;
    if (!this.#isClosed) {
      parcel.done(parcel.output);
    }
  }
}
