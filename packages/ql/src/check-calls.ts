/**
 * Typing of function calls, and the way of aggregates to the grouping.
 *
 * Specified in: yt/yt/library/query/base/expr_builder_v1.cpp (OnFunction), functions.cpp.
 */
import { YtError } from "@qyt/base";
import type { PhysicalType } from "@qyt/schema";
import type { CheckContext } from "./check-context.ts";
import type { Expression } from "./expressions.ts";
import { findAggregate } from "./functions/aggregates.ts";
import { findFunction } from "./functions/registry.ts";
import type { FunctionBody, Signature } from "./functions/signature.ts";
import type { Node, NodeOf } from "./nodes.ts";
import { TypeSet } from "./types.ts";
import type { Untyped } from "./untyped.ts";

export function checkCall(checker: CheckContext, node: NodeOf<"call">): Untyped {
  const name = node.name.toLowerCase();
  if (findAggregate(name) !== undefined) {
    if (checker.grouping === undefined) {
      throw new YtError(`Misuse of aggregate function "${name}"`);
    }
    return checker.grouping.aggregate(node, checker);
  }
  const definition = findFunction(name);
  if (definition === undefined) {
    throw new YtError(`Undefined function "${name}"`);
  }
  const call = checkArguments(checker, node, name, definition.signature);
  return {
    types: call.types,
    constant: undefined,
    build(type): Expression {
      const items = call.build(type);
      const body = definition.prepare(
        items.map((item) => item.type),
        type,
      );
      return { kind: "call", type, name, body: definition.takesNulls ? body : strict(body), items };
    },
  };
}

export interface CheckedArguments {
  /** The types the result may have. */
  readonly types: TypeSet;
  /** The arguments, once the type of the result is decided. */
  build(result: PhysicalType): Expression[];
}

/** @throws YtError for a wrong number or type of arguments */
export function checkArguments(
  checker: CheckContext,
  node: NodeOf<"call">,
  name: string,
  signature: Signature,
): CheckedArguments {
  const count = node.items.length;
  const fixed = signature.arguments.length;
  if (count < fixed || (count > fixed && signature.repeated === undefined)) {
    const expected = signature.repeated === undefined ? `${fixed}` : `at least ${fixed}`;
    throw new YtError(`Wrong number of arguments to function "${name}": expected ${expected}, got ${count}`, {
      attributes: { expression: checker.source(node) },
    });
  }
  const variables = [...signature.variables];
  const slots: number[] = [];
  const operands = node.items.map((item: Node, index): Untyped => {
    const operand = checker.visit(item);
    const slot = slotOf(signature, variables, index);
    const expected = variables[slot] ?? TypeSet.of();
    const common = expected.intersect(operand.types);
    if (common.isEmpty) {
      throw new YtError(
        `Wrong type for argument ${index + 1} to function "${name}": expected "${expected}", got "${operand.types}"`,
        { attributes: { expression: checker.source(node), argument_index: BigInt(index + 1) } },
      );
    }
    variables[slot] = common;
    slots.push(slot);
    return operand;
  });
  return {
    types: variables[signature.result] ?? TypeSet.of(),
    build(result) {
      const types = variables.map((set, index) => (index === signature.result ? result : set.first));
      return operands.map((operand, index) => operand.build(types[slots[index] ?? 0] ?? "null"));
    },
  };
}

/** The variable of an argument; a repeated one may get a variable of its own. */
function slotOf(signature: Signature, variables: TypeSet[], index: number): number {
  const fixed = signature.arguments[index];
  if (fixed !== undefined) {
    return fixed;
  }
  const { variable = 0, each = false } = signature.repeated ?? {};
  return each ? variables.push(signature.variables[variable] ?? TypeSet.of()) - 1 : variable;
}

/** One null argument makes the result null. */
function strict(body: FunctionBody): FunctionBody {
  return (values) => (values.includes(null) ? null : body(values));
}
