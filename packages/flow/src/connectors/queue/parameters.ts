/**
 * Every parameter of the queue connector, once: name, type, default, meaning, rules and the classes that take it.
 * Parsing and validation derive from this table, and so does the reference in the documentation.
 * Specified in: yt/yt/flow/library/cpp/connectors/queue/spec.h, spec.cpp; documentation "Flow", connectors.
 */
import type { YsonMap, YsonValue } from "@qyt/base";
import { z } from "zod";
import {
  boolean,
  double,
  duration,
  integer,
  names,
  parseSpec,
  size,
  struct,
  text,
} from "../../spec/fields.ts";
import { atMostOnceDynamicShape, atMostOnceShape, partitionFilter, richPath } from "./parameter-types.ts";

export const classNames = {
  source: "NYT::NFlow::TQueueSource",
  syncSink: "NYT::NFlow::TSyncQueueSink",
  asyncSink: "NYT::NFlow::TAsyncQueueSink",
  multiClusterSink: "NYT::NFlow::TAsyncMultiClusterQueueSink",
} as const;

export type ConnectorClass = keyof typeof classNames;

interface Parameter<Value> {
  /** As a user reads it. */
  readonly type: string;
  /** As it stands in a spec; `undefined`: required, or optional without a value. */
  readonly default?: YsonValue;
  readonly description: string;
  /** What is refused, and with which words. */
  readonly rule?: string;
  readonly shape: z.ZodType<Value>;
}

/** A parameter that has a default: it is parsed as if it had been given. */
function withDefault<Value>(
  shape: z.ZodType<Value>,
  value: YsonValue,
  rest: Omit<Parameter<Value>, "shape" | "default">,
): Parameter<Value> {
  return { ...rest, default: value, shape: z.preprocess((given) => given ?? value, shape) };
}

function optional<Value>(
  shape: z.ZodType<Value>,
  rest: Omit<Parameter<Value>, "shape" | "default">,
): Parameter<Value | undefined> {
  return { ...rest, shape: shape.optional() };
}

function required<Value>(
  shape: z.ZodType<Value>,
  rest: Omit<Parameter<Value>, "shape" | "default">,
): Parameter<Value> {
  return { ...rest, shape };
}

const positive = integer({ min: 1 });

const queuePath = required(richPath, {
  type: "rich YPath",
  description: "The queue to read or to write.",
  rule: "Sources and asynchronous sinks need its cluster: `QueuePath should have cluster`. A synchronous sink writes to the pipeline's cluster alone.",
});

const flowQueueMetaColumn = withDefault(text, "flow_queue_meta", {
  type: "string",
  description: "The column of type `any` that holds a row's event time, and the watermarks of heartbeats.",
  rule: "A sink refuses a payload column of this name when it writes meta.",
});

const updatePartitionCountPeriod = withDefault(duration, "1m", {
  type: "duration",
  description:
    "How often the controller asks for the queue's partition count (±20 %). A synchronous sink that routes by hash asks for it at the workers, too.",
});

const updatePartitionCountRetryMinBackoff = withDefault(duration, "1s", {
  type: "duration",
  description: "The first pause after a failed question for the partition count, at most the period.",
});

export const sourceParameters = {
  queuePath,
  consumerPath: required(richPath, {
    type: "rich YPath",
    description:
      "The consumer to read through, and to publish offsets to. It must be registered for the queue.",
    rule: "`ConsumerPath should have cluster`",
  }),
  finite: withDefault(boolean, false, {
    type: "boolean",
    description:
      "Each partition ends where it ends when it is first asked; after that the stream, and with all streams the pipeline, is completed.",
  }),
  tryParseFlowQueueMeta: withDefault(boolean, true, {
    type: "boolean",
    description: "Whether the meta column is understood where the queue has it. Otherwise it is payload.",
  }),
  flowQueueMetaColumn,
  ignoreMalformedFlowQueueMeta: withDefault(boolean, false, {
    type: "boolean",
    description:
      "What happens at meta that is not understood: `%true` warns and takes the row as one without meta; `%false` holds the partition at the row, with the error `/read`.",
  }),
  partitionFilter: optional(partitionFilter, {
    type: "list of [begin; end)",
    description: "Only these partitions are read.",
    rule: "`Each partition_filter interval must satisfy 0 <= begin < end`",
  }),
  updateInfoPeriod: withDefault(duration, "15s", {
    type: "duration",
    description:
      "How often a partition's end, its trimmed rows and the consumer's offset are asked for, and the offset published (±20 %).",
  }),
  byteSizeAlpha: withDefault(double, 0.05, {
    type: "double",
    description: "How much of the estimates of row sizes comes from the newest row.",
  }),
  updatePartitionCountPeriod,
  updatePartitionCountRetryMinBackoff,
} as const;

export const sourceDynamicParameters = {
  pullQueueTimeout: withDefault(duration, "1m", {
    type: "duration",
    description: "How long one pull may take.",
  }),
  unavailableThreshold: withDefault(duration, "5m", {
    type: "duration",
    description: "After failing for longer than this in a row, the partition counts as stably unavailable.",
  }),
} as const;

const commonSinkParameters = {
  queuePath,
  writeFlowQueueMeta: withDefault(boolean, false, {
    type: "boolean",
    description: "Writes the event time with each row, and heartbeats with the watermark to each partition.",
  }),
  flowQueueMetaColumn,
  columnFilter: optional(names, {
    type: "set of strings",
    description: "Only these columns of the payload are written. Default: all.",
    rule: "`Column %v not found in schema`",
  }),
  updatePartitionCountPeriod,
  updatePartitionCountRetryMinBackoff,
} as const;

const routingParameters = {
  tabletIndexExpression: optional(text, {
    type: "string",
    description: "An expression over the payload whose value, a uint64, is the partition to write to.",
    rule: "Not together with `tablet_index_routing_hash_expression`",
  }),
  tabletIndexRoutingHashExpression: optional(text, {
    type: "string",
    description: "An expression over the payload whose value, a uint64, is mapped to a partition.",
    rule: "Needs `tablet_index_routing_hash_policy`",
  }),
  tabletIndexRoutingHashPolicy: optional(z.preprocess(String, z.enum(["range", "modulo"])), {
    type: "`range` or `modulo`",
    description: "How a hash gives a partition: by equal ranges of all hashes, or by the remainder.",
    rule: "Needs `tablet_index_routing_hash_expression`",
  }),
  tabletCount: optional(positive, {
    type: "int64",
    description: "The number of partitions that hashes are mapped to. Default: as many as the queue has.",
    rule: "Positive; needs `tablet_index_routing_hash_expression`",
  }),
} as const;

export const syncSinkParameters = { ...commonSinkParameters, ...routingParameters } as const;

export const asyncSinkParameters = {
  ...commonSinkParameters,
  ...routingParameters,
  producerPath: required(richPath, {
    type: "rich YPath",
    description: "The producer whose sessions keep rows from being written twice.",
    rule: "`ProducerPath should have cluster`; `ProducerPath and QueuePath should have the same cluster`",
  }),
  requireSyncReplica: withDefault(boolean, true, {
    type: "boolean",
    description: "Refuses to write to a replicated queue that has no synchronous replica.",
  }),
  atMostOnceStrategy: optional(struct(atMostOnceShape), {
    type: "map with `enabled`",
    description: "With `enabled` rows are sent once and may be lost; nothing waits for them.",
  }),
} as const;

export const multiClusterSinkParameters = {
  ...asyncSinkParameters,
  useClusters: withDefault(boolean, false, {
    type: "boolean",
    description:
      "Writes to one of the clusters of `queue_path` (attribute `clusters`), and to the next when it fails.",
    rule: "`QueuePath and ProducerPath should have same set of clusters`",
  }),
} as const;

export const syncSinkDynamicParameters = {
  flowQueueMetaHeartbeatPeriod: withDefault(duration, "10s", {
    type: "duration",
    description: "How often heartbeats are written, if `write_flow_queue_meta` is set.",
  }),
} as const;

export const asyncSinkDynamicParameters = {
  ...syncSinkDynamicParameters,
  writePeriod: withDefault(duration, "100ms", {
    type: "duration",
    description: "A batch is sent when it is so old.",
  }),
  maxRowsPerWrite: withDefault(positive, 1000n, {
    type: "int64",
    description: "A batch is sent when it has so many rows.",
  }),
  maxBytesPerWrite: withDefault(size, 1_048_576n, {
    type: "int64",
    description: "A batch is sent when it has so many bytes.",
  }),
  backoffDuration: withDefault(duration, "1s", {
    type: "duration",
    description: "The pause after a failed write.",
  }),
  atMostOnceStrategy: withDefault(struct(atMostOnceDynamicShape), new Map(), {
    type: "map with `suspend_destruction_duration` (10s) and `total_queue_bytes_limit` (100 MB)",
    description:
      "For `at_most_once_strategy`: how long a stopped job goes on sending, and how many bytes may wait before rows are dropped.",
  }),
} as const;

type Parameters = Readonly<Record<string, Parameter<unknown>>>;

/** What the parameters of a table parse to. */
export type ParsedParameters<Table extends Parameters> = {
  readonly [Name in keyof Table]: z.output<Table[Name]["shape"]>;
};

/**
 * Parses a map of parameters; unknown ones are left out.
 * @throws YtError 1 naming the parameter
 */
export function parseParameters<Table extends Parameters>(
  table: Table,
  value: YsonMap | YsonValue,
  what: string,
): ParsedParameters<Table> {
  const shape: { [Name in keyof Table]: Table[Name]["shape"] } = Object.fromEntries(
    Object.entries(table).map(([name, parameter]) => [name, parameter.shape]),
  ) as { [Name in keyof Table]: Table[Name]["shape"] };
  return parseSpec(struct(shape), value, what).spec;
}

/** One line of the reference. */
export interface ParameterDescription {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly default: YsonValue | undefined;
  readonly kind: "static" | "dynamic";
  readonly classes: readonly ConnectorClass[];
  /** Classes that know the parameter in order to refuse it. */
  readonly refusedBy: readonly ConnectorClass[];
  readonly description: string;
  readonly rule: string | undefined;
}

const tables: readonly (readonly [ConnectorClass, ParameterDescription["kind"], Parameters])[] = [
  ["source", "static", sourceParameters],
  ["source", "dynamic", sourceDynamicParameters],
  ["syncSink", "static", syncSinkParameters],
  ["syncSink", "dynamic", syncSinkDynamicParameters],
  ["asyncSink", "static", asyncSinkParameters],
  ["asyncSink", "dynamic", asyncSinkDynamicParameters],
  ["multiClusterSink", "static", multiClusterSinkParameters],
  ["multiClusterSink", "dynamic", asyncSinkDynamicParameters],
];

/** All parameters of the four classes, each once for static and for dynamic specs. */
export const connectorParameters: readonly ParameterDescription[] = describeAll();

function describeAll(): readonly ParameterDescription[] {
  const found = new Map<string, ParameterDescription>();
  for (const [className, kind, table] of tables) {
    for (const [name, parameter] of Object.entries(table)) {
      const key = `${kind} ${name}`;
      const before = found.get(key);
      const isRefused = className !== "syncSink" && name in routingParameters;
      found.set(key, {
        name: name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        type: parameter.type,
        isRequired: parameter.default === undefined && !parameter.shape.safeParse(undefined).success,
        default: parameter.default,
        kind,
        classes: [...(before?.classes ?? []), ...(isRefused ? [] : [className])],
        refusedBy: [...(before?.refusedBy ?? []), ...(isRefused ? [className] : [])],
        description: parameter.description,
        rule: parameter.rule,
      });
    }
  }
  return [...found.values()];
}
