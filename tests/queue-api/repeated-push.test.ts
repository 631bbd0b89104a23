/** A push that is sent again without its rows, as the Python library sends one when the first came to nothing. */
import { mapOf } from "@qyt/base";
import { afterAll, beforeAll, expect, it } from "vitest";
import { failureOf, startOne, type TestCluster } from "./fixture.ts";

const queue = "//tmp/q";
const producer = "//tmp/p";

let primary: TestCluster;
beforeAll(async () => {
  primary = await startOne();
  await primary.createQueue(queue);
  await primary.createProducer(producer);
  await primary.root.createQueueProducerSession(producer, queue, "s");
});
afterAll(() => primary?.close());

function push(mutationId: string, retry: boolean, body: string): Promise<unknown> {
  return primary.root.requester.receiveValue({
    command: "push_queue_producer",
    method: "PUT",
    isVolatile: false,
    parameters: {
      producer_path: producer,
      queue_path: queue,
      session_id: "s",
      epoch: 0n,
      input_format: "json",
      mutation_id: mutationId,
      retry,
    },
    body: Buffer.from(body),
  });
}

const pushed = (last: bigint, skipped: bigint) =>
  mapOf({ last_sequence_number: last, skipped_row_count: skipped });

it("is refused, to be pushed anew, unless the first was carried out", async () => {
  const row = '{"data":"a","$$sequence_number":1}\n';
  // The first request never came.
  expect((await failureOf(push("1-1-1-1", true, ""))).codes).toEqual([1700]);
  expect(await push("2-2-2-2", false, row)).toEqual(pushed(1n, 0n));
  // The first answer was lost.
  expect(await push("2-2-2-2", true, "")).toEqual(pushed(1n, 0n));
  expect(await primary.dataOf(queue)).toEqual(["a"]);
});

it("is not taken for a push of no rows, which keeps the number", async () => {
  expect(await push("3-3-3-3", false, "")).toEqual(pushed(1n, 0n));
});
