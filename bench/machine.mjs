// What this machine can do by itself, in the same run: floors are judged beside these figures.
import { mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { open } from "node:fs/promises";
import { cpus, loadavg, release, tmpdir, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { open as openLmdb } from "lmdb";
import { latencies } from "./load/measure.mjs";
import { RowBody } from "./rows.mjs";

const fileSystems = new Map([
  [0x01021994, "tmpfs"],
  [0x858458f6, "ramfs"],
  [0xef53, "ext4"],
  [0x58465342, "xfs"],
  [0x9123683e, "btrfs"],
  [0x794c7630, "overlayfs"],
  [0x2fc12fc1, "zfs"],
]);
const inMemory = new Set(["tmpfs", "ramfs"]);

export function fileSystemOf(path) {
  const { type } = statfsSync(path);
  return fileSystems.get(type) ?? `type 0x${type.toString(16)}`;
}

/** A new directory on a real disk: in the one given, the system's for temporary files, or beside the repository. */
export function diskDirectory(given) {
  const beside = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  const parent = [given, tmpdir(), beside].find(
    (path) => path !== undefined && !inMemory.has(fileSystemOf(path)),
  );
  if (parent === undefined || (given !== undefined && parent !== given)) {
    throw new Error(`No directory on a real disk (${given ?? tmpdir()} is in memory); name one with --dir`);
  }
  return mkdtempSync(join(parent, "qyt-bench-"));
}

export function describeMachine(directory) {
  const model = cpus()[0]?.model.trim() ?? "unknown";
  const kernel = release();
  return {
    cpu: `${cpus().length} × ${model}`,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel,
    node: process.version,
    fileSystem: fileSystemOf(directory),
    loadAverage: loadavg()[0],
    isVirtual: /hypervisor/.test(readText("/proc/cpuinfo")),
  };
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Processor time since the start of the machine, and that of the processes named, in clock ticks. */
export function processorTimes(pids) {
  const fields = /^cpu +(.*)$/m.exec(readText("/proc/stat"))?.[1].split(" ").map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, interrupt = 0, softInterrupt = 0, stolen = 0] =
    fields;
  const busy = user + nice + system + interrupt + softInterrupt + stolen;
  const own = new Map();
  for (const pid of pids) {
    const times = readText(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? [];
    own.set(pid, Number(times[11] ?? 0) + Number(times[12] ?? 0));
  }
  return { busy, total: busy + idle + wait, own };
}

/** What part of the processors programs other than those named took between two moments, stolen time included. */
export function shareOfOthers(before, after) {
  let own = 0;
  for (const [pid, ticks] of after.own) {
    own += ticks - (before.own.get(pid) ?? 0);
  }
  const total = after.total - before.total;
  return total <= 0 ? 0 : Math.max(0, (after.busy - before.busy - own) / total);
}

/** Appends 8 KB and flushes, `count` times. Milliseconds. */
export async function measureFlush(directory, count = 300) {
  const path = join(directory, "flush-probe");
  const file = await open(path, "w");
  const latency = latencies();
  const page = Buffer.alloc(8192, 1);
  for (let i = 0; i < count; ++i) {
    const start = performance.now();
    await file.write(page);
    await file.datasync();
    latency.record(performance.now() - start);
  }
  await file.close();
  rmSync(path);
  return latency.summary();
}

/** `JSON.parse` of the benchmark's rows as JSON lines. */
export function measureJsonParse(seconds = 1) {
  const text = new RowBody(1000).next().toString("latin1");
  const lines = text.match(/\{[^}]*\}/g).map((row) =>
    row
      .replace(/(\w+)=/g, '"$1":')
      .replaceAll(";", ",")
      .replace(/:u(\d+)/, ':"u$1"'),
  );
  const bytes = lines.reduce((sum, line) => sum + line.length + 1, 0);
  let parsed = 0;
  const start = performance.now();
  let rounds = 0;
  while (performance.now() - start < seconds * 1000) {
    for (const line of lines) {
      parsed += JSON.parse(line).data !== undefined ? 1 : 0;
    }
    ++rounds;
  }
  const elapsed = (performance.now() - start) / 1000;
  return { megabytesPerSecond: (bytes * rounds) / 1e6 / elapsed, rowsPerSecond: parsed / elapsed };
}

/** The store's library alone, with the server's settings: 100 KB a commit, flushed, 8 commits in a transaction. */
export async function measureBareStore(directory, seconds = 3) {
  const path = join(directory, "bare-store");
  const database = openLmdb({
    path,
    pageSize: 8192,
    maxFreeSpaceToLoad: 1000,
    maxFreeSpaceToRetain: 2000,
    overlappingSync: false,
    eventTurnBatching: false,
    keyEncoding: "binary",
    encoding: "binary",
    mapSize: 2 ** 38,
  });
  const value = Buffer.alloc(8168, 7);
  const one = latencies();
  let key = 0;
  const put = (count, bytes) =>
    database.batch(() => {
      for (let i = 0; i < count; ++i) {
        const name = Buffer.allocUnsafe(8);
        name.writeDoubleBE(++key);
        void database.put(name, bytes);
      }
    });
  for (let i = 0; i < 300; ++i) {
    const start = performance.now();
    await put(1, value.subarray(0, 100));
    one.record(performance.now() - start);
  }
  const start = performance.now();
  let bytes = 0;
  while (performance.now() - start < seconds * 1000) {
    await put(8 * 12, value);
    bytes += 8 * 12 * value.length;
  }
  const megabytesPerSecond = bytes / 1e6 / ((performance.now() - start) / 1000);
  await database.close();
  rmSync(path, { recursive: true });
  return { oneCommit: one.summary(), megabytesPerSecond };
}
