// Readers: pulls of whole queues, and the exactly-once loop of pull and advance.
import { countBinaryRows, countJsonRows } from "../rows.mjs";
import { Connection } from "./connection.mjs";
import { latencies, measure } from "./measure.mjs";

const formats = {
  binary: { name: "<format=binary>yson", count: countBinaryRows },
  text: { name: "<format=text>yson", count: (bytes) => countJsonRows(bytes) },
  json: { name: "json", count: countJsonRows },
};

/**
 * Every client reads partitions from their beginning, again and again, or once with `once`: then the row count
 * is that of the queue.
 * @param job `{origin, path, consumer?, partitions, clients, rowsPerCall, format, warmSeconds?, seconds?, once?}`;
 *   with a consumer through it, its offset is not asked
 */
export async function pull(job, signal) {
  const { name, count } = formats[job.format];
  const latency = latencies();
  const command = job.consumer === undefined ? "pull_queue" : "pull_queue_consumer";
  const through = job.consumer === undefined ? "" : `consumer_path="${job.consumer}";`;
  const pending = Array.from({ length: job.partitions }, (_, partition) => partition);
  let turn = 0;
  const result = await measure(job, signal, async (_client, run) => {
    const connection = new Connection(job.origin);
    const nextPartition = () => (job.once ? pending.shift() : turn++ % job.partitions);
    let partition = nextPartition();
    let offset = 0;
    await run(async () => {
      if (partition === undefined) {
        return undefined;
      }
      const parameters = `{${through}queue_path="${job.path}";partition_index=${partition};offset=${offset};max_row_count=${job.rowsPerCall};output_format=${name}}`;
      const start = performance.now();
      const bytes = await connection.send("GET", command, parameters);
      latency.record(performance.now() - start);
      const rows = count(bytes);
      offset += rows;
      if (rows === 0) {
        partition = nextPartition();
        offset = 0;
      }
      return rows;
    }, latency);
    await connection.close();
  });
  return { ...result, latency: latency.summary() };
}

/**
 * Pulls a batch and advances the consumer in a tablet transaction; one client a partition.
 * @param job `{origin, path, consumer, clients, rowsPerCall, warmSeconds?, seconds?}`
 */
export async function consume(job, signal) {
  const latency = latencies();
  const common = `consumer_path="${job.consumer}";queue_path="${job.path}"`;
  const result = await measure(job, signal, async (client, run) => {
    const connection = new Connection(job.origin);
    const partition = client;
    let offset = 0;
    await run(async () => {
      const start = performance.now();
      const bytes = await connection.send(
        "GET",
        "pull_queue_consumer",
        `{${common};partition_index=${partition};offset=${offset};max_row_count=${job.rowsPerCall};output_format=<format=binary>yson}`,
      );
      const rows = countBinaryRows(bytes);
      if (rows === 0) {
        return undefined;
      }
      const started = await connection.send(
        "POST",
        "start_transaction",
        "{type=tablet;sticky=%true;timeout=30000;output_format=json}",
      );
      const transaction = `transaction_id="${JSON.parse(started).transaction_id}"`;
      await connection.send(
        "POST",
        "advance_queue_consumer",
        `{${common};${transaction};partition_index=${partition};old_offset=${offset};new_offset=${offset + rows}}`,
      );
      await connection.send("POST", "commit_transaction", `{${transaction}}`);
      offset += rows;
      latency.record(performance.now() - start);
      return rows;
    }, latency);
    await connection.close();
  });
  return { ...result, latency: latency.summary() };
}

/** @param job `{origin, query, clients?}`; reads the answer to its end */
export async function select(job) {
  const connection = new Connection(job.origin);
  const start = performance.now();
  const bytes = await connection.send(
    "GET",
    "select_rows",
    `{query="${job.query}";output_format=json;input_row_limit=1000000000;output_row_limit=1000000000;timeout=600000}`,
  );
  await connection.close();
  return {
    rows: countJsonRows(bytes),
    seconds: (performance.now() - start) / 1000,
    answer: bytes.toString("utf8", 0, 200),
  };
}
