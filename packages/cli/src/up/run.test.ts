import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { YtError } from "@qyt/base";
import { FakeClock, settle, type TemporaryDirectory, temporaryDirectory } from "@qyt/testing";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentStart } from "./agent.ts";
import { planUp } from "./plan.ts";
import { graceMs, maxStopMs, type RunningCluster, runUp, type StartOptions, type UpPorts } from "./run.ts";

let folder: TemporaryDirectory;
beforeEach(async () => {
  folder = await temporaryDirectory("up");
});
afterEach(() => folder.remove());

/** Clusters that only say what was done with them. */
class FakeClusters {
  readonly events: string[] = [];
  readonly lines: string[] = [];
  readonly started: StartOptions[] = [];
  readonly clock = new FakeClock();
  failing: string | undefined;
  reload: (() => void) | undefined;
  readonly agentStarts: AgentStart[] = [];
  stopAgent: () => Promise<void> = async () => {};
  close: (name: string) => Promise<void> = async () => {};

  readonly ports: UpPorts = {
    start: async (options): Promise<RunningCluster> => {
      this.started.push(options);
      if (options.name === this.failing) {
        throw new YtError("Port is taken", { inner: [new YtError("by httpd")] });
      }
      this.events.push(`start ${options.name}`);
      return {
        name: options.name,
        address: `${options.host}:${options.port}`,
        issueFirstToken: async (_token, save) => {
          await save();
          return true;
        },
        issueServiceToken: (user) => `token of ${user}`,
        replaceTls: () => this.events.push(`certificate ${options.name}`),
        close: async (ms) => {
          this.events.push(`close ${options.name} ${ms}`);
          await this.close(options.name);
        },
      };
    },
    startAgent: async (start) => {
      this.agentStarts.push(start);
      this.events.push(`start agent on ${start.stateCluster}`);
      return {
        agentId: "127.0.0.1:7",
        stop: async () => {
          this.events.push("stop agent");
          await this.stopAgent();
        },
      };
    },
    probe: async (url) => {
      this.events.push(`probe ${url}`);
    },
    onReload: (reload) => {
      this.reload = reload;
    },
    print: (line) => this.lines.push(line),
    logger: pino({ level: "silent" }),
    clock: this.clock,
    version: "1",
  };
}

function plan(...cluster: string[]) {
  return planUp({ cluster, dataDir: folder.path, queueAgent: false }, {}, "/");
}

function signal(): { promise: Promise<void>; give: () => void } {
  let give = (): void => {};
  const promise = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { promise, give };
}

/** Waits for real file operations, then for what follows them. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("runUp", () => {
  it("says that it is ready once every cluster answers, and closes all when told to stop", async () => {
    const fake = new FakeClusters();
    const stop = signal();
    const done = runUp(plan("pythia=127.0.0.1:9001", "freud=127.0.0.1:9002"), fake.ports, stop.promise);
    await until(() => fake.lines.includes("qyt is ready"));
    expect(fake.events.slice(2)).toEqual(["probe http://127.0.0.1:9001", "probe http://127.0.0.1:9002"]);
    expect(fake.lines.at(-1)).toBe("qyt is ready");
    expect(fake.lines).toContain(
      `export YT_PROXY_URL_ALIASING_CONFIG='{pythia="http://127.0.0.1:9001"; freud="http://127.0.0.1:9002"}'`,
    );
    stop.give();
    await done;
    expect(fake.events.slice(4)).toEqual([`close pythia ${graceMs}`, `close freud ${graceMs}`]);
  });

  it("tells each cluster of the others, with the ports they got, and of who keeps the registrations", async () => {
    const fake = new FakeClusters();
    const stop = signal();
    const done = runUp(plan("pythia=127.0.0.1:0", "freud=127.0.0.1:0"), fake.ports, stop.promise);
    await until(() => fake.lines.length > 0);
    const [pythia, freud] = fake.started;
    expect(pythia?.port).not.toBe(0);
    for (const options of fake.started) {
      expect(options.registrationsCluster).toBe("pythia");
      expect(Object.fromEntries(options.peers())).toEqual({
        pythia: { proxy: `http://127.0.0.1:${pythia?.port}` },
        freud: { proxy: `http://127.0.0.1:${freud?.port}` },
      });
    }
    expect(fake.started[1]?.dataDirectory).toBe(join(folder.path, "freud"));
    stop.give();
    await done;
  });

  it("leaves the registrations where they are when the order changes", async () => {
    for (const clusters of [
      ["pythia", "freud"],
      ["freud", "pythia"],
    ]) {
      const fake = new FakeClusters();
      const stop = signal();
      const done = runUp(plan(...clusters), fake.ports, stop.promise);
      await until(() => fake.lines.length > 0);
      expect(fake.started.map(({ registrationsCluster }) => registrationsCluster)).toEqual([
        "pythia",
        "pythia",
      ]);
      stop.give();
      await done;
    }
  });

  it("lets SIGHUP alone while there is nothing to read again", async () => {
    const fake = new FakeClusters();
    await runUp(plan("pythia"), fake.ports, Promise.resolve());
    expect(fake.reload).toBeUndefined();
    expect(fake.started[0]).not.toHaveProperty("authentication");
    expect(fake.started[0]).not.toHaveProperty("tls");
  });

  it("with authentication gives root one token, printed once and written for the owner alone", async () => {
    const fake = new FakeClusters();
    const stop = signal();
    const guarded = planUp({ cluster: ["pythia", "freud"], dataDir: folder.path, auth: true }, {}, "/");
    for (const { dataDirectory } of guarded.clusters) {
      await mkdir(dataDirectory, { recursive: true });
    }
    const done = runUp(guarded, fake.ports, stop.promise);
    await until(() => fake.lines.includes("qyt is ready"));
    const file = join(folder.path, "freud", "root-token");
    const token = (await readFile(file, "utf8")).trim();
    expect(fake.lines.filter((line) => line.includes(token))).toEqual([`export YT_TOKEN=${token}`]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    stop.give();
    await done;
  });

  it("makes the clusters of one process trust each other, by secrets of each start", async () => {
    const fake = new FakeClusters();
    const guarded = planUp({ cluster: ["pythia", "freud"], dataDir: folder.path, auth: true }, {}, "/");
    for (const { dataDirectory } of guarded.clusters) {
      await mkdir(dataDirectory, { recursive: true });
    }
    await runUp(guarded, fake.ports, Promise.resolve());
    await runUp(guarded, fake.ports, Promise.resolve());
    const tokens = fake.started.map((options) => {
      const other = options.name === "pythia" ? "freud" : "pythia";
      return options.connection(other).token ?? "";
    });
    expect(new Set(tokens).size).toBe(4);
    const [pythia, freud] = fake.started;
    expect(freud?.authentication?.peersByToken.get(tokens[0] ?? "")).toEqual({
      cluster: "pythia",
      isSuperuserAllowed: true,
    });
    expect(pythia?.authentication?.peersByToken.has(tokens[0] ?? "")).toBe(false);
    expect(pythia?.connection("unknown")).toEqual({});
  });

  it("closes what has started when one cluster cannot, and says why in one sentence", async () => {
    const fake = new FakeClusters();
    fake.failing = "freud";
    await expect(runUp(plan("pythia", "freud", "hume"), fake.ports, signal().promise)).rejects.toMatchObject({
      message: "Cluster freud cannot start: Port is taken: by httpd",
    });
    expect(fake.events.filter((event) => event.startsWith("close")).length).toBe(2);
    expect(fake.lines).toEqual([]);
  });

  it("does not say that it is ready when the stop comes first", async () => {
    const fake = new FakeClusters();
    await runUp(plan("pythia"), fake.ports, Promise.resolve());
    expect(fake.lines).toEqual([]);
    expect(fake.events.at(-1)).toBe(`close pythia ${graceMs}`);
  });

  it("ends after 10 s even when a cluster does not finish", async () => {
    const fake = new FakeClusters();
    fake.close = () => new Promise(() => {});
    const stop = signal();
    let isDone = false;
    const done = runUp(plan("pythia"), fake.ports, stop.promise).then(() => {
      isDone = true;
    });
    await until(() => fake.lines.length > 0);
    stop.give();
    await settle();
    expect(isDone).toBe(false);
    await fake.clock.advance(maxStopMs);
    await done;
    expect(fake.events.filter((event) => event.startsWith("close"))).toEqual([`close pythia ${graceMs}`]);
  });
});

describe("the queue agent of up", () => {
  function agentPlan(options: { readonly auth?: boolean } = {}) {
    const cluster = ["pythia=127.0.0.1:9001", "freud=127.0.0.1:9002"];
    return planUp({ cluster, dataDir: folder.path, ...options }, {}, "/");
  }

  it("starts after the clusters, with its state where the registrations are, and stops before them", async () => {
    const fake = new FakeClusters();
    const stop = signal();
    const done = runUp(agentPlan({ auth: true }), fake.ports, stop.promise);
    await until(() => fake.lines.includes("qyt is ready"));
    expect(fake.events[2]).toBe("start agent on pythia");
    expect(fake.lines).toContain("queue agent  http://127.0.0.1:7");
    expect(Object.fromEntries(fake.agentStarts[0]?.access() ?? [])).toEqual({
      pythia: { proxy: "http://127.0.0.1:9001", token: "token of queue_agent" },
      freud: { proxy: "http://127.0.0.1:9002", token: "token of queue_agent" },
    });
    stop.give();
    await done;
    expect(fake.events.slice(-3)).toEqual([
      "stop agent",
      `close pythia ${graceMs}`,
      `close freud ${graceMs}`,
    ]);
  });

  it("holds up nobody when it does not start", async () => {
    const fake = new FakeClusters();
    const stop = signal();
    const startAgent = async (): Promise<never> => {
      throw new YtError("No free port");
    };
    const done = runUp(agentPlan(), { ...fake.ports, startAgent }, stop.promise);
    await until(() => fake.lines.includes("qyt is ready"));
    expect(fake.lines.some((line) => line.startsWith("queue agent"))).toBe(false);
    stop.give();
    await done;
  });

  it("holds up nobody when it does not stop", async () => {
    const fake = new FakeClusters();
    fake.stopAgent = () => new Promise(() => {});
    const stop = signal();
    const done = runUp(agentPlan(), fake.ports, stop.promise);
    await until(() => fake.lines.includes("qyt is ready"));
    stop.give();
    await settle();
    expect(fake.events.at(-1)).toBe("stop agent");
    await fake.clock.advance(3_000);
    await done;
    expect(fake.events.at(-1)).toBe(`close freud ${graceMs}`);
  });
});
