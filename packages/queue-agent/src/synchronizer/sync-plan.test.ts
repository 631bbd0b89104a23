import { YtError } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseReference, referenceToString } from "../objects/reference.ts";
import type { ConsumerRow, QueueRow } from "../objects/state-rows.ts";
import { erroneousRow, rowOfAttributes } from "./attributes.ts";
import {
  conflictingReferences,
  isSameFailure,
  nextRowRevision,
  type ObjectRevisions,
  type ObjectRows,
  planPolling,
  planWatching,
  pollingObjects,
} from "./sync-plan.ts";

function queueRow(key: string, revision: bigint | null): QueueRow {
  const row = erroneousRow("queue", parseReference(key), 7n, new YtError("x"));
  if (row.kind !== "queue") {
    throw new Error("A queue was asked for");
  }
  return { ...row, revision, synchronizationError: null };
}

function consumerRow(key: string, revision: bigint): ConsumerRow {
  const row = erroneousRow("consumer", parseReference(key), 7n, new YtError("x"));
  if (row.kind !== "consumer") {
    throw new Error("A consumer was asked for");
  }
  return { ...row, revision, synchronizationError: null };
}

function rowsOf(queues: readonly QueueRow[], consumers: readonly ConsumerRow[] = []): ObjectRows {
  return {
    queues: new Map(queues.map((row) => [referenceToString(row.reference), row])),
    consumers: new Map(consumers.map((row) => [referenceToString(row.reference), row])),
  };
}

function listed(queues: Record<string, bigint>, consumers: Record<string, bigint> = {}): ObjectRevisions {
  return { queue: new Map(Object.entries(queues)), consumer: new Map(Object.entries(consumers)) };
}

const keysOf = (objects: readonly { kind: string; reference: { cluster: string; path: string } }[]) =>
  objects.map(({ kind, reference }) => `${kind} ${referenceToString(reference)}`);

describe("watching", () => {
  it("fetches what is new or has grown, deletes what is gone, leaves the rest", () => {
    const rows = rowsOf([
      queueRow("p://same", 5n),
      queueRow("p://grown", 5n),
      queueRow("p://gone", 5n),
      queueRow("p://failed", null),
    ]);
    const plan = planWatching(
      rows,
      new Map([["p", listed({ "//same": 5n, "//grown": 6n, "//failed": 1n, "//new": 1n }, { "//c": 1n })]]),
    );
    expect(keysOf(plan.fetch)).toEqual([
      "queue p://grown",
      "queue p://failed",
      "queue p://new",
      "consumer p://c",
    ]);
    expect(keysOf(plan.remove)).toEqual(["queue p://gone"]);
  });

  it("leaves the rows of a cluster that did not answer", () => {
    const rows = rowsOf([queueRow("p://q", 5n), queueRow("f://q", 5n)]);
    const plan = planWatching(rows, new Map([["p", listed({})]]));
    expect(keysOf(plan.remove)).toEqual(["queue p://q"]);
    expect(plan.fetch).toEqual([]);
  });

  it("deletes the row of a queue whose path is a consumer now", () => {
    const plan = planWatching(rowsOf([queueRow("p://x", 5n)]), new Map([["p", listed({}, { "//x": 9n })]]));
    expect(keysOf(plan.remove)).toEqual(["queue p://x"]);
    expect(keysOf(plan.fetch)).toEqual(["consumer p://x"]);
  });

  it("comes to rest: after a pass the same list asks for nothing", () => {
    const revisions = fc.dictionary(
      fc.string({ maxLength: 3 }).map((name) => `//${name}`),
      fc.bigInt({ min: 1n, max: 3n }),
    );
    fc.assert(
      fc.property(revisions, revisions, (before, now) => {
        const rows = rowsOf(
          Object.entries(before).map(([path, revision]) => queueRow(`p:${path}`, revision)),
        );
        const lists = new Map([["p", listed(now)]]);
        const plan = planWatching(rows, lists);
        const next = new Map(rows.queues);
        for (const { reference } of plan.remove) {
          next.delete(referenceToString(reference));
        }
        for (const { reference } of plan.fetch) {
          next.set(
            referenceToString(reference),
            queueRow(referenceToString(reference), now[reference.path] ?? null),
          );
        }
        expect(new Set(next.keys())).toEqual(new Set(Object.keys(now).map((path) => `p:${path}`)));
        expect(planWatching({ ...rows, queues: next }, lists)).toEqual({ fetch: [], remove: [], failed: [] });
      }),
    );
  });
});

describe("polling", () => {
  it("asks for all rows, finds nothing new and deletes nothing", () => {
    const rows = rowsOf([queueRow("p://same", 5n), queueRow("p://grown", 5n)], [consumerRow("p://c", 1n)]);
    const objects = pollingObjects(rows);
    expect(keysOf(objects)).toEqual(["queue p://same", "queue p://grown", "consumer p://c"]);
    const plan = planPolling(rows, objects, [5n, 6n, new YtError("no such node", { code: "ResolveError" })]);
    expect(keysOf(plan.fetch)).toEqual(["queue p://grown"]);
    expect(keysOf(plan.failed)).toEqual(["consumer p://c"]);
    expect(plan.remove).toEqual([]);
  });

  it("leaves objects alone that could not be asked", () => {
    const rows = rowsOf([queueRow("p://q", 5n)]);
    expect(planPolling(rows, pollingObjects(rows), [undefined])).toEqual({
      fetch: [],
      remove: [],
      failed: [],
    });
  });
});

describe("rows", () => {
  it("count their versions", () => {
    const rows = rowsOf([queueRow("p://q", 5n)]);
    expect(nextRowRevision(rows, { kind: "queue", reference: parseReference("p://q") })).toBe(8n);
    expect(nextRowRevision(rows, { kind: "consumer", reference: parseReference("p://q") })).toBe(1n);
  });

  it("are not written again for the same failure", () => {
    const error = new YtError("no such node", { code: "ResolveError" });
    const object = { kind: "queue", reference: parseReference("p://q") } as const;
    const rows = rowsOf([{ ...queueRow("p://q", null), synchronizationError: error }]);
    expect(isSameFailure(rows, object, error)).toBe(true);
    expect(isSameFailure(rows, object, new YtError("other"))).toBe(false);
    expect(isSameFailure(rowsOf([queueRow("p://q", null)]), object, error)).toBe(false);
  });

  it("show an object that stands in both tables", () => {
    const rows = rowsOf([queueRow("p://x", 1n), queueRow("p://y", 1n)], [consumerRow("p://x", 1n)]);
    expect(conflictingReferences(rows)).toEqual([{ cluster: "p", path: "//x" }]);
  });
});

describe("attributes", () => {
  function row(kind: "queue" | "consumer", yson: string) {
    const attributes = parseYson(yson);
    if (!(attributes instanceof Map)) {
      throw new Error("Attributes are a map");
    }
    return rowOfAttributes(kind, parseReference("p://x"), 3n, attributes);
  }

  it("of a queue become its row; a missing configuration of trimming is the default one", () => {
    expect(
      row(
        "queue",
        '{attribute_revision=10u;type=table;dynamic=%true;sorted=%false;queue_agent_stage=production;id="1-2-3-4"}',
      ),
    ).toMatchObject({
      rowRevision: 3n,
      revision: 10n,
      objectType: "table",
      dynamic: true,
      sorted: false,
      objectId: "1-2-3-4",
      autoTrimConfig: { enable: false },
      staticExportConfig: null,
      synchronizationError: null,
    });
  });

  it.each([
    ["queue_agent_banned=whatever", /Error parsing attribute "queue_agent_banned": it must be boolean/],
    [
      'static_export_config={a={export_directory="//e";export_period=1500}}',
      /Error parsing attribute "static_export_config"/,
    ],
    ["auto_trim_config={retained_lifetime_duration=1}", /Error parsing attribute "auto_trim_config"/],
  ])("%s makes the whole queue erroneous, but its stage is kept", (attribute, message) => {
    const result = row(
      "queue",
      `{attribute_revision=10u;type=table;dynamic=%true;queue_agent_stage=testing;${attribute}}`,
    );
    expect(result).toMatchObject({
      revision: 10n,
      objectType: "table",
      queueAgentStage: "testing",
      dynamic: null,
    });
    expect(result.synchronizationError?.innerErrors[0]?.message).toMatch(message);
  });

  it("[queue-agent 82] of a table with names of consumers in its key make a multi-consumer", () => {
    const first = (name: string) =>
      row("consumer", `{schema=<strict=%true>[{name=${name};type=string;sort_order=ascending}]}`);
    expect(first("queue_consumer_name")).toMatchObject({ isMultiConsumer: true });
    expect(first("queue_cluster")).toMatchObject({ isMultiConsumer: false });
    expect(row("consumer", "{schema=[{name=queue_consumer_name;type=string}]}")).toMatchObject({
      isMultiConsumer: false,
    });
  });
});
