/**
 * What is known of a queue and of who reads it: from the tablets and the consumers' tables, which are always right,
 * and from the queue agent (rates, lag in time, alerts), which may be absent.
 */
import {
  attributesOf,
  bare,
  isList,
  isMap,
  toYtError,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { parseRichPath, writeYsonText } from "@qyt/yson";
import { fieldsOf } from "./report.ts";

/** Clients of other clusters, by name. @throws YtError when a cluster has no address */
export type ClientOf = (cluster: string) => Promise<YtClient>;

export interface PartitionFacts {
  readonly index: number;
  readonly state: string;
  readonly trimmedRowCount: bigint;
  readonly totalRowCount: bigint;
}

export interface Registration {
  readonly queue: ObjectPath;
  readonly consumer: ObjectPath;
  readonly isVital: boolean;
}

/** A path with its cluster; `text` is what commands take. */
export interface ObjectPath {
  readonly cluster: string | undefined;
  readonly path: string;
  readonly text: string;
}

/** Of one partition for one consumer. */
export interface OffsetFacts {
  readonly partitionIndex: number;
  /** 0 when nothing was committed yet. */
  readonly offset: bigint;
}

/** A path as users write it, apart. */
export function objectPath(text: string): ObjectPath {
  const aliased = /^([\w.-]+):(\/\/.*)$/.exec(text);
  const rich = aliased === null ? parseRichPath(text) : undefined;
  const cluster = aliased?.[1] ?? textOf(rich?.attributes.get("cluster"));
  const path = aliased?.[2] ?? rich?.path ?? text;
  return { cluster, path, text: cluster === undefined ? path : `<cluster=${writeYsonText(cluster)}>${path}` };
}

/** @throws YtError 500 when there is no such node; 1 when it is no queue */
export async function partitionsOf(client: YtClient, queue: ObjectPath): Promise<readonly PartitionFacts[]> {
  const attributes = ["type", "dynamic", "sorted", "tablet_count", "tablets"];
  const node = attributesOf(await client.get(queue.path, { attributes }));
  if (node.get("dynamic") !== true || node.get("sorted") === true) {
    throw new YtError(
      `${queue.path} is not a queue: it is ${describeNode(node)}. A queue is a dynamic table without key columns ` +
        `(qyt queue create ${queue.path} makes one)`,
    );
  }
  const count = Number(node.get("tablet_count") ?? 0n);
  const states = listOf(node.get("tablets")).map((tablet) => textOf(fieldsOf(tablet).get("state")) ?? "?");
  const indexes = Array.from({ length: count }, (_, index) => index);
  const isMounted = states.every((state) => state === "mounted" || state === "frozen");
  const infos = isMounted ? listOf(await client.getTabletInfos(queue.path, indexes)) : [];
  return indexes.map((index) => {
    const info = fieldsOf(infos[index]);
    return {
      index,
      state: states[index] ?? "?",
      trimmedRowCount: integerOf(info.get("trimmed_row_count")) ?? 0n,
      totalRowCount: integerOf(info.get("total_row_count")) ?? 0n,
    };
  });
}

export async function registrationsOf(
  client: YtClient,
  filter: { readonly queuePath?: string; readonly consumerPath?: string },
): Promise<readonly Registration[]> {
  const answer = await client.listQueueConsumerRegistrations(filter);
  return listOf(answer).map((item) => {
    const fields = fieldsOf(item);
    return {
      queue: pathOf(fields.get("queue_path")),
      consumer: pathOf(fields.get("consumer_path")),
      isVital: fields.get("vital") === true,
    };
  });
}

/** Offsets of a consumer, by queue and partition, from its table. */
export async function offsetsOf(
  client: YtClient,
  consumer: ObjectPath,
  queue: ObjectPath & { readonly cluster: string },
): Promise<readonly OffsetFacts[]> {
  const rows = await client.selectRows(
    `[partition_index], [offset] from [${consumer.path}] where [queue_cluster] = ${quoted(queue.cluster)} and [queue_path] = ${quoted(queue.path)}`,
  );
  return rows.map((row) => ({
    partitionIndex: Number(row["partition_index"]),
    offset: BigInt(String(row["offset"])),
  }));
}

/** An attribute that the queue agent computes; `undefined` when no agent answers for the object. */
export async function agentFacts(
  client: YtClient,
  path: string,
  name: string,
): Promise<YsonValue | undefined> {
  try {
    return await client.get(`${path}/@${name}`, { attempts: 1 });
  } catch (thrown) {
    toYtError(thrown);
    return undefined;
  }
}

function describeNode(node: YsonMap): string {
  const type = textOf(node.get("type")) ?? "a node";
  if (node.get("dynamic") === true) {
    return "a sorted dynamic table";
  }
  return node.get("dynamic") === false ? "a static table" : `of type "${type}"`;
}

function pathOf(value: YsonValue | undefined): ObjectPath {
  const path = String(bare(value ?? ""));
  const cluster = textOf(attributesOf(value ?? "").get("cluster"));
  return { cluster, path, text: cluster === undefined ? path : `<cluster=${writeYsonText(cluster)}>${path}` };
}

function quoted(text: string): string {
  return writeYsonText(text);
}

export function listOf(value: YsonValue | undefined): readonly YsonValue[] {
  const plain = bare(value ?? null);
  return isList(plain) ? plain : [];
}

export function integerOf(value: YsonValue | undefined): bigint | undefined {
  const plain = bare(value ?? null);
  if (typeof plain === "bigint") {
    return plain;
  }
  return typeof plain === "object" && plain !== null && !isMap(plain) && "value" in plain
    ? plain.value
    : undefined;
}

export function textOf(value: YsonValue | undefined): string | undefined {
  const plain = bare(value ?? null);
  return typeof plain === "string" ? plain : undefined;
}
