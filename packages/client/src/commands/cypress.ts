/**
 * Commands of the Cypress tree. All can run in a master transaction.
 * Specified in: yt/yt/client/driver/cypress_commands.cpp; YTsaurus documentation, "Commands".
 */
import { isMap, type YsonValue } from "@qyt/base";
import { toYson, writeYson } from "@qyt/yson";
import { field, text } from "../answers.ts";
import type { Attributes, PathInput, TransactionalOptions } from "../types.ts";
import { CommandFamily, named } from "./family.ts";

export interface GetOptions extends TransactionalOptions {
  /** Attributes to put on the values. */
  readonly attributes?: readonly string[];
  /** How many children are told at most; the value then has the attribute `incomplete`. */
  readonly maxSize?: number;
  /** From where it is read (`leader`, `follower`, `cache`). */
  readonly readFrom?: string;
}

export interface CreateOptions extends TransactionalOptions {
  readonly attributes?: Attributes;
  /** Creates the nodes on the way, too. */
  readonly recursive?: boolean;
  /** Replaces what is there. */
  readonly force?: boolean;
  /** Gives the id of what is there, if it is of the same type. */
  readonly ignoreExisting?: boolean;
}

export class CypressCommands extends CommandFamily {
  /** The value of a node or attribute. @throws YtError 500 when there is none */
  async get(path: PathInput, options: GetOptions = {}): Promise<YsonValue> {
    return field(await this.read("get", { path, ...named(options) }, options), "value");
  }

  /** The names of a node's children; with `attributes`, strings that have them. @throws YtError 500 */
  async list(path: PathInput, options: GetOptions = {}): Promise<YsonValue> {
    return field(await this.read("list", { path, ...named(options) }, options), "value");
  }

  /** Whether there is a node or attribute. */
  async exists(path: PathInput, options: TransactionalOptions = {}): Promise<boolean> {
    return field(await this.read("exists", { path, ...named(options) }, options), "value") === true;
  }

  /** Writes the value of a node or attribute. Bytes are YSON already; plain data becomes it. */
  async set(
    path: PathInput,
    value: unknown,
    options: TransactionalOptions & { readonly recursive?: boolean; readonly force?: boolean } = {},
  ): Promise<void> {
    const body = value instanceof Uint8Array ? value : writeYson(toYson(value), "binary");
    await this.write("set", { path, input_format: "yson", ...named(options) }, options, body);
  }

  /** Creates a node, or (without a path) an object. Returns its id. @throws YtError 501 */
  async create(type: string, path: PathInput | undefined, options: CreateOptions = {}): Promise<string> {
    const result = await this.write("create", { type, path, ...named(options) }, options);
    return text(isMap(result) ? (result.get("node_id") ?? result.get("object_id")) : result);
  }

  /** Removes a node or attribute. @throws YtError 500, 506 */
  async remove(
    path: PathInput,
    options: TransactionalOptions & { readonly recursive?: boolean; readonly force?: boolean } = {},
  ): Promise<void> {
    await this.write("remove", { path, ...named(options) }, options);
  }
}
