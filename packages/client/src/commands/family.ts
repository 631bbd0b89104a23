/**
 * What the families of commands have in common: the way to the proxy, the transaction that they run in,
 * and options told by their names.
 */
import type { YsonValue } from "@qyt/base";
import { toYson } from "@qyt/yson";
import { callOptions } from "../answers.ts";
import type { Call, Requester } from "../core.ts";
import { encodeRows, type RowInput } from "../rows.ts";
import { eitherSignal } from "../signals.ts";
import type { CommandOptions, Parameters, TransactionalOptions } from "../types.ts";

/** Where commands go, and what they are bound to. */
export interface CommandScope {
  readonly requester: Requester;
  /** The transaction of commands that name none. */
  readonly transactionId?: string;
  /** Ends the commands; their own signal does as well. */
  readonly signal?: AbortSignal;
}

/** Options that say how a call is made, and are no parameters of its command. */
const callOptionNames: ReadonlySet<string> = new Set([
  "signal",
  "timeoutMs",
  "totalTimeoutMs",
  "transactionId",
  "attempts",
]);

/**
 * The parameters that the options tell: `maxRowCount` is `max_row_count`; integers are int64, plain objects
 * maps. What is `undefined` is left out.
 */
export function named(options: object): Record<string, YsonValue> {
  const parameters: Record<string, YsonValue> = {};
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !callOptionNames.has(name)) {
      parameters[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = toYson(value);
    }
  }
  return parameters;
}

export class CommandFamily {
  readonly requester: Requester;
  readonly #transactionId: string | undefined;
  readonly #signal: AbortSignal | undefined;

  constructor(scope: CommandScope) {
    this.requester = scope.requester;
    this.#transactionId = scope.transactionId;
    this.#signal = scope.signal;
  }

  /** A command that changes nothing; its structured answer. */
  protected read(
    command: string,
    parameters: Parameters,
    options: TransactionalOptions,
  ): Promise<YsonValue | undefined> {
    return this.requester.receiveValue(this.call(command, "GET", parameters, options));
  }

  /** A command that changes something, sent again under one mutation id; its structured answer. */
  protected write(
    command: string,
    parameters: Parameters,
    options: TransactionalOptions,
    body?: Uint8Array,
  ): Promise<YsonValue | undefined> {
    const call = this.call(command, body === undefined ? "POST" : "PUT", parameters, options);
    return this.requester.receiveValue({
      ...call,
      isVolatile: true,
      ...(body === undefined ? {} : { body }),
    });
  }

  /** A command whose body is rows; the bytes of its answer. */
  protected sendRows(
    command: string,
    rows: RowInput,
    parameters: Parameters,
    options: TransactionalOptions,
    call: Pick<Call, "isUnsafeToRepeat"> = {},
  ): Promise<Buffer> {
    const { body, format } = encodeRows(rows);
    const sent = { ...parameters, input_format: format };
    return this.requester.receive({ ...this.call(command, "PUT", sent, options), body, ...call });
  }

  /** A call with the transaction and the signal of the scope, where the options name none. */
  protected call(
    command: string,
    method: Call["method"],
    parameters: Parameters,
    options: TransactionalOptions,
  ): Call {
    const transactionId = options.transactionId ?? this.#transactionId;
    return {
      command,
      method,
      isVolatile: false,
      parameters: transactionId === undefined ? parameters : { ...parameters, transaction_id: transactionId },
      ...callOptions(this.withScopeSignal(options)),
    };
  }

  protected withScopeSignal<T extends CommandOptions>(options: T): T {
    const signal = eitherSignal(options.signal, this.#signal);
    return signal === undefined ? options : { ...options, signal };
  }
}
