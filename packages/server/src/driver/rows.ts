/** Reads the rows of a request's body. */
import { limits, turn } from "@qyt/base";
import { createRowReader, type EncodedRows, type RowReaderOptions, type TableSchema } from "@qyt/schema";
import type { CommandContext } from "./define.ts";

/** A body is parsed in pieces of so many bytes, with a turn for others in between: a few milliseconds each. */
const pieceBytes = 1024 * 1024;

/** @throws YtError about the first bad row, with the attribute `row_index` */
export async function readRows(
  context: CommandContext,
  schema: TableSchema,
  options: RowReaderOptions,
): Promise<EncodedRows> {
  const format = context.inputFormat();
  const body = await context.request.readBody(limits.maxRowBodyBytes);
  const reader = createRowReader(format, schema, {
    ...options,
    expectedBytes: Math.min(body.length, 4 * pieceBytes),
  });
  if (body.length <= pieceBytes) {
    reader.feed(body);
    return reader.finish();
  }
  for (let start = 0; start < body.length; start += pieceBytes) {
    reader.feed(body.subarray(start, start + pieceBytes));
    await turn();
  }
  return reader.finish();
}
