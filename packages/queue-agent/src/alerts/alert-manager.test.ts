import { type YsonValue, YtError } from "@qyt/base";
import { fromYson } from "@qyt/yson";
import { expect, test } from "vitest";
import { alertKinds } from "./alert-kinds.ts";
import { AlertManager } from "./alert-manager.ts";

function plain(manager: AlertManager): unknown {
  const map: YsonValue = manager.alerts();
  return fromYson(map);
}

test("an alert is seen after its collector has published and the manager has collected", () => {
  const manager = new AlertManager();
  const collector = manager.collector();
  collector.stage(alertKinds.trimFailed, new YtError("No consumer"));
  manager.collect();
  expect(manager.alerts().size).toBe(0);
  collector.publish();
  expect(manager.alerts().size).toBe(0);
  manager.collect();
  expect(plain(manager)).toEqual({
    queue_agent_queue_controller_trim_failed: {
      code: 3036n,
      message: "Error while trimming queue",
      attributes: {},
      inner_errors: [{ code: 1n, message: "No consumer", attributes: {} }],
    },
  });
});

test("[queue-agent 13] alerts are gone after the next iteration without them", () => {
  const manager = new AlertManager();
  const collector = manager.collector();
  collector.stage(alertKinds.agentPassFailed, new YtError("Error while reading dynamic state"));
  collector.publish();
  manager.collect();
  expect([...manager.alerts().keys()]).toEqual(["queue_agent_pass_failed"]);
  collector.publish();
  manager.collect();
  expect(plain(manager)).toEqual({});
});

test("alerts of one category are inner errors of one error, told apart by their tags", () => {
  const manager = new AlertManager();
  for (const name of ["hourly", "daily"]) {
    const collector = manager.collector();
    const error = new YtError(`Export ${name} failed`, {
      code: "ResolveError",
      attributes: { path: "//tmp" },
    });
    collector.stage(alertKinds.staticExportFailed, error, new Map([["export_name", name]]));
    collector.publish();
  }
  manager.collect();
  expect(plain(manager)).toMatchObject({
    queue_agent_queue_controller_static_export_failed: {
      code: 3035n,
      inner_errors: [
        { code: 500n, message: "Export hourly failed", attributes: { export_name: "hourly", path: "//tmp" } },
        { code: 500n, message: "Export daily failed", attributes: { export_name: "daily", path: "//tmp" } },
      ],
    },
  });
  expect(manager.active().map((alert) => alert.tags.get("export_name"))).toEqual(["hourly", "daily"]);
});

test("a closed collector takes its alerts with it", () => {
  const manager = new AlertManager();
  const [kept, closed] = [manager.collector(), manager.collector()];
  kept.stage(alertKinds.trimFailed, new YtError("kept"));
  closed.stage(alertKinds.staticExportFailed, new YtError("closed"));
  kept.publish();
  closed.publish();
  manager.collect();
  expect(manager.alerts().size).toBe(2);
  closed.close();
  manager.collect();
  expect([...manager.alerts().keys()]).toEqual([alertKinds.trimFailed.category]);
});

test("a collection that finds nothing new tells nobody", () => {
  let changes = 0;
  const manager = new AlertManager(() => changes++);
  const collector = manager.collector();
  manager.collect();
  collector.publish();
  manager.collect();
  expect(changes).toBe(0);
  collector.stage(alertKinds.trimFailed, new YtError("now"));
  collector.publish();
  manager.collect();
  manager.collect();
  expect(changes).toBe(1);
});

test("codes and categories are told apart", () => {
  const kinds = Object.values(alertKinds);
  expect(new Set(kinds.map(({ code }) => code)).size).toBe(kinds.length);
  expect(new Set(kinds.map(({ category }) => category)).size).toBe(kinds.length);
});
