/**
 * How a consumer gets its partitions: as a member of a group, in rounds. Each round says "I am here", reads the
 * group's table, and acts on the own part of what is wanted: takes leases that are free or whose owner is gone, gives
 * back those that others are to have. Nobody waits for the others.
 */
import { type Clock, sleep, toYtError } from "@qyt/base";
import type { YtClient } from "../client.ts";
import { assignPartitions } from "./assignment.ts";
import {
  type GroupState,
  type GroupTable,
  type Layout,
  type Lease,
  type MemberRow,
  partitionKey,
} from "./group-table.ts";
import { firstLayout, inParallel, nextLayout, type StartPolicy, storeStarts } from "./layout.ts";
import { Liveness } from "./liveness.ts";
import type { Attempts, Partition } from "./partition.ts";
import type { QueueLink } from "./queue-link.ts";

/** A queue that is read, and which of its partitions: all, or those. */
export interface Subscription {
  readonly link: QueueLink;
  readonly partitions: readonly number[] | null;
}

/** What a membership tells its consumer. */
export interface MembershipHost {
  /** Partitions that are read now, by key. */
  readonly partitions: ReadonlyMap<string, Partition>;
  gain(
    at: { readonly link: QueueLink; readonly index: number },
    state: { readonly epoch: bigint | undefined; readonly offset: bigint; readonly attempts: Attempts },
  ): void;
  drop(partition: Partition, reason: "taken over" | "gone"): void;
  /** To be given back when nothing is out, or to be kept after all. */
  setLeaving(partition: Partition, isLeaving: boolean): void;
  /** Partitions whose handler takes too long, by key. */
  stalled(): readonly string[];
  /** The stored offset is another one than the consumer thinks. */
  moved(partition: Partition, offset: bigint): void;
  failed(what: string, thrown: unknown): void;
}

export interface MembershipOptions {
  readonly client: YtClient;
  readonly table: GroupTable;
  readonly memberId: string;
  readonly subscriptions: readonly Subscription[];
  readonly start: StartPolicy;
  readonly sessionTimeoutMs: number;
  /** How often it is looked for new partitions. */
  readonly layoutPeriodMs: number;
  readonly clock: Clock;
  readonly host: MembershipHost;
}

const noLayout: Layout = { count: 0, pending: 0, barrier: [] };
const roundsPerSession = 4;
/** Rows of members that are dead for so many session timeouts are removed. */
const sessionsUntilRemoval = 10;
/** What is kept of a row's attempts when its reader ended without a word. */
const endedWithReader = "the process that handled the row ended, or took too long";

export class GroupMembership {
  readonly #options: MembershipOptions;
  readonly #liveness: Liveness;
  readonly #stop = new AbortController();
  readonly #lookedMs = new Map<string, number>();
  #beat = 0n;
  #aliveMs = Number.NEGATIVE_INFINITY;
  #running: Promise<void> = Promise.resolve();

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#liveness = new Liveness(options.sessionTimeoutMs);
  }

  /** Whether the others certainly hold this member for alive. */
  isFresh(nowMs: number): boolean {
    return nowMs - this.#aliveMs < this.#options.sessionTimeoutMs;
  }

  /** The first round, then more of them. @throws YtError when the first one fails */
  async join(): Promise<void> {
    await this.#round();
    this.#running = this.#goOn();
  }

  /** Takes nothing any more. The row stays, so that leases which are still held are those of a live member. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Removes the row of this member. */
  async leave(): Promise<void> {
    await this.#options.table.removeMembers([this.#options.memberId]);
  }

  async #goOn(): Promise<void> {
    const { clock, host, sessionTimeoutMs } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await sleep(clock, sessionTimeoutMs / roundsPerSession, signal).catch(() => undefined);
      if (signal.aborted) {
        return;
      }
      try {
        await this.#round();
      } catch (thrown) {
        host.failed("take part in the group", thrown);
      }
    }
  }

  async #round(): Promise<void> {
    const { clock, host, memberId, subscriptions, table } = this.#options;
    const startMs = clock.monotonic();
    await table.beat(this.#ownRow());
    this.#aliveMs = startMs;
    const owned = [...host.partitions.values()];
    const versions = versionsOf(owned);
    const state = await table.read();
    const nowMs = clock.monotonic();
    this.#liveness.observe(state.members, nowMs);
    for (const partition of owned) {
      const lease = state.leases.get(partition.key);
      if (!partition.isEnded && (lease?.owner !== memberId || lease.epoch !== partition.epoch)) {
        host.drop(partition, "taken over");
      }
    }
    const layouts = await this.#layouts(state, nowMs);
    const members = this.#liveMembers(state, nowMs);
    await this.#share(state, members, layouts);
    for (const { link } of subscriptions) {
      await findMoved(link, host, versions);
    }
    await this.#removeDead(state, nowMs);
  }

  #ownRow(): MemberRow {
    const { host, memberId, subscriptions } = this.#options;
    this.#beat += 1n;
    const queues = new Map(subscriptions.map(({ link, partitions }) => [link.key, partitions] as const));
    return { id: memberId, beat: this.#beat, queues, stalled: host.stalled() };
  }

  #liveMembers(state: GroupState, nowMs: number): readonly MemberRow[] {
    const { memberId } = this.#options;
    const others = state.members.filter(({ id }) => id !== memberId && this.#liveness.isAlive(id, nowMs));
    const own = state.members.filter(({ id }) => id === memberId);
    return [...own, ...others];
  }

  /** Takes what is free and wanted here, and gives back what is wanted elsewhere. */
  async #share(
    state: GroupState,
    members: readonly MemberRow[],
    layouts: ReadonlyMap<string, Layout>,
  ): Promise<void> {
    const { host, memberId, subscriptions } = this.#options;
    const places = new Map<string, { readonly queue: string; readonly index: number }>();
    for (const [queue, { count }] of layouts) {
      for (let index = 0; index < count; ++index) {
        places.set(partitionKey(queue, index), { queue, index });
      }
    }
    const readers = members.map((member) => ({
      id: member.id,
      reads: (key: string): boolean => {
        const place = places.get(key);
        const partitions = place === undefined ? undefined : member.queues.get(place.queue);
        const isSubscribed = partitions === null || (partitions?.includes(place?.index ?? -1) ?? false);
        return isSubscribed && !member.stalled.includes(key);
      },
    }));
    const owners = new Map([...state.leases].map(([key, { owner }]) => [key, owner]));
    const wanted = assignPartitions(readers, [...places.keys()], owners);
    const isHeld = (key: string): boolean => {
      const owner = owners.get(key) ?? "";
      return owner !== memberId && readers.some(({ id, reads }) => id === owner && reads(key));
    };
    for (const partition of host.partitions.values()) {
      host.setLeaving(partition, wanted.get(partition.key) !== memberId && wanted.has(partition.key));
    }
    const links = new Map(subscriptions.map(({ link }) => [link.key, link]));
    const free = [...places].filter(
      ([key]) => wanted.get(key) === memberId && !host.partitions.has(key) && !isHeld(key),
    );
    await inParallel(free, async ([key, { queue, index }]) => {
      const link = links.get(queue);
      if (link !== undefined && !this.#stop.signal.aborted) {
        await this.#take(link, index, state.leases.get(key));
      }
    });
  }

  /** Takes a lease, if it is as it was read. */
  async #take(link: QueueLink, index: number, seen: Lease | undefined): Promise<void> {
    const { client, host, memberId, table } = this.#options;
    try {
      const gained = await client.transaction(
        async (tx) => {
          const [lease, offsets] = await Promise.all([
            table.lease(link.key, index, tx),
            link.storedOffsets([index], tx),
          ]);
          if (lease.epoch !== (seen?.epoch ?? 0n) || lease.beat !== (seen?.beat ?? 0n)) {
            return undefined;
          }
          const offset = offsets.get(index) ?? 0n;
          const attempts = attemptsOf(lease, offset);
          const epoch = lease.epoch + 1n;
          const { count, error } = attempts;
          await table.putLease(
            link.key,
            index,
            { owner: memberId, epoch, beat: lease.beat + 1n, attempts: count, attemptOffset: offset, error },
            tx,
          );
          return { epoch, offset, attempts };
        },
        { type: "tablet" },
      );
      if (gained !== undefined) {
        host.gain({ link, index }, gained);
      }
    } catch (thrown) {
      if (!toYtError(thrown).has("TransactionLockConflict")) {
        host.failed(`take partition ${partitionKey(link.key, index)}`, thrown);
      }
    }
  }

  /** The layouts of all queues of the group; those of the own queues are made and kept up. */
  async #layouts(state: GroupState, nowMs: number): Promise<ReadonlyMap<string, Layout>> {
    const layouts = new Map(state.layouts);
    for (const { link } of this.#options.subscriptions) {
      const layout = layouts.get(link.key);
      const lookedMs = this.#lookedMs.get(link.key) ?? Number.NEGATIVE_INFINITY;
      const isPending = layout !== undefined && layout.pending > layout.count;
      if (layout === undefined || isPending || nowMs - lookedMs >= this.#options.layoutPeriodMs) {
        const now = await this.#updateLayout(link, layout);
        this.#lookedMs.set(link.key, nowMs);
        layouts.set(link.key, now);
      }
    }
    return layouts;
  }

  async #updateLayout(link: QueueLink, layout: Layout | undefined): Promise<Layout> {
    const { client, table, start } = this.#options;
    const first = layout === undefined ? await firstLayout(link, start) : undefined;
    const next = first?.layout ?? (layout === undefined ? undefined : await nextLayout(link, layout));
    if (next === undefined || next === layout) {
      return next ?? noLayout;
    }
    try {
      const isStored = await client.transaction(
        async (tx) => {
          const stored = await table.layout(link.key, tx);
          const isSame = stored?.count === layout?.count && stored?.pending === layout?.pending;
          if (isSame) {
            await Promise.all([
              table.putLayout(link.key, next, tx),
              storeStarts(link, first?.starts ?? new Map(), tx),
            ]);
          }
          return isSame;
        },
        { type: "tablet" },
      );
      if (isStored) {
        return next;
      }
    } catch (thrown) {
      if (!toYtError(thrown).has("TransactionLockConflict")) {
        throw thrown;
      }
    }
    // What another member has stored meanwhile is seen in the next round.
    return layout ?? noLayout;
  }

  async #removeDead(state: GroupState, nowMs: number): Promise<void> {
    const { memberId, sessionTimeoutMs, table } = this.#options;
    const dead = state.members.filter(
      ({ id }) =>
        id !== memberId && this.#liveness.unchangedMs(id, nowMs) > sessionTimeoutMs * sessionsUntilRemoval,
    );
    await table.removeMembers(dead.map(({ id }) => id));
  }
}

/** Of the row at the offset: what is stored for it, or one attempt when its reader ended without giving it back. */
function attemptsOf(lease: Lease, offset: bigint): Attempts {
  if (lease.attempts > 0 && lease.attemptOffset === offset) {
    return { count: lease.attempts, error: lease.error };
  }
  return lease.owner === "" ? { count: 0, error: "" } : { count: 1, error: endedWithReader };
}

/** What the partitions have changed of their own offsets so far. */
export function versionsOf(partitions: Iterable<Partition>): ReadonlyMap<Partition, number> {
  return new Map([...partitions].map((partition) => [partition, partition.version]));
}

/**
 * Finds offsets that somebody else has moved.
 * @param versions taken before; a partition that has changed its own offset since then is passed over
 */
export async function findMoved(
  link: QueueLink,
  host: MembershipHost,
  versions: ReadonlyMap<Partition, number>,
): Promise<void> {
  const partitions = [...versions.keys()].filter((partition) => partition.link === link);
  const stored = await link.storedOffsets(partitions.map(({ index }) => index));
  for (const partition of partitions) {
    const offset = stored.get(partition.index) ?? 0n;
    const isSettled = !partition.isBusy && partition.version === versions.get(partition);
    if (isSettled && !partition.isEnded && offset !== partition.committed) {
      host.moved(partition, offset);
    }
  }
}
