/**
 * Runs every snippet of docs/queue-agent.md, in order, against two clusters with their agent and one more, and
 * compares what it prints; compares its tables with those of the program.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isMap, type YsonValue } from "@qyt/base";
import { defaultDynamicConfig } from "@qyt/queue-agent";
import { type ProgramProcess, startAgentProcess, startProcess } from "@qyt/testing";
import { writeYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { alertKinds } from "../../packages/queue-agent/src/alerts/alert-kinds.ts";
import { dynamicConfigToYson } from "../../packages/queue-agent/src/config/print-dynamic-config.ts";
import { allSensors } from "../../packages/queue-agent/src/metrics/sensors.ts";
import { hasEnvironment } from "../clients/real-yt.ts";
import { GuideRun, readGuide, startArguments, testSnippets } from "./guide.ts";

const text = readFileSync(new URL("../../docs/queue-agent.md", import.meta.url), "utf8");

/** First two cells of the rows of the table behind a marker. */
function rowsBehind(marker: string): readonly (readonly [string, string])[] {
  const table = text.slice(text.indexOf(`<!-- ${marker}:`)).split("\n\n")[1] ?? "";
  const rows = table.split("\n").slice(2);
  return rows.map((row) => {
    const [, first = "", second = ""] = row.split(" | ").join("|").replace(/^\| /, "|").split("|");
    return [first, second];
  });
}

function leaves(value: YsonValue, path: readonly string[]): readonly (readonly [string, string])[] {
  return isMap(value)
    ? [...value].flatMap(([key, child]) => leaves(child, [...path, key]))
    : [[`\`${path.join("/")}\``, `\`${writeYson(value, "text").toString("utf8")}\``]];
}

describe("the tables of docs/queue-agent.md", () => {
  it("have every dynamic option with its default", () => {
    expect(rowsBehind("options")).toEqual(leaves(dynamicConfigToYson(defaultDynamicConfig), []));
  });

  it("have every metric with its type, unit and labels", () => {
    for (const { name, type, help, labels } of allSensors) {
      const names = labels.length === 0 ? "none" : labels.map((label) => `\`${label}\``).join(", ");
      expect(text).toContain(`\n| \`${name}\` | ${type} | ${help} | ${names} |\n`);
    }
    expect(rowsBehind("metrics")).toHaveLength(allSensors.length);
  });

  it.each(Object.values(alertKinds))("say what alert $code asks for", ({ code, category }) => {
    expect(text).toContain(`\n| ${code} | \`${category}\` | `);
  });
});

const guide = readGuide("queue-agent.md");

describe.skipIf(!hasEnvironment("full"))("docs/queue-agent.md", () => {
  let run: GuideRun;
  const processes: ProgramProcess[] = [];
  beforeAll(async () => {
    run = await GuideRun.prepare(guide, [8001, 8002, 9101]);
  });
  afterAll(async () => {
    for (const program of processes.reverse()) {
      await program.stop();
    }
    await run?.folder.remove();
  });

  testSnippets(
    guide,
    () => run,
    async (snippet) => {
      const up = startArguments(snippet)?.map((arg) => run.toReal(arg));
      const agent = /^npx qyt queue-agent (.*)$/m.exec(run.toReal(snippet.text))?.[1];
      if (up !== undefined) {
        processes.push(await startProcess({ args: ["--data-dir", join(run.folder.path, "data"), ...up] }));
      } else if (agent !== undefined) {
        const file = join(run.folder.path, "agent.yson");
        const args = agent.split(" ").map((arg) => (arg === "agent.yson" ? file : arg));
        processes.push(await startAgentProcess({ args }));
      }
      return up !== undefined || agent !== undefined;
    },
  );
});
