// Reads every row of a tablet, as another process finds it, and prints how many there are with a digest of
// them, or the error. Run by damage.test.ts on damaged files, which may end this process.
//
// Arguments: data directory, tablet id.
import { createHash } from "node:crypto";
import { seededRandom, systemClock } from "@qyt/base";
import { Cell, openLmdbStore } from "../../packages/server/dist/cell/index.js";
import { ChunkManager } from "../../packages/server/dist/tablets/chunks/chunk-manager.js";
import { OrderedTablet } from "../../packages/server/dist/tablets/ordered/ordered-tablet.js";

const [directory, tabletId] = process.argv.slice(2);
const format = { columns: ["data"], hasTimestamp: false, hasCumulativeDataWeight: false };

try {
  const store = await openLmdbStore(directory);
  const cell = await Cell.open({ store, clock: systemClock, random: seededRandom(1), cellTag: 1 });
  const chunks = await ChunkManager.open(cell);
  const tablet = await OrderedTablet.open(cell, chunks, { tabletId, tableId: "0-0-0-0", format });
  const digest = createHash("sha256");
  let rows = 0;
  for (const { block, from, to } of tablet.read(0)) {
    for (let row = from; row < to; row++) {
      digest.update(
        `${block.firstRowIndex + row} ${block.cumulativeWeightAt(row)} ${block.timestampAt(row)} `,
      );
      digest.update(block.bytes.subarray(block.rowStart(row), block.rowEnd(row)));
      ++rows;
    }
  }
  console.log(JSON.stringify({ rows, digest: digest.digest("hex") }));
} catch (error) {
  console.log(JSON.stringify({ error: String(error.message), code: error.code }));
}
// No closing: the file is damaged, and what matters has been said.
process.exit(0);
