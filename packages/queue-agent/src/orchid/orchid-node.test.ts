/** The walk into the tree: any depth, lists, attributes, what is not there. */
import { Attributed, mapOf, type YsonValue } from "@qyt/base";
import { describe, expect, test } from "vitest";
import { askOrchid, mapNode, type OrchidMethod, orchidSteps, stepsToText, valueNode } from "./orchid-node.ts";

let readings = 0;
const root = mapNode({
  numbers: valueNode(() => [1n, 2n, 3n]),
  parts: mapNode({
    deep: valueNode(() => mapOf({ "a/b": mapOf({ c: 5n }), list: [mapOf({ x: true })] })),
    typed: valueNode(() => new Attributed(mapOf({ kind: "old" }), null)),
    counted: valueNode(() => BigInt(++readings)),
    nothing: undefined,
  }),
});

function ask(method: OrchidMethod, path: string): Promise<YsonValue> {
  return askOrchid(root, method, orchidSteps(path));
}

test.each<[OrchidMethod, string, YsonValue]>([
  ["get", "/parts/deep/a\\/b/c", 5n],
  ["get", "/parts/deep/list/0/x", true],
  ["get", "/numbers/-1", 3n],
  ["get", "/numbers/1", 2n],
  ["get", "/parts/typed/@kind", "old"],
  ["get", "/parts/typed/@", mapOf({ kind: "old" })],
  ["list", "", ["numbers", "parts"]],
  ["list", "/", ["numbers", "parts"]],
  ["list", "/parts", ["deep", "typed", "counted"]],
  ["list", "/parts/deep", ["a/b", "list"]],
  ["exists", "/parts/deep/a\\/b", true],
  ["exists", "/parts", true],
  ["exists", "/parts/deep/nothing/below", false],
  ["exists", "/numbers/3", false],
  ["exists", "/parts/typed/@other", false],
])("%s %s", async (method, path, expected) => {
  expect(await ask(method, path)).toEqual(expected);
});

test("a reading computes what it needs and nothing else", async () => {
  const before = readings;
  await ask("get", "/parts/deep");
  await ask("list", "/parts");
  await ask("exists", "/parts/counted");
  expect(readings).toBe(before);
  expect(await ask("get", "/parts/counted")).toBe(BigInt(before + 1));
});

describe("errors", () => {
  test.each([
    ["/elsewhere/x", 'Node / has no child with key "elsewhere"', 500],
    ["/parts/deep/x", 'Node /parts/deep has no child with key "x"', 500],
    ["/numbers/7", 'Node /numbers has no child with key "7"', 500],
    ["/numbers/0/x", 'Node /numbers/0 cannot have children, so there is no child "x"', 500],
    ["/parts/typed/@other", 'Attribute "other" is not found', 500],
    ["/parts/*", 'An Orchid path cannot contain "/*"', 1],
    ["parts", 'Expected "slash" in YPath but found "literal" token "parts"', 1],
  ])("%s", async (path, message, code) => {
    await expect((async () => ask("get", path))()).rejects.toMatchObject({ message, code });
  });

  test("a number cannot be listed", async () => {
    await expect(ask("list", "/numbers/0")).rejects.toThrow("cannot be listed");
  });
});

test("steps have their text again", () => {
  const path = "/queue_agent/queues/pythia:\\/\\/tmp\\/q/status/@x";
  expect(stepsToText(orchidSteps(path))).toBe(path);
});
