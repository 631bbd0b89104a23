/**
 * Commands of the Cypress tree. All can run in a master transaction.
 * Specified in: yt/yt/client/driver/cypress_commands.cpp; YTsaurus documentation, "Commands".
 */
import { isMap, type YsonValue } from "@qyt/base";
import { toYson, writeYson } from "@qyt/yson";
import { field, text } from "../answers.ts";
import type { Attributes, Parameters, PathInput, TransactionalOptions } from "../types.ts";
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

export interface CopyOptions extends TransactionalOptions {
  readonly recursive?: boolean;
  readonly force?: boolean;
  readonly ignoreExisting?: boolean;
  readonly preserveAccount?: boolean;
  readonly preserveAcl?: boolean;
  readonly preserveOwner?: boolean;
  readonly preserveCreationTime?: boolean;
  readonly preserveModificationTime?: boolean;
  readonly preserveExpirationTime?: boolean;
  readonly preserveExpirationTimeout?: boolean;
}

export interface LockOptions extends TransactionalOptions {
  /** Default: `exclusive`. */
  readonly mode?: "snapshot" | "shared" | "exclusive";
  /** Queues up behind those who have it; the lock's `@state` says when it is acquired. */
  readonly waitable?: boolean;
  readonly childKey?: string;
  readonly attributeKey?: string;
}

export interface Lock {
  readonly lockId: string;
  readonly nodeId: string;
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
  /** Writes several attributes of a node at once. */
  async multisetAttributes(
    path: PathInput,
    attributes: Attributes,
    options: TransactionalOptions & { readonly force?: boolean } = {},
  ): Promise<void> {
    const parameters = { path, input_format: "yson", ...named(options) };
    await this.write("multiset_attributes", parameters, options, writeYson(toYson(attributes), "binary"));
  }

  /** Copies a node with all below it. Returns the id of the new one. */
  copy(source: PathInput, destination: PathInput, options: CopyOptions = {}): Promise<string> {
    return this.#transfer("copy", { source_path: source, destination_path: destination }, options);
  }

  /** Moves a node with all below it. Returns its id. */
  move(source: PathInput, destination: PathInput, options: CopyOptions = {}): Promise<string> {
    return this.#transfer("move", { source_path: source, destination_path: destination }, options);
  }

  /** Makes a link to a node. Returns the link's id. */
  link(
    target: PathInput,
    link: PathInput,
    options: CreateOptions & { readonly lockExisting?: boolean } = {},
  ): Promise<string> {
    return this.#transfer("link", { target_path: target, link_path: link }, options);
  }

  /** Locks a node until the transaction ends. @throws YtError 402 when another transaction has it */
  async lock(path: PathInput, options: LockOptions = {}): Promise<Lock> {
    const answer = await this.write("lock", { path, ...named(options) }, options);
    return { lockId: text(field(answer, "lock_id")), nodeId: text(field(answer, "node_id")) };
  }

  /** Gives the transaction's locks of a node back. */
  async unlock(path: PathInput, options: TransactionalOptions = {}): Promise<void> {
    await this.write("unlock", { path, ...named(options) }, options);
  }

  /** Writes what is in tables or files into one; `<append=%true>` at its path keeps what is in that. */
  async concatenate(
    sources: readonly PathInput[],
    destination: PathInput,
    options: TransactionalOptions = {},
  ): Promise<void> {
    const parameters = { source_paths: sources, destination_path: destination, ...named(options) };
    await this.write("concatenate", parameters, options);
  }

  async #transfer(command: string, paths: Parameters, options: TransactionalOptions): Promise<string> {
    return text(field(await this.write(command, { ...paths, ...named(options) }, options), "node_id"));
  }
}
