/** Work that is done in slices: a generator stops where it may, and goes on when others have had their turn. */
import type { Clock } from "./clock.ts";
import { turn } from "./turn.ts";

/** How long work goes on before others have a turn, in milliseconds. */
const defaultSliceMs = 3;

/**
 * Runs the generator to its end, with a turn for others whenever it yields after `sliceMs` of work.
 * @throws what the generator throws
 */
export async function inSlices<T>(
  work: Generator<void, T, void>,
  clock: Clock,
  sliceMs: number = defaultSliceMs,
): Promise<T> {
  let startMs = clock.monotonic();
  for (;;) {
    const step = work.next();
    if (step.done === true) {
      return step.value;
    }
    if (clock.monotonic() - startMs > sliceMs) {
      await turn();
      startMs = clock.monotonic();
    }
  }
}

/** Runs the generator to its end at once. */
export function atOnce<T>(work: Generator<void, T, void>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) {
      return step.value;
    }
  }
}
