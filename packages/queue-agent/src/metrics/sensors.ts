/**
 * All sensors: their names, kinds, units and labels. The documentation, the dashboard and the answers of
 * `GET /metrics` are made from, or checked against, this table.
 *
 * Specified in: yt/yt/server/queue_agent/profile_manager.cpp, pass_profiler.cpp, queue_agent.cpp,
 * queue_exporter_profile_manager.cpp. The path of a sensor becomes a name by joining its parts with `_`.
 */

export const sensorPrefix = "yt_queue_agent_";

export interface Sensor {
  /** Without the prefix. */
  readonly name: string;
  readonly type: "gauge" | "counter" | "summary";
  /** Says what it is and ends with the unit in parentheses. */
  readonly help: string;
  readonly labels: readonly string[];
}

const objectLabels = ["yt_cluster", "leading_status", "queue_agent_stage", "object_type"] as const;
const queueLabels = ["queue_cluster", "queue_path", "queue_tag"] as const;
const queuePartitionLabels = [...queueLabels, "partition_index"] as const;
const consumerLabels = ["consumer_cluster", "consumer_path", "consumer_tag"] as const;
const subConsumerLabels = [...consumerLabels, ...queueLabels, "consumer_name"] as const;
const consumerPartitionLabels = [...subConsumerLabels, "partition_index"] as const;
const exportLabels = [...queueLabels, "export_name"] as const;
const controllerLabels = ["leading", "object_type"] as const;
const alertLabels = [
  "category",
  ...queueLabels,
  "object_type",
  "cluster",
  "path",
  "export_name",
  "consumer",
  "consumer_name",
] as const;

function sensor(
  name: string,
  type: Sensor["type"],
  labels: readonly string[],
  help: string,
  unit: string,
): Sensor {
  return { name, type, labels, help: `${help} (${unit})` };
}

export const objectSensors = {
  queues: sensor("queues", "gauge", objectLabels, "Queues that this agent leads or follows", "queues"),
  consumers: sensor(
    "consumers",
    "gauge",
    objectLabels,
    "Consumers that this agent leads or follows",
    "consumers",
  ),
  partitions: sensor("partitions", "gauge", objectLabels, "Partitions of the queues", "partitions"),
  trimmedQueues: sensor(
    "trimmed_queues",
    "gauge",
    objectLabels,
    "Queues whose @auto_trim_config enables trimming",
    "queues",
  ),
  erroneousQueues: sensor("erroneous_queues", "gauge", objectLabels, "Queues in error", "queues"),
  erroneousConsumers: sensor("erroneous_consumers", "gauge", objectLabels, "Consumers in error", "consumers"),
} as const;

export const agentSensors = {
  banned: sensor("banned", "gauge", [], "1 while this instance is banned", "0 or 1"),
  controllersPassTime: sensor(
    "controllers_pass_time",
    "gauge",
    [],
    "How long the latest passes of all controllers took together, -1 before the first one",
    "seconds",
  ),
  exportsWaiting: sensor(
    "static_export_manager_waiting_tasks",
    "gauge",
    [],
    "Export tasks that wait for the rate limit of this instance",
    "tasks",
  ),
  cpuSeconds: sensor(
    "process_cpu_seconds",
    "counter",
    [],
    "Processor time of the process that the agent runs in",
    "seconds",
  ),
  residentBytes: sensor(
    "process_resident_memory_bytes",
    "gauge",
    [],
    "Resident memory of the process that the agent runs in",
    "bytes",
  ),
  heapBytes: sensor(
    "process_heap_used_bytes",
    "gauge",
    [],
    "Used JavaScript heap of the process that the agent runs in",
    "bytes",
  ),
} as const;

export interface PassSensors {
  readonly index: Sensor;
  readonly startTime: Sensor;
  readonly duration: Sensor;
  readonly errors: Sensor;
}

function passSensors(prefix: string, labels: readonly string[], what: string): PassSensors {
  return {
    index: sensor(`${prefix}pass_index`, "gauge", labels, `Number of the latest pass of ${what}`, "passes"),
    startTime: sensor(
      `${prefix}pass_start_time`,
      "gauge",
      labels,
      `Start of the latest pass of ${what}`,
      "seconds of Unix time",
    ),
    duration: sensor(
      `${prefix}pass_duration`,
      "summary",
      labels,
      `Durations of the passes of ${what}`,
      "seconds",
    ),
    errors: sensor(`${prefix}pass_errors`, "counter", labels, `Failed passes of ${what}`, "passes"),
  };
}

export const passes = {
  poll: passSensors("", [], "the agent over its state tables"),
  synchronizer: passSensors("cypress_synchronizer_", [], "the Cypress synchronizer"),
  shardingManager: passSensors("queue_agent_sharding_manager_", [], "the sharding manager"),
  queueController: passSensors("queue_controller_", controllerLabels, "the controllers of queues"),
  consumerController: passSensors("consumer_controller_", controllerLabels, "the controllers of consumers"),
  staticExport: passSensors("queue_static_export_", [], "static exports, which are their tasks"),
} as const;

export const queueSensors = {
  partitions: sensor("queue_partitions", "gauge", queueLabels, "Partitions of the queue", "partitions"),
  consumers: sensor(
    "queue_consumers",
    "gauge",
    [...queueLabels, "vital"],
    "Consumers registered with the queue",
    "consumers",
  ),
} as const;

export const queuePartitionSensors = {
  rowsWritten: sensor(
    "queue_partition_rows_written",
    "counter",
    queuePartitionLabels,
    "Rows written since this agent leads the queue",
    "rows",
  ),
  rowsTrimmed: sensor(
    "queue_partition_rows_trimmed",
    "counter",
    queuePartitionLabels,
    "Rows trimmed since this agent leads the queue, by whomever",
    "rows",
  ),
  dataWeightWritten: sensor(
    "queue_partition_data_weight_written",
    "counter",
    queuePartitionLabels,
    "Data weight written since this agent leads the queue",
    "bytes",
  ),
  rowCount: sensor(
    "queue_partition_row_count",
    "gauge",
    queuePartitionLabels,
    "Rows that can be read",
    "rows",
  ),
  dataWeight: sensor(
    "queue_partition_data_weight",
    "gauge",
    queuePartitionLabels,
    "Data weight of the rows that can be read, but for the first one",
    "bytes",
  ),
} as const;

export const consumerSensors = {
  partitions: sensor(
    "consumer_partitions",
    "gauge",
    consumerLabels,
    "Partitions of all queues that the consumer reads",
    "partitions",
  ),
} as const;

export const consumerPartitionSensors = {
  rowsConsumed: sensor(
    "consumer_partition_rows_consumed",
    "counter",
    consumerPartitionLabels,
    "Rows by which the offset has advanced since this agent leads the consumer",
    "rows",
  ),
  dataWeightConsumed: sensor(
    "consumer_partition_data_weight_consumed",
    "counter",
    consumerPartitionLabels,
    "Data weight over which the offset has advanced since this agent leads the consumer",
    "bytes",
  ),
  offset: sensor(
    "consumer_partition_offset",
    "gauge",
    consumerPartitionLabels,
    "The committed offset: the first unread row",
    "row index",
  ),
  lagRows: sensor(
    "consumer_partition_lag_rows",
    "gauge",
    consumerPartitionLabels,
    "Rows that the consumer has not read, negative when its offset is ahead",
    "rows",
  ),
  lagDataWeight: sensor(
    "consumer_partition_lag_data_weight",
    "gauge",
    consumerPartitionLabels,
    "Data weight that the consumer has not read",
    "bytes",
  ),
  lagTime: sensor(
    "consumer_partition_lag_time",
    "gauge",
    consumerPartitionLabels,
    "Age of the next row to read, 0 when there is none",
    "seconds",
  ),
} as const;

/** Buckets of the age of the next row, in milliseconds; those of the real system, every second or third. */
export const lagTimeBucketsMs: readonly number[] = [
  250, 1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000, 4_000_000, 16_000_000, 64_000_000,
];

export const lagTimeHistogram: Sensor = sensor(
  "consumer_partition_lag_time_histogram_bucket",
  "gauge",
  [...subConsumerLabels, "le"],
  "Partitions whose lag_time is now at most le",
  "partitions; le in milliseconds",
);

export const exportSensors = {
  exportedRows: sensor("queue_static_export_exported_rows", "counter", exportLabels, "Exported rows", "rows"),
  exportedChunks: sensor(
    "queue_static_export_exported_chunks",
    "counter",
    exportLabels,
    "Exported chunks",
    "chunks",
  ),
  exportedTables: sensor(
    "queue_static_export_exported_tables",
    "counter",
    exportLabels,
    "Tables made",
    "tables",
  ),
  skippedTables: sensor(
    "queue_static_export_skipped_tables",
    "counter",
    exportLabels,
    "Tables that a task left for later because one failed or a brake holds",
    "tables",
  ),
  taskErrors: sensor(
    "queue_static_export_export_task_errors",
    "counter",
    exportLabels,
    "Failed tasks",
    "tasks",
  ),
  rowCountMismatches: sensor(
    "queue_static_export_row_count_mismatches",
    "counter",
    exportLabels,
    "Tablets whose last exported chunk does not end where the progress says",
    "tablets",
  ),
  timeLag: sensor(
    "queue_static_export_time_lag",
    "gauge",
    exportLabels,
    "From the upper bound of the last table to the last boundary of the period",
    "seconds",
  ),
  tableLag: sensor(
    "queue_static_export_table_lag",
    "gauge",
    exportLabels,
    "time_lag in periods, rounded up",
    "tables",
  ),
  pendingTables: sensor(
    "queue_static_export_pending_tables",
    "gauge",
    exportLabels,
    "Tables that were due and not made when the last task ended",
    "tables",
  ),
  pendingChunks: sensor(
    "queue_static_export_pending_chunks",
    "gauge",
    exportLabels,
    "Chunks that were flushed and not exported when the last task ended, due or not",
    "chunks",
  ),
  pendingRows: sensor(
    "queue_static_export_pending_rows",
    "gauge",
    exportLabels,
    "Rows that were flushed and not exported when the last task ended, due or not",
    "rows",
  ),
  paused: sensor(
    "queue_static_export_paused",
    "gauge",
    exportLabels,
    "1 while max_table_count or max_data_weight holds the export",
    "0 or 1",
  ),
  lastSuccess: sensor(
    "queue_static_export_last_success_time",
    "gauge",
    exportLabels,
    "Start of the last task that left nothing out",
    "seconds of Unix time",
  ),
} as const;

export const alertSensor: Sensor = sensor(
  "alerts",
  "gauge",
  alertLabels,
  "1 while the alert is there, 0 once it is gone; of the process without queue labels",
  "0 or 1",
);

/** All of them, in the order of an answer. */
export const allSensors: readonly Sensor[] = [
  ...Object.values(objectSensors),
  ...Object.values(agentSensors),
  ...Object.values(passes).flatMap((kind) => [kind.index, kind.startTime, kind.duration, kind.errors]),
  ...Object.values(queueSensors),
  ...Object.values(queuePartitionSensors),
  ...Object.values(consumerSensors),
  ...Object.values(consumerPartitionSensors),
  lagTimeHistogram,
  ...Object.values(exportSensors),
  alertSensor,
];

/** Names of the time series of a sensor: a summary has two. */
export function seriesNames({ name, type }: Sensor): readonly string[] {
  const full = `${sensorPrefix}${name}`;
  return type === "summary" ? [`${full}_sum`, `${full}_count`] : [full];
}
