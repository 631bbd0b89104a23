/** The ways in which the typed commands ask: a value read, a value written, rows read, rows sent. */
import type { YsonValue } from "@qyt/base";
import { callOptions, transaction } from "./answers.ts";
import type { Call, Requester } from "./core.ts";
import { decodeRows, encodeRows, type RowInput } from "./rows.ts";
import type { CommandOptions, Parameters, TransactionalOptions } from "./types.ts";

export async function readRows(
  requester: Requester,
  command: string,
  parameters: Parameters,
  options: CommandOptions,
): Promise<Record<string, unknown>[]> {
  const bytes = await requester.receive({
    command,
    method: "GET",
    isVolatile: false,
    parameters: { ...parameters, output_format: "yson" },
    ...callOptions(options),
  });
  return decodeRows(bytes).filter((row) => row !== null);
}

export function read(
  requester: Requester,
  command: string,
  parameters: Parameters,
  options: CommandOptions,
): Promise<YsonValue | undefined> {
  return requester.receiveValue({
    command,
    method: "GET",
    parameters,
    isVolatile: false,
    ...callOptions(options),
  });
}

export function write(
  requester: Requester,
  command: string,
  parameters: Parameters,
  options: CommandOptions,
  body?: Uint8Array,
): Promise<YsonValue | undefined> {
  return requester.receiveValue({
    command,
    method: body === undefined ? "POST" : "PUT",
    parameters,
    isVolatile: true,
    ...(body === undefined ? {} : { body }),
    ...callOptions(options),
  });
}

/** Sends rows as the body of a tabular command; gives the bytes of the answer. */
export function sendRows(
  requester: Requester,
  command: string,
  rows: RowInput,
  parameters: Parameters,
  options: TransactionalOptions,
  call: Pick<Call, "isUnsafeToRepeat"> = {},
): Promise<Buffer> {
  const { body, format } = encodeRows(rows);
  return requester.receive({
    command,
    method: "PUT",
    isVolatile: false,
    parameters: { ...parameters, input_format: format, ...transaction(options) },
    body,
    ...callOptions(options),
    ...call,
  });
}
