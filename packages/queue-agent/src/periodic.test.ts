import { seededRandom } from "@qyt/base";
import { FakeClock, settle } from "@qyt/testing";
import { expect, it } from "vitest";
import { PeriodicExecutor } from "./periodic.ts";

function setUp(run: (signal: AbortSignal) => Promise<void>) {
  const clock = new FakeClock(0);
  const starts: number[] = [];
  const errors: string[] = [];
  const period = { ms: 100 };
  const executor = new PeriodicExecutor({
    clock,
    periodMs: () => period.ms,
    run: (signal) => {
      starts.push(clock.monotonic());
      return run(signal);
    },
    onError: (error) => errors.push(error.message),
  });
  return { clock, starts, errors, period, executor };
}

it("starts a run each period, from start to start", async () => {
  const { clock, starts, executor } = setUp(async () => {});
  executor.start();
  await clock.advance(250);
  await executor.stop();
  await clock.advance(500);
  expect(starts).toEqual([0, 100, 200]);
});

it("never overlaps itself: a long run delays the next one, with a rest between", async () => {
  let end = (): void => {};
  const { clock, starts, executor } = setUp(
    () =>
      new Promise((resolve) => {
        end = resolve;
      }),
  );
  executor.start();
  await clock.advance(350);
  expect(starts).toEqual([0]);
  end();
  await clock.advance(50);
  expect(starts).toEqual([0, 360]);
  end();
  await executor.stop();
});

it("asks for the period during the pause too", async () => {
  const { clock, starts, period, executor } = setUp(async () => {});
  period.ms = 1_000_000;
  executor.start();
  await clock.advance(600);
  period.ms = 700;
  await clock.advance(200);
  await executor.stop();
  expect(starts).toEqual([0, 750]);
});

it("goes on after an error and hands it over", async () => {
  const { clock, starts, errors, executor } = setUp(async () => {
    throw new Error("no table");
  });
  executor.start();
  await clock.advance(150);
  await executor.stop();
  expect(starts).toEqual([0, 100]);
  expect(errors).toEqual(["no table", "no table"]);
});

it("aborts the run under way when it is stopped, which is no error", async () => {
  const { errors, executor } = setUp(
    (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  );
  executor.start();
  await settle();
  await executor.stop();
  expect(errors).toEqual([]);
});

it("runs once when asked to, behind the run under way", async () => {
  const { clock, starts, executor } = setUp(async () => {});
  executor.start();
  await settle();
  await executor.runOnce();
  expect(starts).toEqual([0, 0]);
  await executor.stop();
  expect(starts).toHaveLength(2);
  expect(clock.timerCount).toBe(0);
});

it("spreads the first runs", async () => {
  const clock = new FakeClock(0);
  const starts: number[] = [];
  const executor = new PeriodicExecutor({
    clock,
    random: seededRandom(1),
    splayMs: 100,
    periodMs: () => 100,
    run: async () => {
      starts.push(clock.monotonic());
    },
    onError: () => {},
  });
  executor.start();
  await clock.advance(200);
  await executor.stop();
  expect(starts[0]).toBeGreaterThan(0);
  expect(starts[0]).toBeLessThan(100);
});

it("runs nothing any more once it is stopped, also when somebody asks for one more run", async () => {
  const { starts, executor } = setUp(async () => {});
  await executor.runOnce();
  await executor.stop();
  await executor.runOnce();
  expect(starts).toEqual([0]);
  executor.start();
  await executor.runOnce();
  await executor.stop();
  expect(starts.length).toBeGreaterThan(1);
});
