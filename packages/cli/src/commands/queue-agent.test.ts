import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TemporaryDirectory, temporaryDirectory } from "@qyt/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { configOf } from "./queue-agent.ts";

let folder: TemporaryDirectory;
beforeEach(async () => {
  folder = await temporaryDirectory("agent-config");
});
afterEach(() => folder.remove());

async function file(name: string, text: string): Promise<string> {
  const path = join(folder.path, name);
  await writeFile(path, text);
  return path;
}

it("lets options win over the file, the file over the environment, and takes names of clusters", async () => {
  const config = await file("agent.yson", '{proxy="file:1";stage=testing;port=9}');
  const environment = {
    YT_PROXY: "environment:1",
    YT_PROXY_URL_ALIASING_CONFIG: '{pythia="http://127.0.0.1:8001"}',
  };
  const read = async (flags: Parameters<typeof configOf>[0]) => (await configOf(flags, environment)).config;
  expect(await read({ config })).toMatchObject({ proxy: "file:1", stage: "testing", port: 9 });
  expect(await read({ config, proxy: "pythia", stage: "s", listen: "[::1]:7" })).toMatchObject({
    proxy: "http://127.0.0.1:8001",
    stage: "s",
    host: "::1",
    port: 7,
  });
  expect(await read({})).toMatchObject({ proxy: "environment:1" });
});

it("reads YSON and JSON, with the files of tokens and authorities beside it", async () => {
  await file("token", "secret\n");
  await file("freud-token", "other\n");
  await file("ca.pem", "PEM\n");
  const expected = {
    proxy: "a",
    access: { token: "secret", ca: "PEM" },
    clusters: new Map([["freud", { token: "other" }]]),
  };
  const yson = await file(
    "agent.yson",
    '{proxy=a;token_file=token;tls_ca="ca.pem";clusters={freud={token_file="freud-token"}}}',
  );
  expect((await configOf({ config: yson }, { YT_TOKEN: "unused" })).config).toMatchObject(expected);
  const json = await file(
    "agent.json",
    '{"proxy":"a","token_file":"token","tls_ca":"ca.pem","port":9,"clusters":{"freud":{"token_file":"freud-token"}}}',
  );
  expect((await configOf({ config: json }, {})).config).toMatchObject({ ...expected, port: 9 });
});

it("takes the token of the environment when the file has none", async () => {
  expect((await configOf({ proxy: "a" }, { YT_TOKEN: " t " })).config.access).toEqual({ token: "t" });
});

it.each([
  ["[]", /^Configuration file ".*": it is not a map$/],
  ["{proxy=", /^Configuration file ".*": /],
  ["{proxy=a;token_file=none}", /^Cannot read "token_file": /],
])("says in one sentence what is wrong with %s", async (text, message) => {
  const config = await file("agent.yson", text);
  await expect(configOf({ config }, {})).rejects.toThrow(message);
});
