/** Assertions for states that cannot happen unless there is a bug. */

/** Thrown when an invariant of the program itself is broken. Never caused by input. */
export class AssertionError extends Error {
  override readonly name = "AssertionError";
}

export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) {
    throw new AssertionError(message);
  }
}

export function unreachable(value: never): never {
  throw new AssertionError(`Unexpected value ${String(value)}`);
}

/** The value, when it must be there. */
export function defined<T>(value: T | undefined, what: string): T {
  if (value === undefined) {
    throw new AssertionError(`${what} is missing`);
  }
  return value;
}
