import { FakeClock } from "@qyt/testing";
import { expect, test } from "vitest";
import { PullWaits } from "./pull-waits.ts";

test("a wait is over when its time is", async () => {
  const clock = new FakeClock();
  const waits = new PullWaits(clock);
  const wait = waits.begin(100, undefined);
  await clock.advance(99);
  expect(wait.signal.aborted).toBe(false);
  expect(waits.count).toBe(1);
  await clock.advance(1);
  expect(wait.signal.aborted).toBe(true);
  wait.end();
  expect(waits.count).toBe(0);
});

test("a wait that ended leaves no timer and no listener", async () => {
  const clock = new FakeClock();
  const waits = new PullWaits(clock);
  const client = new AbortController();
  const wait = waits.begin(100, client.signal);
  wait.end();
  await clock.advance(1000);
  client.abort();
  expect(wait.signal.aborted).toBe(false);
  expect(waits.count).toBe(0);
});

test("a wait ends with its client, and with all others when the cluster stops", () => {
  const waits = new PullWaits(new FakeClock());
  const client = new AbortController();
  const [first, second] = [waits.begin(undefined, client.signal), waits.begin(undefined, undefined)];
  client.abort();
  expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false]);
  waits.close();
  expect(second.signal.aborted).toBe(true);
  expect(waits.begin(100, undefined).signal.aborted).toBe(true);
  expect(waits.count).toBe(0);
});
