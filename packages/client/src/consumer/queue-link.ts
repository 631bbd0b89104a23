/**
 * A queue as one consumer sees it: how the cluster names both, what offsets are stored, how many partitions there
 * are and where their rows begin and end. Asks the consumer's cluster only; what it does not know of a queue on
 * another cluster is found by pulls.
 */
import {
  attributesOf,
  bare,
  isList,
  isMap,
  Uint64,
  withAttributes,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { parseRichPath } from "@qyt/yson";
import type { YtClient } from "../client.ts";
import type { RowCommands } from "../commands/rows.ts";
import type { PathInput, PulledPortion, PullOptions } from "../types.ts";

/** Where the rows of a partition begin and end: the first row that is left, and the number after the last one. */
export interface PartitionBounds {
  readonly first: bigint;
  readonly end: bigint;
}

export interface ConsumerName {
  readonly cluster: string;
  readonly path: string;
  /** Of a consumer that shares its table with others; empty otherwise. */
  readonly name: string;
}

const unixSecondsShift = 30n;

/** The first commit timestamp of the second that a time lies in. A `bigint` is a commit timestamp already. */
export function timestampOf(time: Date | bigint): bigint {
  return typeof time === "bigint" ? time : BigInt(Math.floor(time.getTime() / 1000)) << unixSecondsShift;
}

export class QueueLink {
  readonly client: YtClient;
  readonly consumer: ConsumerName;
  /** For commands: with the attributes that they need. */
  readonly consumerPath: PathInput;
  readonly queueCluster: string;
  readonly queuePath: string;

  constructor(client: YtClient, consumer: ConsumerName, queue: { cluster: string; path: string }) {
    this.client = client;
    this.consumer = consumer;
    this.consumerPath = withAttributes(
      consumer.path,
      new Map(consumer.name === "" ? [] : [["queue_consumer_name", consumer.name]]),
    );
    this.queueCluster = queue.cluster;
    this.queuePath = queue.path;
  }

  /** `cluster:path`. */
  get key(): string {
    return `${this.queueCluster}:${this.queuePath}`;
  }

  get #isLocal(): boolean {
    return this.queueCluster === this.consumer.cluster;
  }

  get #queue(): PathInput {
    return withAttributes(this.queuePath, new Map([["cluster", this.queueCluster]]));
  }

  pull(partition: number, offset: bigint, options: PullOptions = {}): Promise<PulledPortion> {
    return this.client.pullQueueConsumerPortion(this.consumerPath, this.#queue, offset, partition, options);
  }

  async advance(
    partition: number,
    oldOffset: bigint,
    newOffset: bigint,
    via: RowCommands = this.client,
  ): Promise<void> {
    const offsets = { oldOffset, newOffset };
    await via.advanceQueueConsumer(this.consumerPath, this.#queue, partition, offsets);
  }

  /** The stored offsets, in a transaction as of its start; a partition that was never advanced is absent. */
  async storedOffsets(
    partitions: readonly number[],
    via: RowCommands = this.client,
  ): Promise<Map<number, bigint>> {
    const { name, path } = this.consumer;
    const keys = partitions.map((partition) => ({
      ...(name === "" ? {} : { queue_consumer_name: name }),
      queue_cluster: this.queueCluster,
      queue_path: this.queuePath,
      partition_index: new Uint64(BigInt(partition)),
    }));
    const offsets = new Map<number, bigint>();
    for (const row of keys.length === 0 ? [] : await via.lookupRows(path, keys)) {
      const offset = row?.["offset"];
      if (typeof offset === "bigint") {
        offsets.set(Number(row?.["partition_index"]), offset);
      }
    }
    return offsets;
  }

  async partitionCount(): Promise<number> {
    if (this.#isLocal) {
      try {
        return Number(bare(await this.client.get(`${this.queuePath}/@tablet_count`)));
      } catch (thrown) {
        unlessDenied(thrown);
      }
    }
    return firstWithout(async (index) => this.#hasPartition(index));
  }

  /** Of a partition without rows on another cluster both are `stored`. */
  async bounds(partition: number, stored: bigint): Promise<PartitionBounds> {
    if (this.#isLocal) {
      try {
        const infos = await this.client.getTabletInfos(this.queuePath, [partition]);
        const info = isList(infos) ? infos[0] : undefined;
        return { first: count(info, "trimmed_row_count"), end: count(info, "total_row_count") };
      } catch (thrown) {
        unlessDenied(thrown);
      }
    }
    const first = await this.#rowIndexAt(partition, 0n);
    if (first === undefined) {
      return { first: stored, end: stored };
    }
    const rows = await firstWithout(
      async (distance) => (await this.#rowIndexAt(partition, first + BigInt(distance))) !== undefined,
    );
    return { first, end: first + BigInt(rows) };
  }

  /**
   * The number of the first row that was committed at or after a time, or the end when there is none.
   * @throws YtError when the queue has no column `$timestamp`
   */
  async offsetAt(partition: number, timestamp: bigint, bounds: PartitionBounds): Promise<bigint> {
    let low = bounds.first;
    let high = bounds.end;
    while (low < high) {
      const middle = (low + high) / 2n;
      const { rows } = await this.pull(partition, middle, { maxRowCount: 1n });
      const [row] = rows;
      if (row === undefined) {
        high = middle;
        continue;
      }
      const written = row["$timestamp"];
      if (typeof written !== "bigint") {
        throw new YtError(
          `Queue ${this.key} has no column "$timestamp", so a time cannot be found in it; seek by offset instead`,
        );
      }
      if (written >= timestamp) {
        high = middle;
      } else {
        const index = row["$row_index"];
        low = (typeof index === "bigint" && index > middle ? index : middle) + 1n;
      }
    }
    return low;
  }

  async #rowIndexAt(partition: number, offset: bigint): Promise<bigint | undefined> {
    const { rows } = await this.pull(partition, offset, { maxRowCount: 1n });
    const index = rows[0]?.["$row_index"];
    return typeof index === "bigint" ? index : undefined;
  }

  async #hasPartition(index: number): Promise<boolean> {
    try {
      await this.pull(index, 0n, { maxRowCount: 1n });
      return true;
    } catch (thrown) {
      if (thrown instanceof YtError && thrown.has("NoSuchTablet")) {
        return false;
      }
      if (thrown instanceof YtError && thrown.has("TabletNotMounted")) {
        return true;
      }
      throw thrown;
    }
  }
}

/**
 * The registration of a consumer for a queue, with both named as the cluster has them, links followed.
 * @throws YtError code 901 when there is none
 */
export async function resolveLink(
  client: YtClient,
  consumerPath: PathInput,
  queuePath: PathInput,
): Promise<QueueLink> {
  const wanted = parseRichPath(consumerPath).attributes.get("queue_consumer_name");
  const name = typeof wanted === "string" ? wanted : "";
  const found = await client.listQueueConsumerRegistrations({ queuePath, consumerPath });
  for (const item of isList(found) ? found : []) {
    const registration = isMap(item) ? item : new Map<string, YsonValue>();
    const consumer = nameOf(registration, "consumer_path");
    if (consumer.name === name) {
      return new QueueLink(client, consumer, nameOf(registration, "queue_path"));
    }
  }
  throw new YtError(
    `Consumer ${parseRichPath(consumerPath).path} is not registered for queue ${parseRichPath(queuePath).path}; register it with registerQueueConsumer (yt register-queue-consumer)`,
    { code: "AuthorizationError" },
  );
}

function nameOf(registration: YsonMap, field: string): ConsumerName {
  const value = registration.get(field) ?? null;
  const attributes = attributesOf(value);
  return {
    cluster: String(bare(attributes.get("cluster") ?? "")),
    path: String(bare(value)),
    name: String(bare(attributes.get("queue_consumer_name") ?? "")),
  };
}

/** The least number for which it is false, when it is true below and false above: by doubling, then by halves. */
async function firstWithout(isThere: (index: number) => Promise<boolean>): Promise<number> {
  let low = 0;
  let step = 1;
  while (await isThere(low + step - 1)) {
    low += step;
    step *= 2;
  }
  let high = low + step - 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isThere(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function unlessDenied(thrown: unknown): void {
  if (!(thrown instanceof YtError) || !thrown.has("AuthorizationError")) {
    throw thrown;
  }
}

function count(info: YsonValue | undefined, field: string): bigint {
  const value = isMap(info) ? bare(info.get(field) ?? 0n) : 0n;
  return typeof value === "bigint" ? value : 0n;
}
