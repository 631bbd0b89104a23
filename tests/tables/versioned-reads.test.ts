/** Reads with `versioned_read_options`: when each value was written, as columns `$timestamp:<name>`. */
import { FakeClock } from "@qyt/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { messagesOf, TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;
let clock: FakeClock;
beforeEach(async () => {
  clock = new FakeClock();
  cluster = await TestCluster.start({ clock });
  await cluster.createSorted("//tmp/t", schema);
});
afterEach(() => cluster.stop());

const schema =
  "[{name=key;type=int64;sort_order=ascending};{name=a;type=string};{name=b;type=int64};" +
  "{name=sum;type=int64;aggregate=sum}]";
const versioned = "versioned_read_options={read_mode=latest_timestamp}";
const text = "output_format=<format=text>yson";

/** Values of a row in text YSON, timestamps as whole seconds of the clock since the start of the test. */
function select(query: string, more = versioned): Promise<string> {
  return cluster.ok("select_rows", `{query="${query}";${text};${more}}`).then(inSeconds);
}

function lookup(keys: string, more = ""): Promise<string> {
  return cluster.ok("lookup_rows", `{path="//tmp/t";${text};${versioned};${more}}`, keys).then(inSeconds);
}

function inSeconds(output: string): string {
  const start = BigInt(Math.floor(startMs / 1000));
  return output
    .replaceAll(/(\d{12,})u/g, (_, digits: string) => `+${(BigInt(digits) >> 30n) - start}s`)
    .replaceAll("\n", "");
}

let startMs = 0;
/** One write a minute: at minute 0 a whole row, then single columns. */
async function writeHistory(): Promise<void> {
  startMs = clock.now();
  await cluster.insert("//tmp/t", "{key=1;a=x;b=1}");
  await clock.advance(60_000);
  await cluster.insert("//tmp/t", "{key=1;b=2}", "update=%true");
  await clock.advance(60_000);
  await cluster.insert("//tmp/t", "{key=1;sum=5}", "update=%true;aggregate=%true");
  await clock.advance(60_000);
  await cluster.insert("//tmp/t", "{key=1;sum=6}", "update=%true;aggregate=%true");
}

const expected =
  '{"key"=1;"a"="x";"b"=2;"sum"=11;"$timestamp:a"=+0s;"$timestamp:b"=+60s;"$timestamp:sum"=+180s;};';

describe("select_rows", () => {
  it("gives each value column its timestamp, null for a null", async () => {
    await writeHistory();
    expect(await select("* from [//tmp/t]")).toBe(expected);
    expect(await select("key, [$timestamp:b] from [//tmp/t] where [$timestamp:a] < [$timestamp:b]")).toBe(
      '{"key"=1;"$timestamp:b"=+60s;};',
    );
    await cluster.insert("//tmp/t", "{key=1;a=#}", "update=%true");
    await cluster.insert("//tmp/t", "{key=2;b=7}");
    expect(
      await select(
        "key, [$timestamp:a] as at, max([$timestamp:b]) as b from [//tmp/t] group by key, [$timestamp:a]",
      ),
    ).toBe('{"key"=1;"at"=#;"b"=+60s;};{"key"=2;"at"=#;"b"=+180s;};');
  });

  it("keeps the timestamps of values when compaction joins versions, and over a restart", async () => {
    await writeHistory();
    await clock.advance(2_400_000); // older than min_data_ttl, 30 minutes
    await clock.advance(5_000);
    const versions = await cluster.ok("lookup_rows", `{path="//tmp/t";versioned=%true;${text}}`, "{key=1}");
    expect([...versions.matchAll(/"write_timestamps"=\[([^\]]*)\]/g)][0]?.[1]?.split(";").length).toBe(2);
    expect(await select("* from [//tmp/t]")).toBe(expected);
    cluster = await cluster.restart();
    expect(await select("* from [//tmp/t]")).toBe(expected);
  });

  it("reads what a Queue Agent reads of a consumer", async () => {
    await cluster.ok("create", '{type=queue_consumer;path="//tmp/c"}');
    startMs = clock.now();
    await cluster.insert(
      "//tmp/c",
      '{queue_cluster=pythia;queue_path="//tmp/q";partition_index=0u;offset=42u}',
    );
    expect(
      await select(
        "[queue_cluster],[queue_path],[partition_index],[offset],[meta],[$timestamp:offset] from [//tmp/c]",
      ),
    ).toBe(
      '{"queue_cluster"="pythia";"queue_path"="//tmp/q";"partition_index"=0u;"offset"=42u;"meta"=#;"$timestamp:offset"=+0s;};',
    );
  });

  it("refuses ordered tables and unknown modes; without the option there is no such column", async () => {
    await cluster.createQueue("//tmp/q");
    const refused = async (query: string, more: string): Promise<string> =>
      messagesOf(await cluster.error("select_rows", `{query="${query}";${more}}`));
    expect(await refused("* from [//tmp/q]", versioned)).toContain("is not sorted");
    expect(await refused("* from [//tmp/t]", "versioned_read_options={read_mode=all}")).toContain(
      "EVersionedIOMode",
    );
    expect(await refused("[$timestamp:a] from [//tmp/t]", "")).toContain("$timestamp:a");
    expect(await select("key from [//tmp/t]", "versioned_read_options={read_mode=default}")).toBe("");
  });
});

describe("lookup_rows", () => {
  it("shows the timestamps behind the columns, or those that are named", async () => {
    await writeHistory();
    expect(await lookup("{key=1};{key=2}", "keep_missing_rows=%true")).toBe(`${expected}#;`);
    expect(await lookup("{key=1}", 'column_names=[b;"$timestamp:a"]')).toBe('{"b"=2;"$timestamp:a"=+0s;};');
    const both = await cluster.error(
      "lookup_rows",
      `{path="//tmp/t";versioned=%true;${versioned}}`,
      "{key=1}",
    );
    expect(both.message).toContain("cannot be specified together");
  });
});
