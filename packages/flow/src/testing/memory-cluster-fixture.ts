/**
 * A cluster in memory for simulations: sorted tables with versions and conflicts, queues as lists, and faults on the
 * way there and back. What a killed process asks for never comes back; what it has sent may still happen.
 */
import { type Clock, type Random, type YsonValue, YtError } from "@qyt/base";
import { pipelineTables, type RowValue, YsonAny } from "@qyt/schema";
import type {
  FlowCluster,
  FlowTransaction,
  LookupOptions,
  RangeOptions,
  Rowset,
} from "../cluster/flow-cluster.ts";
import { keyFromYson } from "../computations/timer-store.ts";
import type { UniqueSeqNo } from "../model/message.ts";
import { documentOf } from "../tables/cells.ts";

/** Chances of what may go wrong, each in [0, 1). */
export interface Faults {
  /** The request is lost: nothing happens. */
  lostRequest: number;
  /** The answer is lost: it has happened. */
  lostAnswer: number;
  /** The request comes late: the caller has given up, and then it happens. */
  lateRequest: number;
  maxDelayMs: number;
}

interface Version {
  readonly timestamp: bigint;
  readonly values: ReadonlyMap<string, RowValue> | undefined;
}

interface StoredRow {
  readonly key: readonly RowValue[];
  readonly versions: Version[];
}

interface Table {
  readonly keyColumns: readonly string[];
  readonly rows: Map<string, StoredRow>;
}

const timeoutMs = 1_000;

/** One process's life: when it is over nothing comes back to it. */
export interface ProcessLife {
  isKilled: boolean;
}

export class MemoryCluster {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly faults: Faults;
  readonly tables = new Map<string, Table>();
  readonly queues = new Map<string, (readonly RowValue[])[]>();
  #lastTimestamp = 0n;

  constructor(name: string, clock: Clock, random: Random, faults: Faults) {
    this.name = name;
    this.clock = clock;
    this.random = random;
    this.faults = faults;
  }

  /** Makes the tables of a pipeline. */
  createPipeline(path: string): void {
    for (const { name, columns } of pipelineTables) {
      const keyColumns = columns.filter((item) => item.isKey === true && item.expression === undefined);
      this.tables.set(`${path}/${name}`, {
        keyColumns: keyColumns.map((item) => item.name),
        rows: new Map(),
      });
    }
  }

  /** Rows of a sorted table as they are now. */
  rowsOf(path: string): ReadonlyMap<string, RowValue>[] {
    return [...(this.tables.get(path)?.rows.values() ?? [])].flatMap((row) => {
      const values = row.versions.at(-1)?.values;
      return values === undefined ? [] : [values];
    });
  }

  timestamp(): bigint {
    const now = BigInt(Math.floor(this.clock.now() / 1_000)) << 30n;
    this.#lastTimestamp = now > this.#lastTimestamp ? now : this.#lastTimestamp + 1n;
    return this.#lastTimestamp;
  }

  /** The cluster as one process sees it. */
  connect(life: ProcessLife): FlowCluster {
    return new Connection(this, life);
  }

  read(path: string, key: readonly RowValue[], timestamp: bigint): ReadonlyMap<string, RowValue> | undefined {
    const row = this.table(path).rows.get(textOfKey(key));
    return row?.versions.findLast((version) => version.timestamp <= timestamp)?.values;
  }

  select(path: string, { prefix, from, limit, columns }: RangeOptions): (readonly RowValue[])[] {
    const table = this.table(path);
    const places = prefix
      .filter(([name]) => name !== "hash")
      .map(([name, value]) => ({ index: table.keyColumns.indexOf(name), value }));
    const fromIndex = from === undefined ? -1 : table.keyColumns.indexOf(from.column);
    const found: StoredRow[] = [];
    for (const row of table.rows.values()) {
      const isInPrefix = places.every(
        ({ index, value }) => compareCells(row.key[index] ?? null, value) === 0,
      );
      const order = from === undefined ? 1 : compareCells(row.key[fromIndex] ?? null, from.value);
      if (isInPrefix && (order > 0 || (order === 0 && from?.isInclusive === true))) {
        found.push(row);
      }
    }
    found.sort((left, right) => compareKeys(left.key, right.key));
    return found
      .flatMap((row) => {
        const values = row.versions.at(-1)?.values;
        return values === undefined ? [] : [columns.map((name) => values.get(name) ?? null)];
      })
      .slice(0, limit);
  }

  /** @throws YtError 1700 when a row was changed since the transaction began */
  commit(startTimestamp: bigint, writes: readonly Write[]): void {
    for (const { path, key } of writes) {
      const last = key === undefined ? undefined : this.table(path).rows.get(textOfKey(key))?.versions.at(-1);
      if (last !== undefined && last.timestamp > startTimestamp) {
        throw new YtError(`Row lock conflict in ${path}`, { code: "TransactionLockConflict" });
      }
    }
    const timestamp = this.timestamp();
    for (const write of writes) {
      this.#apply(write, timestamp);
    }
  }

  #apply({ path, key, values, isUpdate }: Write, timestamp: bigint): void {
    if (key === undefined) {
      const queue = this.queues.get(path) ?? [];
      queue.push([...(values?.values() ?? [])]);
      this.queues.set(path, queue);
      return;
    }
    const { rows } = this.table(path);
    const text = textOfKey(key);
    const row = rows.get(text) ?? { key, versions: [] };
    rows.set(text, row);
    const before = isUpdate ? row.versions.at(-1)?.values : undefined;
    row.versions.push({
      timestamp,
      values: values === undefined ? undefined : new Map([...(before ?? []), ...values]),
    });
    if (row.versions.length > 50) {
      row.versions.splice(0, 25);
    }
  }

  table(path: string): Table {
    const table = this.tables.get(path);
    if (table === undefined) {
      throw new YtError(`Node ${path} has no child`, { code: "ResolveError" });
    }
    return table;
  }

  isTable(path: string): boolean {
    return this.tables.has(path);
  }
}

interface Write {
  readonly path: string;
  /** Of queues: none. */
  readonly key: readonly RowValue[] | undefined;
  /** `undefined`: the row goes. */
  readonly values: ReadonlyMap<string, RowValue> | undefined;
  readonly isUpdate: boolean;
}

class Connection implements FlowCluster {
  readonly #cluster: MemoryCluster;
  readonly #life: ProcessLife;

  constructor(cluster: MemoryCluster, life: ProcessLife) {
    this.#cluster = cluster;
    this.#life = life;
  }

  get name(): string {
    return this.#cluster.name;
  }

  /** A round trip with its faults. */
  async trip<T>(action: () => T, isWrite = false): Promise<T> {
    const { faults, random } = this.#cluster;
    await this.#delay(random.next() * faults.maxDelayMs);
    if (random.next() < faults.lostRequest) {
      await this.#delay(timeoutMs);
      throw new YtError("Request timed out", { code: "Timeout" });
    }
    if (isWrite && random.next() < faults.lateRequest) {
      this.#cluster.clock.after(timeoutMs + random.next() * 5_000, () => {
        try {
          action();
        } catch {
          // Nobody waits for it.
        }
      });
      await this.#delay(timeoutMs);
      throw new YtError("Request timed out", { code: "Timeout" });
    }
    const result = action();
    if (random.next() < faults.lostAnswer) {
      await this.#delay(timeoutMs);
      throw new YtError("Connection was closed", { code: "TransportError" });
    }
    await this.#delay(random.next() * faults.maxDelayMs);
    return result;
  }

  #delay(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#cluster.clock.after(ms, () => {
        if (!this.#life.isKilled) {
          resolve();
        }
      });
    });
  }

  generateTimestamp(): Promise<UniqueSeqNo> {
    return this.trip(() => this.#cluster.timestamp() as UniqueSeqNo);
  }

  startTransaction(): Promise<FlowTransaction> {
    return this.trip(() => new Transaction(this.#cluster, this));
  }

  lookupRows(path: string, keys: Rowset, options: LookupOptions): Promise<(readonly RowValue[] | null)[]> {
    return this.trip(() => lookup(this.#cluster, path, keys, options, this.#cluster.timestamp()));
  }

  selectRange(path: string, options: RangeOptions): Promise<(readonly RowValue[])[]> {
    return this.trip(() => this.#cluster.select(path, options));
  }

  get(): Promise<YsonValue> {
    return Promise.reject(new YtError("not in this fixture"));
  }

  set(): Promise<void> {
    return Promise.reject(new YtError("not in this fixture"));
  }

  getTabletInfo(): never {
    throw new YtError("not in this fixture");
  }

  pullQueueConsumer(): never {
    throw new YtError("not in this fixture");
  }

  consumerOffset(): never {
    throw new YtError("not in this fixture");
  }

  advanceConsumer(): never {
    throw new YtError("not in this fixture");
  }

  createProducerSession(): never {
    throw new YtError("not in this fixture");
  }

  pushQueueProducer(): never {
    throw new YtError("not in this fixture");
  }
}

class Transaction implements FlowTransaction {
  readonly startTimestamp: UniqueSeqNo;
  readonly #cluster: MemoryCluster;
  readonly #connection: Connection;
  readonly #writes: Write[] = [];

  constructor(cluster: MemoryCluster, connection: Connection) {
    this.#cluster = cluster;
    this.#connection = connection;
    this.startTimestamp = cluster.timestamp() as UniqueSeqNo;
  }

  get cluster(): string {
    return this.#cluster.name;
  }

  get isEmpty(): boolean {
    return this.#writes.length === 0;
  }

  lookupRows(path: string, keys: Rowset, options: LookupOptions): Promise<(readonly RowValue[] | null)[]> {
    return this.#connection.trip(() => lookup(this.#cluster, path, keys, options, this.startTimestamp));
  }

  insertRows(path: string, { columns, rows }: Rowset, options: { readonly update?: boolean } = {}): void {
    const isTable = this.#cluster.isTable(path);
    for (const row of rows) {
      const values = new Map(columns.map((name, index) => [name, row[index] ?? null]));
      const key = isTable
        ? this.#cluster.table(path).keyColumns.map((name) => values.get(name) ?? null)
        : undefined;
      this.#writes.push({ path, key, values, isUpdate: options.update ?? false });
    }
  }

  deleteRows(path: string, { columns, rows }: Rowset): void {
    for (const row of rows) {
      const values = new Map(columns.map((name, index) => [name, row[index] ?? null]));
      const key = this.#cluster.table(path).keyColumns.map((name) => values.get(name) ?? null);
      this.#writes.push({ path, key, values: undefined, isUpdate: false });
    }
  }

  commit(): Promise<void> {
    return this.#connection.trip(() => this.#cluster.commit(this.startTimestamp, this.#writes), true);
  }

  async abort(): Promise<void> {}
}

function lookup(
  cluster: MemoryCluster,
  path: string,
  { columns, rows }: Rowset,
  options: LookupOptions,
  timestamp: bigint,
): (readonly RowValue[] | null)[] {
  const { keyColumns } = cluster.table(path);
  return rows.map((row) => {
    const key = keyColumns.map((name) => row[columns.indexOf(name)] ?? null);
    const values = cluster.read(path, key, timestamp);
    return values === undefined ? null : options.columns.map((name) => values.get(name) ?? null);
  });
}

function textOfKey(key: readonly RowValue[]): string {
  return key
    .map((cell) => {
      const bytes = cell instanceof YsonAny ? cell.bytes : cell;
      return bytes instanceof Uint8Array ? Buffer.from(bytes).toString("latin1") : String(bytes);
    })
    .join("\u0001\u0000");
}

function compareKeys(left: readonly RowValue[], right: readonly RowValue[]): number {
  for (let index = 0; index < Math.max(left.length, right.length); ++index) {
    const order = compareCells(left[index] ?? null, right[index] ?? null);
    if (order !== 0) {
      return order;
    }
  }
  return 0;
}

function compareCells(left: RowValue, right: RowValue): number {
  if (left instanceof YsonAny && right instanceof YsonAny) {
    return compareKeys(keyFromYson(documentOf(left)), keyFromYson(documentOf(right)));
  }
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    return Buffer.compare(left, right);
  }
  if (left === null || right === null) {
    return Number(left !== null) - Number(right !== null);
  }
  return left < right ? -1 : left > right ? 1 : 0;
}
