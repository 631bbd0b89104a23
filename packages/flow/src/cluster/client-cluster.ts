/**
 * `FlowCluster` over `@qyt/client`: commands of the public HTTP API alone, so it works against qyt and against a
 * YTsaurus cluster.
 */
import { bare, isList, isMap, toYtError, withAttributes, type YsonValue, YtError } from "@qyt/base";
import type { Transaction, YtClient } from "@qyt/client";
import { type RowValue, syncLastCommittedTimestamp, TableSchema, toQuerySchema } from "@qyt/schema";
import type { UniqueSeqNo } from "../model/message.ts";
import { textCell } from "../tables/cells.ts";
import type {
  CallOptions,
  ClusterDirectory,
  ClusterPath,
  FlowCluster,
  FlowTransaction,
  LookupOptions,
  ProducerSessionInfo,
  PulledRows,
  PullLimits,
  RangeOptions,
  Rowset,
  TabletInfo,
} from "./flow-cluster.ts";
import { rangeQuery } from "./range-query.ts";
import { decodeRowset, encodeRowset, UnknownColumn } from "./rowset-codec.ts";

/** Clusters by name, each made when it is first asked for. */
export class ClientDirectory implements ClusterDirectory {
  readonly #clientOf: (name: string) => YtClient;
  readonly #clusters = new Map<string, ClientCluster>();

  /** @param clientOf a client of the cluster's proxy. @throws YtError when it knows no cluster of that name */
  constructor(clientOf: (name: string) => YtClient) {
    this.#clientOf = clientOf;
  }

  cluster(name: string): ClientCluster {
    let cluster = this.#clusters.get(name);
    if (cluster === undefined) {
      cluster = new ClientCluster(name, this.#clientOf(name), this);
      this.#clusters.set(name, cluster);
    }
    return cluster;
  }
}

export class ClientCluster implements FlowCluster {
  readonly name: string;
  readonly #client: YtClient;
  readonly #directory: ClientDirectory;
  readonly #schemas = new Map<string, Promise<TableSchema>>();

  constructor(name: string, client: YtClient, directory: ClientDirectory) {
    this.name = name;
    this.#client = client;
    this.#directory = directory;
  }

  async generateTimestamp(options: CallOptions = {}): Promise<UniqueSeqNo> {
    return (await this.#client.generateTimestamp(options)) as UniqueSeqNo;
  }

  async startTransaction(options: CallOptions = {}): Promise<FlowTransaction> {
    // The start timestamp in the id of a tablet transaction may be that of another one, too.
    const [transaction, startTimestamp] = await Promise.all([
      this.#client.beginTransaction({ type: "tablet", ...options }),
      this.generateTimestamp(options),
    ]);
    return new ClientTransaction(this, transaction, startTimestamp);
  }

  async lookupRows(
    path: string,
    keys: Rowset,
    options: LookupOptions,
    transaction?: Transaction,
  ): Promise<(readonly RowValue[] | null)[]> {
    if (keys.rows.length === 0) {
      return [];
    }
    const { columns, timestamp, ...call } = options;
    return await this.#decoded(path, columns, () =>
      (timestamp === undefined ? (transaction ?? this.#client) : this.#client).lookupBytes(
        path,
        { body: encodeRowset(keys), format: "yson" },
        {
          columnNames: columns,
          keepMissingRows: true,
          ...(timestamp === undefined ? {} : { timestamp: syncLastCommittedTimestamp }),
          ...call,
        },
      ),
    );
  }

  async selectRange(path: string, options: RangeOptions): Promise<(readonly RowValue[])[]> {
    const schema = await this.schemaOf(path);
    const query = rangeQuery(path, schema, options);
    const { columns, prefix: _, from: __, limit: ___, ...call } = options;
    const rows = await this.#decoded(path, columns, async () => {
      const pieces: Buffer[] = [];
      for await (const piece of this.#client.selectedBytes(query, call)) {
        pieces.push(piece);
      }
      return Buffer.concat(pieces);
    });
    return rows.filter((row) => row !== null);
  }

  get(
    path: string,
    options: CallOptions & { readonly attributes?: readonly string[] } = {},
  ): Promise<YsonValue> {
    return this.#client.get(path, options);
  }

  async set(path: string, value: YsonValue, options: CallOptions = {}): Promise<void> {
    await this.#client.set(path, value, options);
  }

  async getTabletInfo(path: string, tabletIndex: number, options: CallOptions = {}): Promise<TabletInfo> {
    const infos = await this.#client.getTabletInfos(path, [tabletIndex], options);
    const info = isList(infos) ? infos[0] : undefined;
    const field = (name: string): bigint => {
      const value = isMap(info) ? bare(info.get(name) ?? null) : null;
      if (typeof value !== "bigint") {
        throw new YtError(`The cluster told no "${name}" of tablet ${tabletIndex} of ${path}`);
      }
      return value;
    };
    return { totalRowCount: field("total_row_count"), trimmedRowCount: field("trimmed_row_count") };
  }

  async pullQueueConsumer(
    consumer: ClusterPath,
    queue: ClusterPath,
    partitionIndex: number,
    offset: bigint,
    limits: PullLimits,
    options: CallOptions = {},
  ): Promise<PulledRows> {
    const home = this.#directory.cluster(queue.cluster);
    const parameters = {
      consumer_path: pathValue(consumer),
      queue_path: pathValue(queue),
      partition_index: BigInt(partitionIndex),
      offset,
      max_row_count: limits.maxRowCount,
      max_data_weight: limits.maxDataWeight,
      replica_consistency: "sync",
      output_format: "yson",
    };
    const pieces: Buffer[] = [];
    // A source asks again itself, and shows the error meanwhile.
    const call = { attempts: 1, ...options };
    for await (const piece of this.#client.streamRows("pull_queue_consumer", parameters, call)) {
      pieces.push(piece);
    }
    const bytes = Buffer.concat(pieces);
    const { schema, rows } = await home.decodedBySchema(queue.path, toQuerySchema, async () => bytes);
    return { schema, rows: rows.filter((row) => row !== null) };
  }

  async consumerOffset(
    consumer: ClusterPath,
    queue: ClusterPath,
    partitionIndex: number,
    options: CallOptions = {},
  ): Promise<bigint | undefined> {
    const name = consumer.queueConsumerName;
    const keys: Rowset = {
      columns: [
        ...(name === undefined ? [] : ["queue_consumer_name"]),
        "queue_cluster",
        "queue_path",
        "partition_index",
      ],
      rows: [
        [
          ...(name === undefined ? [] : [textCell(name)]),
          textCell(queue.cluster),
          textCell(queue.path),
          BigInt(partitionIndex),
        ],
      ],
    };
    const [row] = await this.lookupRows(consumer.path, keys, { columns: ["offset"], ...options });
    const offset = row?.[0];
    return typeof offset === "bigint" ? offset : undefined;
  }

  async advanceConsumer(
    consumer: ClusterPath,
    queue: ClusterPath,
    partitionIndex: number,
    offsets: { readonly oldOffset: bigint | null; readonly newOffset: bigint },
    options: CallOptions = {},
  ): Promise<void> {
    await this.#client.transaction(
      (transaction) =>
        transaction.advanceQueueConsumer(
          pathValue(consumer),
          pathValue(queue),
          partitionIndex,
          offsets,
          options,
        ),
      { type: "tablet", ...(options.signal === undefined ? {} : { signal: options.signal }) },
    );
  }

  async createProducerSession(
    producer: string,
    queue: string,
    sessionId: string,
    options: CallOptions = {},
  ): Promise<ProducerSessionInfo> {
    return await this.#client.createQueueProducerSession(producer, queue, sessionId, options);
  }

  async pushQueueProducer(
    producer: string,
    queue: string,
    sessionId: string,
    epoch: bigint,
    rows: Rowset,
    options: CallOptions & { readonly requireSyncReplica: boolean },
  ): Promise<{ readonly lastSequenceNumber: bigint; readonly skippedRowCount: bigint }> {
    const body = { body: encodeRowset(rows), format: "yson" };
    return await this.#client.pushQueueProducer(producer, queue, sessionId, epoch, body, options);
  }

  /** The schema of a table, asked for once. */
  async schemaOf(path: string): Promise<TableSchema> {
    let schema = this.#schemas.get(path);
    if (schema === undefined) {
      schema = this.#client.get(`${path}/@schema`).then((value) => TableSchema.fromYson(value));
      this.#schemas.set(path, schema);
      schema.catch(() => this.#schemas.delete(path));
    }
    return await schema;
  }

  /** Reads rows by the table's schema; when they have other columns than it, the schema is asked for again. */
  async decodedBySchema(
    path: string,
    shape: (schema: TableSchema) => TableSchema,
    read: () => Promise<Buffer>,
  ): Promise<{ readonly schema: TableSchema; readonly rows: (RowValue[] | null)[] }> {
    const schemaNow = async (): Promise<TableSchema> => shape(await this.schemaOf(path));
    const [bytes, schema] = await Promise.all([read(), schemaNow()]);
    try {
      return { schema, rows: decodeRowset(bytes, schema) };
    } catch (thrown) {
      if (!(thrown instanceof UnknownColumn)) {
        throw thrown;
      }
      this.#schemas.delete(path);
      const newer = await schemaNow();
      return { schema: newer, rows: decodeRowset(bytes, newer) };
    }
  }

  async #decoded(
    path: string,
    columns: readonly string[],
    read: () => Promise<Buffer>,
  ): Promise<(RowValue[] | null)[]> {
    return (await this.decodedBySchema(path, (schema) => projected(path, schema, columns), read)).rows;
  }
}

/** Writes wait here until the commit, so that an abort before it costs one request. */
class ClientTransaction implements FlowTransaction {
  readonly cluster: string;
  readonly startTimestamp: UniqueSeqNo;
  readonly #home: ClientCluster;
  readonly #transaction: Transaction;
  /** By path: writes of one table go in order, those of several at once. */
  readonly #writes = new Map<string, (() => Promise<void>)[]>();

  constructor(home: ClientCluster, transaction: Transaction, startTimestamp: UniqueSeqNo) {
    this.cluster = home.name;
    this.startTimestamp = startTimestamp;
    this.#home = home;
    this.#transaction = transaction;
  }

  get isEmpty(): boolean {
    return this.#writes.size === 0;
  }

  async lookupRows(
    path: string,
    keys: Rowset,
    options: LookupOptions,
  ): Promise<(readonly RowValue[] | null)[]> {
    return await this.#home.lookupRows(path, keys, options, this.#transaction);
  }

  insertRows(path: string, rows: Rowset, options: { readonly update?: boolean } = {}): void {
    this.#write(path, rows, (body) => this.#transaction.insertRows(path, body, options));
  }

  deleteRows(path: string, keys: Rowset): void {
    this.#write(path, keys, (body) => this.#transaction.deleteRows(path, body));
  }

  async commit(options: CallOptions = {}): Promise<void> {
    try {
      options.signal?.throwIfAborted();
      await Promise.all([...this.#writes.values()].map(inOrder));
    } catch (thrown) {
      await this.#transaction.abort();
      throw toYtError(thrown);
    }
    await this.#transaction.commit();
  }

  async abort(): Promise<void> {
    this.#writes.clear();
    await this.#transaction.abort();
  }

  #write(
    path: string,
    rows: Rowset,
    send: (body: { readonly body: Uint8Array; readonly format: string }) => Promise<void>,
  ): void {
    if (rows.rows.length === 0) {
      return;
    }
    const body = { body: encodeRowset(rows), format: "yson" };
    const writes = this.#writes.get(path) ?? [];
    writes.push(() => send(body));
    this.#writes.set(path, writes);
  }
}

async function inOrder(writes: readonly (() => Promise<void>)[]): Promise<void> {
  for (const write of writes) {
    await write();
  }
}

function projected(path: string, schema: TableSchema, columns: readonly string[]): TableSchema {
  return new TableSchema(
    columns.map((name) => {
      const column = schema.find(name);
      if (column === undefined) {
        throw new YtError(`Table ${path} has no column "${name}"`);
      }
      const { sortOrder: _, ...rest } = column;
      return rest;
    }),
  );
}

function pathValue({ cluster, path, queueConsumerName }: ClusterPath): YsonValue {
  const attributes = new Map<string, YsonValue>([["cluster", cluster]]);
  if (queueConsumerName !== undefined) {
    attributes.set("queue_consumer_name", queueConsumerName);
  }
  return withAttributes(path, attributes);
}
