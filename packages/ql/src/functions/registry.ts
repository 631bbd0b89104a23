/** Every scalar function by its lower-case name. */
import { anyFunctions } from "./any.ts";
import { generalFunctions } from "./general.ts";
import type { FunctionDefinition } from "./signature.ts";
import { stringFunctions } from "./strings.ts";
import { timeFunctions } from "./time.ts";

const functions: ReadonlyMap<string, FunctionDefinition> = new Map(
  [generalFunctions, stringFunctions, anyFunctions, timeFunctions].flatMap((group) => Object.entries(group)),
);

export function findFunction(name: string): FunctionDefinition | undefined {
  return functions.get(name);
}
