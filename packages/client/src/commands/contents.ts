/**
 * Commands of static tables and files. All can run in a master transaction.
 * Specified in: yt/yt/client/driver/{table_commands,file_commands}.cpp; YTsaurus documentation, "Commands".
 */
import type { YsonValue } from "@qyt/base";
import { text } from "../answers.ts";
import { readChunks } from "../core.ts";
import { decodeRowStream, encodeRowStream } from "../rows/streams.ts";
import { decodeRows, encodeRows, type RowInput, type RowObject } from "../rows.ts";
import type { CommandOptions, PathInput, TransactionalOptions } from "../types.ts";
import { CypressCommands } from "./cypress.ts";
import { named } from "./family.ts";

/** Rows to send: at once, or as they are made. */
export type RowSource<T = RowObject> = AsyncIterable<T> | Iterable<T>;

export interface ReadTableOptions extends TransactionalOptions {
  /** Rows in any order. */
  readonly unordered?: boolean;
  readonly omitInaccessibleColumns?: boolean;
  readonly omitInaccessibleRows?: boolean;
  readonly tableReader?: Readonly<Record<string, unknown>>;
}

export interface AlterTableOptions extends TransactionalOptions {
  readonly schema?: YsonValue;
  readonly dynamic?: boolean;
  readonly upstreamReplicaId?: string;
}

export class ContentCommands extends CypressCommands {
  /**
   * The rows of a static table, or of the ranges in its path, as they arrive: what is not asked for stays on
   * the line. To read a state that does not change, lock the table with mode `snapshot` in a transaction.
   * @throws YtError also half way; rows are then to be read again from the first one that is missing
   */
  async *readTable(
    path: PathInput,
    options: ReadTableOptions = {},
  ): AsyncGenerator<Record<string, unknown>, void, undefined> {
    for await (const row of decodeRowStream(this.readTableBytes(path, options), decodeRows)) {
      if (row !== null) {
        yield row;
      }
    }
  }

  /** The rows of a static table in binary YSON, as they arrive. */
  readTableBytes(path: PathInput, options: ReadTableOptions = {}): AsyncGenerator<Buffer, void, undefined> {
    return this.#chunks("read_table", path, options, "yson");
  }

  /**
   * Writes rows into a static table, in place of what is in it unless the path has `<append=%true>`. A source
   * of rows is read as fast as the proxy takes them; such a call is not repeated. All or nothing is written.
   */
  async writeTable(
    path: PathInput,
    rows: RowInput | RowSource,
    options: TransactionalOptions & { readonly tableWriter?: Readonly<Record<string, unknown>> } = {},
  ): Promise<void> {
    const isWhole = Array.isArray(rows) || "body" in rows;
    const { body, format } = isWhole
      ? encodeRows(rows)
      : { body: encodeRowStream(rows, (some) => encodeRows(some).body), format: "yson" };
    await this.writeTableBytes(path, body, { ...options, inputFormat: format });
  }

  /** Writes rows that are encoded into a static table; see `writeTable`. Default format: YSON. */
  async writeTableBytes(
    path: PathInput,
    body: Uint8Array | AsyncIterable<Uint8Array>,
    options: TransactionalOptions & { readonly inputFormat?: YsonValue } = {},
  ): Promise<void> {
    const parameters = { path, input_format: "yson", ...named(options) };
    await this.requester.receive({ ...this.call("write_table", "PUT", parameters, options), body });
  }

  /** The bytes of a file, as they arrive. */
  readFile(
    path: PathInput,
    options: TransactionalOptions & { readonly offset?: bigint; readonly length?: bigint } = {},
  ): AsyncGenerator<Buffer, void, undefined> {
    return this.#chunks("read_file", path, options);
  }

  /** Writes a file, in place of what is in it. The node has to be there (`create("file", …)`). */
  async writeFile(
    path: PathInput,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    options: TransactionalOptions & { readonly computeMd5?: boolean } = {},
  ): Promise<void> {
    const call = this.call("write_file", "PUT", { path, ...named(options) }, options);
    await this.requester.receive({ ...call, body: content });
  }

  /** Changes the schema of a table, or makes a static one dynamic and back. */
  async alterTable(path: PathInput, options: AlterTableOptions): Promise<void> {
    await this.write("alter_table", { path, ...named(options) }, options);
  }

  /** Statistics of columns, one map for each path. */
  async getTableColumnarStatistics(
    paths: readonly PathInput[],
    options: TransactionalOptions = {},
  ): Promise<YsonValue> {
    return (await this.read("get_table_columnar_statistics", { paths, ...named(options) }, options)) ?? [];
  }

  /** Where the cache has a file with this MD5; empty when it has none. */
  async getFileFromCache(
    md5: string,
    options: TransactionalOptions & { readonly cachePath: PathInput },
  ): Promise<string> {
    return text(await this.read("get_file_from_cache", { md5, ...named(options) }, options));
  }

  /** Puts a file into the cache under its MD5; where it is there then. */
  async putFileToCache(
    path: PathInput,
    md5: string,
    options: TransactionalOptions & { readonly cachePath: PathInput },
  ): Promise<string> {
    return text(await this.write("put_file_to_cache", { path, md5, ...named(options) }, options));
  }

  async *#chunks(
    command: string,
    path: PathInput,
    options: TransactionalOptions & CommandOptions,
    format?: string,
  ): AsyncGenerator<Buffer, void, undefined> {
    const parameters = {
      path,
      ...named(options),
      ...(format === undefined ? {} : { output_format: format }),
    };
    yield* readChunks(await this.requester.send(this.call(command, "GET", parameters, options)), command);
  }
}
