/**
 * Commands that read and write rows of dynamic tables and queues. All can run in a tablet transaction.
 * Specified in: yt/yt/client/driver/{table_commands,queue_commands}.cpp; YTsaurus documentation, "Commands".
 */
import type { YsonValue } from "@qyt/base";
import { field, integer, layout } from "../answers.ts";
import { readChunks } from "../core.ts";
import { decodeRowStream } from "../rows/streams.ts";
import { decodeRows, encodeRows, type RowInput } from "../rows.ts";
import type { LayoutOptions, Parameters, PathInput, TransactionalOptions } from "../types.ts";
import { ContentCommands } from "./contents.ts";
import { named } from "./family.ts";

export interface InsertOptions extends TransactionalOptions, LayoutOptions {
  /** Keeps the columns that a row does not name, instead of making them null. */
  readonly update?: boolean;
  /** Merges the values of aggregating columns into those that are there. */
  readonly aggregate?: boolean;
  readonly requireSyncReplica?: boolean;
  readonly lockType?: "shared_weak" | "shared_strong" | "exclusive";
  readonly atomicity?: "full" | "none";
  readonly durability?: "sync" | "async";
}

export interface LookupOptions extends TransactionalOptions {
  readonly columnNames?: readonly string[];
  /** Gives `null` for each key that has no row, so that answers stand in the order of the keys. */
  readonly keepMissingRows?: boolean;
  readonly enablePartialResult?: boolean;
  /** Reads as of this moment. */
  readonly timestamp?: bigint;
  readonly replicaConsistency?: "none" | "sync";
}

export interface SelectOptions extends TransactionalOptions {
  /** Further parameters of the command, as they go over the wire. */
  readonly parameters?: Parameters;
  readonly inputRowLimit?: bigint;
  readonly outputRowLimit?: bigint;
  /** `false` refuses a query that would read a whole table. */
  readonly allowFullScan?: boolean;
  readonly allowJoinWithoutIndex?: boolean;
  readonly failOnIncompleteResult?: boolean;
  /** Reads as of this moment. */
  readonly timestamp?: bigint;
  /** Values of the query's `{name}` places. */
  readonly placeholderValues?: Readonly<Record<string, unknown>>;
  readonly replicaConsistency?: "none" | "sync";
}

export interface PushOptions extends TransactionalOptions, LayoutOptions {
  /** The number of the first row, where rows have none of their own. */
  readonly sequenceNumber?: bigint;
  /** Replaces the session's note. */
  readonly userMeta?: unknown;
  readonly requireSyncReplica?: boolean;
}

/** What a push answers. */
export interface Pushed {
  /** The number of the last row of the push. */
  readonly lastSequenceNumber: bigint;
  /** Rows that the session had already. */
  readonly skippedRowCount: bigint;
}

export class RowCommands extends ContentCommands {
  /**
   * Writes rows. Into a queue they are appended, and a lost answer leaves it open whether they were: the
   * call is then not repeated by itself. A producer session writes without that doubt.
   */
  async insertRows(path: PathInput, rows: RowInput, options: InsertOptions = {}): Promise<void> {
    const { layoutRevision, ...others } = options;
    const parameters = { path, ...named(others), ...layout({ layoutRevision }) };
    await this.sendRows("insert_rows", rows, parameters, options, { isUnsafeToRepeat: true });
  }

  /** Removes the rows with the keys from a sorted table. */
  async deleteRows(
    path: PathInput,
    keys: RowInput,
    options: TransactionalOptions & { readonly requireSyncReplica?: boolean } = {},
  ): Promise<void> {
    await this.sendRows("delete_rows", keys, { path, ...named(options) }, options);
  }

  /** Locks the rows with the keys until the tablet transaction ends, without writing them. */
  async lockRows(
    path: PathInput,
    keys: RowInput,
    options: TransactionalOptions & {
      readonly locks?: readonly string[];
      readonly lockType?: "shared_weak" | "shared_strong" | "exclusive";
    } = {},
  ): Promise<void> {
    await this.sendRows("lock_rows", keys, { path, ...named(options) }, options);
  }

  /** The rows with the keys; in a transaction as of its start. */
  async lookupRows(
    path: PathInput,
    keys: RowInput,
    options: LookupOptions = {},
  ): Promise<(Record<string, unknown> | null)[]> {
    return decodeRows(await this.lookupBytes(path, keys, options));
  }

  /** The rows with the keys in binary YSON. */
  lookupBytes(path: PathInput, keys: RowInput, options: LookupOptions = {}): Promise<Buffer> {
    const parameters = { path, output_format: "yson", ...named(options) };
    return this.sendRows("lookup_rows", keys, parameters, options);
  }

  /** The rows of a query. */
  async selectRows(query: string, options: SelectOptions = {}): Promise<Record<string, unknown>[]> {
    const rows: Record<string, unknown>[] = [];
    for await (const row of this.selectRowStream(query, options)) {
      rows.push(row);
    }
    return rows;
  }

  /** The rows of a query as they arrive: what is not asked for stays on the line. */
  async *selectRowStream(
    query: string,
    options: SelectOptions = {},
  ): AsyncGenerator<Record<string, unknown>, void, undefined> {
    for await (const row of decodeRowStream(this.selectedBytes(query, options), decodeRows)) {
      if (row !== null) {
        yield row;
      }
    }
  }

  /** The rows of a query in binary YSON, as they arrive. */
  async *selectedBytes(query: string, options: SelectOptions = {}): AsyncGenerator<Buffer, void, undefined> {
    const { parameters, ...others } = options;
    const sent = { query, output_format: "yson", ...named(others), ...parameters };
    yield* readChunks(
      await this.requester.send(this.call("select_rows", "GET", sent, options)),
      "select_rows",
    );
  }

  /** How a query would be run, as a map. */
  async explainQuery(
    query: string,
    options: TransactionalOptions & { readonly verboseOutput?: boolean } = {},
  ): Promise<YsonValue> {
    return (await this.read("explain_query", { query, ...named(options) }, options)) ?? null;
  }

  /**
   * Stores the offset of a consumer for one partition, if it is `oldOffset` now (`null`: whatever it is).
   * @throws YtError 3100 when it is another one
   */
  async advanceQueueConsumer(
    consumerPath: PathInput,
    queuePath: PathInput,
    partitionIndex: number,
    offsets: { readonly oldOffset: bigint | null; readonly newOffset: bigint },
    options: TransactionalOptions & { readonly clientSide?: boolean } = {},
  ): Promise<void> {
    const parameters = {
      consumer_path: consumerPath,
      queue_path: queuePath,
      partition_index: BigInt(partitionIndex),
      old_offset: offsets.oldOffset,
      new_offset: offsets.newOffset,
      ...named(options),
    };
    await this.write("advance_queue_consumer", parameters, options);
  }

  /**
   * Writes rows in a producer session. Sending the same rows with the same numbers again is safe: the session
   * skips what it has.
   * @throws YtError 3102 when the session has a newer epoch, 3101, 3103
   */
  async pushQueueProducer(
    producerPath: PathInput,
    queuePath: PathInput,
    sessionId: string,
    epoch: bigint,
    rows: RowInput,
    options: PushOptions = {},
  ): Promise<Pushed> {
    const { body, format } = encodeRows(rows);
    const { layoutRevision, ...others } = options;
    const parameters = {
      producer_path: producerPath,
      queue_path: queuePath,
      session_id: sessionId,
      epoch,
      ...named(others),
      input_format: format,
      ...layout({ layoutRevision }),
    };
    const result = await this.write("push_queue_producer", parameters, options, body);
    return {
      lastSequenceNumber: integer(field(result, "last_sequence_number")),
      skippedRowCount: integer(field(result, "skipped_row_count")),
    };
  }
}
