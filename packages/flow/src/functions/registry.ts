/** Functions by the names that specs call them by. */
import { YtError } from "@qyt/base";
import type { FunctionRegistry, ProcessFunction } from "./process-function.ts";

/** @throws YtError 1 when two functions have the same name */
export function functionRegistry(functions: Iterable<ProcessFunction>): FunctionRegistry {
  const byName = new Map<string, ProcessFunction>();
  for (const item of functions) {
    if (byName.has(item.name)) {
      throw new YtError(`Two functions are named "${item.name}"`);
    }
    byName.set(item.name, item);
  }
  return {
    get(name) {
      const found = byName.get(name);
      if (found === undefined) {
        const known = [...byName.keys()].map((item) => `"${item}"`).join(", ");
        throw new YtError(`Function "${name}" is not registered; known functions are ${known || "none"}`);
      }
      return found;
    },
  };
}
