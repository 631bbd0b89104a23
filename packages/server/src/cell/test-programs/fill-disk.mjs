/**
 * Test program: writes until the file may not grow any more (the caller limits it with `ulimit -f`), then
 * shows that reads still work, and that writes do again once something was deleted.
 */
import { openLmdbStore } from "../lmdb-store.ts";
import { WriteBatch } from "../write-batch.ts";

// Without a handler the kernel's signal for a file beyond the limit ends the process.
process.on("SIGXFSZ", () => {});
process.on("unhandledRejection", (error) => {
  console.log("UNHANDLED", error);
  process.exit(4);
});

const [directory = ""] = process.argv.slice(2);
const store = await openLmdbStore(directory);

function batchOf(row) {
  const batch = new WriteBatch();
  for (let i = 0; i < 20; ++i) {
    batch.put(Buffer.from(`row ${String(row).padStart(6, "0")} ${i}`), Buffer.alloc(8000, row));
  }
  return batch;
}

let durable = 0;
let failure;
while (failure === undefined) {
  const group = [store.commit(batchOf(durable)), store.commit(batchOf(durable + 1))];
  const results = await Promise.allSettled(group);
  for (const result of results) {
    if (result.status === "fulfilled") {
      durable += 1;
    } else {
      failure = result.reason;
    }
  }
}
console.log(`FAILED ${failure instanceof Error ? failure.message : failure}`);
await new Promise((resolve) => setTimeout(resolve, 50));
const count = [...store.range(Buffer.from("row"), Buffer.from("rox"), { keysOnly: true })].length;
console.log(`ROWS ${count === durable * 20 ? "all there" : `${count} of ${durable * 20}`}`);
const removal = new WriteBatch();
for (const { key } of store.range(Buffer.from("row"), Buffer.from("rox"), { keysOnly: true, limit: 200 })) {
  removal.remove(key);
}
await store.commit(removal);
await store.commit(batchOf(999_999));
console.log("WRITES AGAIN");
await store.close();
process.exit(0);
