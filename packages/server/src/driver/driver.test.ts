/** The command table at work: versions, aliases, repeated mutations. */
import { mapOf, type YsonValue, YtError } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { commandsForBanned, open } from "./access.ts";
import type { CommandRequest } from "./command.ts";
import { allCommands } from "./commands/index.ts";
import { type CommandContext, defineCommand, structured } from "./define.ts";
import { CommandDriver } from "./driver.ts";
import { optional, parameter } from "./parameters.ts";
import type { Services } from "./services.ts";

let clock: FakeClock;
let runs: string[];
/** Ends the command that is running. */
let finish: (() => void)[];
let failNext: boolean;

async function run(context: CommandContext): Promise<YsonValue> {
  runs.push(context.user);
  await new Promise<void>((resolve) => finish.push(resolve));
  if (failNext) {
    failNext = false;
    throw new YtError("Not now");
  }
  return BigInt(runs.length);
}

const volatile = {
  input: "null",
  output: "structured",
  isVolatile: true,
  isHeavy: false,
  access: open("it is a test"),
  summary: "",
} as const;
const commands = [
  defineCommand({
    ...volatile,
    name: "change",
    aliases: ["modify"],
    outputV3: "null",
    parameters: { n: optional(parameter.int64) },
    execute: async (context) => structured(await run(context)),
  }),
  defineCommand({
    ...volatile,
    name: "write",
    isHeavy: true,
    versions: [4],
    parameters: {},
    execute: async (context) => structured(await run(context)),
  }),
  defineCommand({
    ...volatile,
    name: "look",
    isVolatile: false,
    versions: [3],
    parameters: {},
    execute: async (context) => structured(await run(context)),
  }),
];

// The commands above ask nothing else of the services.
const services = {
  access: {
    checkUser(user: string) {
      if (user === "banned") {
        throw new YtError('User "banned" is banned', { code: "UserBanned" });
      }
    },
  },
} as Services;
let driver: CommandDriver;
beforeEach(() => {
  clock = new FakeClock();
  runs = [];
  finish = [];
  failNext = false;
  driver = new CommandDriver(services, commands, clock);
});

function call(command: string, parameters: Record<string, YsonValue>, more: Partial<CommandRequest> = {}) {
  return driver.execute({
    apiVersion: 4,
    command,
    parameters: mapOf(parameters),
    user: "root",
    requestId: "1-2-3-4",
    signal: new AbortController().signal,
    body: async function* () {},
    readBody: async () => Buffer.alloc(0),
    ...more,
  });
}

function finishAll(): void {
  for (const resolve of finish.splice(0)) {
    resolve();
  }
}

const mutation = { mutation_id: "1-2-3-4" };

describe("mutation ids", () => {
  it("a repeat gets the first answer, while it runs and afterwards", async () => {
    const first = call("change", mutation);
    const meanwhile = call("change", { ...mutation, retry: true });
    finishAll();
    const later = call("modify", mutation);
    expect(await Promise.all([first, meanwhile, later])).toEqual(
      [1n, 1n, 1n].map((value) => structured(value)),
    );
    expect(runs).toHaveLength(1);
  });

  it("many repeats at once run once", async () => {
    const answers = Array.from({ length: 50 }, () => call("change", mutation));
    finishAll();
    expect(new Set(await Promise.all(answers)).size).toBe(1);
    expect(runs).toHaveLength(1);
  });

  it("another id, another user and another command are other mutations", async () => {
    const answers = [
      call("change", mutation),
      call("change", { mutation_id: "1-2-3-5" }),
      call("change", mutation, { user: "other" }),
      call("change", {}),
      call("change", {}),
    ];
    finishAll();
    await Promise.all(answers);
    expect(runs).toHaveLength(5);
  });

  it("one that failed may be tried again; those who waited with it hear the error", async () => {
    failNext = true;
    const first = call("change", mutation);
    const meanwhile = call("change", mutation);
    const failures = Promise.allSettled([first, meanwhile]);
    finishAll();
    expect((await failures).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    const again = call("change", mutation);
    finishAll();
    expect(await again).toEqual(structured(2n));
  });

  it("answers are forgotten after five minutes", async () => {
    const first = call("change", mutation);
    finishAll();
    await first;
    await clock.advance(4 * 60_000);
    expect(await call("change", mutation)).toEqual(structured(1n));
    await clock.advance(2 * 60_000);
    const again = call("change", mutation);
    finishAll();
    expect(await again).toEqual(structured(2n));
  });

  it("rows and reads are not kept", async () => {
    for (const [command, apiVersion] of [
      ["write", 4],
      ["look", 3],
    ] as const) {
      for (let round = 0; round < 2; round++) {
        const answer = call(command, mutation, { apiVersion });
        finishAll();
        await answer;
      }
    }
    expect(runs).toHaveLength(4);
  });
});

describe("the table", () => {
  it("knows names by API version, aliases with them", async () => {
    expect(driver.descriptors(4).map(({ name }) => name)).toEqual(["change", "modify", "write"]);
    expect(driver.descriptors(3).map(({ name }) => name)).toEqual(["change", "modify", "look"]);
    expect(driver.find(3, "change")?.outputType).toBe("null");
    expect(driver.find(4, "change")?.outputType).toBe("structured");
    expect(driver.find(4, "look")).toBeUndefined();
    await expect(call("look", {})).rejects.toThrow('Command "look" is not registered');
  });

  it("reads common parameters and those of the command, and ignores the rest", async () => {
    await expect(call("change", { n: "x" })).rejects.toThrow("Error reading parameter /n");
    await expect(call("change", { transaction_id: "x" })).rejects.toThrow(
      "Error reading parameter /transaction_id",
    );
    const answer = call("change", { ping: true, suppress_transaction_coordinator_sync: false, unknown: [] });
    finishAll();
    await answer;
  });

  it("[tables 188] refuses a banned user's commands, those that need no right too", async () => {
    for (const command of allCommands.filter(({ name }) => !commandsForBanned.has(name))) {
      const [version = 4] = command.versions;
      const request = { apiVersion: version, user: "banned" };
      const answer = new CommandDriver(services, allCommands, clock).execute({
        ...request,
        command: command.name,
        parameters: mapOf({}),
        requestId: "1-2-3-4",
        signal: new AbortController().signal,
        body: async function* () {},
        readBody: async () => Buffer.alloc(0),
      });
      await expect(answer, command.name).rejects.toMatchObject({ code: 903 });
    }
    expect(runs).toEqual([]);
  });

  it("every command is declared once, with an access rule and a summary", () => {
    const names = allCommands.flatMap((command) =>
      command.versions.flatMap((version) =>
        [command.name, ...command.aliases].map((name) => `${version}/${name}`),
      ),
    );
    expect(new Set(names).size).toBe(names.length);
    for (const command of allCommands) {
      const { requirements, remark } = command.access;
      expect(requirements.length > 0 || remark !== undefined, command.name).toBe(true);
      expect(command.summary, command.name).toMatch(/\.$/);
    }
  });
});
