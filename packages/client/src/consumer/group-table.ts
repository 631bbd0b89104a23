/**
 * The table of a group, beside its consumer: who is a member, who has the lease of which partition, and which
 * partitions are read yet. A sorted dynamic table and ordinary tablet transactions are all that it needs.
 *
 * A row of a member is written by that member alone. A row of a lease changes only in a transaction that has read it,
 * so of two writers one fails: that is what fences a reader that does not know that it was replaced.
 */
import { emptyMap, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { toYson } from "@qyt/yson";
import type { YtClient } from "../client.ts";
import type { RowCommands } from "../commands/rows.ts";

/** Who reads a partition, and what is known of the row at its offset. */
export interface Lease {
  /** Empty: nobody; its last owner gave it back. */
  readonly owner: string;
  /** Grows with every new owner. */
  readonly epoch: bigint;
  /** Grows with every change. */
  readonly beat: bigint;
  /** How often the row at `attemptOffset` was tried alone, those attempts included that ended with the reader. */
  readonly attempts: number;
  readonly attemptOffset: bigint;
  /** Of the last attempt. */
  readonly error: string;
}

export interface MemberRow {
  readonly id: string;
  readonly beat: bigint;
  /** Keys of the queues it reads; partitions by number, or all. */
  readonly queues: ReadonlyMap<string, readonly number[] | null>;
  /** Partitions whose handler has been at work for too long, by their key. */
  readonly stalled: readonly string[];
}

/** Which partitions of a queue are read: those below `count`; up to `pending` when all before `barrier` are read. */
export interface Layout {
  readonly count: number;
  readonly pending: number;
  /** Of the partitions below `count`: offsets up to which rows are older than the new partitions. */
  readonly barrier: readonly bigint[];
}

export interface GroupState {
  readonly members: readonly MemberRow[];
  /** By `partitionKey`. */
  readonly leases: ReadonlyMap<string, Lease>;
  /** By key of the queue. */
  readonly layouts: ReadonlyMap<string, Layout>;
}

const keyColumn = (name: string, type: string) => ({ name, type, sort_order: "ascending" });
const column = (name: string, type: string) => ({ name, type });

const schema = [
  keyColumn("consumer_name", "string"),
  keyColumn("kind", "string"),
  keyColumn("queue", "string"),
  keyColumn("partition_index", "int64"),
  keyColumn("member", "string"),
  column("owner", "string"),
  column("epoch", "int64"),
  column("beat", "int64"),
  column("attempts", "int64"),
  column("attempt_offset", "int64"),
  column("error", "string"),
  column("state", "any"),
];

const noPartition = -1n;
const maxErrorLength = 10_000;

export function partitionKey(queue: string, partition: number): string {
  return `${queue}#${partition}`;
}

export class GroupTable {
  readonly path: string;
  readonly #client: YtClient;
  readonly #consumerName: string;

  constructor(client: YtClient, path: string, consumerName: string) {
    this.path = path;
    this.#client = client;
    this.#consumerName = consumerName;
  }

  /** Makes the table where there is none, and waits until it is mounted. */
  async open(pause: () => Promise<void>): Promise<void> {
    if (!(await this.#client.exists(this.path))) {
      await this.#client.create("table", this.path, {
        attributes: mapOf({ dynamic: true, schema: toYson(schema) }),
        ignoreExisting: true,
      });
    }
    if ((await this.#client.get(`${this.path}/@tablet_state`)) !== "mounted") {
      await this.#client.mountTable(this.path);
      while ((await this.#client.get(`${this.path}/@tablet_state`)) !== "mounted") {
        await pause();
      }
    }
  }

  async read(signal?: AbortSignal): Promise<GroupState> {
    const rows = await this.#client.selectRows(
      `* from [${this.path}] where consumer_name = ${JSON.stringify(this.#consumerName)}`,
      signal === undefined ? {} : { signal },
    );
    const members: MemberRow[] = [];
    const leases = new Map<string, Lease>();
    const layouts = new Map<string, Layout>();
    for (const row of rows) {
      const queue = textOf(row["queue"]);
      if (row["kind"] === "member") {
        members.push(memberOf(row));
      } else if (row["kind"] === "lease") {
        leases.set(partitionKey(queue, Number(row["partition_index"])), leaseOf(row));
      } else if (row["kind"] === "layout") {
        layouts.set(queue, layoutOf(row));
      }
    }
    return { members, leases, layouts };
  }

  async beat(member: MemberRow, signal?: AbortSignal): Promise<void> {
    const queues = new Map<string, YsonValue>();
    for (const [queue, partitions] of member.queues) {
      queues.set(queue, partitions === null ? null : partitions.map((partition) => BigInt(partition)));
    }
    const state = mapOf({ queues, stalled: member.stalled });
    const row = { ...this.#key("member", { member: member.id }), beat: member.beat, state };
    await this.#client.insertRows(this.path, [row], signal === undefined ? {} : { signal });
  }

  async removeMembers(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) {
      const keys = ids.map((id) => this.#key("member", { member: id }));
      await this.#client.deleteRows(this.path, keys);
    }
  }

  /** The lease as the transaction sees it. A partition that nobody ever read has that of nobody. */
  async lease(queue: string, partition: number, tx: RowCommands): Promise<Lease> {
    const key = this.#key("lease", { queue, partition });
    const [row] = await tx.lookupRows(this.path, [key]);
    return leaseOf(row ?? {});
  }

  async putLease(queue: string, partition: number, lease: Lease, tx: RowCommands): Promise<void> {
    const row = {
      ...this.#key("lease", { queue, partition }),
      owner: lease.owner,
      epoch: lease.epoch,
      beat: lease.beat,
      attempts: lease.attempts,
      attempt_offset: lease.attemptOffset,
      error: lease.error.slice(0, maxErrorLength),
    };
    await tx.insertRows(this.path, [row]);
  }

  async layout(queue: string, tx: RowCommands): Promise<Layout | undefined> {
    const [row] = await tx.lookupRows(this.path, [this.#key("layout", { queue })]);
    return row === undefined || row === null ? undefined : layoutOf(row);
  }

  async putLayout(queue: string, layout: Layout, tx: RowCommands): Promise<void> {
    const state = { count: layout.count, pending: layout.pending, barrier: layout.barrier };
    await tx.insertRows(this.path, [{ ...this.#key("layout", { queue }), state }]);
  }

  #key(kind: string, of: { readonly queue?: string; readonly partition?: number; readonly member?: string }) {
    return {
      consumer_name: this.#consumerName,
      kind,
      queue: of.queue ?? "",
      partition_index: of.partition === undefined ? noPartition : BigInt(of.partition),
      member: of.member ?? "",
    };
  }
}

type Row = Readonly<Record<string, unknown>>;

function leaseOf(row: Row): Lease {
  return {
    owner: textOf(row["owner"]),
    epoch: integerOf(row["epoch"]),
    beat: integerOf(row["beat"]),
    attempts: Number(integerOf(row["attempts"])),
    attemptOffset: integerOf(row["attempt_offset"]),
    error: textOf(row["error"]),
  };
}

function memberOf(row: Row): MemberRow {
  const state = stateOf(row);
  const queues = new Map<string, readonly number[] | null>();
  const told = state.get("queues");
  for (const [queue, partitions] of isMap(told) ? told : emptyMap) {
    queues.set(queue, Array.isArray(partitions) ? partitions.map(Number) : null);
  }
  const stalled = state.get("stalled");
  return {
    id: textOf(row["member"]),
    beat: integerOf(row["beat"]),
    queues,
    stalled: Array.isArray(stalled) ? stalled.map(String) : [],
  };
}

function layoutOf(row: Row): Layout {
  const state = stateOf(row);
  const barrier = state.get("barrier");
  return {
    count: Number(state.get("count") ?? 0n),
    pending: Number(state.get("pending") ?? 0n),
    barrier: Array.isArray(barrier) ? barrier.map((offset) => BigInt(String(offset))) : [],
  };
}

function stateOf(row: Row): YsonMap {
  const state = row["state"];
  if (typeof state !== "object" || state === null) {
    throw new YtError(
      "The group's table has a row that this version does not understand; name another table",
    );
  }
  const value = toYson(state);
  return isMap(value) ? value : emptyMap;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function integerOf(value: unknown): bigint {
  return typeof value === "bigint" ? value : 0n;
}
