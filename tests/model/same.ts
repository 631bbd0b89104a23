/** Equality that costs little where it holds, which is nearly always; where not, vitest shows the difference. */
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";

export function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) {
    expect(actual).toStrictEqual(expected);
    throw new Error("Values differ by what vitest does not show");
  }
}
