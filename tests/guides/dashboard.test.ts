/** The dashboard for Grafana asks for sensors that there are, by labels that they have. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { allSensors, seriesNames } from "../../packages/queue-agent/src/metrics/sensors.ts";

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly panels: readonly Panel[];
}

const text = readFileSync(new URL("../../docs/grafana/queue-agent.json", import.meta.url), "utf8");
const dashboard: Dashboard = JSON.parse(text);
const labelsBySeries = new Map(
  allSensors.flatMap((sensor) => seriesNames(sensor).map((name) => [name, sensor.labels] as const)),
);
/** Prometheus itself gives these to whatever it scrapes. */
const labelsOfPrometheus = ["instance", "job"];

const expressions = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr })),
);

describe("docs/grafana/queue-agent.json", () => {
  it("is a dashboard that Grafana imports: an identity, panels with places of their own, known variables", () => {
    expect(dashboard.uid).not.toBe("");
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(36);
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
    expect(new Set(places).size).toBe(panels.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
    const variables = new Set(dashboard.templating.list.map(({ name }) => name));
    for (const [, name = ""] of text.matchAll(/\$\{?(\w+)/g)) {
      expect(name.startsWith("__") || variables.has(name), `variable $${name}`).toBe(true);
    }
  });

  it.each(expressions)("asks in «$title» for sensors that there are: $expr", ({ expr }) => {
    const series = [...expr.matchAll(/\b(yt_queue_agent_\w+)\{([^}]*)\}/g)];
    expect(series.length).toBeGreaterThan(0);
    expect(expr.match(/\byt_queue_agent_\w+/g)?.length).toBe(series.length);
    const groups = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(/,\s*/));
    for (const [, name = "", matchers = ""] of series) {
      expect(labelsBySeries.has(name), name).toBe(true);
      const known = [...(labelsBySeries.get(name) ?? []), ...labelsOfPrometheus];
      const asked = [...matchers.matchAll(/(\w+)=~?"/g)].map(([, label = ""]) => label);
      expect(known).toEqual(expect.arrayContaining([...asked, ...groups]));
    }
  });

  it.each(dashboard.templating.list.filter(({ definition }) => definition !== undefined))(
    "fills variable $name from a label that there is",
    ({ definition = "" }) => {
      const [, series = "", label = ""] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? [];
      expect([...(labelsBySeries.get(series) ?? []), ...labelsOfPrometheus]).toContain(label);
    },
  );
});
