/**
 * Reads the offsets of one consumer table: one query for all of its queues, and only when the table was
 * written since the last one.
 *
 * Specified in: yt/yt/client/queue_client/consumer_client.cpp (CollectPartitions).
 */
import { bare, isList, isMap, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { greatest, isIndexOrWeight } from "../integers.ts";
import { type ObjectReference, referenceToString } from "../objects/reference.ts";
import type { ClusterReads, WatchedRead } from "../reads/cluster-reads.ts";
import { integerOf, textOf } from "../scalars.ts";
import type { ConsumerTableKind } from "./consumer-schema.ts";
import { subConsumerKey } from "./consumer-snapshot.ts";

export interface OffsetRow {
  /** The first row not yet processed; as written, so perhaps no row index at all, see `requireRowIndexes`. */
  readonly nextRowIndex: bigint;
  /** When the offset was written; `null` when the server does not tell. */
  readonly consumeTimestamp: bigint | null;
  /** Weight of everything before the offset, as noted when it was written. */
  readonly cumulativeDataWeight: bigint | null;
  /** Commit timestamp of the row at the offset, likewise. */
  readonly offsetTimestamp: bigint | null;
}

/** By `subConsumerKey`, then by partition. */
type Offsets = ReadonlyMap<string, ReadonlyMap<number, OffsetRow>>;

export interface OffsetTarget {
  readonly queue: ObjectReference;
  readonly partitionCount: number;
}

export interface OffsetsRead {
  readonly offsets: Offsets;
  /** All names in a table of several consumers, whether registered or not; otherwise `null`. */
  readonly names: ReadonlySet<string> | null;
  /** The latest write to the table; `null` when the server does not tell. */
  readonly lastWriteTimestamp: bigint | null;
}

/** After so many passes the table is read even if nothing says that it changed. */
const passesPerFullRead = 60;

const offsetTimestampColumn = "$timestamp:offset";

interface Kept {
  readonly targets: readonly OffsetTarget[];
  readonly writes: readonly bigint[];
  readonly result: OffsetsRead;
}

const noOffsets: OffsetsRead = { offsets: new Map(), names: null, lastWriteTimestamp: null };

export class OffsetTable {
  readonly #reads: ClusterReads;
  readonly #path: string;
  #kept: Kept | undefined;
  #passesToFullRead = 0;
  #writes: WatchedRead<readonly bigint[]> | undefined;
  #tellsLastWrite = true;
  #tellsTimestamps = true;

  constructor(reads: ClusterReads, path: string) {
    this.#reads = reads;
    this.#path = path;
  }

  /** Nothing of the table is asked any more. */
  close(): void {
    this.#writes?.close();
    this.#writes = undefined;
  }

  /**
   * The same object as the last time when nothing was written since, and `targets` is the same list.
   * @throws YtError when the table cannot be read
   */
  async read(kind: ConsumerTableKind, targets: readonly OffsetTarget[]): Promise<OffsetsRead> {
    if (targets.length === 0 && !kind.hasName) {
      return noOffsets;
    }
    this.#passesToFullRead -= 1;
    if (this.#passesToFullRead < 0) {
      this.#passesToFullRead = passesPerFullRead;
      this.#kept = undefined;
      this.close();
      this.#tellsLastWrite = true;
      this.#tellsTimestamps = true;
    }
    const writes = await this.#lastWrites();
    const kept = this.#kept;
    if (kept !== undefined && kept.targets === targets && sameTimestamps(kept.writes, writes)) {
      return kept.result;
    }
    try {
      const result = {
        ...(await this.#offsets(kind, targets)),
        lastWriteTimestamp: writes === undefined ? null : greatest(0n, ...writes),
      };
      this.#kept = writes === undefined ? undefined : { targets, writes, result };
      return result;
    } catch (thrown) {
      this.#passesToFullRead = 0;
      throw thrown;
    }
  }

  /** The last write of each tablet; `undefined` when they cannot be asked for, so that rows must be read. */
  async #lastWrites(): Promise<readonly bigint[] | undefined> {
    if (!this.#tellsLastWrite) {
      return undefined;
    }
    try {
      this.#writes ??= await this.#watchWrites();
      return await this.#writes.take();
    } catch {
      // An unmounted table, or a server that tells this of ordered tables only: the query shows which.
      this.#tellsLastWrite = false;
      this.close();
      return undefined;
    }
  }

  async #watchWrites(): Promise<WatchedRead<readonly bigint[]>> {
    const tabletCount = Number(integerOf(await this.#reads.get(`${this.#path}/@tablet_count`)) ?? 1n);
    const indexes = Array.from({ length: tabletCount }, (_, index) => BigInt(index));
    return this.#reads.watch(
      "get_tablet_infos",
      { path: this.#path, tablet_indexes: indexes },
      lastWriteTimestamps,
    );
  }

  async #offsets(
    kind: ConsumerTableKind,
    targets: readonly OffsetTarget[],
  ): Promise<Pick<OffsetsRead, "offsets" | "names">> {
    const rows = await this.#rows(kind, targets);
    const counts = new Map(
      targets.map(({ queue, partitionCount }) => [referenceToString(queue), partitionCount]),
    );
    const [only] = targets;
    const offsets = new Map<string, Map<number, OffsetRow>>();
    const names = new Set<string>();
    for (const row of rows) {
      const name = kind.hasName ? textOf(row.get("queue_consumer_name")) : null;
      if (name !== null) {
        names.add(name);
      }
      const queue = kind.isLegacy ? only?.queue : queueOf(row);
      const partition = integerOf(row.get(kind.isLegacy ? "ShardId" : "partition_index"));
      if (queue === undefined || partition === null) {
        continue;
      }
      const count = counts.get(referenceToString(queue));
      if (count === undefined || partition >= BigInt(count)) {
        continue;
      }
      const key = subConsumerKey(queue, name);
      const partitions = offsets.get(key) ?? new Map<number, OffsetRow>();
      partitions.set(Number(partition), toOffsetRow(row, kind));
      offsets.set(key, partitions);
    }
    return { offsets, names: kind.hasName ? names : null };
  }

  async #rows(kind: ConsumerTableKind, targets: readonly OffsetTarget[]): Promise<readonly YsonMap[]> {
    const query = (withTimestamp: boolean): string => queryOf(this.#path, kind, targets, withTimestamp);
    if (!this.#tellsTimestamps || kind.isLegacy) {
      return this.#reads.select(query(false));
    }
    try {
      return await this.#reads.select(query(true), {
        versioned_read_options: new Map([["read_mode", "latest_timestamp"]]),
      });
    } catch (thrown) {
      let rows: readonly YsonMap[];
      try {
        rows = await this.#reads.select(query(false));
      } catch {
        throw thrown;
      }
      this.#tellsTimestamps = false;
      return rows;
    }
  }
}

function lastWriteTimestamps(output: YsonValue): readonly bigint[] {
  const tablets = isMap(output) ? output.get("tablets") : output;
  return (isList(tablets) ? tablets : []).map((tablet) =>
    isMap(tablet) ? (integerOf(tablet.get("last_write_timestamp")) ?? 0n) : 0n,
  );
}

function sameTimestamps(left: readonly bigint[], right: readonly bigint[] | undefined): boolean {
  return left.length === right?.length && left.every((timestamp, index) => timestamp === right[index]);
}

function queryOf(
  path: string,
  kind: ConsumerTableKind,
  targets: readonly OffsetTarget[],
  withTimestamp: boolean,
): string {
  const limit = Math.max(0, ...targets.map(({ partitionCount }) => partitionCount));
  if (kind.isLegacy) {
    return `[ShardId], [Offset] from [${path}] where [ShardId] < ${limit}u`;
  }
  const columns = [
    ...(kind.hasName ? ["queue_consumer_name"] : []),
    "queue_cluster",
    "queue_path",
    "partition_index",
    "offset",
    ...(kind.hasMeta ? ["meta"] : []),
    ...(withTimestamp ? [offsetTimestampColumn] : []),
  ].map((name) => `[${name}]`);
  if (kind.hasName) {
    // Its names are wanted as well, also those that have no registration.
    return `${columns.join(", ")} from [${path}]`;
  }
  const queues = targets.map(({ queue }) => `(${literal(queue.cluster)}, ${literal(queue.path)})`);
  return `${columns.join(", ")} from [${path}] where ([queue_cluster], [queue_path]) in (${queues.join(", ")}) and [partition_index] < ${limit}u`;
}

function literal(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function toOffsetRow(row: YsonMap, kind: ConsumerTableKind): OffsetRow {
  if (kind.isLegacy) {
    return {
      nextRowIndex: (integerOf(row.get("Offset")) ?? -1n) + 1n,
      consumeTimestamp: null,
      cumulativeDataWeight: null,
      offsetTimestamp: null,
    };
  }
  const meta = bare(row.get("meta") ?? null);
  const noted = (name: string): bigint | null => (isMap(meta) ? integerOf(meta.get(name)) : null);
  const weight = noted("cumulative_data_weight");
  return {
    nextRowIndex: integerOf(row.get("offset")) ?? 0n,
    consumeTimestamp: integerOf(row.get(offsetTimestampColumn)),
    cumulativeDataWeight: weight !== null && isIndexOrWeight(weight) ? weight : null,
    offsetTimestamp: noted("offset_timestamp"),
  };
}

function queueOf(row: YsonMap): ObjectReference {
  return { cluster: textOf(row.get("queue_cluster")) ?? "", path: textOf(row.get("queue_path")) ?? "" };
}

/**
 * Anyone who may write to the consumer's table may write any `uint64` as an offset.
 * @throws YtError when one of the offsets is no row index
 */
export function requireRowIndexes(offsets: ReadonlyMap<number, OffsetRow>, consumer: ObjectReference): void {
  for (const [partitionIndex, { nextRowIndex }] of offsets) {
    if (!isIndexOrWeight(nextRowIndex)) {
      throw new YtError(
        `Offset ${nextRowIndex} of consumer "${referenceToString(consumer)}" in partition ${partitionIndex} is no row index: set it with advance_queue_consumer`,
        { attributes: { partition_index: BigInt(partitionIndex) } },
      );
    }
  }
}

/** Any failure to read the table, as the error of each of the consumer's queues: of code 1, with the reason inside. */
export function offsetsError(consumer: ObjectReference, reason: YtError): YtError {
  return new YtError(
    `Error reading offsets of consumer "${referenceToString(consumer)}": check that its table is mounted`,
    { inner: [reason] },
  );
}
