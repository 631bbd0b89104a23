/** Scalars out of YSON values whose types others decide: `null` for whatever is not of the type, or absent. */
import { bare, Uint64, type YsonValue } from "@qyt/base";

/** Either kind of integer. */
export function integerOf(value: YsonValue | undefined): bigint | null {
  const plain = bare(value ?? null);
  if (plain instanceof Uint64) {
    return plain.value;
  }
  return typeof plain === "bigint" ? plain : null;
}

export function textOf(value: YsonValue | undefined): string | null {
  const plain = bare(value ?? null);
  return typeof plain === "string" ? plain : null;
}

export function booleanOf(value: YsonValue | undefined): boolean | null {
  const plain = bare(value ?? null);
  return typeof plain === "boolean" ? plain : null;
}

/** Whether the value is absent or an entity. */
export function isNothing(value: YsonValue | undefined): boolean {
  return bare(value ?? null) === null;
}
