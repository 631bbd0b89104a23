// Counts words exactly once: a producer session skips what it has written before, and the consumer's
// offset moves in the same transaction as the counts. Stop it anywhere and run it again: no word is
// counted twice, none is lost.
import { createClient } from "@qyt/client";
import { toYson } from "@qyt/yson";

const words = "to be or not to be that is the question".split(" ");
const queue = "//home/words";
const producer = "//home/words-producer";
const consumer = "//home/words-consumer";
const counts = "//home/word-counts";

const client = createClient({ proxy: process.env.YT_PROXY ?? "http://127.0.0.1:8000" });

await createTables();
await produce();
await consume();
for (const { word, count } of await client.selectRows(`word, count from [${counts}]`)) {
  console.log(`${word}: ${count}`);
}
await client.close();

async function createTables() {
  const table = (schema) => ({
    attributes: toYson({ dynamic: true, schema }),
    recursive: true,
    ignoreExisting: true,
  });
  await client.create("table", queue, table([{ name: "word", type: "string" }]));
  await client.create("queue_producer", producer, { recursive: true, ignoreExisting: true });
  await client.create("queue_consumer", consumer, { recursive: true, ignoreExisting: true });
  await client.create(
    "table",
    counts,
    table([
      { name: "word", type: "string", sort_order: "ascending" },
      { name: "count", type: "int64" },
    ]),
  );
  for (const path of [queue, producer, consumer, counts]) {
    await client.mountTable(path);
    while ((await client.get(`${path}/@tablet_state`)) !== "mounted") {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  await client.registerQueueConsumer(queue, consumer, { vital: true });
}

async function produce() {
  const session = await client.createQueueProducerSession(producer, queue, "hamlet");
  // Everything is sent, from the beginning: the session knows what it has.
  const rows = words.map((word, index) => ({ word, $sequence_number: index }));
  const { skippedRowCount } = await client.pushQueueProducer(producer, queue, "hamlet", session.epoch, rows);
  console.log(`sent ${rows.length} words, of which ${skippedRowCount} were there already`);
}

async function consume() {
  for (;;) {
    const rows = await client.pullQueueConsumer(consumer, queue, null, 0, { maxRowCount: 4n });
    if (rows.length === 0) {
      return;
    }
    const transactionId = await client.startTransaction({ type: "tablet" });
    const seen = [...new Set(rows.map(({ word }) => word))];
    const known = await client.lookupRows(
      counts,
      seen.map((word) => ({ word })),
      { transactionId },
    );
    const before = new Map(known.map((row) => [row.word, row.count]));
    await client.insertRows(
      counts,
      seen.map((word) => ({
        word,
        count: (before.get(word) ?? 0n) + BigInt(rows.filter((row) => row.word === word).length),
      })),
      { transactionId },
    );
    await client.advanceQueueConsumer(
      consumer,
      queue,
      0,
      { oldOffset: rows[0].$row_index, newOffset: rows.at(-1).$row_index + 1n },
      { transactionId },
    );
    await client.commitTransaction(transactionId);
  }
}
