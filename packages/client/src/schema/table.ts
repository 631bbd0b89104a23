/** A table or queue with a schema: the commands of rows, with rows typed by it. */
import { bare } from "@qyt/base";
import { text } from "../answers.ts";
import type { ReadTableOptions, RowSource } from "../commands/contents.ts";
import type { CreateOptions } from "../commands/cypress.ts";
import type {
  InsertOptions,
  LookupOptions,
  Pushed,
  PushOptions,
  RowCommands,
  SelectOptions,
} from "../commands/rows.ts";
import { decodeRowStream, encodedBatches } from "../rows/streams.ts";
import type { PathInput, TransactionalOptions } from "../types.ts";
import type { Schema } from "./schema.ts";
import type { Columns, KeyRow, QueueRow, ReadRow, WriteRow } from "./types.ts";

/** A request has at most so many rows and about so many bytes; larger inputs go in several. */
const most = { rows: 50_000, bytes: 8 * 1024 * 1024 };

export class Table<C extends Columns> {
  readonly path: PathInput;
  readonly schema: Schema<C>;
  readonly #commands: RowCommands;

  constructor(commands: RowCommands, path: PathInput, schema: Schema<C>) {
    this.#commands = commands;
    this.path = path;
    this.schema = schema;
  }

  /** Creates it with the schema: a dynamic table unless `dynamic` is false. It is not mounted. Returns its id. */
  create(options: CreateOptions & { readonly dynamic?: boolean } = {}): Promise<string> {
    const { dynamic = true, attributes, ...others } = options;
    const given = attributes instanceof Map ? Object.fromEntries(attributes) : attributes;
    return this.#commands.create("table", this.path, {
      ...others,
      attributes: { dynamic, schema: this.schema.toYson(), ...given },
    });
  }

  /**
   * Writes rows into a dynamic table, appends them to a queue. Sources of many rows go in several requests, one
   * after the other, each of which is done as a whole; in a transaction all of them are.
   * @returns how many rows were written
   * @throws YtError 307 before the request whose row does not fit the schema is sent
   */
  async insert(rows: RowSource<QueueRow<C>>, options: InsertOptions = {}): Promise<number> {
    let count = 0;
    for await (const { body, rowCount } of encodedBatches(rows, (some) => this.schema.encode(some), most)) {
      await this.#commands.insertRows(this.path, { body, format: "yson" }, options);
      count += rowCount;
    }
    return count;
  }

  /** Removes the rows with the keys. */
  async delete(keys: RowSource<KeyRow<C>>, options: TransactionalOptions = {}): Promise<void> {
    for await (const { body } of encodedBatches(keys, (some) => this.schema.encode(some), most)) {
      await this.#commands.deleteRows(this.path, { body, format: "yson" }, options);
    }
  }

  /** The rows with the keys, in their order; a key without a row gives none. */
  async lookup(
    keys: readonly KeyRow<C>[],
    options: Omit<LookupOptions, "keepMissingRows" | "columnNames"> = {},
  ): Promise<ReadRow<C>[]> {
    const rows = await this.#lookup(keys, options);
    return rows.filter((row) => row !== null);
  }

  /** The row with the key. */
  async get(
    key: KeyRow<C>,
    options: Omit<LookupOptions, "keepMissingRows" | "columnNames"> = {},
  ): Promise<ReadRow<C> | undefined> {
    const [row] = await this.#lookup([key], options);
    return row ?? undefined;
  }

  /** Rows of the table that a query takes: `table.select("where k > 5 order by k limit 10")`, as they arrive. */
  async *select(conditions = "", options: SelectOptions = {}): AsyncGenerator<ReadRow<C>, void, undefined> {
    const columns = this.schema.specs().map(([name]) => `[${name}]`);
    const query = `${columns.join(", ")} from [${text(bare(this.path))}] ${conditions}`;
    yield* this.#rows(this.#commands.selectedBytes(query, options));
  }

  /** All rows of a static table, or of the ranges in the path, as they arrive. */
  async *read(options: ReadTableOptions = {}): AsyncGenerator<ReadRow<C>, void, undefined> {
    yield* this.#rows(this.#commands.readTableBytes(this.path, options));
  }

  /** Writes a static table, in place of what is in it unless the path has `<append=%true>`. */
  async write(rows: RowSource<WriteRow<C>>, options: TransactionalOptions = {}): Promise<void> {
    const encoded = encodedBatches(rows, (some) => this.schema.encode(some), {
      rows: Infinity,
      bytes: 65_536,
    });
    await this.#commands.writeTableBytes(this.path, bodies(encoded), options);
  }

  /** Writes rows of a queue in a producer session; see `pushQueueProducer`. `client.producer` keeps the numbers. */
  push(
    session: { readonly producerPath: PathInput; readonly sessionId: string; readonly epoch: bigint },
    rows: readonly QueueRow<C>[],
    options: PushOptions = {},
  ): Promise<Pushed> {
    const { producerPath, sessionId, epoch } = session;
    const input = { body: this.schema.encode(rows), format: "yson" };
    return this.#commands.pushQueueProducer(producerPath, this.path, sessionId, epoch, input, options);
  }

  async #lookup(keys: readonly KeyRow<C>[], options: LookupOptions): Promise<(ReadRow<C> | null)[]> {
    const input = { body: this.schema.encode(keys), format: "yson" };
    return this.schema.decode(await this.#commands.lookupBytes(this.path, input, options));
  }

  async *#rows(bytes: AsyncIterable<Buffer>): AsyncGenerator<ReadRow<C>, void, undefined> {
    for await (const row of decodeRowStream(bytes, (items) => this.schema.decode(items))) {
      if (row !== null) {
        yield row;
      }
    }
  }
}

async function* bodies(
  batches: AsyncIterable<{ readonly body: Uint8Array }>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { body } of batches) {
    yield body;
  }
}
