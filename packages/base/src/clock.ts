/**
 * Ports to time and chance. Everything that needs the time of day, a timer or a random number takes
 * these, so that a test can run a day in a millisecond and repeat a random run from its seed.
 */

/** A running timer. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
  /** Monotonic milliseconds, for measuring durations. */
  monotonic(): number;
  /** Calls back once after `delayMs`. The timer does not keep the process alive. */
  after(delayMs: number, callback: () => void): Timer;
}

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [0, bound). `bound` is at most 2^32. */
  below(bound: number): number;
  /** A uniform unsigned 32-bit integer. */
  uint32(): number;
}

/** Waits `delayMs` on the given clock. Rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** The system's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    const handle = setTimeout(callback, delayMs);
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** A small fast generator (mulberry32) that repeats itself from its seed. Not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return randomFrom(() => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  });
}

/** Random words are asked of the system so many at a time: a call into it costs microseconds. */
const systemWords = 1024;

/** Random numbers from the system, for ids that two processes must not share. */
export function secureRandom(): Random {
  const words = new Uint32Array(systemWords);
  let used = systemWords;
  return randomFrom(() => {
    if (used === systemWords) {
      crypto.getRandomValues(words);
      used = 0;
    }
    return words[used++] ?? 0;
  });
}

function randomFrom(uint32: () => number): Random {
  return {
    uint32,
    next: () => uint32() / 0x1_0000_0000,
    below: (bound) => Math.floor((uint32() / 0x1_0000_0000) * bound),
  };
}
