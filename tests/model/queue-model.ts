/**
 * What two queues, two consumers and the sessions of a producer do, in the fewest words: arrays of rows,
 * and for every row of a sorted table the list of its versions. Time is a counter of commits.
 */
import { assert, defined, errorCodes } from "@qyt/base";

export const queueNames = ["first", "second"] as const;
export type QueueName = (typeof queueNames)[number];
export const partitionCounts: Readonly<Record<QueueName, number>> = { first: 2, second: 1 };
/** Whether the queue has the columns `$timestamp` and `$cumulative_data_weight`. */
export const hasSystemColumns: Readonly<Record<QueueName, boolean>> = { first: true, second: false };
export const consumerNames = ["one", "two"] as const;
export type ConsumerName = (typeof consumerNames)[number];
export type TabletState = "mounted" | "frozen" | "unmounted";

/** Rows of one commit have one timestamp; it is learned when such a row is seen for the first time. */
export interface Commit {
  readonly order: number;
  timestamp: bigint | undefined;
}

export interface ModelRow {
  readonly data: string;
  /** Data weight of this row and all before it, trimmed ones too. */
  readonly cumulativeWeight: number;
  readonly commit: Commit;
}

export interface Partition {
  readonly rows: ModelRow[];
  /** Row counts at which a store was closed: a pull ends there. */
  readonly storeEnds: number[];
  trimmed: number;
  state: TabletState;
}

export interface Place {
  readonly queue: QueueName;
  readonly partition: number;
}

export interface RowToWrite {
  readonly partition: number;
  readonly data: string;
}

/** What is known of the rows around an offset when it is stored. */
export interface OffsetMeta {
  readonly weightBefore: bigint | null;
  readonly commitAt: Commit | null;
}

export interface Offset {
  readonly offset: bigint;
  readonly meta: OffsetMeta | null;
}

export interface Session {
  readonly epoch: bigint;
  readonly number: bigint;
}

/** The answer is an error with one of these codes, and nothing has changed. */
export class Refusal {
  readonly codes: readonly number[];

  constructor(...codes: (keyof typeof errorCodes)[]) {
    this.codes = codes.map((code) => errorCodes[code]);
  }
}

class Versions<T> {
  readonly #list: { readonly at: number; readonly value: T | undefined }[] = [];

  at(time: number): T | undefined {
    return this.#list.findLast((version) => version.at <= time)?.value;
  }

  get latest(): T | undefined {
    return this.#list.at(-1)?.value;
  }

  get changedAt(): number {
    return this.#list.at(-1)?.at ?? 0;
  }

  set(at: number, value: T | undefined): void {
    this.#list.push({ at, value });
  }
}

interface Append {
  readonly queue: QueueName;
  readonly rows: readonly RowToWrite[];
  /** The layout that the rows were routed by, if the writer named one. */
  readonly layout: number | undefined;
}

export class ModelTransaction {
  readonly start: number;
  readonly appends: Append[] = [];
  readonly offsets = new Map<string, Offset>();
  readonly sessions = new Map<string, Session>();

  constructor(start: number) {
    this.start = start;
  }
}

export interface PullAnswer {
  readonly rows: readonly (ModelRow & { readonly index: number })[];
  readonly startOffset: bigint;
  readonly skippedRowCount: number;
}

export interface PullRequest extends Place {
  readonly offset: bigint;
  readonly maxRowCount: number;
  readonly maxDataWeight: number;
}

export interface AdvanceRequest extends Place {
  readonly consumer: ConsumerName;
  readonly oldOffset: bigint | undefined;
  readonly newOffset: bigint;
  readonly clientSide: boolean;
}

export interface PushRequest {
  readonly queue: QueueName;
  readonly session: string;
  readonly epoch: bigint;
  /** Number of every row. */
  readonly numbers: readonly bigint[];
  /** Only the first number is sent; the following count up. */
  readonly isBatch: boolean;
  readonly rows: readonly RowToWrite[];
  readonly layout: number | undefined;
}

export interface PushAnswer {
  readonly lastSequenceNumber: bigint;
  readonly skippedRowCount: bigint;
}

export class QueueModel {
  /** Open ones, by slot. */
  readonly transactions = new Map<number, ModelTransaction>();
  readonly commits: Commit[] = [];
  /** Pushes as they were sent last, by session: what a client sends again that got no answer. */
  readonly lastPushes = new Map<string, PushRequest>();
  /** Per queue, one more whenever the set of mounted tablets changes. */
  readonly layouts: Record<QueueName, number> = { first: 0, second: 0 };
  serial = 0;
  readonly #partitions = new Map<QueueName, readonly Partition[]>(
    queueNames.map((queue) => [
      queue,
      Array.from(
        { length: partitionCounts[queue] },
        (): Partition => ({ rows: [], storeEnds: [], trimmed: 0, state: "mounted" }),
      ),
    ]),
  );
  readonly #offsets = new Map<string, Versions<Offset>>();
  readonly #sessions = new Map<string, Versions<Session>>();

  /** Number of the last commit. */
  get now(): number {
    return this.commits.length;
  }

  partition({ queue, partition }: Place): Partition {
    return defined(this.partitions(queue)[partition], "partition");
  }

  partitions(queue: QueueName): readonly Partition[] {
    return defined(this.#partitions.get(queue), "queue");
  }

  // Transactions

  begin(slot: number): void {
    assert(!this.transactions.has(slot), "slot is free");
    this.transactions.set(slot, new ModelTransaction(this.now));
  }

  abort(slot: number): void {
    this.transactions.delete(slot);
  }

  commit(slot: number): Refusal | undefined {
    const transaction = defined(this.transactions.get(slot), "transaction");
    this.transactions.delete(slot);
    return this.#apply(transaction);
  }

  /** Every open one is lost. */
  restart(): void {
    this.transactions.clear();
  }

  #apply(transaction: ModelTransaction): Refusal | undefined {
    const { start } = transaction;
    const wasChanged = (versions: Versions<unknown> | undefined): boolean =>
      (versions?.changedAt ?? 0) > start;
    if (
      [...transaction.offsets.keys()].some((key) => wasChanged(this.#offsets.get(key))) ||
      [...transaction.sessions.keys()].some((key) => wasChanged(this.#sessions.get(key)))
    ) {
      return new Refusal("TransactionLockConflict");
    }
    const isStale = transaction.appends.some(
      ({ queue, layout }) => layout !== undefined && layout !== this.layouts[queue],
    );
    const isUnmounted = transaction.appends.some(({ queue, rows }) => !this.#takesWrites(queue, rows));
    if (isStale || isUnmounted) {
      const codes = [isStale ? "InvalidMountRevision" : "TabletNotMounted", "TabletNotMounted"] as const;
      return new Refusal(...(isUnmounted ? codes : codes.slice(0, 1)));
    }
    const commit = this.newCommit();
    for (const { queue, rows } of transaction.appends) {
      for (const row of rows) {
        this.append(commit, { queue, partition: row.partition }, row.data);
      }
    }
    for (const [key, offset] of transaction.offsets) {
      versionsOf(this.#offsets, key).set(commit.order, offset);
    }
    for (const [key, session] of transaction.sessions) {
      versionsOf(this.#sessions, key).set(commit.order, session);
    }
    return undefined;
  }

  newCommit(): Commit {
    const commit = { order: this.now + 1, timestamp: undefined };
    this.commits.push(commit);
    return commit;
  }

  append(commit: Commit, place: Place, data: string): void {
    const { rows } = this.partition(place);
    const weight = 1 + data.length + (hasSystemColumns[place.queue] ? 16 : 0);
    rows.push({ data, commit, cumulativeWeight: (rows.at(-1)?.cumulativeWeight ?? 0) + weight });
  }

  /** Runs a change in the slot's transaction, or in an own one that is committed at once. */
  #in<T>(slot: number | undefined, work: (transaction: ModelTransaction) => T | Refusal): T | Refusal {
    if (slot !== undefined) {
      return work(defined(this.transactions.get(slot), "transaction"));
    }
    const transaction = new ModelTransaction(this.now);
    const result = work(transaction);
    return result instanceof Refusal ? result : (this.#apply(transaction) ?? result);
  }

  // Rows

  #takesWrites(queue: QueueName, rows: readonly RowToWrite[]): boolean {
    return rows.every(({ partition }) => this.partition({ queue, partition }).state === "mounted");
  }

  insert(slot: number | undefined, append: Append): Refusal | undefined {
    return this.#in(slot, (transaction) => this.#append(transaction, append));
  }

  #append(transaction: ModelTransaction, append: Append): Refusal | undefined {
    if (append.layout !== undefined && append.layout !== this.layouts[append.queue]) {
      return new Refusal("InvalidMountRevision");
    }
    if (!this.#takesWrites(append.queue, append.rows)) {
      return new Refusal("TabletNotMounted");
    }
    transaction.appends.push(append);
    return undefined;
  }

  trim(place: Place, count: number): Refusal | undefined {
    const partition = this.partition(place);
    if (partition.state !== "mounted") {
      return new Refusal("TabletNotMounted");
    }
    if (count > partition.rows.length) {
      return new Refusal("Generic");
    }
    partition.trimmed = Math.max(partition.trimmed, count);
    return undefined;
  }

  pull({ offset, maxRowCount, maxDataWeight, ...place }: PullRequest): PullAnswer | Refusal {
    const { rows, storeEnds, trimmed, state } = this.partition(place);
    if (state === "unmounted") {
      return new Refusal("TabletNotMounted");
    }
    const asked = Number(offset);
    const start = Math.max(asked, trimmed);
    const storeEnd = storeEnds.find((end) => end > start) ?? rows.length;
    const end = Math.min(storeEnd, start + maxRowCount);
    const answer: (ModelRow & { index: number })[] = [];
    for (
      let index = start;
      index < end && this.pulledWeight(place, start, index - start) < maxDataWeight;
      index++
    ) {
      answer.push({ ...defined(rows[index], "row"), index });
    }
    return {
      rows: answer,
      startOffset: answer.length === 0 ? offset : BigInt(start),
      skippedRowCount: Math.max(0, trimmed - asked),
    };
  }

  /** What rows from an offset on weigh in a pull. */
  pulledWeight(place: Place, offset: number, count: number): number {
    const { rows, trimmed } = this.partition(place);
    const start = Math.max(offset, trimmed);
    const end = Math.min(start + count, rows.length);
    const weightBefore = (index: number): number => rows[index - 1]?.cumulativeWeight ?? 0;
    return Math.max(0, weightBefore(end) - weightBefore(start) + 16 * (end - start));
  }

  // Consumers

  /** As the transaction in the slot sees it, or now. */
  offset(slot: number | undefined, consumer: ConsumerName, place: Place): bigint {
    const versions = this.#offsets.get(offsetKey(consumer, place));
    const start = slot === undefined ? undefined : this.transactions.get(slot)?.start;
    return (start === undefined ? versions?.latest : versions?.at(start))?.offset ?? 0n;
  }

  /** The stored row, if there ever was one. */
  storedOffset(consumer: ConsumerName, place: Place): Offset | undefined {
    return this.#offsets.get(offsetKey(consumer, place))?.latest;
  }

  advance(slot: number | undefined, request: AdvanceRequest): Refusal | undefined {
    return this.#in(slot, (transaction) => {
      const { consumer, oldOffset, newOffset, clientSide, ...place } = request;
      const key = offsetKey(consumer, place);
      const current = this.#offsets.get(key)?.at(transaction.start)?.offset ?? 0n;
      if (oldOffset !== undefined && oldOffset !== current) {
        return new Refusal("ConsumerOffsetConflict");
      }
      transaction.offsets.set(key, {
        offset: newOffset,
        meta: clientSide ? null : this.#metaAt(place, newOffset),
      });
      return undefined;
    });
  }

  #metaAt(place: Place, offset: bigint): OffsetMeta | null {
    const { rows, trimmed, state } = this.partition(place);
    const rowAt = (index: number): ModelRow | undefined => (index < trimmed ? undefined : rows[index]);
    const before = rowAt(Number(offset) - 1);
    const at = rowAt(Number(offset));
    if (state === "unmounted" || (before === undefined && at === undefined)) {
      return null;
    }
    const isKnown = hasSystemColumns[place.queue];
    return {
      weightBefore: before === undefined || !isKnown ? null : BigInt(before.cumulativeWeight),
      commitAt: at === undefined || !isKnown ? null : at.commit,
    };
  }

  // Sessions

  session(queue: QueueName, session: string): Session | undefined {
    return this.#sessions.get(sessionKey(queue, session))?.latest;
  }

  /** As a push in the slot would find it. */
  sessionSeen(slot: number | undefined, queue: QueueName, session: string): Session | undefined {
    const key = sessionKey(queue, session);
    const transaction = slot === undefined ? undefined : this.transactions.get(slot);
    if (transaction === undefined) {
      return this.session(queue, session);
    }
    return transaction.sessions.get(key) ?? this.#sessions.get(key)?.at(transaction.start);
  }

  openSession(queue: QueueName, session: string): Session {
    const old = this.session(queue, session);
    const opened = old === undefined ? { epoch: 0n, number: -1n } : { ...old, epoch: old.epoch + 1n };
    versionsOf(this.#sessions, sessionKey(queue, session)).set(this.newCommit().order, opened);
    return opened;
  }

  removeSession(queue: QueueName, session: string): void {
    versionsOf(this.#sessions, sessionKey(queue, session)).set(this.newCommit().order, undefined);
  }

  push(slot: number | undefined, request: PushRequest): PushAnswer | Refusal {
    return this.#in(slot, (transaction): PushAnswer | Refusal => {
      const { queue, numbers, epoch, layout } = request;
      const key = sessionKey(queue, request.session);
      if (layout !== undefined && layout !== this.layouts[queue]) {
        return new Refusal("InvalidMountRevision");
      }
      const stored = this.#sessions.get(key)?.at(transaction.start);
      if (stored === undefined) {
        return new Refusal("Generic");
      }
      if (epoch !== stored.epoch) {
        return new Refusal(epoch < stored.epoch ? "ZombieEpoch" : "QueueInvalidEpoch");
      }
      if (numbers.some((number, index) => number <= (numbers[index - 1] ?? -1n))) {
        return new Refusal("InvalidRowSequenceNumbers");
      }
      const last = transaction.sessions.get(key)?.number ?? stored.number;
      const skipped = numbers.filter((number) => number <= last).length;
      const rows = request.rows.slice(skipped);
      const refusal = rows.length === 0 ? undefined : this.#append(transaction, { queue, rows, layout });
      if (refusal !== undefined) {
        // A write that was begun and failed ends the caller's transaction; a push that is no good does not.
        if (slot !== undefined) {
          this.transactions.delete(slot);
        }
        return refusal;
      }
      const reached = numbers.findLast((number) => number > last) ?? last;
      transaction.sessions.set(key, { epoch, number: reached });
      return { lastSequenceNumber: numbers.at(-1) ?? last, skippedRowCount: BigInt(skipped) };
    });
  }

  // Tablets

  /** @param only one partition, or all */
  changeState(queue: QueueName, only: number | undefined, command: LifecycleCommand): Refusal | undefined {
    const chosen = this.partitions(queue).filter((_, index) => only === undefined || index === only);
    if (chosen.some(({ state }) => nextState[command][state] === undefined)) {
      return new Refusal("InvalidTabletState");
    }
    let isOther = false;
    for (const partition of chosen) {
      const next = defined(nextState[command][partition.state], "next state");
      isOther ||= (next === "mounted") !== (partition.state === "mounted");
      if (partition.state === "mounted" && next !== "mounted") {
        const { rows, storeEnds } = partition;
        if (rows.length > (storeEnds.at(-1) ?? 0)) {
          storeEnds.push(rows.length);
        }
      }
      partition.state = next;
    }
    this.layouts[queue] += isOther ? 1 : 0;
    return undefined;
  }
}

export const lifecycleCommands = ["mount", "unmount", "freeze", "unfreeze"] as const;
export type LifecycleCommand = (typeof lifecycleCommands)[number];

const nextState: Readonly<Record<LifecycleCommand, Partial<Record<TabletState, TabletState>>>> = {
  mount: { unmounted: "mounted", mounted: "mounted" },
  unmount: { mounted: "unmounted", frozen: "unmounted", unmounted: "unmounted" },
  freeze: { mounted: "frozen", frozen: "frozen" },
  unfreeze: { frozen: "mounted", mounted: "mounted" },
};

function versionsOf<T>(map: Map<string, Versions<T>>, key: string): Versions<T> {
  let versions = map.get(key);
  if (versions === undefined) {
    versions = new Versions();
    map.set(key, versions);
  }
  return versions;
}

function offsetKey(consumer: ConsumerName, { queue, partition }: Place): string {
  return `${consumer}/${queue}/${partition}`;
}

export function sessionKey(queue: QueueName, session: string): string {
  return `${queue}/${session}`;
}
