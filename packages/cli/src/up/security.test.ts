import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import type { UpConfig } from "./config.ts";
import { planUp, type UpOptions } from "./plan.ts";
import { readSecretFiles, writeTokenFile } from "./secret-files.ts";
import { exposedPeers, type PeerPlan } from "./security.ts";

const here = "/home/bob";

describe("authentication and TLS of qyt up", () => {
  it("are off by default", () => {
    expect(planUp({}, {}, here).security).toEqual({ isAuthenticated: false });
  });

  it("are turned on by options or by the file, options first", () => {
    const config: UpConfig = { authentication: true, tls: { cert: "/c", key: "/k", ca: "/a" } };
    expect(planUp({}, config, here).security).toEqual({ isAuthenticated: true, tls: config.tls });
    expect(planUp({ tlsCert: "x.pem" }, config, here).security.tls).toEqual({
      cert: "/home/bob/x.pem",
      key: "/k",
      ca: "/a",
    });
    expect(planUp({ auth: true }, {}, here).security).toEqual({ isAuthenticated: true });
  });

  it("let a cluster listen anywhere, under a name that others can use", () => {
    const config: UpConfig = {
      authentication: true,
      clusters: { pythia: { address: "0.0.0.0:8001", public_address: "pythia.example.org:8001" } },
    };
    expect(planUp({}, config, here).clusters).toMatchObject([
      { address: { host: "0.0.0.0", port: 8001 }, publicAddress: "pythia.example.org:8001" },
    ]);
  });

  const refusals: [string, UpOptions, UpConfig, RegExp][] = [
    ["a certificate without its key", { tlsCert: "c" }, {}, /--tls-key is missing/],
    ["a key without its certificate", { tlsKey: "k" }, {}, /--tls-cert is missing/],
    ["an authority alone", { tlsCa: "a" }, {}, /give --tls-cert and --tls-key too/],
    ["an open address without authentication", { cluster: ["a=0.0.0.0:1"] }, {}, /turn authentication on/],
    ["all addresses without a name", { auth: true, cluster: ["a=0.0.0.0:1"] }, {}, /needs "public_address"/],
    [
      "a name that is no address",
      { auth: true },
      { clusters: { a: { public_address: "https://a" } } },
      /is not an address for cluster a/,
    ],
    [
      "a token for a peer, when everybody here may act for anybody there",
      {},
      { peers: { b: { proxy: "b:1", token_file: "/t" } } },
      /peer b has "token_file", but authentication is off/,
    ],
    [
      "one user for two peers",
      { auth: true },
      { peers: { b: { proxy: "b:1", user: "u" }, c: { proxy: "c:1", user: "u" } } },
      /Two peers have the user u/,
    ],
    [
      "trust in a peer, when everybody is trusted",
      {},
      { peers: { b: { proxy: "b:1", user: "b" } } },
      /peer b has "user", but authentication is off/,
    ],
  ];
  it.each(refusals)("refuse %s", (_what, options, config, message) => {
    expect(() => planUp(options, config, here)).toThrow(message);
  });

  it("tell of peers to whom a token would go in the open", () => {
    const peer = (proxy: string) => [proxy, { proxy, tokenFile: "/t" }] as const;
    const peers = new Map<string, PeerPlan>([
      peer("http://b.example:1"),
      peer("b.example:1"),
      peer("https://b.example:1"),
      peer("http://127.0.0.1:1"),
      peer("[::1]:1"),
      ["http://public:1", { proxy: "http://public:1" }],
    ]);
    expect(exposedPeers(peers)).toEqual(["http://b.example:1", "b.example:1"]);
  });
});

describe("the files with secrets", () => {
  it("are read, tokens that are not there yet excepted", async () => {
    const folder = await temporaryDirectory("secrets");
    try {
      const path = (name: string): string => join(folder.path, name);
      await writeFile(path("ca"), "CA");
      await writeFile(path("token"), "  abc\n");
      await writeFile(path("empty"), "\n");
      const peers = new Map([
        ["b", { proxy: "b", ca: path("ca"), tokenFile: path("token") }],
        ["c", { proxy: "c", tokenFile: path("missing") }],
      ]);
      const read = await readSecretFiles(undefined, peers);
      expect(read.connections.get("b")).toEqual({ ca: "CA", token: "abc" });
      expect(read.connections.get("c")).toEqual({});
      expect(read.missingTokens).toEqual([path("missing")]);
      for (const peer of [{ tokenFile: path("empty") }, { ca: path("missing") }]) {
        await expect(readSecretFiles(undefined, new Map([["d", { proxy: "d", ...peer }]]))).rejects.toThrow(
          /cluster d/,
        );
      }
    } finally {
      await folder.remove();
    }
  });

  it("the token of root is the owner's alone, whatever was there before", async () => {
    const folder = await temporaryDirectory("secrets");
    try {
      await mkdir(join(folder.path, "data"));
      await writeFile(join(folder.path, "data", "root-token.new"), "left over", { mode: 0o644 });
      await writeTokenFile(join(folder.path, "data"), "t");
      expect((await stat(join(folder.path, "data", "root-token"))).mode & 0o777).toBe(0o600);
    } finally {
      await folder.remove();
    }
  });
});
