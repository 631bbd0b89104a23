/** Test program: opens the store of a directory, commits one record after the other, until it is killed. */
import { openLmdbStore } from "../lmdb-store.ts";
import { WriteBatch } from "../write-batch.ts";

const [directory = ""] = process.argv.slice(2);
try {
  const store = await openLmdbStore(directory);
  console.log("store is open");
  for (let i = 0; ; ++i) {
    const batch = new WriteBatch();
    batch.put(Buffer.from("last"), Buffer.from(`${i}`));
    batch.put(Buffer.from(`row ${String(i).padStart(8, "0")}`), Buffer.alloc(100));
    await store.commit(batch);
    console.log(`durable ${i}`);
  }
} catch (error) {
  console.log(error instanceof Error ? error.message : error);
  process.exitCode = 3;
}
