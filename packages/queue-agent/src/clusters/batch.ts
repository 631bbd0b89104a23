/** Many light commands in one request; each item answers for itself. */
import { bare, isList, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { CommandOptions, YtClient } from "@qyt/client";
import { errorFromYson } from "@qyt/yson";

export interface BatchCall {
  readonly command: string;
  readonly parameters: Readonly<Record<string, YsonValue | undefined>>;
}

/** A larger answer would be long to read at once. */
const maxBatchSize = 250;

/**
 * Runs commands that change nothing.
 * @returns the output, or the error, of each
 * @throws YtError when a request as a whole failed
 */
export function executeReads(
  client: YtClient,
  reads: readonly BatchCall[],
  options: CommandOptions = {},
): Promise<readonly (YsonValue | YtError)[]> {
  return executeAll(client, reads, false, options);
}

/**
 * Runs commands that change something; a request that is sent again does it once.
 * @returns the output, or the error, of each
 * @throws YtError when a request as a whole failed: those before it have been done
 */
export function executeWrites(
  client: YtClient,
  writes: readonly BatchCall[],
  options: CommandOptions = {},
): Promise<readonly (YsonValue | YtError)[]> {
  return executeAll(client, writes, true, options);
}

async function executeAll(
  client: YtClient,
  calls: readonly BatchCall[],
  isVolatile: boolean,
  options: CommandOptions,
): Promise<readonly (YsonValue | YtError)[]> {
  const results: (YsonValue | YtError)[] = [];
  for (let start = 0; start < calls.length; start += maxBatchSize) {
    const requests = calls.slice(start, start + maxBatchSize).map(requestOf);
    results.push(...(await sendBatch(client, requests, isVolatile, options)).map(outcomeOf));
  }
  return results;
}

/** A command as it stands in a batch. */
export function requestOf({ command, parameters }: BatchCall): YsonMap {
  return mapOf({ command, parameters: mapOf(parameters) });
}

/**
 * One `execute_batch`.
 * @param isVolatile reads alone need no mutation id, and the server keeps no answer of them then
 * @returns an item for each request, to be read with `outcomeOf`
 * @throws YtError when the request as a whole failed
 */
export async function sendBatch(
  client: YtClient,
  requests: readonly YsonMap[],
  isVolatile: boolean,
  options: CommandOptions,
): Promise<readonly YsonValue[]> {
  const answer = await client.requester.receiveValue({
    command: "execute_batch",
    method: "POST",
    isVolatile,
    parameters: { requests },
    ...options,
  });
  const items = isMap(answer) ? answer.get("results") : answer;
  if (!isList(items) || items.length !== requests.length) {
    throw new YtError("The proxy answered a batch with another number of results than was asked for");
  }
  return items;
}

/** The output of a command in a batch, or its error. */
export function outcomeOf(item: YsonValue): YsonValue | YtError {
  const map = bare(item);
  if (!isMap(map)) {
    return new YtError("The proxy answered a command of a batch with a result that is not a map");
  }
  const error = map.get("error");
  return error === undefined ? (map.get("output") ?? null) : errorFromYson(error);
}

/** The value in the output of `get`. */
export function outputValue(output: YsonValue): YsonValue {
  return isMap(output) && output.has("value") ? (output.get("value") ?? null) : output;
}

/** The field of a structured output, as `get` (`value`) and others give it; an error is given back. */
export function outputField(result: YsonValue | YtError | undefined, field: string): YsonValue | YtError {
  if (result instanceof YtError) {
    return result;
  }
  const value = isMap(result) ? result.get(field) : undefined;
  return value === undefined ? new YtError(`The proxy's answer has no field "${field}"`) : value;
}
