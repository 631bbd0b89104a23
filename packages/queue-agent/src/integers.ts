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
