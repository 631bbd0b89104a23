import { describe, expect, it } from "vitest";
import type { UpConfig } from "./config.ts";
import { chooseRegistrationsCluster, planUp, type UpOptions } from "./plan.ts";

const here = "/home/bob";

function addresses(options: UpOptions, config: UpConfig = {}): string[] {
  return planUp(options, config, here).clusters.map(
    ({ name, address }) => `${name}=${address.host}:${address.port}`,
  );
}

describe("the plan of qyt up", () => {
  it("is one cluster, primary, at port 8000, with its data under ./qyt-data", () => {
    expect(planUp({}, {}, here)).toEqual({
      clusters: [
        {
          name: "primary",
          address: { host: "127.0.0.1", port: 8000 },
          dataDirectory: "/home/bob/qyt-data/primary",
        },
      ],
      peers: new Map(),
      security: { isAuthenticated: false },
      logLevel: "warn",
      queueAgent: true,
    });
  });

  it("gives ports in order, past those that are asked for", () => {
    expect(addresses({ cluster: ["pythia", "freud"] })).toEqual([
      "pythia=127.0.0.1:8000",
      "freud=127.0.0.1:8001",
    ]);
    expect(addresses({ cluster: ["a", "b=127.0.0.1:8000", "c"] })).toEqual([
      "a=127.0.0.1:8001",
      "b=127.0.0.1:8000",
      "c=127.0.0.1:8002",
    ]);
    expect(addresses({ cluster: ["a=127.0.0.1:0", "b=127.0.0.1:0"] })).toEqual([
      "a=127.0.0.1:0",
      "b=127.0.0.1:0",
    ]);
  });

  it("starts the clusters of the file, or those of the command line with what the file says of them", () => {
    const config: UpConfig = {
      data_directory: "/data",
      clusters: { pythia: { address: "127.0.0.1:9001", data_directory: "/disk/p" }, freud: {} },
    };
    expect(addresses({}, config)).toEqual(["pythia=127.0.0.1:9001", "freud=127.0.0.1:8000"]);
    expect(planUp({}, config, here).clusters.map(({ dataDirectory }) => dataDirectory)).toEqual([
      "/disk/p",
      "/data/freud",
    ]);
    expect(addresses({ cluster: ["pythia", "hume"] }, config)).toEqual([
      "pythia=127.0.0.1:9001",
      "hume=127.0.0.1:8000",
    ]);
    expect(addresses({ cluster: ["pythia=127.0.0.1:1"] }, config)).toEqual(["pythia=127.0.0.1:1"]);
  });

  it("lets options win over the file", () => {
    const config: UpConfig = { data_directory: "/data", log_level: "info" };
    const plan = planUp({ dataDir: "mine", logLevel: "debug" }, config, here);
    expect(plan.clusters[0]?.dataDirectory).toBe("/home/bob/mine/primary");
    expect(plan.logLevel).toBe("debug");
    expect(planUp({}, config, here).logLevel).toBe("info");
  });

  it("takes clusters that are set for clients as peers, unless they are started here", () => {
    const aliases = new Map([
      ["pythia", "http://127.0.0.1:1"],
      ["hume", "http://127.0.0.1:2"],
      ["kant", "http://127.0.0.1:3"],
      ["not a name", "http://127.0.0.1:4"],
    ]);
    const config: UpConfig = { peers: { kant: { proxy: "127.0.0.1:5" } } };
    expect(Object.fromEntries(planUp({ cluster: ["pythia"] }, config, here, aliases).peers)).toEqual({
      hume: { proxy: "http://127.0.0.1:2" },
      kant: { proxy: "127.0.0.1:5" },
    });
  });

  it("has a queue agent unless the command line or the file says no", () => {
    expect(planUp({ queueAgent: false }, {}, here).queueAgent).toBe(false);
    expect(planUp({ queueAgent: true }, { queue_agent: false }, here).queueAgent).toBe(false);
    expect(planUp({ queueAgent: true }, { queue_agent: true }, here).queueAgent).toBe(true);
  });

  it.each<[string, UpOptions, UpConfig, RegExp]>([
    ["a name twice", { cluster: ["a", "a"] }, {}, /^Cluster a is named twice/],
    [
      "an address twice",
      { cluster: ["a=127.0.0.1:1", "b=127.0.0.1:1"] },
      {},
      /^Two clusters ask for the address 127\.0\.0\.1:1/,
    ],
    [
      "a folder twice",
      {},
      { clusters: { a: { data_directory: "/d" }, b: { data_directory: "/d" } } },
      /^Two clusters share the data directory "\/d"/,
    ],
    ["a peer of the same name", { cluster: ["a"] }, { peers: { a: { proxy: "x" } } }, /^Cluster a is both/],
    [
      "an unknown keeper",
      { cluster: ["a"] },
      { registrations_cluster: "b" },
      /^"registrations_cluster" names b/,
    ],
    ["a log level", { logLevel: "loud" }, {}, /^"loud" is not a log level: choose one of fatal, error/],
    [
      "a foreign address in the file",
      {},
      { clusters: { a: { address: "0.0.0.0:1" } } },
      /without authentication it listens on loopback/,
    ],
  ])("refuses %s", (_what, options, config, message) => {
    expect(() => planUp(options, config, here)).toThrow(message);
  });
});

describe("who keeps the registrations", () => {
  const two = planUp({ cluster: ["freud", "pythia"] }, {}, here);

  it("is the first cluster of the first start", () => {
    expect(chooseRegistrationsCluster(two, new Map())).toBe("freud");
  });

  it("stays who it was in whatever order the clusters come", () => {
    expect(chooseRegistrationsCluster(two, new Map([["freud", "pythia"]]))).toBe("pythia");
    expect(chooseRegistrationsCluster(two, new Map([["pythia", "pythia"]]))).toBe("pythia");
  });

  it("is whom the file names, a peer too", () => {
    const plan = planUp(
      { cluster: ["a"] },
      { registrations_cluster: "hume", peers: { hume: { proxy: "h:1" } } },
      here,
    );
    expect(chooseRegistrationsCluster(plan, new Map([["a", "a"]]))).toBe("hume");
  });

  it("is not silently changed when that cluster is missing", () => {
    const one = planUp({ cluster: ["freud"] }, {}, here);
    expect(() => chooseRegistrationsCluster(one, new Map([["freud", "pythia"]]))).toThrow(
      /add --cluster pythia/,
    );
  });
});
