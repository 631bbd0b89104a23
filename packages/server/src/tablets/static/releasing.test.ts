/** A stream whose reader is gone holds nothing. */
import { expect, test } from "vitest";
import { releasing } from "./releasing.ts";

function stream(events: string[]): AsyncGenerator<Buffer, void, void> {
  return (async function* () {
    try {
      for (;;) {
        yield Buffer.from("x");
      }
    } finally {
      events.push("ended");
    }
  })();
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

test("an abort in the middle ends the rows and releases once", async () => {
  const events: string[] = [];
  const gone = new AbortController();
  const rows = releasing(stream(events), gone.signal, () => events.push("released"));
  const iterator = rows[Symbol.asyncIterator]();
  expect(await iterator.next()).toMatchObject({ done: false });
  gone.abort();
  await turn();
  expect(events.toSorted()).toEqual(["ended", "released"]);
  expect(await iterator.next()).toMatchObject({ done: true });
  await iterator.return?.();
  expect(events).toHaveLength(2);
});

test("a reader who leaves does the same", async () => {
  const events: string[] = [];
  const rows = releasing(stream(events), new AbortController().signal, () => events.push("released"));
  for await (const _ of rows) {
    break;
  }
  expect(events.toSorted()).toEqual(["ended", "released"]);
});
