// The row transcoders alone, on one thread: bytes of a format into row blocks, ready for the store. More
// shapes of rows, and the way back: bench/transcoding.mjs.
import { column, createRowReader, createRowWriter, packBlocks, RowBlock, TableSchema } from "@qyt/schema";
import { RowBody } from "./rows.mjs";

const rowCount = 1000;
const columns = ["data"];
const schema = new TableSchema([column("data", "string")]);
const format = (name, attributes = {}) => ({ name, attributes: new Map(Object.entries(attributes)) });
const text = format("yson", { format: "text" });
const binary = format("yson", { format: "binary" });
const json = format("json");
const inputs = [
  { name: "YSON text", input: text, floor: 4 },
  { name: "binary YSON", input: binary, floor: 6 },
  { name: "JSON lines", input: json, floor: 2 },
];

export const transcodingBenchmarks = { transcoding };

function transcoding({ report, seconds }) {
  const blocks = toBlocks(new RowBody(rowCount).next(), text);
  for (const { name, input, floor } of inputs) {
    const writer = createRowWriter(
      input,
      columns.map((each, index) => ({ name: each, source: { kind: "column", index } })),
    );
    for (const block of blocks) {
      const parsed = RowBlock.parse(block.bytes);
      writer.writeBlockRows(parsed, 0, parsed.rowCount, 0);
    }
    const bytes = writer.finish();
    const millions = measure(() => toBlocks(bytes, input), seconds) / 1e6;
    report.add({
      id: "transcoding",
      what: `transcoding, ${name} to blocks`,
      figure: `${millions.toFixed(2)} M rows/s`,
      floor: `${floor} M rows/s`,
      pass: millions >= floor,
      conditions: `one thread, one column, ${(bytes.length / rowCount).toFixed(0)} bytes a row in this format`,
      values: { millions },
    });
  }
}

function toBlocks(bytes, input) {
  const reader = createRowReader(input, schema, { rowKind: "insert", expectedBytes: bytes.length });
  reader.feed(bytes);
  const rows = reader.finish();
  return packBlocks(rows, 0, rows.rowCount, {
    firstRowIndex: 1_000_000,
    baseCumulativeWeight: 123_456_789,
    timestamp: 1865777451725072279n,
    countSystemWeight: 16,
  });
}

/** Rows a second of the best of ten slices of the time, after a warm-up of the same length as one. */
function measure(run, seconds) {
  let best = 0;
  for (let slice = 0; slice <= 10; ++slice) {
    const start = performance.now();
    let rounds = 0;
    let elapsed = 0;
    while (elapsed < seconds * 100) {
      run();
      ++rounds;
      elapsed = performance.now() - start;
    }
    best = slice === 0 ? 0 : Math.max(best, (rounds * rowCount * 1000) / elapsed);
  }
  return best;
}
