/** The guide to replicated queues (docs/queues.md), followed with the real `yt` command. */
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasEnvironment, pythonOf, soon } from "./real-yt.ts";
import { RunningCluster } from "./running-cluster.ts";

const environment = "plain";
const schema = "schema=[{name=data;type=string}]";

describe.skipIf(!hasEnvironment(environment))("a replicated queue with the yt command", () => {
  let cluster: RunningCluster;
  beforeAll(async () => {
    cluster = await RunningCluster.start();
  });
  afterAll(() => cluster?.stop());

  async function attempt(...args: string[]): Promise<{ readonly exit: unknown; readonly text: string }> {
    const program = join(dirname(pythonOf(environment)), "yt");
    const { stdout, stderr, exit } = await cluster.run(program, ["--proxy", cluster.address, ...args]);
    return { exit, text: exit === 0 ? stdout.trim() : stderr };
  }

  async function yt(...args: string[]): Promise<string> {
    const { exit, text } = await attempt(...args);
    expect(exit, `yt ${args.join(" ")}\n${text}`).toBe(0);
    return text;
  }

  async function insert(
    data: string,
    ...args: string[]
  ): Promise<{ readonly exit: unknown; readonly text: string }> {
    const program = join(dirname(pythonOf(environment)), "yt");
    const command = `echo '{data=${data}}' | "$0" "$@"`;
    const all = [
      "-c",
      command,
      program,
      "--proxy",
      cluster.address,
      "insert-rows",
      "//tmp/q",
      "--format",
      "yson",
    ];
    const { stdout, stderr, exit } = await cluster.run("bash", [...all, ...args]);
    return { exit, text: exit === 0 ? stdout : stderr };
  }

  const rows = (path: string): Promise<string> =>
    yt("select-rows", `data from [${path}]`, "--format", "json");

  it("is made, written to through each kind of replica, and read", { timeout: 240_000 }, async () => {
    await yt("create", "replicated_table", "//tmp/q", "--attributes", `{dynamic=%true;${schema}}`);
    await yt("mount-table", "//tmp/q", "--sync");
    const replicaOf = (path: string, mode: string): string =>
      `{table_path="//tmp/q";cluster_name=pythia;replica_path="${path}";mode=${mode}}`;
    const make = async (path: string, mode: string): Promise<string> => {
      const id = await yt("create", "table_replica", "--attributes", replicaOf(path, mode));
      const attributes = `{dynamic=%true;${schema};upstream_replica_id="${id}"}`;
      await yt("create", "table", path, "--attributes", attributes);
      await yt("mount-table", path, "--sync");
      return id;
    };
    const late = await make("//tmp/q-late", "async");
    await yt("alter-table-replica", late, "--enable");
    const refused = await insert("one");
    expect(refused.exit).not.toBe(0);
    expect(refused.text).toContain("has no synchronous replicas");
    expect((await insert("one", "--no-require-sync-replica")).exit).toBe(0);
    await soon(async () => expect(await rows("//tmp/q-late")).toBe('{"data":"one"}'));

    const copy = await make("//tmp/q-copy", "sync");
    expect(await yt("get", `#${copy}/@state`)).toBe('"disabled"');
    await yt("alter-table-replica", copy, "--enable");
    await soon(async () => expect((await insert("two")).exit).toBe(0));
    expect(await rows("//tmp/q-copy")).toBe('{"data":"one"}\n{"data":"two"}');
    expect(await rows("//tmp/q")).toBe('{"data":"one"}\n{"data":"two"}');
    const pulled = ["--offset", "1", "--partition-index", "0", "--format", "json"];
    expect(await yt("pull-queue", "//tmp/q", ...pulled)).toContain('"data":"two"');

    expect(await yt("get", `//tmp/q/@replicas/${late}/mode`)).toBe('"async"');
    await yt("remove", `#${late}`);
    expect(await yt("exists", `//tmp/q/@replicas/${late}`)).toBe("false");
    expect((await attempt("trim-rows", "//tmp/q", "0", "1")).text).toContain(
      "Trim is not supported for this table type",
    );
  });
});
