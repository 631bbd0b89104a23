/**
 * An expression whose type is not decided yet: the types it may have, and how to build it as one of them.
 *
 * Specified in: yt/yt/library/query/base/expr_builder_v1.cpp (TUntypedExpression).
 */
import type { PhysicalType, RowValue } from "@qyt/schema";
import type { Expression } from "./expressions.ts";
import { allTypes, castConstant, type TypeSet } from "./types.ts";

export interface Untyped {
  readonly types: TypeSet;
  /** The value, when it is a constant, in the first of the types. */
  readonly constant: { readonly value: RowValue; readonly type: PhysicalType } | undefined;
  /** @throws YtError when a constant has no exact image in that type */
  build(type: PhysicalType): Expression;
}

/** A constant that may take any of the types. */
export function untypedConstant(value: RowValue, type: PhysicalType, types: TypeSet): Untyped {
  return {
    types: value === null ? allTypes : types,
    constant: { value, type },
    build: (target) => ({ kind: "literal", type: target, value: castConstant(value, type, target) }),
  };
}

/** An expression that has its type already. */
export function typed(types: TypeSet, expression: Expression): Untyped {
  return { types, constant: undefined, build: () => expression };
}
