// The store's bad day, and its ordinary one. Run: npm run build && node bench/store.mjs [--gigabytes=2]
//
// Conditions: the embedded store alone, in a temporary directory (set TMPDIR to choose the disk), every
// commit flushed. Pass lines (2 cores; floors, not goals):
//   eight tablets interleaved to 2 GB, half of them dropped in slices of 1,000 records:
//     commits beside the drop p50 under 15 × a flush of the bare disk · one-row commits after it p50 under
//     4 × (with 4 KB pages and the library's defaults it was 190 ms) · bulk writes right after at least
//     0.4 × the bare disk's
//   one-row commits, one client: p50 under 3 × a flush of the bare disk
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "hdr-histogram-js";
import { openLmdbStore, WriteBatch } from "../packages/server/dist/cell/index.js";

const option = (name, fallback) =>
  Number(process.argv.find((arg) => arg.startsWith(`--${name}=`))?.split("=")[1] ?? fallback);
const totalBytes = option("gigabytes", 2) * 1e9;
const valueBytes = 8164;
const blocksPerBatch = 12;
const tablets = 8;

const directory = mkdtempSync(join(tmpdir(), "qyt-bench-store-"));
const store = await openLmdbStore(directory);
const failures = [];
const value = Buffer.alloc(valueBytes);
for (let i = 0; i < valueBytes; ++i) {
  value[i] = i * 31;
}
const nextRow = new Array(256).fill(0);

function blockKey(tablet, row) {
  const key = Buffer.alloc(17);
  key[0] = 6;
  key.writeUInt32BE(tablet, 5);
  key.writeUInt32BE(row, 13);
  return key;
}

function fillBatch(tablet) {
  const batch = new WriteBatch();
  for (let i = 0; i < blocksPerBatch; ++i) {
    batch.put(blockKey(tablet, nextRow[tablet]++), value);
  }
  return batch.seal();
}

function oneRow(tablet, i) {
  const batch = new WriteBatch();
  batch.put(blockKey(tablet, i), value.subarray(0, 100));
  return batch.seal();
}

/** Writes 100 KB batches, flushed each, round robin over the tablets. Returns MB/s. */
async function bulk(bytes, from, count, depth = 1) {
  const start = performance.now();
  let written = 0;
  for (let i = 0; written < bytes; ) {
    const commits = [];
    for (let j = 0; j < depth; ++j, ++i) {
      const batch = fillBatch(from + (i % count));
      written += batch.byteSize;
      commits.push(store.commit(batch));
    }
    await Promise.all(commits);
  }
  return written / 1e3 / (performance.now() - start);
}

/** The bare disk: append 100 KB, fdatasync, repeat. */
async function bareDisk() {
  const path = join(directory, "bare");
  const file = await open(path, "w");
  const batch = Buffer.concat(Array.from({ length: blocksPerBatch }, () => value));
  const small = build({ lowestDiscernibleValue: 1, highestTrackableValue: 1e9 });
  for (let i = 0; i < 300; ++i) {
    const start = performance.now();
    await file.write(value);
    await file.datasync();
    small.recordValue(Math.round((performance.now() - start) * 1000));
  }
  const start = performance.now();
  const rounds = 1000;
  for (let i = 0; i < rounds; ++i) {
    await file.write(batch);
    await file.datasync();
  }
  const megabytes = (rounds * batch.length) / 1e6;
  const rate = megabytes / ((performance.now() - start) / 1000);
  await file.close();
  rmSync(path);
  return { flushMs: ms(small, 50), rate };
}

async function latencies(count, tablet) {
  const histogram = build({ lowestDiscernibleValue: 1, highestTrackableValue: 1e9 });
  for (let i = 0; i < count; ++i) {
    const start = performance.now();
    await store.commit(oneRow(tablet, i));
    histogram.recordValue(Math.round((performance.now() - start) * 1000));
  }
  return histogram;
}

/** Removes a tablet as `RangeDeletions` does: 1,000 records a commit, 1 ms of pause. */
async function drop(tablet) {
  for (;;) {
    const batch = new WriteBatch();
    const range = [blockKey(tablet, 0), blockKey(tablet, 0xffff_ffff)];
    for (const { key } of store.range(...range, { limit: 1000, keysOnly: true })) {
      batch.remove(key);
    }
    if (batch.entryCount === 0) {
      return;
    }
    await store.commit(batch.seal());
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const ms = (histogram, percentile) => histogram.getValueAtPercentile(percentile) / 1000;
const show = (histogram) =>
  `p50 ${ms(histogram, 50).toFixed(2)} · p99 ${ms(histogram, 99).toFixed(2)} · max ${(histogram.maxValue / 1000).toFixed(1)} ms`;

function line(what, figure, pass) {
  console.log(`${what.padEnd(58)} ${figure}${pass === false ? "   BELOW THE PASS LINE" : ""}`);
  if (pass === false) {
    failures.push(what);
  }
}

try {
  const bare = await bareDisk();
  line(
    "bare disk: append and fdatasync of 8 KB / 100 KB",
    `p50 ${bare.flushMs.toFixed(2)} ms / ${bare.rate.toFixed(0)} MB/s`,
  );
  const fresh = await latencies(500, 100);
  line("one-row commits, one client, empty store", show(fresh), ms(fresh, 50) < 3 * bare.flushMs);

  const start16 = performance.now();
  await Promise.all(Array.from({ length: 16 }, (_, client) => latencies(250, 101 + client)));
  line(
    "one-row commits, 16 clients",
    `${Math.round(4000 / ((performance.now() - start16) / 1000))} commits/s`,
  );

  const interleaved = await bulk(totalBytes, 0, tablets);
  line(
    `eight tablets interleaved, ${totalBytes / 1e9} GB in 100 KB batches`,
    `${interleaved.toFixed(0)} MB/s`,
  );
  line(
    "bulk writes, 8 batches of 100 KB in flight",
    `${(await bulk(totalBytes / 10, 0, tablets, 8)).toFixed(0)} MB/s`,
  );
  line("one-row commits, full store", show(await latencies(500, 120)));

  const dropStart = performance.now();
  let isDropping = true;
  const dropping = (async () => {
    for (let tablet = 0; tablet < tablets; tablet += 2) {
      await drop(tablet);
    }
    isDropping = false;
  })();
  const beside = build({ lowestDiscernibleValue: 1, highestTrackableValue: 1e9 });
  for (let i = 0; isDropping; ++i) {
    const start = performance.now();
    await store.commit(oneRow(121, i));
    beside.recordValue(Math.round((performance.now() - start) * 1000));
  }
  await dropping;
  line("dropping four of eight tablets", `${((performance.now() - dropStart) / 1000).toFixed(1)} s`);
  line("one-row commits beside the drop", show(beside), ms(beside, 50) < 15 * bare.flushMs);

  const after = await latencies(500, 122);
  line("one-row commits after the drop", show(after), ms(after, 50) < 4 * bare.flushMs);
  const again = await bulk(totalBytes / 4, 10, tablets);
  line("bulk writes into the freed space", `${again.toFixed(0)} MB/s`, again > 0.4 * bare.rate);
  const later = await latencies(500, 123);
  line("one-row commits after that", show(later), ms(later, 50) < 4 * bare.flushMs);

  const readStart = performance.now();
  let entries = 0;
  for (const entry of store.range(blockKey(1, 0), blockKey(1, 20_000))) {
    entries += entry.value.length > 0 ? 1 : 0;
  }
  const readMs = performance.now() - readStart;
  line(
    "range read of full blocks",
    `${((readMs * 1000) / entries).toFixed(1)} µs an entry, ${((entries * valueBytes) / 1e3 / readMs).toFixed(0)} MB/s`,
  );
  line("file", `${(statSync(join(directory, "data.mdb")).size / 1e9).toFixed(2)} GB`);
} finally {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
}
if (failures.length > 0) {
  console.log(`Below the pass line: ${failures.join("; ")}`);
  process.exitCode = 1;
}
