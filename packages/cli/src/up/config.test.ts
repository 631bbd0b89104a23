import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { parseConfig, readConfig } from "./config.ts";

const yson = `{data_directory="data"; log_level=info; registrations_cluster=pythia;
  clusters={pythia={address="127.0.0.1:8001"; data_directory="/disks/1/pythia"}; freud={}};
  peers={hume={proxy="http://127.0.0.1:9000"}}}`;
const json = `{"data_directory":"data","log_level":"info","registrations_cluster":"pythia",
  "clusters":{"pythia":{"address":"127.0.0.1:8001","data_directory":"/disks/1/pythia"},"freud":{}},
  "peers":{"hume":{"proxy":"http://127.0.0.1:9000"}}}`;

function parse(text: string, file = "qyt.conf") {
  return parseConfig(Buffer.from(text), file);
}

describe("configuration file", () => {
  it("says the same in YSON and in JSON, whatever its name", () => {
    const fromYson = parse(yson, "qyt.yson");
    expect(fromYson.clusters).toEqual({
      pythia: { address: "127.0.0.1:8001", data_directory: "/disks/1/pythia" },
      freud: {},
    });
    expect(parse(json, "qyt.json")).toEqual(fromYson);
    expect(parse(yson)).toEqual(fromYson);
    expect(parse(json)).toEqual(fromYson);
  });

  it("keeps the order of the clusters: it decides their ports", () => {
    expect(Object.keys(parse("{clusters={zeta={};alpha={};mu={}}}").clusters ?? {})).toEqual([
      "zeta",
      "alpha",
      "mu",
    ]);
  });

  it.each([
    [
      "{clustres={}}",
      'unknown key "clustres" (known: data_directory, log_level, clusters, peers, queue_agent, registrations_cluster, authentication, tls, allowed_origins)',
    ],
    [
      "{clusters={pythia={port=8000}}}",
      'unknown key "port" in "clusters/pythia" (known: address, data_directory, public_address)',
    ],
    [
      "{peers={hume={proxy=x;token=y}}}",
      'unknown key "token" in "peers/hume" (known: proxy, ca, token_file, user, superusers)',
    ],
    ["{clusters=[pythia]}", 'a map is expected in "clusters"'],
    ["{data_directory=1}", 'a string is expected in "data_directory"'],
    ["[]", "a map is expected"],
    ["{log_level=loud}", '"info"'],
  ])("%s: says %s", (text, message) => {
    expect(() => parse(text)).toThrow(`Configuration file "qyt.conf": `);
    expect(() => parse(text)).toThrow(message);
  });

  it("says what it tried when the text is neither", () => {
    expect(() => parse("{a=")).toThrow(/cannot be parsed as YSON: .*; as JSON: /);
    expect(() => parse(yson, "a.json")).toThrow(/cannot be parsed as JSON: /);
    expect(() => parse(json, "a.yson")).toThrow(/cannot be parsed as YSON: /);
  });

  it("takes relative folders from where the file is", async () => {
    const folder = await temporaryDirectory("config");
    try {
      const file = join(folder.path, "qyt.yson");
      await writeFile(
        file,
        '{data_directory=data;clusters={a={data_directory="../b"};c={data_directory="/x"}}}',
      );
      expect(await readConfig(file)).toEqual({
        data_directory: join(folder.path, "data"),
        clusters: { a: { data_directory: join(folder.path, "../b") }, c: { data_directory: "/x" } },
      });
      await expect(readConfig(join(folder.path, "none"))).rejects.toThrow(
        /^Cannot read the configuration file: .*none/,
      );
    } finally {
      await folder.remove();
    }
  });
});
