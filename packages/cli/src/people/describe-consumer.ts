/** `qyt consumer describe` and `qyt consumer lag`: where a consumer stands in each queue that it reads. */
import { mapOf, type YsonValue } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import type { ClientOf } from "./queue-facts.ts";
import {
  agentFacts,
  integerOf,
  listOf,
  type ObjectPath,
  objectPath,
  offsetsOf,
  type PartitionFacts,
  partitionsOf,
  registrationsOf,
} from "./queue-facts.ts";
import { durationText, fieldsOf, grouped, type Report, type ReportTable } from "./report.ts";

export interface ConsumerReport {
  readonly document: YsonValue;
  readonly table: ReportTable;
  /** Rows over all partitions. */
  readonly totalLag: bigint;
  /** The largest of the partitions, in milliseconds; `undefined` when no agent says it. */
  readonly timeLag: bigint | undefined;
}

/** A consumer in one queue. */
export async function consumerReport(
  client: YtClient,
  consumer: ObjectPath,
  queue: ObjectPath & { readonly cluster: string },
  partitions: readonly PartitionFacts[],
): Promise<ConsumerReport> {
  const [offsets, told] = await Promise.all([
    offsetsOf(client, consumer, queue),
    agentFacts(client, consumer.path, "queue_consumer_partitions"),
  ]);
  const byIndex = new Map(offsets.map((item) => [item.partitionIndex, item.offset]));
  const times = listOf(fieldsOf(told).get(`${queue.cluster}:${queue.path}`)).map((item) =>
    integerOf(fieldsOf(item).get("processing_lag")),
  );
  const rows = partitions.map((partition) => {
    const offset = byIndex.get(partition.index) ?? 0n;
    const first = offset > partition.trimmedRowCount ? offset : partition.trimmedRowCount;
    const lag = partition.totalRowCount > first ? partition.totalRowCount - first : 0n;
    return { partition, offset, lag, lost: first - offset, timeLag: times[partition.index] };
  });
  const known = rows.flatMap((row) => (row.timeLag === undefined ? [] : [row.timeLag]));
  return {
    totalLag: rows.reduce((total, row) => total + row.lag, 0n),
    timeLag: largest(known),
    document: rows.map((row) =>
      mapOf({
        partition_index: BigInt(row.partition.index),
        next_row_index: row.offset,
        upper_row_index: row.partition.totalRowCount,
        lag: row.lag,
        trimmed_unread: row.lost,
        processing_lag: row.timeLag,
      }),
    ),
    table: {
      title: `${queue.text}`,
      columns: [
        { title: "partition", isNumber: true },
        { title: "offset", isNumber: true },
        { title: "end", isNumber: true },
        { title: "lag (rows)", isNumber: true },
        { title: "lag (time)", isNumber: true },
        { title: "trimmed unread", isNumber: true },
      ],
      rows: rows.map((row) => [
        String(row.partition.index),
        grouped(row.offset),
        grouped(row.partition.totalRowCount),
        grouped(row.lag),
        durationText(row.timeLag),
        grouped(row.lost),
      ]),
    },
  };
}

function largest(values: readonly bigint[]): bigint | undefined {
  return values.reduce<bigint | undefined>(
    (most, value) => (most === undefined || value > most ? value : most),
    undefined,
  );
}

export async function describeConsumer(client: YtClient, path: string, clientOf: ClientOf): Promise<Report> {
  const consumer = objectPath(path);
  const own = String(await client.get("//sys/@cluster_name"));
  const registrations = await registrationsOf(client, { consumerPath: consumer.path });
  const queues = await Promise.all(
    registrations.map(async ({ queue, isVital }) => {
      const cluster = queue.cluster ?? own;
      const owner = cluster === own ? client : await clientOf(cluster);
      const partitions = await partitionsOf(owner, queue);
      return {
        queue,
        isVital,
        report: await consumerReport(client, consumer, { ...queue, cluster }, partitions),
      };
    }),
  );
  const total = queues.reduce((sum, item) => sum + item.report.totalLag, 0n);
  return {
    document: mapOf({
      path: consumer.path,
      cluster: own,
      lag: total,
      queues: queues.map(({ queue, isVital, report }) =>
        mapOf({ queue: queue.text, vital: isVital, lag: report.totalLag, partitions: report.document }),
      ),
    }),
    tables: [
      `Consumer ${consumer.path} on cluster ${own}: ${queues.length} queue(s), lag ${grouped(total)} row(s)`,
      ...queues.map(({ report }) => report.table),
      ...(queues.length === 0
        ? ["It is registered with no queue: `yt register-queue-consumer` does that."]
        : []),
    ],
  };
}

/** One line for each queue: for scripts and watches. */
export async function consumerLag(client: YtClient, path: string, clientOf: ClientOf): Promise<Report> {
  const { document } = await describeConsumer(client, path, clientOf);
  const queues = listOf(fieldsOf(document).get("queues")).map((item) => fieldsOf(item));
  return {
    document: mapOf({
      lag: fieldsOf(document).get("lag") ?? null,
      queues: queues.map((item) => mapOf({ queue: item.get("queue"), lag: item.get("lag") })),
    }),
    tables: [
      {
        columns: [{ title: "queue" }, { title: "lag (rows)", isNumber: true }],
        rows: queues.map((item) => [String(item.get("queue")), grouped(integerOf(item.get("lag")))]),
        empty: "registered with no queue",
      },
    ],
  };
}
