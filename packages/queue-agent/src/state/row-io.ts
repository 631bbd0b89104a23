/** Reads and writes rows of state tables as YSON values, without loss of types, and in slices. */
import { isMap, turn, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { CommandOptions, YtClient } from "@qyt/client";
import { parseNode, writeYsonList, YsonScanner } from "@qyt/yson";

/** So many rows are decoded before others have their turn: about a millisecond. */
const rowsPerTurn = 100;
/** Rows of one request, far below what a server takes. */
const maxRowsPerWrite = 5_000;

/** @throws YtError of the request */
export async function selectYson(
  client: YtClient,
  query: string,
  options: CommandOptions & { readonly parameters?: Readonly<Record<string, YsonValue | undefined>> } = {},
): Promise<YsonMap[]> {
  const { parameters, ...callOptions } = options;
  const bytes = await client.requester.receive({
    command: "select_rows",
    method: "GET",
    isVolatile: false,
    parameters: { query, ...parameters, output_format: "yson" },
    ...callOptions,
  });
  return parseRows(bytes);
}

async function parseRows(bytes: Buffer): Promise<YsonMap[]> {
  const scanner = new YsonScanner(bytes);
  const rows: YsonMap[] = [];
  while (scanner.skipSpace() >= 0) {
    const row = parseNode(scanner, 0);
    if (!isMap(row)) {
      throw new YtError("The proxy sent a row that is not a map");
    }
    rows.push(row);
    if (rows.length % rowsPerTurn === 0) {
      await turn();
    }
    if (!scanner.skipSeparator(-1)) {
      break;
    }
  }
  return rows;
}

/** Columns that a row leaves out become null. Not atomic beyond 5,000 rows. @throws YtError of the request */
export async function insertYson(
  client: YtClient,
  path: YsonValue,
  rows: readonly YsonMap[],
  options: CommandOptions = {},
): Promise<void> {
  for (const part of parts(rows)) {
    await client.insertRows(path, { body: writeYsonList(part, "binary"), format: "yson" }, options);
  }
}

/** @throws YtError of the request */
export async function deleteYson(
  client: YtClient,
  path: YsonValue,
  keys: readonly YsonMap[],
  options: CommandOptions = {},
): Promise<void> {
  for (const part of parts(keys)) {
    await client.deleteRows(path, { body: writeYsonList(part, "binary"), format: "yson" }, options);
  }
}

function parts(rows: readonly YsonMap[]): YsonMap[][] {
  const result: YsonMap[][] = [];
  for (let start = 0; start < rows.length; start += maxRowsPerWrite) {
    result.push(rows.slice(start, start + maxRowsPerWrite));
  }
  return result;
}
