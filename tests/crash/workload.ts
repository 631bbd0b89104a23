/**
 * The clients of the crash test. Each runs until the server dies under it; what it was told goes into the
 * ledger. Names of batches are never used again, except that producers send the same rows again until they
 * are acknowledged.
 */
import { defined, errorCodes, isMap, mapOf, type Random, YtError } from "@qyt/base";
import { YtClient } from "@qyt/client";
import { between, chance } from "@qyt/testing";
import { parseYson } from "@qyt/yson";
import { check, type Ledger, type Place } from "./ledger.ts";
import { integerOf, rowSchema, rowsOfBatch } from "./rows.ts";

export const inputQueue = "//crash/input";
export const outputQueue = "//crash/output";
export const consumerPath = "//crash/consumer";
export const producerPath = "//crash/producer";
export const partitionCount = 3;
/** Every partition of every queue. */
export const allPlaces: readonly Place[] = [inputQueue, outputQueue].flatMap((queue) =>
  Array.from({ length: partitionCount }, (_, partition) => ({ queue, partition })),
);

/** Sends every request once: what comes back decides what the ledger says. */
export function connect(address: string): YtClient {
  return new YtClient({ proxy: address, retries: false });
}

/** Two queues whose stores are flushed every fraction of a second, a producer, a registered consumer. */
export async function createObjects(client: YtClient): Promise<void> {
  for (const path of [inputQueue, outputQueue]) {
    const attributes = mapOf({
      dynamic: true,
      tablet_count: BigInt(partitionCount),
      schema: parseYson(rowSchema),
      dynamic_store_auto_flush_period: 300n,
    });
    await client.create("table", path, { recursive: true, attributes });
    await client.mountTable(path);
  }
  await client.create("queue_consumer", consumerPath);
  await client.create("queue_producer", producerPath);
  for (const path of [inputQueue, outputQueue, consumerPath, producerPath]) {
    while ((await client.get(`${path}/@tablet_state`)) !== "mounted") {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  await client.registerQueueConsumer(inputQueue, consumerPath, { vital: true });
}

/** What the clients share in one life of the server. */
export interface Life {
  readonly client: YtClient;
  readonly random: Random;
  readonly ledger: Ledger;
}

/** One client over all lives of the server. */
export interface Actor {
  /** One thing that it does, with its answers awaited. */
  step(life: Life): Promise<void>;
  /** After a crash, when the ledger has settled: what it may conclude, and check, from what is stored. */
  afterCrash?(life: Life): Promise<void>;
}

/** Runs an actor until the server is gone. @throws YtError for every other refusal */
export async function runUntilCrash(actor: Actor, life: Life, isOver: () => boolean): Promise<void> {
  try {
    while (!isOver()) {
      await actor.step(life);
    }
  } catch (error) {
    if (!(error instanceof YtError && error.has(errorCodes.TransportError))) {
      throw error;
    }
  }
}

export function createActors(): Actor[] {
  return [
    ...[0, 1, 2].map((index) => new Inserter(`insert-${index}`)),
    ...[0, 1].map((index) => new Producer(`push-${index}`)),
    ...[0, 1].map((index) => new Transactor(`both-${index}`)),
    ...Array.from({ length: partitionCount }, (_, partition) => new Copier(partition)),
  ];
}

function randomPlace(random: Random, queue: string): Place {
  return { queue, partition: random.below(partitionCount) };
}

function withPartition(rows: readonly Readonly<Record<string, unknown>>[], { partition }: Place) {
  return rows.map((row) => ({ $tablet_index: BigInt(partition), ...row }));
}

/** Plain inserts, never sent again. */
class Inserter implements Actor {
  readonly #name: string;
  #count = 0;

  constructor(name: string) {
    this.#name = name;
  }

  async step({ client, ledger, random }: Life): Promise<void> {
    const batch = `${this.#name}-${this.#count++}`;
    const size = chance(random, 0.3) ? 1 : between(random, 2, 30);
    const place = randomPlace(random, inputQueue);
    ledger.send(batch, size, [place]);
    await client.insertRows(inputQueue, withPartition(rowsOfBatch(batch, size), place));
    ledger.acknowledge(batch);
  }
}

/** A producer session: the batch that was not acknowledged is sent again, with the same numbers. */
class Producer implements Actor {
  readonly #name: string;
  /** Undefined while it may have moved on without our hearing of it. */
  #epoch: bigint | undefined;
  #highestEpoch = -1n;
  #nextNumber = 0;
  #count = 0;
  /** Sent, not acknowledged. */
  #open:
    | { readonly batch: string; readonly size: number; readonly place: Place; readonly first: number }
    | undefined;
  #previous:
    | { readonly batch: string; readonly size: number; readonly place: Place; readonly first: number }
    | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  async step({ client, ledger, random }: Life): Promise<void> {
    if (this.#epoch === undefined || chance(random, 0.02)) {
      await this.#openSession(client);
    }
    const epoch = defined(this.#epoch, "epoch");
    if (this.#open === undefined) {
      const size = between(random, 1, 20);
      const batch = `${this.#name}-${this.#count++}`;
      this.#open = { batch, size, place: randomPlace(random, inputQueue), first: this.#nextNumber };
      // Gaps are allowed.
      this.#nextNumber += size + (chance(random, 0.1) ? random.below(5) : 0);
      ledger.send(batch, size, [this.#open.place], true);
    }
    const current = this.#open;
    const isStored = ledger.fate(current.batch) === "stored";
    // Now and then the rows before are sent once more in front.
    const parts = this.#previous !== undefined && chance(random, 0.2) ? [this.#previous, current] : [current];
    const rows = parts.flatMap(({ batch, size, place, first }) =>
      withPartition(rowsOfBatch(batch, size), place).map((row, i) => ({
        ...row,
        $sequence_number: BigInt(first + i),
      })),
    );
    const { lastSequenceNumber, skippedRowCount } = await client.pushQueueProducer(
      producerPath,
      inputQueue,
      this.#name,
      epoch,
      rows,
    );
    const expectedSkips = rows.length - (isStored ? 0 : current.size);
    check(
      skippedRowCount === BigInt(expectedSkips),
      `${current.batch}: ${skippedRowCount} rows skipped, not ${expectedSkips}`,
    );
    check(
      lastSequenceNumber === BigInt(current.first + current.size - 1),
      `${current.batch}: last sequence number ${lastSequenceNumber}`,
    );
    ledger.acknowledge(current.batch);
    this.#previous = current;
    this.#open = undefined;
  }

  async afterCrash({ client, ledger }: Life): Promise<void> {
    const isStored = this.#open !== undefined && ledger.fate(this.#open.batch) === "stored";
    const last = isStored ? this.#open : this.#previous;
    const stored = await client.lookupRows(producerPath, [
      { queue_cluster: "crash", queue_path: inputQueue, session_id: this.#name },
    ]);
    const row = stored[0];
    if (row !== undefined && row !== null) {
      const number = integerOf(row, "sequence_number");
      const expected = last === undefined ? -1 : last.first + last.size - 1;
      check(
        number === BigInt(expected),
        `session ${this.#name} is at ${number}, its rows end at ${expected}`,
      );
    } else {
      check(last === undefined, `session ${this.#name} is gone`);
    }
  }

  async #openSession(client: YtClient): Promise<void> {
    this.#epoch = undefined;
    const { epoch } = await client.createQueueProducerSession(producerPath, inputQueue, this.#name);
    check(epoch > this.#highestEpoch, `session ${this.#name}: epoch ${epoch} is not new`);
    this.#highestEpoch = epoch;
    this.#epoch = epoch;
  }
}

/** One transaction over two queues: the same marker in both, or in none. */
class Transactor implements Actor {
  readonly #name: string;
  #count = 0;

  constructor(name: string) {
    this.#name = name;
  }

  async step({ client, ledger, random }: Life): Promise<void> {
    const batch = `${this.#name}-${this.#count++}`;
    const size = between(random, 1, 10);
    const places = [randomPlace(random, inputQueue), randomPlace(random, outputQueue)];
    const transactionId = await client.startTransaction({ type: "tablet" });
    const isAborted = chance(random, 0.1);
    ledger.send(batch, size, places);
    for (const place of places) {
      await client.insertRows(place.queue, withPartition(rowsOfBatch(batch, size), place), { transactionId });
    }
    if (isAborted) {
      await client.abortTransaction(transactionId);
      ledger.abandon(batch);
    } else {
      await client.commitTransaction(transactionId);
      ledger.acknowledge(batch);
    }
  }
}

/** Copies one partition exactly once: rows go to the other queue in the transaction that advances. */
class Copier implements Actor {
  readonly #partition: number;
  /** Acknowledged. */
  #offset = 0;
  #attempt = 0;
  /** Its answer was lost. */
  #open: { readonly batch: string; readonly newOffset: number } | undefined;
  #trimmed = 0;

  constructor(partition: number) {
    this.#partition = partition;
  }

  async step({ client, ledger, random }: Life): Promise<void> {
    const input = { queue: inputQueue, partition: this.#partition };
    if (chance(random, 0.05)) {
      await this.#trim(client, ledger, input);
    }
    const maxRowCount = BigInt(between(random, 1, 60));
    const rows = await client.pullQueueConsumer(consumerPath, inputQueue, null, this.#partition, {
      maxRowCount,
    });
    for (const row of rows) {
      ledger.show(input, row);
    }
    const [first] = rows;
    if (first === undefined) {
      return;
    }
    const oldOffset = Number(integerOf(first, "$row_index"));
    check(
      oldOffset === this.#offset,
      `partition ${this.#partition}: pulled from ${oldOffset}, not ${this.#offset}`,
    );
    const newOffset = oldOffset + rows.length;
    const batch = `copy-${this.#partition}-${this.#attempt++}`;
    const place = randomPlace(random, outputQueue);
    const transactionId = await client.startTransaction({ type: "tablet" });
    ledger.send(batch, rows.length, [place]);
    await client.insertRows(outputQueue, withPartition(rowsOfBatch(batch, rows.length), place), {
      transactionId,
    });
    await client.advanceQueueConsumer(
      consumerPath,
      inputQueue,
      this.#partition,
      { oldOffset: BigInt(oldOffset), newOffset: BigInt(newOffset) },
      { transactionId },
    );
    this.#open = { batch, newOffset };
    await client.commitTransaction(transactionId);
    ledger.acknowledge(batch);
    this.#offset = newOffset;
    this.#open = undefined;
  }

  async afterCrash({ client, ledger }: Life): Promise<void> {
    if (this.#open !== undefined && ledger.fate(this.#open.batch) === "stored") {
      this.#offset = this.#open.newOffset;
    }
    this.#open = undefined;
    const [row] = await client.lookupRows(consumerPath, [
      { queue_cluster: "crash", queue_path: inputQueue, partition_index: BigInt(this.#partition) },
    ]);
    const stored = row === undefined || row === null ? 0 : Number(integerOf(row, "offset"));
    check(
      stored === this.#offset,
      `partition ${this.#partition}: the offset is ${stored}, its rows were copied up to ${this.#offset}`,
    );
  }

  /** Rows that are copied, and that the ledger has seen in the life before. */
  async #trim(client: YtClient, ledger: Ledger, place: Place): Promise<void> {
    const count = Math.min(this.#offset, ledger.seenRowCount(place));
    if (count > this.#trimmed) {
      ledger.askTrim(place, count);
      await client.trimRows(place.queue, place.partition, BigInt(count));
      ledger.acknowledgeTrim(place, count);
      this.#trimmed = count;
    }
  }
}

/** Reads every partition from where the ledger ends to its end, and settles the ledger. */
export async function verifyNewRows({ client, ledger }: Life): Promise<void> {
  for (const place of allPlaces) {
    for (;;) {
      const offset = BigInt(ledger.seenRowCount(place));
      const rows = await client.pullQueue(place.queue, offset, place.partition, { maxRowCount: 10_000n });
      if (rows.length === 0) {
        break;
      }
      for (const row of rows) {
        ledger.observe(place, row);
      }
    }
    await verifyCounts(client, ledger, place);
  }
  ledger.settle();
}

/** Reads every row that is left once more. */
export async function verifyAllRows({ client, ledger }: Life): Promise<void> {
  for (const place of allPlaces) {
    const count = ledger.seenRowCount(place);
    const trimmed = await verifyCounts(client, ledger, place);
    for (let offset = trimmed; offset < count; ) {
      const rows = await client.pullQueue(place.queue, BigInt(offset), place.partition, {
        maxRowCount: 10_000n,
      });
      check(rows.length > 0, `${place.queue}[${place.partition}] ends at row ${offset} of ${count}`);
      for (const row of rows) {
        check(integerOf(row, "$row_index") === BigInt(offset), `row ${offset} is missing`);
        ledger.compare(place, row);
        ++offset;
      }
    }
  }
}

async function verifyCounts(client: YtClient, ledger: Ledger, place: Place): Promise<number> {
  const infos = await client.getTabletInfos(place.queue, [place.partition]);
  const info = Array.isArray(infos) ? infos[0] : undefined;
  const field = (name: string): number => Number(isMap(info) ? (info.get(name) ?? Number.NaN) : Number.NaN);
  const count = ledger.seenRowCount(place);
  const total = field("total_row_count");
  check(total === count, `${place.queue}[${place.partition}]: total_row_count ${total}, ${count} rows seen`);
  const trimmed = field("trimmed_row_count");
  const { atLeast, atMost } = ledger.trimBounds(place);
  check(
    trimmed >= atLeast && trimmed <= atMost,
    `${place.queue}[${place.partition}]: trimmed ${trimmed}, acknowledged ${atLeast}, asked ${atMost}`,
  );
  return trimmed;
}
