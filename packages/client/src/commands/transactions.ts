/**
 * Commands of transactions by their ids. `client.transaction` pings, commits and aborts by itself.
 * Specified in: yt/yt/client/driver/transaction_commands.cpp; YTsaurus documentation, "Commands".
 */
import { Uint64 } from "@qyt/base";
import { field, integer, text } from "../answers.ts";
import type { Attributes, CommandOptions } from "../types.ts";
import { BatchCommands } from "./batch.ts";
import { named } from "./family.ts";

export interface StartTransactionOptions extends CommandOptions {
  /** `master` for Cypress and static tables (default), `tablet` for rows of dynamic tables and queues. */
  readonly type?: "master" | "tablet";
  /** How long it lives without a ping, in milliseconds. */
  readonly transactionTimeoutMs?: number;
  /** The transaction that it is part of. Master transactions only. */
  readonly parentId?: string;
  readonly attributes?: Attributes;
  readonly prerequisiteTransactionIds?: readonly string[];
  readonly atomicity?: "full" | "none";
  readonly durability?: "sync" | "async";
}

export class TransactionCommands extends BatchCommands {
  /** Starts a transaction; a tablet transaction lives on the proxy that started it. Returns its id. */
  async startTransaction(options: StartTransactionOptions = {}): Promise<string> {
    const { type = "master", transactionTimeoutMs, parentId, ...others } = options;
    const parameters = {
      type,
      sticky: type === "tablet" ? true : undefined,
      timeout: transactionTimeoutMs === undefined ? undefined : BigInt(transactionTimeoutMs),
      transaction_id: parentId,
      ...named(others),
    };
    return text(field(await this.write("start_transaction", parameters, options), "transaction_id"));
  }

  /** Keeps a transaction alive for its timeout. @throws YtError 11000 when it has ended */
  async pingTransaction(transactionId: string, options: CommandOptions = {}): Promise<void> {
    await this.write("ping_transaction", {}, { ...options, transactionId });
  }

  async commitTransaction(transactionId: string, options: CommandOptions = {}): Promise<void> {
    await this.write("commit_transaction", {}, { ...options, transactionId });
  }

  async abortTransaction(
    transactionId: string,
    options: CommandOptions & { readonly force?: boolean } = {},
  ): Promise<void> {
    await this.write("abort_transaction", { ...named(options) }, { ...options, transactionId });
  }

  /** A fresh timestamp, above every earlier one. */
  async generateTimestamp(options: CommandOptions = {}): Promise<bigint> {
    const value = field(await this.read("generate_timestamp", {}, options), "timestamp");
    return value instanceof Uint64 ? value.value : integer(value);
  }
}
