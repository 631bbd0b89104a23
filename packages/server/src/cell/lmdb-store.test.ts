/** What only the embedded store has: a lock, a disk that fills up, a file that outlives the process. */
import { execFileSync, spawnSync } from "node:child_process";
import { platform } from "node:os";
import { fileURLToPath } from "node:url";
import { seededRandom, systemClock } from "@qyt/base";
import { ProgramProcess, type TemporaryDirectory, temporaryDirectory, typescriptArgs } from "@qyt/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Cell, checkStore, openLmdbStore, WriteBatch } from "./index.ts";

const programPath = (name: string): string =>
  fileURLToPath(new URL(`./test-programs/${name}`, import.meta.url));

describe("openLmdbStore", () => {
  let directory: TemporaryDirectory;

  beforeEach(async () => {
    directory = await temporaryDirectory("lmdb");
  });

  afterEach(() => directory.remove());

  it("refuses a second opening in this process, and gives the directory free on close", async () => {
    const store = await openLmdbStore(directory.path);
    await expect(openLmdbStore(directory.path)).rejects.toThrow(/in use by another process/);
    await store.close();
    const again = await openLmdbStore(directory.path);
    await again.close();
  });

  it("keeps other processes out until the holder dies by SIGKILL, and finds all it acknowledged", async () => {
    const options = {
      script: programPath("hold-store.mjs"),
      args: [directory.path],
      nodeArgs: typescriptArgs,
    };
    const holder = await ProgramProcess.start({ ...options, readyText: "store is open" });
    await expect(openLmdbStore(directory.path)).rejects.toThrow(/in use by another process/);
    const second = ProgramProcess.spawn(options);
    expect(await second.exited()).toMatchObject({ code: 3 });
    expect(second.output).toMatch(/^Data directory ".*" is in use by another process: stop .*$/m);
    await holder.waitForOutput("durable 20");
    await holder.kill();
    const acknowledged = Number(
      holder.output
        .match(/durable (\d+)/g)
        ?.at(-1)
        ?.slice("durable ".length),
    );
    const store = await openLmdbStore(directory.path);
    const last = Number(store.get(Buffer.from("last"))?.toString());
    expect(last).toBeGreaterThanOrEqual(acknowledged);
    expect(last).toBeLessThanOrEqual(acknowledged + 1);
    expect([...store.range(Buffer.from("row"), Buffer.from("rox"))].length).toBe(last + 1);
    await store.close();
  });

  it("takes keys of 3,900 bytes after a reopening too", async () => {
    for (const fill of [1, 2, 3]) {
      const store = await openLmdbStore(directory.path);
      const batch = new WriteBatch();
      batch.put(Buffer.alloc(3900, fill), Buffer.from("v"));
      await store.commit(batch);
      expect([...store.range(Buffer.of(0), Buffer.of(255), { reverse: true })].length).toBe(fill);
      await store.close();
    }
  });

  it("does not keep old pages alive for a range left half read", async () => {
    const store = await openLmdbStore(directory.path);
    const write = async (round: number): Promise<void> => {
      const batch = new WriteBatch();
      for (let i = 0; i < 100; ++i) {
        batch.put(Buffer.from(`key ${String(i).padStart(4, "0")}`), Buffer.alloc(8000, round));
      }
      await store.commit(batch);
    };
    await write(0);
    const iterators = Array.from({ length: 5 }, () =>
      store.range(Buffer.from("key"), Buffer.from("kez"))[Symbol.iterator](),
    );
    for (const iterator of iterators) {
      iterator.next();
    }
    for (let round = 1; round <= 30; ++round) {
      await write(round);
    }
    const fileBytes = Number(execFileSync("stat", ["-c", "%s", `${directory.path}/data.mdb`]).toString());
    expect(fileBytes).toBeLessThan(5 * 1024 * 1024);
    await store.close();
  });

  it("is not harmed by snapshots and ranges that outlive it", async () => {
    const store = await openLmdbStore(directory.path);
    const batch = new WriteBatch();
    for (let i = 0; i < 100; ++i) {
      batch.put(Buffer.from(`key ${i}`), Buffer.alloc(8000));
    }
    await store.commit(batch);
    const snapshot = store.snapshot();
    const ofSnapshot = snapshot.range(Buffer.from("key"), Buffer.from("kez"))[Symbol.iterator]();
    const ofStore = store.range(Buffer.from("key"), Buffer.from("kez"))[Symbol.iterator]();
    ofSnapshot.next();
    ofStore.next();
    await store.close();
    expect(() => snapshot.get(Buffer.from("key 1"))).toThrow("released");
    const drain = (iterator: Iterator<unknown>): void => {
      while (iterator.next().done !== true) {}
    };
    expect(() => drain(ofSnapshot)).toThrow("released");
    expect(() => drain(ofStore)).toThrow("closed");
  });

  it.skipIf(platform() === "win32")(
    "says so when the disk is full, stays readable, and goes on when there is room",
    () => {
      const node = [...typescriptArgs, programPath("fill-disk.mjs"), directory.path];
      const command = `ulimit -f 20000; exec "${process.execPath}" ${node.map((arg) => `"${arg}"`).join(" ")}`;
      const { status, stdout, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
      expect(stdout, stderr).toMatch(
        /^FAILED Cannot write to the data directory: its disk is full.*free some space/m,
      );
      expect(stdout).toContain("ROWS all there");
      expect(stdout).toContain("WRITES AGAIN");
      expect(stdout).not.toContain("UNHANDLED");
      expect(status).toBe(0);
    },
  );

  it("carries a cell over restarts", async () => {
    let last = 0n;
    for (let start = 1; start <= 3; ++start) {
      const store = await openLmdbStore(directory.path);
      const cell = await Cell.open({ store, clock: systemClock, random: seededRandom(start), cellTag: 1 });
      const timestamp = await cell.generateTimestamp();
      expect(timestamp).toBeGreaterThan(last);
      last = timestamp;
      expect(cell.newObjectId(1)).toMatch(new RegExp(`^${start}-1-10001-`));
      expect(await checkStore(store)).toMatchObject({ damagedCount: 0 });
      await cell.close();
    }
  });
});
