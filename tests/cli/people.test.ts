/** The commands for people, against a real server: what they print, for people and for programs. */
import { startProcess, temporaryDirectory } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { qyt as runQyt } from "./qyt.ts";

let stop: () => Promise<void>;
let proxy = "";

async function qyt(...words: string[]): Promise<string> {
  const { stdout, stderr, code } = await runQyt(words, { env: { YT_PROXY: proxy } });
  return code === 0 ? stdout : `exit ${code}: ${stderr}`;
}

beforeAll(async () => {
  const folder = await temporaryDirectory("people");
  const server = await startProcess({
    args: ["--data-dir", folder.path, "--cluster", "pythia=127.0.0.1:0", "--no-queue-agent"],
  });
  proxy = /http:\S+?(?=["'\s])/.exec(server.output)?.[0] ?? "";
  stop = async () => {
    await server.stop();
    await folder.remove();
  };
});

afterAll(() => stop());

describe("commands for people", () => {
  it("a queue is created with the system columns unless told not to", async () => {
    expect(
      await qyt(
        "queue",
        "create",
        "//tmp/orders",
        "--column",
        "id:int64",
        "--column",
        "data",
        "--partitions",
        "2",
      ),
    ).toMatch(/^[0-9a-f-]+\n$/);
    const schema = await qyt("get", "//tmp/orders/@schema", "--format", "json");
    expect(schema.match(/"name":"[^"]+"/g)).toEqual([
      '"name":"id"',
      '"name":"data"',
      '"name":"$timestamp"',
      '"name":"$cumulative_data_weight"',
    ]);
    await qyt("queue", "create", "//tmp/bare", "--no-timestamp", "--no-cumulative-data-weight");
    expect((await qyt("get", "//tmp/bare/@schema", "--format", "json")).match(/"name":/g)).toHaveLength(1);
    expect(await qyt("queue", "create", "//tmp/bad", "--column", "a:b:c")).toMatch(
      /is not of the form name:type/,
    );
  });

  it("shows who reads a queue and how far behind they are", async () => {
    await qyt("create", "queue_consumer", "//tmp/consumer");
    await qyt("register-queue-consumer", "//tmp/orders", "//tmp/consumer", "--vital");
    await qyt("bench", "produce", "//tmp/bare", "--rows", "5000", "--duration", "20s");
    await qyt("create", "queue_consumer", "//tmp/reader");
    await qyt("register-queue-consumer", "//tmp/bare", "//tmp/reader", "--non-vital");
    expect(JSON.parse(await qyt("consumer", "lag", "//tmp/reader", "--format", "json"))).toEqual({
      lag: 5000,
      queues: [{ queue: '<cluster="pythia">//tmp/bare', lag: 5000 }],
    });
    const consumed = JSON.parse(
      await qyt("bench", "consume", "//tmp/bare", "//tmp/reader", "--format", "json"),
    );
    expect(consumed).toMatchObject({ what: "consumed", rows: 5000 });
    const described = await qyt("queue", "describe", "//tmp/bare", "--format", "table");
    expect(described).toMatch(/^Queue \/\/tmp\/bare on cluster pythia, 1 partition\(s\)\n/);
    expect(described).toMatch(/<cluster="pythia">\/\/tmp\/reader {2}no +0/);
    expect(described).toMatch(/No queue agent answers for this queue/);
    expect(await qyt("consumer", "describe", "//tmp/consumer", "--format", "table")).toMatch(
      /lag 0 row\(s\)/,
    );
  });

  it("tails rows, each with its partition and offset", async () => {
    expect(await qyt("queue", "tail", "//tmp/bare", "-n", "2", "--format", "table")).toMatch(
      /^0:4998 .*\n0:4999 .*\n$/,
    );
    expect(await qyt("queue", "tail", "//tmp/bare", "--partition", "3")).toMatch(
      /has no partition 3: it has 1/,
    );
  });

  it("checks retention and exports before they are sent", async () => {
    expect(await qyt("queue", "set-retention", "//tmp/orders", "--retained-lifetime", "36h")).toBe(
      "//tmp/orders is trimmed up to what all vital consumers have read and all exports have\n",
    );
    expect(await qyt("get", "//tmp/orders/@auto_trim_config/retained_lifetime_duration")).toBe("129600000\n");
    expect(await qyt("queue", "set-retention", "//tmp/bare")).toMatch(
      /once it has a vital consumer or an export/,
    );
    expect(await qyt("queue", "set-retention", "//tmp/orders", "--retained-lifetime", "1500ms")).toMatch(
      /must be whole seconds/,
    );
    const directory = ["--directory", "//tmp/exports", "--period", "1h"];
    expect(await qyt("queue", "set-export", "//tmp/orders", ...directory)).toMatch(
      /--prepare creates the directory/,
    );
    await qyt("queue", "set-export", "//tmp/orders", ...directory, "--prepare");
    expect(await qyt("queue", "set-export", "//tmp/orders", ...directory, "--name", "other")).toMatch(
      /Export "default" of \/\/tmp\/orders has the directory \/\/tmp\/exports already/,
    );
    expect(await qyt("queue", "set-export", "//tmp/orders", "--remove")).toMatch(/its tables stay/);
    expect(await qyt("queue", "set-retention", "//tmp/consumer")).toMatch(/is not a queue/);
  });

  it("lists the sessions of a producer", async () => {
    await qyt("create", "queue_producer", "//tmp/producer");
    const session = [
      "--producer-path",
      "//tmp/producer",
      "--queue-path",
      "//tmp/bare",
      "--session-id",
      "s-1",
    ];
    await qyt("create-queue-producer-session", ...session);
    const described = JSON.parse(await qyt("producer", "describe", "//tmp/producer", "--format", "json"));
    expect(described.sessions).toMatchObject([{ session_id: "s-1", sequence_number: -1, epoch: 0 }]);
  });

  it("measures the way from the row that is due to the row that is read", async () => {
    const figures = JSON.parse(
      await qyt("bench", "latency", "//tmp/bare", "--rate", "50", "--rows", "20", "--format", "json"),
    );
    expect(figures).toMatchObject({ rows: 20, latency_count: 20 });
  });
});
