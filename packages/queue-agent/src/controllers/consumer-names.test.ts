/** What is written to `multi_consumer_names`, and when nothing is. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { NamesInState } from "../objects/state-rows.ts";
import { abandonedConsumers, planNames } from "./consumer-names.ts";

function applied(names: ReadonlySet<string>, inState: NamesInState, stage: string): NamesInState {
  const { write, remove } = planNames(names, inState, stage);
  const rows = new Map(inState);
  for (const name of remove) {
    rows.delete(name);
  }
  for (const name of write) {
    rows.set(name, stage);
  }
  return rows;
}

describe("the difference between names and rows", () => {
  test("new names and those of another stage are written, others removed", () => {
    const inState = new Map([
      ["kept", "production"],
      ["moved", "testing"],
      ["unknown", null],
      ["stale", "production"],
    ]);
    expect(planNames(new Set(["kept", "moved", "unknown", "new"]), inState, "production")).toEqual({
      write: ["moved", "unknown", "new"],
      remove: ["stale"],
    });
  });

  test("made good once, it is none; no row is both written and removed", () => {
    const name = fc.constantFrom("a", "b", "c", "d", "e");
    const stage = fc.constantFrom("production", "testing");
    const rows = fc.uniqueArray(fc.tuple(name, fc.option(stage)), { selector: ([key]) => key });
    fc.assert(
      fc.property(fc.uniqueArray(name), rows, stage, (list, entries, own) => {
        const names = new Set(list);
        const after = applied(names, new Map(entries), own);
        expect(after).toEqual(new Map(list.map((each) => [each, own])));
        expect(planNames(names, after, own)).toEqual({ write: [], remove: [] });
        const { write, remove } = planNames(names, new Map(entries), own);
        expect(write.filter((each) => remove.includes(each))).toEqual([]);
      }),
    );
  });
});

test("names whose consumer has no row any more are abandoned", () => {
  const names = new Map([["primary://tmp/gone", new Map([["a", "production"]])]]);
  expect(abandonedConsumers(names, new Map())).toEqual(["primary://tmp/gone"]);
  expect(abandonedConsumers(new Map(), new Map())).toEqual([]);
});
