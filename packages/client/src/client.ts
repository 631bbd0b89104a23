/**
 * A client of one YTsaurus HTTP proxy: typed commands over `Requester`. Works against qyt and against
 * a real cluster. Each method is one command of the HTTP API v4; its documentation there is valid.
 */
import { isMap, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { callOptions, field, integer, layout, text, transaction, withoutMethod } from "./answers.ts";
import { type Call, Requester, readChunks } from "./core.ts";
import { type ClientOptions, resolveOptions } from "./options.ts";
import { pullPortion } from "./pulls.ts";
import { read, readRows, sendRows, write } from "./requests.ts";
import { decodeRows, encodeRows, type RowInput } from "./rows.ts";
import type {
  CommandOptions,
  LayoutOptions,
  Parameters,
  PathInput,
  ProducerSession,
  PulledPortion,
  PullOptions,
  TransactionalOptions,
} from "./types.ts";

export class YtClient {
  readonly requester: Requester;

  constructor(options: ClientOptions) {
    this.requester = new Requester(resolveOptions(options));
  }

  /** Closes the connections. A transport handed in stays open. */
  async close(): Promise<void> {
    if (this.requester.options.ownsTransport) {
      await this.requester.options.transport.close();
    }
  }

  /** Any command that has no method here: structured answer, parameters as given. */
  async execute(
    command: string,
    parameters: Parameters,
    options: CommandOptions & { readonly method?: Call["method"]; readonly body?: Uint8Array } = {},
  ): Promise<YsonValue | undefined> {
    const method = options.method ?? (options.body === undefined ? "POST" : "PUT");
    return this.requester.receiveValue({
      command,
      method,
      parameters,
      isVolatile: method !== "GET",
      ...withoutMethod(options),
    });
  }

  // Cypress

  async get(
    path: PathInput,
    options: TransactionalOptions & { readonly attributes?: readonly string[] } = {},
  ): Promise<YsonValue> {
    const result = await read(
      this.requester,
      "get",
      { path, attributes: options.attributes, ...transaction(options) },
      options,
    );
    return field(result, "value");
  }

  async list(
    path: PathInput,
    options: TransactionalOptions & { readonly attributes?: readonly string[] } = {},
  ): Promise<YsonValue> {
    const result = await read(
      this.requester,
      "list",
      { path, attributes: options.attributes, ...transaction(options) },
      options,
    );
    return field(result, "value");
  }

  async exists(path: PathInput, options: TransactionalOptions = {}): Promise<boolean> {
    return (
      field(await read(this.requester, "exists", { path, ...transaction(options) }, options), "value") ===
      true
    );
  }

  async set(
    path: PathInput,
    value: Uint8Array,
    options: TransactionalOptions & { readonly recursive?: boolean; readonly force?: boolean } = {},
  ): Promise<void> {
    await write(
      this.requester,
      "set",
      {
        path,
        input_format: "yson",
        recursive: options.recursive,
        force: options.force,
        ...transaction(options),
      },
      options,
      value,
    );
  }

  /** Returns the id of the created node or object. */
  async create(
    type: string,
    path: PathInput | undefined,
    options: TransactionalOptions & {
      readonly attributes?: YsonMap;
      readonly recursive?: boolean;
      readonly force?: boolean;
      readonly ignoreExisting?: boolean;
    } = {},
  ): Promise<string> {
    const result = await write(
      this.requester,
      "create",
      {
        type,
        path,
        attributes: options.attributes,
        recursive: options.recursive,
        force: options.force,
        ignore_existing: options.ignoreExisting,
        ...transaction(options),
      },
      options,
    );
    return text(isMap(result) ? (result.get("node_id") ?? result.get("object_id")) : result);
  }

  async remove(
    path: PathInput,
    options: TransactionalOptions & { readonly recursive?: boolean; readonly force?: boolean } = {},
  ): Promise<void> {
    await write(
      this.requester,
      "remove",
      { path, recursive: options.recursive, force: options.force, ...transaction(options) },
      options,
    );
  }

  // Transactions

  /** Starts a transaction; a tablet transaction lives on the proxy that started it. Timeout in milliseconds. */
  async startTransaction(
    options: CommandOptions & {
      readonly type?: "master" | "tablet";
      readonly transactionTimeoutMs?: number;
      readonly parentId?: string;
      readonly attributes?: YsonMap;
    } = {},
  ): Promise<string> {
    const type = options.type ?? "master";
    const result = await write(
      this.requester,
      "start_transaction",
      {
        type,
        sticky: type === "tablet" ? true : undefined,
        timeout:
          options.transactionTimeoutMs === undefined ? undefined : BigInt(options.transactionTimeoutMs),
        transaction_id: options.parentId,
        attributes: options.attributes,
      },
      options,
    );
    return text(field(result, "transaction_id"));
  }

  async pingTransaction(transactionId: string, options: CommandOptions = {}): Promise<void> {
    await write(this.requester, "ping_transaction", { transaction_id: transactionId }, options);
  }

  async commitTransaction(transactionId: string, options: CommandOptions = {}): Promise<void> {
    await write(this.requester, "commit_transaction", { transaction_id: transactionId }, options);
  }

  async abortTransaction(transactionId: string, options: CommandOptions = {}): Promise<void> {
    await write(this.requester, "abort_transaction", { transaction_id: transactionId }, options);
  }

  async generateTimestamp(options: CommandOptions = {}): Promise<bigint> {
    const value = field(await read(this.requester, "generate_timestamp", {}, options), "timestamp");
    return value instanceof Uint64 ? value.value : integer(value);
  }

  // Dynamic tables

  async mountTable(path: PathInput, options: CommandOptions = {}): Promise<void> {
    await write(this.requester, "mount_table", { path }, options);
  }

  async unmountTable(
    path: PathInput,
    options: CommandOptions & { readonly force?: boolean } = {},
  ): Promise<void> {
    await write(this.requester, "unmount_table", { path, force: options.force }, options);
  }

  /**
   * Writes rows. Into a queue they are appended, and a lost answer leaves it open whether they were: the
   * call is then not repeated by itself. A producer session writes without that doubt.
   */
  async insertRows(
    path: PathInput,
    rows: RowInput,
    options: TransactionalOptions &
      LayoutOptions & { readonly update?: boolean; readonly aggregate?: boolean } = {},
  ): Promise<void> {
    const { update, aggregate } = options;
    const parameters = { path, update, aggregate, ...layout(options) };
    await sendRows(this.requester, "insert_rows", rows, parameters, options, { isUnsafeToRepeat: true });
  }

  async deleteRows(path: PathInput, keys: RowInput, options: TransactionalOptions = {}): Promise<void> {
    await sendRows(this.requester, "delete_rows", keys, { path }, options);
  }

  async lookupRows(
    path: PathInput,
    keys: RowInput,
    options: TransactionalOptions & {
      readonly columnNames?: readonly string[];
      readonly keepMissingRows?: boolean;
    } = {},
  ): Promise<(Record<string, unknown> | null)[]> {
    const parameters = {
      path,
      output_format: "yson",
      column_names: options.columnNames,
      keep_missing_rows: options.keepMissingRows,
    };
    return decodeRows(await sendRows(this.requester, "lookup_rows", keys, parameters, options));
  }

  async selectRows(
    query: string,
    options: TransactionalOptions & { readonly parameters?: Parameters } = {},
  ): Promise<Record<string, unknown>[]> {
    return readRows(
      this.requester,
      "select_rows",
      { query, ...options.parameters, ...transaction(options) },
      options,
    );
  }

  async trimRows(
    path: PathInput,
    tabletIndex: number,
    trimmedRowCount: bigint,
    options: CommandOptions = {},
  ): Promise<void> {
    await write(
      this.requester,
      "trim_rows",
      { path, tablet_index: BigInt(tabletIndex), trimmed_row_count: trimmedRowCount },
      options,
    );
  }

  /** One map a tablet: `total_row_count`, `trimmed_row_count`, `barrier_timestamp`, `last_write_timestamp`. */
  async getTabletInfos(
    path: PathInput,
    tabletIndexes: readonly number[],
    options: CommandOptions = {},
  ): Promise<YsonValue> {
    const result = await write(
      this.requester,
      "get_tablet_infos",
      { path, tablet_indexes: tabletIndexes.map((index) => BigInt(index)) },
      options,
    );
    return field(result, "tablets");
  }

  // Queues

  async registerQueueConsumer(
    queuePath: PathInput,
    consumerPath: PathInput,
    options: CommandOptions & { readonly vital: boolean; readonly partitions?: readonly bigint[] },
  ): Promise<void> {
    await write(
      this.requester,
      "register_queue_consumer",
      {
        queue_path: queuePath,
        consumer_path: consumerPath,
        vital: options.vital,
        partitions: options.partitions,
      },
      options,
    );
  }

  async unregisterQueueConsumer(
    queuePath: PathInput,
    consumerPath: PathInput,
    options: CommandOptions = {},
  ): Promise<void> {
    await write(
      this.requester,
      "unregister_queue_consumer",
      { queue_path: queuePath, consumer_path: consumerPath },
      options,
    );
  }

  async listQueueConsumerRegistrations(
    options: CommandOptions & { readonly queuePath?: PathInput; readonly consumerPath?: PathInput } = {},
  ): Promise<YsonValue> {
    const result = await read(
      this.requester,
      "list_queue_consumer_registrations",
      { queue_path: options.queuePath, consumer_path: options.consumerPath },
      options,
    );
    return result ?? [];
  }

  /** The rows of `pullQueuePortion`. */
  async pullQueue(
    queuePath: PathInput,
    offset: bigint,
    partitionIndex: number,
    options: PullOptions = {},
  ): Promise<Record<string, unknown>[]> {
    return (await this.pullQueuePortion(queuePath, offset, partitionIndex, options)).rows;
  }

  /** Rows of one partition from an offset on, with what is told about them. */
  pullQueuePortion(
    queuePath: PathInput,
    offset: bigint,
    partitionIndex: number,
    options: PullOptions = {},
  ): Promise<PulledPortion> {
    const parameters = { queue_path: queuePath, offset, partition_index: BigInt(partitionIndex) };
    return pullPortion(this.requester, "pull_queue", parameters, options);
  }

  /** The rows of `pullQueueConsumerPortion`. */
  async pullQueueConsumer(
    consumerPath: PathInput,
    queuePath: PathInput,
    offset: bigint | null,
    partitionIndex: number,
    options: PullOptions = {},
  ): Promise<Record<string, unknown>[]> {
    const portion = this.pullQueueConsumerPortion(consumerPath, queuePath, offset, partitionIndex, options);
    return (await portion).rows;
  }

  /** Rows of one partition, through a consumer. With `offset` null the stored offset of the consumer is used. */
  pullQueueConsumerPortion(
    consumerPath: PathInput,
    queuePath: PathInput,
    offset: bigint | null,
    partitionIndex: number,
    options: PullOptions = {},
  ): Promise<PulledPortion> {
    const paths = { consumer_path: consumerPath, queue_path: queuePath };
    const parameters = { ...paths, offset, partition_index: BigInt(partitionIndex) };
    return pullPortion(this.requester, "pull_queue_consumer", parameters, options);
  }

  async advanceQueueConsumer(
    consumerPath: PathInput,
    queuePath: PathInput,
    partitionIndex: number,
    offsets: { readonly oldOffset: bigint | null; readonly newOffset: bigint },
    options: TransactionalOptions & { readonly clientSide?: boolean } = {},
  ): Promise<void> {
    await write(
      this.requester,
      "advance_queue_consumer",
      {
        consumer_path: consumerPath,
        queue_path: queuePath,
        partition_index: BigInt(partitionIndex),
        old_offset: offsets.oldOffset,
        new_offset: offsets.newOffset,
        client_side: options.clientSide,
        ...transaction(options),
      },
      options,
    );
  }

  async createQueueProducerSession(
    producerPath: PathInput,
    queuePath: PathInput,
    sessionId: string,
    options: CommandOptions & { readonly userMeta?: YsonValue } = {},
  ): Promise<ProducerSession> {
    const result = await write(
      this.requester,
      "create_queue_producer_session",
      {
        producer_path: producerPath,
        queue_path: queuePath,
        session_id: sessionId,
        user_meta: options.userMeta,
      },
      options,
    );
    return {
      epoch: integer(field(result, "epoch")),
      sequenceNumber: integer(field(result, "sequence_number")),
      userMeta: field(result, "user_meta"),
    };
  }

  async removeQueueProducerSession(
    producerPath: PathInput,
    queuePath: PathInput,
    sessionId: string,
    options: CommandOptions = {},
  ): Promise<void> {
    await write(
      this.requester,
      "remove_queue_producer_session",
      { producer_path: producerPath, queue_path: queuePath, session_id: sessionId },
      options,
    );
  }

  /** Resending the same rows with the same numbers is safe: the session skips what it has. */
  async pushQueueProducer(
    producerPath: PathInput,
    queuePath: PathInput,
    sessionId: string,
    epoch: bigint,
    rows: RowInput,
    options: TransactionalOptions &
      LayoutOptions & { readonly sequenceNumber?: bigint; readonly userMeta?: YsonValue } = {},
  ): Promise<{ lastSequenceNumber: bigint; skippedRowCount: bigint }> {
    const { body, format } = encodeRows(rows);
    const result = await write(
      this.requester,
      "push_queue_producer",
      {
        producer_path: producerPath,
        queue_path: queuePath,
        session_id: sessionId,
        epoch,
        sequence_number: options.sequenceNumber,
        user_meta: options.userMeta,
        input_format: format,
        ...layout(options),
        ...transaction(options),
      },
      options,
      body,
    );
    return {
      lastSequenceNumber: integer(field(result, "last_sequence_number")),
      skippedRowCount: integer(field(result, "skipped_row_count")),
    };
  }

  // Raw streams

  /** The rows of a tabular command in the asked format, as bytes, as they arrive. */
  async *streamRows(
    command: string,
    parameters: Parameters,
    options: CommandOptions = {},
  ): AsyncIterable<Buffer> {
    const response = await this.requester.send({
      command,
      method: "GET",
      parameters,
      isVolatile: false,
      ...callOptions(options),
    });
    yield* readChunks(response, command);
  }
}

/** A client of the proxy at `options.proxy`. Nothing is sent before the first command. */
export function createClient(options: ClientOptions): YtClient {
  return new YtClient(options);
}
