/** Types of parameters that only the queue connector has. */
import { bare, isList, Uint64, type YsonValue, YtError } from "@qyt/base";
import { parseRichPath } from "@qyt/yson";
import { z } from "zod";
import type { ClusterPath } from "../../cluster/flow-cluster.ts";
import { anything, boolean, duration, size } from "../../spec/fields.ts";

/** A path as a spec gives it. */
export interface SpecPath {
  readonly path: string;
  /** Where it is; `undefined` when the spec does not say. */
  readonly cluster: string | undefined;
  /** The attribute `clusters`: of a path that is on several. */
  readonly clusters: readonly string[];
  readonly queueConsumerName: string | undefined;
}

export const richPath: z.ZodType<SpecPath> = transformed(anything, (value) => {
  const { path, attributes } = parseRichPath(value);
  const clusters = bare(attributes.get("clusters") ?? []);
  return {
    path,
    cluster: textIn(attributes.get("cluster")),
    clusters: isList(clusters) ? clusters.map((name) => String(bare(name))) : [],
    queueConsumerName: textIn(attributes.get("queue_consumer_name")),
  };
});

/** Half-open ranges of partition indexes. */
export type PartitionFilter = readonly (readonly [begin: number, end: number])[];

export const partitionFilter: z.ZodType<PartitionFilter> = transformed(anything, (value) => {
  const list = bare(value);
  if (!isList(list)) {
    throw new YtError("Expected a list of intervals [begin; end]");
  }
  return list.map((item): readonly [number, number] => {
    const pair = bare(item);
    const [begin, end] = isList(pair) ? pair.map(numberIn) : [];
    if (!isList(pair) || pair.length !== 2 || begin === undefined || end === undefined) {
      throw new YtError("Each partition_filter interval must be a list of two integers");
    }
    if (!(0 <= begin && begin < end)) {
      throw new YtError(
        `Each partition_filter interval must satisfy 0 <= begin < end, got [${begin}, ${end})`,
      );
    }
    return [begin, end];
  });
});

export const atMostOnceShape = { enabled: boolean.default(false) } as const;

export const atMostOnceDynamicShape = {
  suspendDestructionDuration: duration.prefault("10s" as never),
  totalQueueBytesLimit: size.prefault("100M" as never),
} as const;

/** The path on the cluster it names. @throws YtError with the text when it names none */
export function onCluster(path: SpecPath, error: string): ClusterPath {
  if (path.cluster === undefined) {
    throw new YtError(error);
  }
  return {
    cluster: path.cluster,
    path: path.path,
    ...(path.queueConsumerName === undefined ? {} : { queueConsumerName: path.queueConsumerName }),
  };
}

function transformed<Value>(
  from: z.ZodType<YsonValue>,
  parse: (value: YsonValue) => Value,
): z.ZodType<Value> {
  return from.transform((value, context) => {
    try {
      return parse(value);
    } catch (thrown) {
      context.addIssue({
        code: "custom",
        message: thrown instanceof Error ? thrown.message : String(thrown),
      });
      return z.NEVER;
    }
  });
}

function textIn(value: YsonValue | undefined): string | undefined {
  const plain = bare(value ?? null);
  return typeof plain === "string" && plain !== "" ? plain : undefined;
}

function numberIn(value: YsonValue): number | undefined {
  const plain = bare(value);
  const wide = plain instanceof Uint64 ? plain.value : plain;
  return typeof wide === "bigint" ? Number(wide) : undefined;
}

/** Whether a partition is to be read. */
export function isSelected(filter: PartitionFilter | undefined, index: number): boolean {
  return filter === undefined || filter.some(([begin, end]) => begin <= index && index < end);
}
