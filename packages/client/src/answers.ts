/** Turns options into parameters, and answers into values. */
import { isMap, Uint64, type YsonValue, YtError } from "@qyt/base";
import type { Call } from "./core.ts";
import type { CommandOptions, LayoutOptions, Parameters, TransactionalOptions } from "./types.ts";

export function transaction(options: TransactionalOptions): Parameters {
  return options.transactionId === undefined ? {} : { transaction_id: options.transactionId };
}

export function layout({ layoutRevision }: LayoutOptions): Parameters {
  return layoutRevision === undefined ? {} : { tablet_layout_revision: new Uint64(layoutRevision) };
}

export function callOptions(
  options: CommandOptions,
): Pick<Call, "signal" | "timeoutMs" | "totalTimeoutMs" | "attempts"> {
  return {
    ...(options.signal === undefined ? {} : { signal: options.signal }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    ...(options.totalTimeoutMs === undefined ? {} : { totalTimeoutMs: options.totalTimeoutMs }),
    ...(options.attempts === undefined ? {} : { attempts: options.attempts }),
  };
}

export function withoutMethod(
  options: CommandOptions & { readonly body?: Uint8Array },
): Pick<Call, "signal" | "timeoutMs" | "totalTimeoutMs" | "attempts" | "body"> {
  return { ...callOptions(options), ...(options.body === undefined ? {} : { body: options.body }) };
}

export function field(result: YsonValue | undefined, name: string): YsonValue {
  const value = isMap(result) ? result.get(name) : undefined;
  if (value === undefined) {
    throw new YtError(`The proxy's answer has no field "${name}"`);
  }
  return value;
}

export function text(value: YsonValue | undefined): string {
  if (typeof value !== "string") {
    throw new YtError("The proxy's answer is not a string where one is due");
  }
  return value;
}

export function integer(value: YsonValue): bigint {
  if (typeof value !== "bigint") {
    throw new YtError("The proxy's answer is not an integer where one is due");
  }
  return value;
}
