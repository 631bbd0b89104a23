/** Starts of export tasks: so many a second, in the order in which they came. */
import { FakeClock, settle } from "@qyt/testing";
import { expect, test } from "vitest";
import { testContext } from "../testing/agent-context.ts";
import { FakeCluster } from "../testing/fake-cluster.ts";
import { ExportManager } from "./export-manager.ts";

function setUp(perSecond: number) {
  const clock = new FakeClock();
  const context = testContext(clock, new FakeCluster(clock).client());
  context.setExportRateLimit(perSecond);
  const manager = new ExportManager(context);
  const started: [name: string, ms: number][] = [];
  const ask = (name: string, signal: AbortSignal = new AbortController().signal): Promise<unknown> =>
    manager.acquire(signal).then(
      () => started.push([name, clock.monotonic()]),
      (thrown: unknown) => thrown,
    );
  return { clock, context, manager, started, ask };
}

test("tasks start one after the other, as many a second as the limit says", async () => {
  const { clock, manager, started, ask } = setUp(2);
  void ask("a");
  void ask("b");
  void ask("c");
  await clock.advance(600);
  expect(manager.waiting).toBe(1);
  await clock.advance(10_000);
  void ask("d");
  await settle();
  expect(started).toEqual([
    ["a", 0],
    ["b", 500],
    ["c", 1_000],
    ["d", 10_600],
  ]);
});

test("one that is stopped while it waits ends at once and takes no turn of the others", async () => {
  const { clock, manager, started, ask } = setUp(1);
  const stop = new AbortController();
  void ask("a");
  const stopped = [ask("b", stop.signal), ask("c", stop.signal)];
  void ask("d");
  await clock.advance(100);
  stop.abort(new Error("stopped"));
  expect(await Promise.all(stopped)).toEqual([new Error("stopped"), new Error("stopped")]);
  expect(manager.waiting).toBe(1);
  await clock.advance(2_000);
  expect(started).toEqual([
    ["a", 0],
    ["d", 1_000],
  ]);
});

test("a new limit holds for those that wait already", async () => {
  const { clock, context, started, ask } = setUp(1);
  for (const name of ["a", "b", "c", "d"]) {
    void ask(name);
  }
  await clock.advance(500);
  context.setExportRateLimit(10);
  await clock.advance(1_000);
  expect(started).toEqual([
    ["a", 0],
    ["b", 1_000],
    ["c", 1_100],
    ["d", 1_200],
  ]);
});
