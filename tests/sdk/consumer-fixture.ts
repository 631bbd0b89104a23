/** What the tests of the SDK's consumer share: a queue with its consumer, rows in it, and what a consumer handles. */
import {
  type Batch,
  type Consumer,
  type ConsumerEvent,
  type ConsumerOptions,
  createConsumer,
} from "@qyt/client";
import { eventually } from "@qyt/testing";
import { expect } from "vitest";
import type { TestCluster } from "../queue-api/fixture.ts";

let lastNumber = 0;

export class ConsumedQueue {
  readonly cluster: TestCluster;
  readonly queue: string;
  readonly consumer: string;
  readonly events: ConsumerEvent[] = [];
  readonly #consumers: Consumer[] = [];

  private constructor(cluster: TestCluster, number: number) {
    this.cluster = cluster;
    this.queue = `//tmp/consumed/queue-${number}`;
    this.consumer = `//tmp/consumed/consumer-${number}`;
  }

  static async create(cluster: TestCluster, partitions = 1): Promise<ConsumedQueue> {
    const made = new ConsumedQueue(cluster, ++lastNumber);
    await cluster.createQueue(made.queue, { attributes: { tablet_count: BigInt(partitions) } });
    await cluster.createConsumer(made.consumer);
    await cluster.root.registerQueueConsumer(made.queue, made.consumer, { vital: false });
    return made;
  }

  /** Appends one row for each text. */
  async write(partition: number, ...texts: readonly string[]): Promise<void> {
    const rows = texts.map((data) => ({ data, $tablet_index: BigInt(partition) }));
    await this.cluster.root.insertRows(this.queue, rows);
  }

  /** A consumer with short times. It is closed by `close`. */
  open(options: Partial<ConsumerOptions> = {}): Consumer {
    const consumer = createConsumer(this.cluster.root, {
      consumer: this.consumer,
      queues: [this.queue],
      sessionTimeoutMs: 400,
      layoutPeriodMs: 100,
      waitTimeoutMs: 500,
      closeTimeoutMs: 300,
      onEvent: (event) => this.events.push(event),
      ...options,
    });
    this.#consumers.push(consumer);
    return consumer;
  }

  async close(): Promise<void> {
    await Promise.all(this.#consumers.map((consumer) => consumer.close()));
  }

  /** The stored offsets by partition. */
  async offsets(): Promise<Record<string, bigint>> {
    const rows = await this.cluster.root.selectRows(`partition_index, [offset] from [${this.consumer}]`);
    return Object.fromEntries(
      rows.map((row) => [String(row["partition_index"]), BigInt(String(row["offset"]))]),
    );
  }

  eventsOf<T extends ConsumerEvent["type"]>(type: T): Extract<ConsumerEvent, { type: T }>[] {
    return this.events.filter((event): event is Extract<ConsumerEvent, { type: T }> => event.type === type);
  }

  async hasOffsets(expected: Record<string, bigint>): Promise<void> {
    await eventually(async () => expect(await this.offsets()).toEqual(expected));
  }
}

/** The texts of a batch. */
export function textsOf(batch: Batch): string[] {
  return batch.rows.map((row) => String(row["data"]));
}

/** The next batch of an iteration. */
export async function nextOf(batches: AsyncIterator<Batch>): Promise<Batch> {
  const { value, done } = await batches.next();
  if (done === true || value === undefined) {
    throw new Error("The iteration has ended");
  }
  return value;
}
