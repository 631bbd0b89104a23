/** `qyt queue describe`: partitions, readers and their lag, settings and alerts of a queue. */
import { mapOf, type YsonValue } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { consumerReport } from "./describe-consumer.ts";
import {
  agentFacts,
  type ClientOf,
  objectPath,
  partitionsOf,
  registrationsOf,
  textOf,
} from "./queue-facts.ts";
import { durationText, fieldsOf, grouped, type Report, sizeText } from "./report.ts";

export async function describeQueue(client: YtClient, path: string, clientOf: ClientOf): Promise<Report> {
  const queue = objectPath(path);
  const own = String(await client.get("//sys/@cluster_name"));
  const [partitions, registrations, settings, status, agentPartitions] = await Promise.all([
    partitionsOf(client, queue),
    registrationsOf(client, { queuePath: queue.path }),
    client.get(`${queue.path}/@`, {
      attributes: ["auto_trim_config", "static_export_config", "data_weight", "max_data_ttl", "account"],
    }),
    agentFacts(client, queue.path, "queue_status"),
    agentFacts(client, queue.path, "queue_partitions"),
  ]);
  const facts = Array.isArray(agentPartitions) ? agentPartitions.map((item) => fieldsOf(item)) : [];
  const readers = await Promise.all(
    registrations.map(async (registration) => {
      const there = registration.consumer.cluster;
      const reader = there === undefined || there === own ? client : await clientOf(there);
      return consumerReport(reader, registration.consumer, { ...queue, cluster: own }, partitions);
    }),
  );
  const alerts = fieldsOf(fieldsOf(status).get("alerts"));
  return {
    document: mapOf({
      path: queue.path,
      cluster: own,
      partitions: partitions.map((partition) =>
        mapOf({
          partition_index: BigInt(partition.index),
          state: partition.state,
          trimmed_row_count: partition.trimmedRowCount,
          total_row_count: partition.totalRowCount,
        }),
      ),
      consumers: readers.map((reader, index) =>
        mapOf({
          consumer: registrations[index]?.consumer.text,
          vital: registrations[index]?.isVital,
          lag: reader.totalLag,
          partitions: reader.document,
        }),
      ),
      settings,
      queue_status: status,
    }),
    tables: [
      `Queue ${queue.path} on cluster ${own}, ${partitions.length} partition(s)`,
      {
        columns: [
          { title: "partition", isNumber: true },
          { title: "state" },
          { title: "first row", isNumber: true },
          { title: "next row", isNumber: true },
          { title: "rows", isNumber: true },
          { title: "weight", isNumber: true },
          { title: "last write" },
        ],
        rows: partitions.map((partition) => {
          const fact = facts[partition.index];
          const weight = fact?.get("available_data_weight");
          return [
            String(partition.index),
            partition.state,
            grouped(partition.trimmedRowCount),
            grouped(partition.totalRowCount),
            grouped(partition.totalRowCount - partition.trimmedRowCount),
            typeof weight === "bigint" ? sizeText(weight) : "?",
            textOf(fact?.get("last_row_commit_time")) ?? "?",
          ];
        }),
      },
      {
        title: "Consumers",
        columns: [
          { title: "consumer" },
          { title: "vital" },
          { title: "lag (rows)", isNumber: true },
          { title: "lag (time)", isNumber: true },
        ],
        rows: readers.map((reader, index) => [
          registrations[index]?.consumer.text ?? "?",
          registrations[index]?.isVital === true ? "yes" : "no",
          grouped(reader.totalLag),
          durationText(reader.timeLag),
        ]),
        empty: "none: register one with `yt register-queue-consumer`",
      },
      `Trimming: ${settingText(fieldsOf(settings).get("auto_trim_config"), "off (qyt queue set-retention turns it on)")}`,
      `Exports: ${settingText(fieldsOf(settings).get("static_export_config"), "none (qyt queue set-export makes one)")}`,
      status === undefined
        ? "No queue agent answers for this queue: weights, times and alerts are not known."
        : alertsText([...alerts]),
    ],
  };
}

function settingText(value: YsonValue | undefined, absent: string): string {
  const fields = fieldsOf(value);
  return fields.size === 0
    ? absent
    : [...fields].map(([name, item]) => `${name} = ${shown(item)}`).join("; ");
}

function shown(value: YsonValue): string {
  const fields = fieldsOf(value);
  return fields.size === 0 ? String(value) : `{${settingText(value, "")}}`;
}

function alertsText(alerts: readonly (readonly [string, YsonValue])[]): string {
  return alerts.length === 0
    ? "Alerts: none"
    : [
        "Alerts:",
        ...alerts.map(([name, error]) => `  ${name}: ${textOf(fieldsOf(error).get("message")) ?? ""}`),
      ].join("\n");
}
