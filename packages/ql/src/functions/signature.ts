/**
 * How a function says what it takes and gives. A signature is over type variables: arguments that share a
 * variable have one type, and an undecided result decides the arguments that share its variable.
 *
 * Specified in: yt/yt/library/query/base/functions.h (TNormalizedContraints).
 */
import type { PhysicalType, RowValue } from "@qyt/schema";
import { TypeSet } from "../types.ts";

/** The values of the arguments, in a list that the callee must not keep. */
export type FunctionBody = (values: readonly RowValue[]) => RowValue;

export interface Signature {
  readonly variables: readonly TypeSet[];
  /** The variable of each fixed argument. */
  readonly arguments: readonly number[];
  /** Of the arguments behind the fixed ones: one common variable, or a fresh copy of it for each. */
  readonly repeated?: { readonly variable: number; readonly each: boolean };
  readonly result: number;
}

export interface FunctionDefinition {
  readonly signature: Signature;
  /** Called with null arguments too; otherwise one null makes the result null. */
  readonly takesNulls?: boolean;
  /** Makes the body for the types decided. One body serves one place of one query and may keep state. */
  readonly prepare: (types: readonly PhysicalType[], result: PhysicalType) => FunctionBody;
}

/** A name for a type variable in `signature`. */
export interface TypeVariable {
  readonly name: string;
  readonly types: TypeSet;
}

type Slot = PhysicalType | TypeSet | TypeVariable;

/** Builds a signature from types, sets of types and variables. */
export function signature(
  args: readonly Slot[],
  result: Slot,
  repeated?: { readonly slot: Slot; readonly each: boolean },
): Signature {
  const variables: TypeSet[] = [];
  const named = new Map<string, number>();
  const resolve = (slot: Slot): number => {
    if (typeof slot === "string") {
      return variables.push(TypeSet.of(slot)) - 1;
    }
    if (slot instanceof TypeSet) {
      return variables.push(slot) - 1;
    }
    const known = named.get(slot.name);
    if (known !== undefined) {
      return known;
    }
    const index = variables.push(slot.types) - 1;
    named.set(slot.name, index);
    return index;
  };
  const indexes = args.map(resolve);
  const resultIndex = resolve(result);
  const base = { variables, arguments: indexes, result: resultIndex };
  return repeated === undefined
    ? base
    : { ...base, repeated: { variable: resolve(repeated.slot), each: repeated.each } };
}
