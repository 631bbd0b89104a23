/** Random numbers from the system, for ids that two processes must not share. */
import type { Random } from "@qyt/base";

/** Words are asked of the system so many at a time: a call into it costs microseconds. */
const wordsPerCall = 256;
const twoTo32 = 0x1_0000_0000;

export function secureRandom(): Random {
  const words = new Uint32Array(wordsPerCall);
  let used = wordsPerCall;
  const uint32 = (): number => {
    if (used === wordsPerCall) {
      crypto.getRandomValues(words);
      used = 0;
    }
    return words[used++] ?? 0;
  };
  return {
    uint32,
    next: () => uint32() / twoTo32,
    below: (bound) => Math.floor((uint32() / twoTo32) * bound),
  };
}
