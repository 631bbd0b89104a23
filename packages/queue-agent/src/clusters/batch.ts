/** Many light reads in one request; each item answers for itself. */
import { bare, isList, isMap, mapOf, type YsonValue, YtError } from "@qyt/base";
import type { CommandOptions, YtClient } from "@qyt/client";
import { errorFromYson } from "@qyt/yson";

export interface BatchRead {
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
export async function executeReads(
  client: YtClient,
  reads: readonly BatchRead[],
  options: CommandOptions = {},
): Promise<readonly (YsonValue | YtError)[]> {
  const results: (YsonValue | YtError)[] = [];
  for (let start = 0; start < reads.length; start += maxBatchSize) {
    const requests = reads
      .slice(start, start + maxBatchSize)
      .map(({ command, parameters }) => mapOf({ command, parameters: mapOf(parameters) }));
    const answer = await client.requester.receiveValue({
      command: "execute_batch",
      method: "POST",
      // Only reads: sent again without a mutation id, and the server keeps no answer.
      isVolatile: false,
      parameters: { requests },
      ...options,
    });
    const items = isMap(answer) ? answer.get("results") : answer;
    if (!isList(items) || items.length !== requests.length) {
      throw new YtError(
        "The proxy answered a batch of reads with another number of results than was asked for",
      );
    }
    results.push(...items.map(resultOf));
  }
  return results;
}

function resultOf(item: YsonValue): YsonValue | YtError {
  const map = bare(item);
  if (!isMap(map)) {
    return new YtError("The proxy answered a read with a result that is not a map");
  }
  const error = map.get("error");
  return error === undefined ? (map.get("output") ?? null) : errorFromYson(error);
}

/** The field of a structured output, as `get` (`value`) and others give it; an error is given back. */
export function outputField(result: YsonValue | YtError | undefined, field: string): YsonValue | YtError {
  if (result instanceof YtError) {
    return result;
  }
  const value = isMap(result) ? result.get(field) : undefined;
  return value === undefined ? new YtError(`The proxy's answer has no field "${field}"`) : value;
}
