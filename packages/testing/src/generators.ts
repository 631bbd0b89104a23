/** Random input that can be repeated: each run prints its seed and takes it back from `QYT_TEST_SEED`. */
import { defined, type Random, seededRandom } from "@qyt/base";

/** A generator for one test. The seed is printed, so that a failure can be run again. */
export function testRandom(label: string): Random {
  const given = process.env.QYT_TEST_SEED;
  const seed = given === undefined ? Math.floor(Math.random() * 0x1_0000_0000) : Number(given);
  console.info(`${label}: QYT_TEST_SEED=${seed}`);
  return seededRandom(seed);
}

/** Uniform integer in [from, to). */
export function between(random: Random, from: number, to: number): number {
  return from + random.below(to - from);
}

export function pick<T>(random: Random, items: readonly T[]): T {
  return defined(items[random.below(items.length)], "item");
}

export function chance(random: Random, probability: number): boolean {
  return random.next() < probability;
}

export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; --i) {
    const j = random.below(i + 1);
    const item = defined(result[i], "item");
    result[i] = defined(result[j], "item");
    result[j] = item;
  }
  return result;
}

/** `length` bytes; with `alphabet`, bytes below it only, so that keys share prefixes. */
export function randomBytes(random: Random, length: number, alphabet = 256): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; ++i) {
    bytes[i] = random.below(alphabet);
  }
  return bytes;
}

/** Any signed 64-bit integer; edges are as likely as the rest together. */
export function randomInt64(random: Random): bigint {
  const edges = [0n, 1n, -1n, (1n << 53n) - 1n, (1n << 53n) + 1n, (1n << 63n) - 1n, -(1n << 63n)];
  return chance(random, 0.5) ? pick(random, edges) : BigInt.asIntN(64, random64(random));
}

/** Any unsigned 64-bit integer; edges are as likely as the rest together. */
export function randomUint64(random: Random): bigint {
  const edges = [0n, 1n, (1n << 53n) + 1n, 1n << 63n, (1n << 64n) - 1n];
  return chance(random, 0.5) ? pick(random, edges) : random64(random);
}

function random64(random: Random): bigint {
  return (BigInt(random.uint32()) << 32n) | BigInt(random.uint32());
}
