/**
 * A client of one YTsaurus HTTP proxy: typed commands over `Requester`. Works against qyt and against
 * a real cluster. Each method is one command of the HTTP API v4; its documentation there is valid.
 */
import type { YsonValue } from "@qyt/base";
import { callOptions, withoutMethod } from "./answers.ts";
import { TransactionCommands } from "./commands/transactions.ts";
import { type Call, Requester, readChunks } from "./core.ts";
import { type ClientOptions, resolveOptions } from "./options.ts";
import { openProducer, type Producer, type ProducerOptions } from "./producer/producer.ts";
import type { Schema } from "./schema/schema.ts";
import { Table } from "./schema/table.ts";
import type { Columns } from "./schema/types.ts";
import { inTransaction, Transaction, type TransactionOptions } from "./transactions/transaction.ts";
import type { CommandOptions, Parameters, PathInput } from "./types.ts";

export class YtClient extends TransactionCommands {
  constructor(options: ClientOptions) {
    super({ requester: new Requester(resolveOptions(options)) });
  }

  /** Closes the connections. A transport handed in stays open. */
  async close(): Promise<void> {
    if (this.requester.options.ownsTransport) {
      await this.requester.options.transport.close();
    }
  }

  /**
   * Runs `work` in a new transaction, which is kept alive meanwhile, and commits it; when `work` throws, it is
   * aborted. `work` runs once.
   *
   * @throws what `work` throws
   * @throws YtError of the start, or of the commit: then nothing of the transaction was done
   * @throws TransactionOutcomeUnknown when the answer to the commit was lost and nobody could tell it again
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    return inTransaction({ requester: this.requester }, work, options);
  }

  /** Starts a transaction that is kept alive until its `commit` or `abort` is called. */
  beginTransaction(options: TransactionOptions = {}): Promise<Transaction> {
    return Transaction.start({ requester: this.requester }, options);
  }

  /** A producer of a queue; opening it takes its session over from any other. */
  producer<C extends Columns = Columns>(options: ProducerOptions<C>): Promise<Producer<C>> {
    return openProducer(this, options);
  }

  /** A table or queue whose rows are typed by the schema. */
  table<C extends Columns>(path: PathInput, schema: Schema<C>): Table<C> {
    return new Table(this, path, schema);
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
