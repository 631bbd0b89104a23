/**
 * The access column of the command table, proved right by right: a user with all rights that a command needs
 * but one is refused with 901 and nothing has changed; with exactly those rights the command works.
 */
import type { YsonValue } from "@qyt/base";
import { allCommands, type RegisteredCommand } from "@qyt/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startOne, type TestCluster } from "../queue-api/fixture.ts";
import { type Answer, Area, call, closeCluster } from "./area.ts";
import { elsewhere, type Scenario, scenarios } from "./scenarios.ts";

type Requirement = RegisteredCommand["access"]["requirements"][number];
type Right = Requirement["anyOf"][number];

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startOne();
  await closeCluster(cluster);
});
afterAll(() => cluster?.close());

function commandOf({ command }: Scenario): RegisteredCommand {
  const found = allCommands.find(({ name }) => name === command);
  if (found === undefined) {
    throw new Error(`There is no command ${command}`);
  }
  return found;
}

/** Those that hold in the scenario. */
function requirementsOf(scenario: Scenario): readonly Requirement[] {
  return commandOf(scenario).access.requirements.filter(
    ({ when }) => when === undefined || scenario.conditions?.includes(when) === true,
  );
}

interface Call {
  readonly parameters: Parameters<typeof call>[3];
  readonly body: string | undefined;
}

/** Parameters and body with the area's names, and transactions that root has started. */
async function prepared(area: Area, scenario: Scenario): Promise<Call> {
  await scenario.prepare?.(area);
  const { text, ...rest } = scenario.parameters(area);
  const parameters: Record<string, YsonValue | undefined> = rest;
  const id = parameters["transaction_id"];
  if (typeof id === "string") {
    const type = id === "#tablet" ? "tablet" : "master";
    const started = await area.cluster.root.execute("start_transaction", { type, timeout: 60_000n });
    parameters["transaction_id"] = started instanceof Map ? (started.get("transaction_id") ?? null) : null;
  }
  return { parameters, body: scenario.body?.replace("#text", String(text)) };
}

function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** Gives the area's user one right, and no more than that. */
async function grant(area: Area, scenario: Scenario, right: Right, { parameters }: Call): Promise<void> {
  const named = parameters[right.parameter];
  const first = Array.isArray(named) ? named[0] : named;
  const path = (scenario.table?.(area) ?? String(first)).replace(/\/@.*$/, "");
  const vital = parameters["vital"];
  switch (right.object) {
    case "node": {
      const isThere = await area.cluster.root.exists(path);
      await area.grant(isThere ? path : directoryOf(path), right.permission, {
        ...(isThere ? {} : { inheritance_mode: "descendants_only" }),
        ...(right.permission === "register_queue_consumer" ? { vital } : {}),
      });
      break;
    }
    case "subtree":
      await area.grant(path, right.permission, { inheritance_mode: "object_and_descendants" });
      break;
    case "descendants":
      await area.grant(path, right.permission, { inheritance_mode: "descendants_only" });
      break;
    case "parent":
      await area.grant(directoryOf(path), right.permission);
      break;
    case "columns":
      await area.grant(path, right.permission, { columns: ["secret"] });
      break;
    case "schema":
      await area.grant(`//sys/schemas/${scenario.type ?? ""}`, right.permission);
      break;
    case "account":
      await area.grant(`//sys/accounts/${scenario.account?.(area) ?? area.account}`, right.permission);
      break;
    case "bundle":
      await area.grant(
        `//sys/tablet_cell_bundles/${scenario.bundle?.(area) ?? area.bundle}`,
        right.permission,
      );
      break;
    case "group":
      await area.grant(`//sys/groups/${String(named)}`, right.permission);
      break;
    case "transaction":
      throw new Error("Transactions have no entries that could be set");
  }
}

/** Where commands are refused: nothing changes there, so that one area does for all that prepare nothing. */
let refusals: Promise<Area> | undefined;

async function areaFor(scenario: Scenario, isToWork: boolean): Promise<Area> {
  if (isToWork || scenario.prepare !== undefined) {
    return Area.make(cluster);
  }
  refusals ??= Area.make(cluster);
  const area = await refusals;
  await area.newUser();
  return area;
}

/** Calls the command as a user who has these rights. */
async function attempt(
  scenario: Scenario,
  rights: readonly Right[],
  isToWork: boolean,
): Promise<{ readonly answer: Answer; readonly before: string; readonly after: string }> {
  const area = await areaFor(scenario, isToWork);
  const request = await prepared(area, scenario);
  for (const right of rights) {
    await grant(area, scenario, right, request);
  }
  const before = isToWork ? "" : await area.fingerprint();
  const answer = await call(cluster, area.user, scenario.command, request.parameters, request.body);
  // A table that was unmounted cannot be looked at.
  const after = answer.isRefused && !isToWork ? await area.fingerprint() : "";
  return { answer, before, after };
}

const first = (requirement: Requirement): Right => {
  const [right] = requirement.anyOf;
  if (right === undefined) {
    throw new Error("A requirement without a right");
  }
  return right;
};

const show = ({ permission, object, parameter }: Right): string =>
  `${permission} on ${object} of ${parameter}`;

describe.each(
  scenarios.map((scenario) => ({ scenario, name: `${scenario.command} ${scenario.title ?? ""}` })),
)("$name", ({ scenario }) => {
  const requirements = requirementsOf(scenario);
  const unchanged = async (rights: readonly Right[]): Promise<void> => {
    const { answer, before, after } = await attempt(scenario, rights, false);
    expect(answer.isRefused, answer.text).toBe(true);
    expect(after).toBe(before);
  };
  const works = async (rights: readonly Right[]): Promise<void> => {
    const { answer } = await attempt(scenario, rights, true);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.isRefused, answer.text).toBe(false);
  };
  if (requirements.length === 0) {
    it("needs no right", () => works([]));
  }
  for (const [index, requirement] of requirements.entries()) {
    const others = requirements.filter((_, other) => other !== index).map(first);
    it(`is refused without ${requirement.anyOf.map(show).join(" or ")}`, () => unchanged(others));
    for (const right of requirement.anyOf) {
      it(`works with ${show(right)}`, () => works([...others, right]));
    }
  }
});

describe("the access column", () => {
  it("is proved for every command and every requirement", () => {
    const unproved: string[] = [];
    for (const command of allCommands) {
      const mine = scenarios.filter((scenario) => scenario.command === command.name);
      if (mine.length === 0 && !(command.name in elsewhere)) {
        unproved.push(command.name);
      }
      const proved = new Set(mine.flatMap(requirementsOf));
      for (const requirement of command.access.requirements) {
        if (!proved.has(requirement) && !(command.name in elsewhere)) {
          unproved.push(
            `${command.name}: ${requirement.when ?? ""} ${requirement.anyOf.map(show).join(" or ")}`,
          );
        }
      }
    }
    expect(unproved).toEqual([]);
  });

  it("names parameters that the commands have", () => {
    for (const command of allCommands) {
      const known = new Set([...Object.keys(command.parameters), "transaction_id"]);
      for (const { anyOf } of command.access.requirements) {
        for (const { parameter } of anyOf) {
          expect(known.has(parameter), `${command.name} ${parameter}`).toBe(true);
        }
      }
    }
  });

  it("is in words too, for the reference of commands", () => {
    for (const { name, access, accessText } of allCommands) {
      expect(accessText, name).not.toBe("");
      expect(accessText.startsWith("none"), name).toBe(access.requirements.length === 0);
    }
  });

  it("lets a master transaction be aborted by all authenticated users, and not by a guest", async () => {
    const area = await Area.make(cluster);
    const { parameters } = await prepared(area, {
      command: "abort_transaction",
      parameters: () => ({ transaction_id: "#transaction" }),
    });
    for (const command of ["abort_transaction", "abort_tx"]) {
      expect((await call(cluster, "guest", command, parameters)).isRefused).toBe(true);
    }
    const id = String(parameters["transaction_id"]);
    expect(await cluster.root.exists(`#${id}`)).toBe(true);
    expect((await call(cluster, area.user, "abort_transaction", parameters)).status).toBe(200);
    expect(await cluster.root.exists(`#${id}`)).toBe(false);
  });
});
