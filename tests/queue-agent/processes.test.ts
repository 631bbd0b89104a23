/**
 * Agents as processes of their own: one is killed, paused, or banned, and its objects move to the others;
 * when it is back, it takes its share again.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ProgramProcess,
  startAgentProcess,
  type TemporaryDirectory,
  temporaryDirectory,
} from "@qyt/testing";
import { escapeYPathLiteral, fromYson } from "@qyt/yson";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import {
  AgentWorld,
  eventually,
  fastDynamicConfig,
  fastMembershipTimeoutMs,
  reference,
  referenceToString,
} from "./agent-fixture.ts";

const queues = Array.from({ length: 12 }, (_, index) => reference(`primary://tmp/q${index}`));

/** Several processes on a small machine: passes that follow too fast would only wait for each other. */
const dynamicConfig = fastDynamicConfig.replaceAll("=50", "=200");

interface AgentProcess {
  readonly program: ProgramProcess;
  readonly agentId: string;
}

let world: AgentWorld;
let folder: TemporaryDirectory;
let agents: AgentProcess[] = [];

beforeAll(async () => {
  world = await AgentWorld.start();
  folder = await temporaryDirectory("agents");
  await writeFile(
    join(folder.path, "agent.yson"),
    `{membership_timeout=${fastMembershipTimeoutMs};dynamic_config=${dynamicConfig}}`,
  );
  for (const queue of queues) {
    await world.createQueue(queue);
  }
  agents = await Promise.all([startAgent(), startAgent()]);
});
// Each test finds two agents that share the queues, and leaves two of them.
beforeEach(() => eventually(() => expectShared(agents), 30_000));
afterAll(async () => {
  await Promise.all(agents.map(({ program }) => program.kill()));
  await world.stop();
  await folder.remove();
});

async function startAgent(): Promise<AgentProcess> {
  const args = ["--config", join(folder.path, "agent.yson"), "--proxy", world.address()];
  const program = await startAgentProcess({ args });
  const agentId = /^listening on (\S+)$/m.exec(program.output)?.[1];
  if (agentId === undefined) {
    throw new Error(`No address in:\n${program.output}`);
  }
  return { program, agentId };
}

/** All queues are on these agents, each of them has some, and their statuses are served. */
async function expectShared(among: readonly AgentProcess[]): Promise<void> {
  const map = await world.mapping();
  expect([...map.keys()].sort()).toEqual(queues.map(referenceToString).sort());
  expect(new Set(map.values())).toEqual(new Set(among.map(({ agentId }) => agentId)));
  await expectStatuses();
}

async function expectStatuses(): Promise<void> {
  for (const { path } of queues) {
    expect(fromYson(await world.get(`${path}/@queue_status`))).toMatchObject({ partition_count: 1n });
  }
}

function two(): readonly [AgentProcess, AgentProcess] {
  const [first, second] = agents;
  if (first === undefined || second === undefined) {
    throw new Error("Two agents were started");
  }
  return [first, second];
}

it("one is paused: the other takes its objects, and gives them back when it goes on", async () => {
  const [paused, other] = two();
  const before = await world.mapping();
  process.kill(paused.program.pid, "SIGSTOP");
  try {
    await eventually(() => expectShared([other]), 30_000);
  } finally {
    process.kill(paused.program.pid, "SIGCONT");
  }
  await eventually(async () => {
    await expectShared(agents);
    expect(await world.mapping()).toEqual(before);
  }, 30_000);
}, 90_000);

it("one that leads all is paused: exactly one synchronizes, before and after it goes on", async () => {
  const leaders = async (): Promise<string[]> => {
    const result: string[] = [];
    for (const agent of agents) {
      if ((await world.orchid(agent, "/cypress_synchronizer/active")) === true) {
        result.push(agent.agentId);
      }
    }
    return result;
  };
  const [leader] = await eventually(async () => {
    const found = await leaders();
    expect(found).toHaveLength(1);
    return found;
  });
  const paused = agents.find(({ agentId }) => agentId === leader) ?? two()[0];
  const other = agents.find((agent) => agent !== paused) ?? two()[1];
  process.kill(paused.program.pid, "SIGSTOP");
  try {
    await eventually(async () => {
      expect(await world.orchid(other, "/cypress_synchronizer/active")).toBe(true);
    });
  } finally {
    process.kill(paused.program.pid, "SIGCONT");
  }
  await eventually(async () => {
    expect(await leaders()).toEqual([other.agentId]);
  });
}, 90_000);

it("one is banned: the other takes its objects until it is not", async () => {
  const [banned, other] = two();
  const path = `//sys/queue_agents/instances/${escapeYPathLiteral(banned.agentId)}/@banned`;
  await world.set(path, "%true");
  await eventually(() => expectShared([other]), 30_000);
  await world.client().remove(path);
  await eventually(() => expectShared(agents), 30_000);
}, 90_000);

it("one is killed: the other takes its objects, and nothing else moves", async () => {
  const [killed, other] = two();
  const before = await world.mapping();
  await killed.program.kill();
  await eventually(() => expectShared([other]), 30_000);
  const third = await startAgent();
  agents = [other, third];
  await eventually(() => expectShared(agents), 30_000);
  const after = await world.mapping();
  for (const [object, host] of before) {
    if (host === other.agentId && after.get(object) !== host) {
      expect(after.get(object)).toBe(third.agentId);
    }
  }
}, 90_000);

it("one is told to stop: its node goes with it, and the other takes over at once", async () => {
  const [stopped, other] = two();
  expect(await stopped.program.stop("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(Object.keys(Object(fromYson(await world.get("//sys/queue_agents/instances"))))).not.toContain(
    stopped.agentId,
  );
  await eventually(() => expectShared([other]), 30_000);
}, 90_000);
