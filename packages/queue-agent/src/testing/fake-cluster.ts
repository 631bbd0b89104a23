/**
 * A cluster in memory for tests of trimming and exports: queues with flushed chunks, directories, static
 * tables, master transactions with locks. It answers the commands that the agent sends, over the client's
 * own transport, so that a test can lose requests and answers and end an agent between any two of them.
 */
import {
  Attributed,
  bare,
  type Clock,
  isList,
  isMap,
  mapOf,
  toYtError,
  Uint64,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { type Transport, type TransportResponse, YtClient } from "@qyt/client";
import { timestampFromMs } from "@qyt/schema";
import { errorToYson, parseYson, writeJson, writeYson } from "@qyt/yson";
import { type FakeChunk, FakeQueue } from "./fake-queue.ts";
import { answer, decodeRequest } from "./fake-wire.ts";

export interface FakeTable {
  readonly attributes: YsonMap;
  chunks: FakeChunk[];
  readonly createdMs: number;
}

interface FakeTransaction {
  readonly parent: FakeTransaction | undefined;
  deadlineMs: number;
  readonly timeoutMs: number;
  readonly locks: Set<string>;
  /** Made in it, not visible outside. */
  readonly tables: Map<string, FakeTable>;
  readonly attributes: Map<string, YsonValue>;
}

/** What becomes of one request. */
export type Fate = "deliver" | "lose request" | "lose answer" | "hang";

/** Decides on each request of one agent, in order. A promise holds the request back, as a paused process does. */
export type Faults = (command: string, index: number) => Fate | Promise<Fate>;

const schema = new Attributed(mapOf({ strict: true }), [mapOf({ name: "data", type: "string" })]);

export class FakeCluster {
  readonly clock: Clock;
  readonly queues = new Map<string, FakeQueue>();
  readonly tables = new Map<string, FakeTable>();
  readonly directories = new Set<string>();
  readonly attributes = new Map<string, YsonValue>();
  /** All requests that were executed, by command. */
  readonly executed: string[] = [];
  /** Transactions that are not pinged live no longer than so many milliseconds. */
  maxTransactionTimeoutMs = Number.POSITIVE_INFINITY;
  readonly #transactions = new Map<string, FakeTransaction>();
  #lastId = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  newId(): string {
    return `1-2-3-${(++this.#lastId).toString(16)}`;
  }

  createQueue(path: string, tabletCount = 1): FakeQueue {
    const queue = new FakeQueue(this, path, this.newId(), tabletCount);
    this.queues.set(path, queue);
    return queue;
  }

  /** A directory that takes exports of the queue, or of the given id. */
  createDirectory(path: string, originatingQueueId: string): void {
    this.directories.add(path);
    this.attributes.set(
      `${path}/@queue_static_export_destination`,
      mapOf({ originating_queue_id: originatingQueueId }),
    );
  }

  /** Names of the tables in a directory that have not expired, in order. */
  tableNames(directory: string): string[] {
    this.#expire();
    const names = [...this.tables.keys()].filter((path) => path.startsWith(`${directory}/`));
    return names.map((path) => path.slice(directory.length + 1)).sort();
  }

  table(path: string): FakeTable {
    const table = this.tables.get(path);
    if (table === undefined) {
      throw new YtError(`Node ${path} has no child`, { code: "ResolveError" });
    }
    return table;
  }

  /** Row ranges in the tables of a directory as `tablet:row`, in order of tables. */
  exportedRows(directory: string): string[] {
    return this.tableNames(directory).flatMap((name) =>
      this.table(`${directory}/${name}`).chunks.flatMap((chunk) =>
        Array.from(
          { length: Number(chunk.rowCount) },
          (_, index) => `${chunk.tabletIndex}:${chunk.startRowIndex + BigInt(index)}`,
        ),
      ),
    );
  }

  /** Takes a lock as another client would; gives back what releases it. */
  lockDirectory(path: string, attributeKey: string | null): () => void {
    const id = this.newId();
    const locks = new Set([attributeKey === null ? `${path}#shared` : `${path}@${attributeKey}`]);
    this.#transactions.set(id, {
      parent: undefined,
      deadlineMs: Number.POSITIVE_INFINITY,
      timeoutMs: 0,
      locks,
      tables: new Map(),
      attributes: new Map(),
    });
    return () => this.#transactions.delete(id);
  }

  /** A client of this cluster as one process has it. */
  client(faults: Faults = () => "deliver"): YtClient {
    let index = 0;
    const transport: Transport = {
      send: async (request) => {
        const { command, parameters, body } = decodeRequest(request);
        const fate = await faults(command, index++);
        if (fate === "hang") {
          return await new Promise<never>((_, reject) => {
            request.signal?.addEventListener("abort", () => reject(request.signal?.reason), { once: true });
          });
        }
        if (fate === "lose request") {
          throw new YtError(`Request "${command}" was lost`, { code: "TransportError" });
        }
        let response: TransportResponse;
        try {
          response = answer(200, writeYson(this.#execute(command, parameters, body), "binary"));
        } catch (thrown) {
          response = answer(400, Buffer.from(writeJson(errorToYson(toYtError(thrown)))));
        }
        if (fate === "lose answer") {
          throw new YtError(`The answer to "${command}" was lost`, { code: "TransportError" });
        }
        return response;
      },
      close: async () => {},
    };
    return new YtClient({ proxy: "fake", transport, retries: false, clock: this.clock });
  }

  #execute(command: string, parameters: YsonMap, body: Uint8Array | undefined): YsonValue {
    this.#expire();
    this.executed.push(command);
    const text = (name: string): string => String(bare(parameters.get(name) ?? ""));
    const transaction = this.#transaction(parameters.get("transaction_id"));
    switch (command) {
      case "execute_batch":
        return mapOf({ results: this.#batch(parameters) });
      case "generate_timestamp":
        return mapOf({ timestamp: new Uint64(timestampFromMs(this.clock.now())) });
      case "start_transaction":
        return mapOf({ transaction_id: this.#start(parameters, transaction) });
      case "ping_transaction":
        this.#ping(transaction);
        return new Map();
      case "commit_transaction":
        this.#commit(text("transaction_id"));
        return new Map();
      case "abort_transaction":
        this.#transactions.delete(text("transaction_id"));
        return new Map();
      case "lock":
        return this.#lock(parameters, transaction);
      case "get":
        return mapOf({ value: this.#get(text("path"), transaction) });
      case "set":
        transaction?.attributes.set(text("path"), parseYson(body ?? new Uint8Array()));
        return new Map();
      case "list":
        return mapOf({ value: this.#list(text("path"), transaction) });
      case "create":
        return mapOf({ node_id: this.#create(text("path"), parameters, transaction) });
      case "fetch_queue_chunks":
        return this.#fetch(this.#queue(text("path")));
      case "attach_queue_chunks":
        this.#attach(parameters, transaction);
        return new Map();
      case "trim_rows":
        this.#trim(parameters);
        return new Map();
      case "get_ordered_tablet_safe_trim_row_count":
        return this.#safeCounts(parameters);
      default:
        throw new YtError(`The fake cluster knows no command "${command}"`);
    }
  }

  #batch(parameters: YsonMap): YsonValue[] {
    const requests = parameters.get("requests");
    return (isList(requests) ? requests : []).map((request) => {
      const fields = isMap(request) ? request : new Map<string, YsonValue>();
      const inner = fields.get("parameters");
      try {
        const command = String(fields.get("command"));
        return mapOf({ output: this.#execute(command, isMap(inner) ? inner : new Map(), undefined) });
      } catch (thrown) {
        return mapOf({ error: errorToYson(toYtError(thrown)) });
      }
    });
  }

  // Transactions

  #transaction(id: YsonValue | undefined): FakeTransaction | undefined {
    if (id === undefined || id === null) {
      return undefined;
    }
    const transaction = this.#transactions.get(String(id));
    if (transaction === undefined) {
      throw new YtError(`No such transaction ${String(id)}`, { code: "NoSuchTransaction" });
    }
    return transaction;
  }

  #start(parameters: YsonMap, parent: FakeTransaction | undefined): string {
    const id = this.newId();
    const timeoutMs = Math.min(Number(parameters.get("timeout") ?? 30_000n), this.maxTransactionTimeoutMs);
    this.#transactions.set(id, {
      parent,
      timeoutMs,
      deadlineMs: this.clock.now() + timeoutMs,
      locks: new Set(),
      tables: new Map(),
      attributes: new Map(),
    });
    return id;
  }

  #ping(transaction: FakeTransaction | undefined): void {
    if (transaction !== undefined) {
      transaction.deadlineMs = this.clock.now() + transaction.timeoutMs;
    }
  }

  #commit(id: string): void {
    const transaction = this.#transaction(id);
    if (transaction !== undefined) {
      const { parent } = transaction;
      for (const [path, table] of transaction.tables) {
        (parent?.tables ?? this.tables).set(path, table);
      }
      for (const [path, value] of transaction.attributes) {
        (parent?.attributes ?? this.attributes).set(path, value);
      }
      this.#transactions.delete(id);
    }
  }

  #expire(): void {
    const nowMs = this.clock.now();
    for (const [id, { deadlineMs }] of this.#transactions) {
      if (deadlineMs <= nowMs) {
        this.#transactions.delete(id);
      }
    }
    for (const [path, { attributes, createdMs }] of this.tables) {
      const time = attributes.get("expiration_time");
      const timeout = attributes.get("expiration_timeout");
      const ends = [
        typeof time === "string" ? Date.parse(time) : Number.POSITIVE_INFINITY,
        typeof timeout === "bigint" ? createdMs + Number(timeout) : Number.POSITIVE_INFINITY,
      ];
      if (Math.min(...ends) <= nowMs) {
        this.tables.delete(path);
      }
    }
  }

  #lock(parameters: YsonMap, transaction: FakeTransaction | undefined): YsonValue {
    const path = String(parameters.get("path"));
    const key = parameters.get("attribute_key");
    const queue = this.queues.get(path);
    if (queue === undefined && !this.directories.has(path)) {
      throw resolveError(path);
    }
    if (key !== undefined) {
      const lock = `${path}@${String(key)}`;
      if ([...this.#transactions.values()].some((other) => other !== transaction && other.locks.has(lock))) {
        throw new YtError(
          `Cannot take lock for attribute "${String(key)}" of node ${path} since the same attribute is locked by a concurrent transaction`,
          { code: "ConcurrentTransactionLockConflict" },
        );
      }
      transaction?.locks.add(lock);
    }
    return mapOf({ lock_id: this.newId(), node_id: queue?.id ?? "0-0-0-1" });
  }

  // Nodes

  #queue(path: string): FakeQueue {
    const queue = path.startsWith("#")
      ? [...this.queues.values()].find(({ id }) => id === path.slice(1))
      : this.queues.get(path);
    if (queue === undefined) {
      throw resolveError(path);
    }
    return queue;
  }

  #get(path: string, transaction: FakeTransaction | undefined): YsonValue {
    const [node = "", name = ""] = path.split("/@");
    if (node.startsWith("#")) {
      const queue = this.#queue(node);
      const known = mapOf({ type: "table", dynamic: true, sorted: false, schema });
      const value = queue.attributes.get(name) ?? known.get(name);
      if (value === undefined) {
        throw resolveError(path);
      }
      return value;
    }
    for (let at = transaction; at !== undefined; at = at.parent) {
      const staged = at.attributes.get(path);
      if (staged !== undefined) {
        return staged;
      }
    }
    const value = this.attributes.get(path);
    if (value === undefined) {
      throw resolveError(path);
    }
    return value;
  }

  #visibleTables(transaction: FakeTransaction | undefined): Map<string, FakeTable> {
    return transaction === undefined
      ? new Map(this.tables)
      : new Map([...this.#visibleTables(transaction.parent), ...transaction.tables]);
  }

  #list(directory: string, transaction: FakeTransaction | undefined): YsonValue {
    return [...this.#visibleTables(transaction)]
      .filter(([path]) => path.startsWith(`${directory}/`))
      .map(([path, table]) => {
        const dataWeight = 10n * table.chunks.reduce((sum, { rowCount }) => sum + rowCount, 0n);
        const attributes = mapOf({ type: "table", dynamic: false, data_weight: dataWeight });
        return new Attributed(attributes, path.slice(directory.length + 1));
      });
  }

  #create(path: string, parameters: YsonMap, transaction: FakeTransaction | undefined): string {
    if (this.#visibleTables(transaction).has(path)) {
      throw new YtError(`Node ${path} already exists`, { code: "AlreadyExists" });
    }
    const attributes = parameters.get("attributes");
    const table: FakeTable = {
      attributes: isMap(attributes) ? attributes : new Map(),
      chunks: [],
      createdMs: this.clock.now(),
    };
    (transaction?.tables ?? this.tables).set(path, table);
    return this.newId();
  }

  // Queues

  #fetch(queue: FakeQueue): YsonValue {
    return mapOf({
      object_id: queue.id,
      tablets: queue.tablets.map((tablet, tabletIndex) =>
        mapOf({
          tablet_index: BigInt(tabletIndex),
          trimmed_row_count: tablet.trimmedRowCount,
          chunks: tablet.chunks.map((chunk) =>
            mapOf({
              id: chunk.id,
              start_row_index: chunk.startRowIndex,
              row_count: chunk.rowCount,
              data_weight: 10n * chunk.rowCount,
              max_timestamp: new Uint64(chunk.maxTimestamp),
              min_timestamp: new Uint64(chunk.maxTimestamp),
            }),
          ),
        }),
      ),
    });
  }

  #attach(parameters: YsonMap, transaction: FakeTransaction | undefined): void {
    const queue = this.#queue(String(parameters.get("source_path")));
    const table = this.#visibleTables(transaction).get(String(parameters.get("path")));
    const ids = parameters.get("chunk_ids");
    if (table === undefined) {
      throw resolveError(String(parameters.get("path")));
    }
    const all = queue.tablets.flatMap(({ chunks }) => chunks);
    for (const id of isList(ids) ? ids : []) {
      const chunk = all.find((one) => one.id === id);
      if (chunk === undefined) {
        throw new YtError(`Chunk ${String(id)} is not among the chunks of the queue`, {
          code: "NoSuchChunk",
        });
      }
      table.chunks.push(chunk);
    }
  }

  #trim(parameters: YsonMap): void {
    const tablet = this.#queue(String(parameters.get("path"))).tablet(Number(parameters.get("tablet_index")));
    const count = parameters.get("trimmed_row_count");
    if (tablet.state !== "mounted") {
      throw new YtError("Tablet is not mounted", { code: "TabletNotMounted" });
    }
    if (typeof count !== "bigint" || count > tablet.upperRowIndex) {
      throw new YtError("Cannot trim rows that are not there");
    }
    if (count > tablet.trimmedRowCount) {
      tablet.trimmedRowCount = count;
      tablet.chunks = tablet.chunks.filter((chunk) => chunk.startRowIndex + chunk.rowCount > count);
    }
  }

  #safeCounts(parameters: YsonMap): YsonValue {
    const requests = parameters.get("requests");
    return (isList(requests) ? requests : []).map((request) => {
      const fields = isMap(request) ? request : new Map<string, YsonValue>();
      const timestamp = fields.get("timestamp");
      try {
        const tablet = this.#queue(String(fields.get("path"))).tablet(Number(fields.get("tablet_index")));
        const bound = timestamp instanceof Uint64 ? timestamp.value : 0n;
        const young = tablet.chunks.find((chunk) => chunk.maxTimestamp >= bound);
        const isDynamicYoung = tablet.unflushed > 0n && tablet.unflushedTimestamp >= bound;
        const dynamicStart = isDynamicYoung ? tablet.upperRowIndex - tablet.unflushed : tablet.upperRowIndex;
        return mapOf({ row_count: young?.startRowIndex ?? dynamicStart });
      } catch (thrown) {
        return mapOf({ error: errorToYson(toYtError(thrown)) });
      }
    });
  }
}

function resolveError(path: string): YtError {
  return new YtError(`Error resolving path ${path}`, { code: "ResolveError" });
}
