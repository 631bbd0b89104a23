/** Arithmetic of row indexes and weights, which `Math` does not take. */

/** The smallest of the values. */
export function least(first: bigint, ...others: readonly bigint[]): bigint {
  let result = first;
  for (const value of others) {
    if (value < result) {
      result = value;
    }
  }
  return result;
}

/** The largest of the values. */
export function greatest(first: bigint, ...others: readonly bigint[]): bigint {
  let result = first;
  for (const value of others) {
    if (value > result) {
      result = value;
    }
  }
  return result;
}

const greatestInt64 = (1n << 63n) - 1n;

/** Whether statuses can show the value: row indexes and weights are `int64` there, and not negative. */
export function isIndexOrWeight(value: bigint): boolean {
  return value >= 0n && value <= greatestInt64;
}
