import { join } from "node:path";
import { YtError } from "@qyt/base";
import { FakeClock, settle, type TemporaryDirectory, temporaryDirectory } from "@qyt/testing";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
  return planUp({ cluster, dataDir: folder.path }, {}, "/");
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
