import { emptyMap, mapOf, YtError } from "@qyt/base";
import type { DataFormat } from "@qyt/yson";
import { describe, expect, it } from "vitest";
import { column, TableSchema } from "../table-schema.ts";
import { createRowReader, createRowWriter, type OutputColumn, packBlocks, RowBlock } from "./index.ts";

const yson: DataFormat = { name: "yson", attributes: emptyMap };
const ysonText: DataFormat = { name: "yson", attributes: mapOf({ format: "text" }) };
const queue = new TableSchema([
  column("$tablet_index", "int64"),
  column("data", "string"),
  column("n", "int64"),
]);
const columns: OutputColumn[] = [
  { name: "$tablet_index", source: { kind: "tablet_index" } },
  { name: "$row_index", source: { kind: "row_index" } },
  { name: "data", source: { kind: "column", index: 0 } },
  { name: "n", source: { kind: "column", index: 1 } },
  { name: "$timestamp", source: { kind: "timestamp" } },
  { name: "$cumulative_data_weight", source: { kind: "cumulative_data_weight" } },
];

function read(
  text: string | Buffer,
  schema = queue,
): ReturnType<ReturnType<typeof createRowReader>["finish"]> {
  const reader = createRowReader(yson, schema, { rowKind: "insert" });
  reader.feed(Buffer.from(text));
  return reader.finish();
}

describe("YSON rows to blocks and back", () => {
  it("puts out text rows as they were read, with system columns", () => {
    const rows = read('{data="a\\"b";n=-5};{"n"=7;"data"=foo;"$tablet_index"=3};{}');
    expect(rows.rowCount).toBe(3);
    expect([...rows.weights]).toEqual([12, 12, 1]);
    expect(rows.tabletIndexes).toEqual(new Int32Array([-1, 3, -1]));
    const blocks = packBlocks(rows, 0, 3, {
      firstRowIndex: 40,
      baseCumulativeWeight: 100,
      timestamp: 1865777451725072279n,
      countSystemWeight: 16,
    });
    expect(blocks.length).toBe(1);
    const writer = createRowWriter(ysonText, columns);
    for (const block of blocks) {
      writer.writeBlockRows(RowBlock.parse(block.bytes), 0, block.rowCount, 2);
    }
    expect(writer.finish().toString()).toBe(
      '{"$tablet_index"=2;"$row_index"=40;"data"="a\\"b";"n"=-5;"$timestamp"=1865777451725072279u;"$cumulative_data_weight"=128;};\n' +
        '{"$tablet_index"=2;"$row_index"=41;"data"="foo";"n"=7;"$timestamp"=1865777451725072279u;"$cumulative_data_weight"=156;};\n' +
        '{"$tablet_index"=2;"$row_index"=42;"data"=#;"n"=#;"$timestamp"=1865777451725072279u;"$cumulative_data_weight"=173;};\n',
    );
  });

  it("names the row of an error", () => {
    try {
      read("{n=1};{m=1}");
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(YtError);
      expect(error).toMatchObject({ message: 'Unexpected column "m"', code: 307 });
      expect((error as YtError).attributes.get("row_index")).toBe(1n);
    }
  });
});
