/**
 * Load on a cluster, as `qyt bench` makes it: rows of one text column into a queue, out of it, or through it with
 * the time that each takes.
 */
import { type Clock, sleep, YtError } from "@qyt/base";
import { createConsumer, encodeRows, type RowInput, type YtClient } from "@qyt/client";
import { type Figures, Latencies } from "./bench-report.ts";
import { objectPath, partitionsOf } from "./queue-facts.ts";

export interface BenchLimits {
  /** Ends after so many rows, or so long, whichever comes first. */
  readonly rows: number;
  readonly durationMs: number;
  readonly signal: AbortSignal;
  /** Called now and then with the rows so far. */
  readonly progress: (rows: number) => void;
}

export interface ProduceOptions extends BenchLimits {
  readonly batchRows: number;
  readonly clients: number;
  readonly rowBytes: number;
  /** Rows a second over all clients; 0: as fast as it goes. */
  readonly rate: number;
}

/** Rows into a queue, each batch acknowledged before the next of its client. */
export async function benchProduce(
  client: YtClient,
  queue: string,
  clock: Clock,
  options: ProduceOptions,
): Promise<Figures> {
  const batch = encoded(options.batchRows, options.rowBytes);
  const latencies = new Latencies();
  const startMs = clock.monotonic();
  const intervalMs = options.rate === 0 ? 0 : (options.batchRows * options.clients * 1_000) / options.rate;
  let rows = 0;
  let claimed = 0;
  const isOver = (): boolean =>
    options.signal.aborted || clock.monotonic() - startMs >= options.durationMs || claimed >= options.rows;
  const lane = async (index: number): Promise<void> => {
    for (let turn = 0; !isOver(); ++turn) {
      const dueMs = startMs + intervalMs * (turn + index / options.clients);
      if (intervalMs > 0 && clock.monotonic() < dueMs) {
        await sleep(clock, dueMs - clock.monotonic(), options.signal);
      }
      const sent = Math.min(options.batchRows, options.rows - claimed);
      claimed += sent;
      const sentMs = intervalMs > 0 ? dueMs : clock.monotonic();
      await client.insertRows(queue, sent === options.batchRows ? batch : encoded(sent, options.rowBytes), {
        signal: options.signal,
      });
      // From when it was due: a late answer delays what should have been sent meanwhile, and that counts.
      latencies.record(clock.monotonic() - sentMs, 0);
      rows += sent;
      options.progress(rows);
    }
  };
  await untilAborted(
    Promise.all(Array.from({ length: options.clients }, (_, index) => lane(index))),
    options.signal,
  );
  return {
    what: "produced",
    rows,
    bytes: rows * options.rowBytes,
    elapsedMs: clock.monotonic() - startMs,
    latencies,
    sample: "batch",
  };
}

/** The same rows in each batch, encoded once: the measure is of the cluster. */
function encoded(count: number, rowBytes: number): RowInput {
  return encodeRows(Array.from({ length: count }, () => ({ data: "x".repeat(rowBytes) })));
}

export interface ConsumeOptions extends BenchLimits {
  readonly batchRows: number;
}

/** Rows out of a queue through a registered consumer, each batch committed; ends also when there is no more. */
export async function benchConsume(
  client: YtClient,
  queue: string,
  consumerPath: string,
  clock: Clock,
  options: ConsumeOptions,
): Promise<Figures> {
  const consumer = createConsumer(client, {
    consumer: consumerPath,
    queues: [queue],
    group: false,
    batchRows: options.batchRows,
    waitTimeoutMs: 500,
  });
  const latencies = new Latencies();
  const startMs = clock.monotonic();
  let lastMs = startMs;
  let rows = 0;
  let bytes = 0;
  const watch = new AbortController();
  const close = (): void => watch.abort();
  options.signal.addEventListener("abort", close, { once: true });
  const idle = (async () => {
    while (!watch.signal.aborted) {
      const nowMs = clock.monotonic();
      if (nowMs - lastMs > idleMs || nowMs - startMs >= options.durationMs || rows >= options.rows) {
        break;
      }
      await sleep(clock, 50, watch.signal).catch(() => undefined);
    }
    await consumer.close();
  })();
  try {
    for await (const batch of consumer) {
      const beganMs = clock.monotonic();
      await batch.commit();
      lastMs = clock.monotonic();
      latencies.record(lastMs - beganMs, 0);
      rows += batch.rows.length;
      bytes += batch.rows.reduce((sum, row) => sum + String(row["data"] ?? "").length, 0);
      options.progress(rows);
      if (rows >= options.rows) {
        break;
      }
    }
  } finally {
    watch.abort();
    options.signal.removeEventListener("abort", close);
    await idle;
  }
  return { what: "consumed", rows, bytes, elapsedMs: lastMs - startMs, latencies, sample: "commit" };
}

/** Without a row for so long a consumer is at the end. */
const idleMs = 2_000;

export interface LatencyOptions extends BenchLimits {
  /** Rows a second. */
  readonly rate: number;
  readonly rowBytes: number;
}

/**
 * From the moment a row should have been sent to the moment it is read: rows go one by one at a steady rate,
 * whatever becomes of those before, so that a stall counts for all rows that it holds up.
 */
export async function benchLatency(
  client: YtClient,
  queue: string,
  clock: Clock,
  options: LatencyOptions,
): Promise<Figures> {
  const partitions = await partitionsOf(client, objectPath(queue));
  const [partition] = partitions;
  if (partition === undefined) {
    throw new YtError(`${queue} has no partition`);
  }
  const latencies = new Latencies();
  const startMs = clock.monotonic();
  const intervalMs = 1_000 / options.rate;
  const total = Math.min(options.rows, Math.ceil((options.durationMs * options.rate) / 1_000));
  const run = `${Math.floor(startMs * 1_000)}`;
  let sent = 0;
  let read = 0;
  const produce = async (): Promise<void> => {
    const pending = new Set<Promise<void>>();
    for (; sent < total && !options.signal.aborted; ++sent) {
      const dueMs = startMs + intervalMs * sent;
      if (clock.monotonic() < dueMs) {
        await sleep(clock, dueMs - clock.monotonic(), options.signal);
      }
      const data = `${run}:${sent}:`.padEnd(options.rowBytes, "x");
      const write = client.insertRows(queue, [{ $tablet_index: partition.index, data }], {
        signal: options.signal,
      });
      const settled = write.finally(() => pending.delete(settled));
      pending.add(settled);
    }
    await Promise.all(pending);
  };
  const consume = async (): Promise<void> => {
    for (let offset = partition.totalRowCount; read < total && !options.signal.aborted; ) {
      const portion = await client.pullQueuePortion(queue, offset, partition.index, {
        waitTimeoutMs: 1_000,
        signal: options.signal,
      });
      const nowMs = clock.monotonic();
      for (const row of portion.rows) {
        const [mark, index] = String(row["data"]).split(":");
        if (mark === run) {
          latencies.record(nowMs - (startMs + intervalMs * Number(index)), 0);
          read += 1;
        }
      }
      offset = (portion.startOffset ?? offset) + BigInt(portion.rows.length);
      options.progress(read);
    }
  };
  await untilAborted(Promise.all([produce(), consume()]), options.signal);
  return {
    what: "sent and read",
    rows: read,
    bytes: read * options.rowBytes,
    elapsedMs: clock.monotonic() - startMs,
    latencies,
    sample: "row, from when it should have been sent",
  };
}

/** What was asked to stop has nothing to complain of. */
async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  try {
    await work;
  } catch (thrown) {
    if (!signal.aborted) {
      throw thrown;
    }
  }
}
