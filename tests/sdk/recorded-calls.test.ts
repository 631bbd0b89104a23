/**
 * Each call of the SDK sends the command, parameters and body that the Python client (ytsaurus-client 0.13.55)
 * sends for the same call. What that sent is in recordings/python-client.json, made by recordings/record.py.
 */
import { readFileSync } from "node:fs";
import { isMap, type YsonMap, type YsonValue } from "@qyt/base";
import { createClient, type Transport, type TransportRequest, type YtClient } from "@qyt/client";
import { deepEqual, parseYson, parseYsonList } from "@qyt/yson";
import { expect, it } from "vitest";

interface Recording {
  readonly method: string;
  readonly command: string;
  /** YSON. */
  readonly parameters: string;
  /** The body: rows or a value in YSON, or bytes. */
  readonly rows?: readonly string[];
  readonly value?: string;
  readonly bytes?: string;
}

const file = new URL("./recordings/python-client.json", import.meta.url);
const recordings: Readonly<Record<string, Recording>> = JSON.parse(readFileSync(file, "utf8"));

/** Parameters that the Python client sends with every call of a family, at their defaults. */
const defaults: Readonly<Record<string, YsonValue>> = {
  suppress_transaction_coordinator_sync: false,
  ping_ancestor_transactions: false,
  recursive: false,
  force: false,
  freeze: false,
  ignore_existing: false,
  ignore_type_mismatch: false,
  enable_cross_cell_copying: false,
  waitable: false,
  sticky: false,
  compute_md5: false,
  enable_statistics: false,
  max_size: 65_535n,
  timeout: 60_000n,
  type: "master",
  locks: [],
  // No transaction.
  transaction_id: "0-0-0-0",
};

/** How an answer or a writer is set up, not what is done; and what guards a repeated call. */
const notCompared = ["output_format", "return_only_value", "file_writer", "mutation_id", "retry"];

const keySchema = [
  { name: "k", type: "int64", sort_order: "ascending" },
  { name: "v", type: "string" },
];
const queueSchema = [{ name: "data", type: "string" }];
const q = "//tmp/q";
const c = "//tmp/c";
const p = "//tmp/p";
const t = "//tmp/t";
const s = "//tmp/s";
const id = "1-2-3-4";
const inTransaction = { transactionId: id };

const calls: Readonly<Record<string, (client: YtClient) => Promise<unknown>>> = {
  create: (yt) => yt.create("map_node", "//tmp/a", { recursive: true }),
  "create with attributes": (yt) =>
    yt.create("table", t, { attributes: { dynamic: true, schema: keySchema } }),
  "create a queue": (yt) => yt.create("table", q, { attributes: { dynamic: true, schema: queueSchema } }),
  "create a consumer": (yt) => yt.create("queue_consumer", c),
  "create a producer": (yt) => yt.create("queue_producer", p),
  "create a static table": (yt) => yt.create("table", s),
  "create a user": (yt) => yt.createUser("ann"),
  "create a group": (yt) => yt.createGroup("team"),
  set: (yt) => yt.set("//tmp/a/@x", { y: [1, "two", null, 2.5, true] }),
  "set recursively": (yt) => yt.set("//tmp/a/b/c", 5, { recursive: true }),
  get: (yt) => yt.get("//tmp/a/@x"),
  "get with attributes": (yt) => yt.get("//tmp", { attributes: ["type", "id"] }),
  list: (yt) => yt.list("//tmp"),
  "list with attributes": (yt) => yt.list("//tmp", { attributes: ["type"] }),
  exists: (yt) => yt.exists("//tmp/a"),
  copy: (yt) => yt.copy("//tmp/a", "//tmp/b", { recursive: true }),
  move: (yt) => yt.move("//tmp/b", "//tmp/d", { force: true }),
  link: (yt) => yt.link("//tmp/a", "//tmp/l", { ignoreExisting: true }),
  remove: (yt) => yt.remove("//tmp/d", { recursive: true, force: true }),
  concatenate: (yt) => yt.concatenate([s, s], s, inTransaction),
  mount_table: (yt) => yt.mountTable(t),
  "mount_table, a queue": (yt) => yt.mountTable(q),
  insert_rows: (yt) =>
    yt.insertRows(t, [
      { k: 1n, v: "a" },
      { k: 2n, v: null },
    ]),
  "insert_rows with update": (yt) =>
    yt.insertRows(t, [{ k: 1n, v: "b" }], { update: true, aggregate: false }),
  "insert_rows, a queue": (yt) => yt.insertRows(q, [{ data: "a" }, { data: "b" }]),
  lookup_rows: (yt) => yt.lookupRows(t, [{ k: 1n }], { columnNames: ["v"], keepMissingRows: true }),
  select_rows: (yt) => yt.selectRows("v from [//tmp/t] where k = 1"),
  "select_rows with limits": (yt) =>
    yt.selectRows("v from [//tmp/t]", { inputRowLimit: 100n, outputRowLimit: 10n, allowFullScan: true }),
  delete_rows: (yt) => yt.deleteRows(t, [{ k: 2n }]),
  lock_rows: (yt) => yt.lockRows(t, [{ k: 1n }], { lockType: "exclusive", ...inTransaction }),
  get_tablet_infos: (yt) => yt.getTabletInfos(q, [0]),
  get_tablet_errors: (yt) => yt.getTabletErrors(q),
  trim_rows: (yt) => yt.trimRows(q, 0, 1n),
  register_queue_consumer: (yt) => yt.registerQueueConsumer(q, c, { vital: true }),
  "register_queue_consumer with partitions": (yt) =>
    yt.registerQueueConsumer(q, c, { vital: false, partitions: [0n] }),
  list_queue_consumer_registrations: (yt) => yt.listQueueConsumerRegistrations({ queuePath: q }),
  pull_queue: (yt) => yt.pullQueue(q, 0n, 0, { maxRowCount: 10n, maxDataWeight: 1_000n }),
  pull_queue_consumer: (yt) => yt.pullQueueConsumer(c, q, 0n, 0, { maxRowCount: 10n }),
  advance_queue_consumer: (yt) =>
    yt.advanceQueueConsumer(c, q, 0, { oldOffset: 0n, newOffset: 1n }, { clientSide: true }),
  create_queue_producer_session: (yt) => yt.createQueueProducerSession(p, q, "s", { userMeta: { x: 1 } }),
  push_queue_producer: (yt) =>
    yt.pushQueueProducer(p, q, "s", 0n, [{ data: "x", $sequence_number: 1n }], { userMeta: { x: 2 } }),
  remove_queue_producer_session: (yt) => yt.removeQueueProducerSession(p, q, "s"),
  unregister_queue_consumer: (yt) => yt.unregisterQueueConsumer(q, c),
  freeze_table: (yt) => yt.freezeTable(t),
  unfreeze_table: (yt) => yt.unfreezeTable(t),
  remount_table: (yt) => yt.remountTable(t),
  unmount_table: (yt) => yt.unmountTable(t, { force: true }),
  reshard_table: (yt) => yt.reshardTable(t, { pivotKeys: [[], [5n]] }),
  "reshard_table by count": (yt) => yt.reshardTable(q, { tabletCount: 2 }),
  alter_table: (yt) => yt.alterTable(t, { dynamic: true }),
  start_transaction: (yt) => yt.startTransaction({ transactionTimeoutMs: 15_000 }),
  "start_transaction, tablet": (yt) => yt.startTransaction({ transactionTimeoutMs: 15_000, type: "tablet" }),
  ping_transaction: (yt) => yt.pingTransaction(id),
  commit_transaction: (yt) => yt.commitTransaction(id),
  abort_transaction: (yt) => yt.abortTransaction(id),
  lock: (yt) => yt.lock("//tmp/a", { mode: "shared", childKey: "x", ...inTransaction }),
  unlock: (yt) => yt.unlock("//tmp/a", inTransaction),
  generate_timestamp: (yt) => yt.generateTimestamp(),
  check_permission: (yt) => yt.checkPermission("ann", "read", "//tmp/a"),
  "check_permission with columns": (yt) => yt.checkPermission("ann", "read", t, { columns: ["v"] }),
  add_member: (yt) => yt.addMember("team", "ann"),
  remove_member: (yt) => yt.removeMember("team", "ann"),
  issue_token: (yt) => yt.issueToken("ann"),
  list_user_tokens: (yt) => yt.listUserTokens("ann"),
  revoke_token: (yt) => yt.revokeToken("ann", "0".repeat(64)),
  set_user_password: (yt) =>
    yt.setUserPassword("ann", "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437", {
      currentPasswordSha256: "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4",
    }),
  get_supported_features: (yt) => yt.getSupportedFeatures(),
  write_table: (yt) => yt.writeTable(s, [{ k: 1n, v: "a" }], inTransaction),
  write_file: (yt) => yt.writeFile("//tmp/f", Buffer.from("hello"), inTransaction),
  remove_pipeline_spec: (yt) => yt.removePipelineSpec("//tmp/pipe", "/a", { expectedVersion: 5n }),
  remove_pipeline_dynamic_spec: (yt) => yt.removePipelineDynamicSpec("//tmp/pipe", "/a"),
  flow_execute: (yt) => yt.flowExecute("//tmp/pipe", "describe-pipeline", { status_only: true }),
};

/** An answer in which every command finds what it reads. */
const answer = `{value=#; node_id="${id}"; lock_id="${id}"; transaction_id="${id}"; timestamp=1u; action=allow; tablets=[];
  features={}; epoch=0; sequence_number=0; user_meta=#; last_sequence_number=0; skipped_row_count=0; version=1}`;
const otherAnswers: Readonly<Record<string, string>> = {
  issue_token: '"token"',
  lookup_rows: "",
  select_rows: "",
  pull_queue: "",
  pull_queue_consumer: "",
};

async function sentBy(call: (client: YtClient) => Promise<unknown>): Promise<TransportRequest> {
  const sent: TransportRequest[] = [];
  const transport: Transport = {
    async send(request) {
      sent.push(request);
      const text = otherAnswers[commandOf(request)] ?? answer;
      async function* body(): AsyncIterable<Buffer> {
        yield Buffer.from(text);
      }
      return { status: 200, headers: new Map(), body: body(), trailers: () => new Map() };
    },
    close: async () => undefined,
  };
  await call(createClient({ proxy: "p", transport }));
  const [only] = sent;
  expect(sent).toHaveLength(1);
  if (only === undefined) {
    throw new Error("Nothing was sent");
  }
  return only;
}

function commandOf({ url }: TransportRequest): string {
  return url.slice(url.lastIndexOf("/") + 1);
}

function parametersOf({ method, headers, body }: TransportRequest): YsonMap {
  const header = headers.find(([name]) => name === "x-yt-parameters")?.[1];
  const value = parseYson(header ?? (method === "POST" && body instanceof Uint8Array ? body : "{}"));
  return isMap(value) ? value : new Map();
}

function isDefault(name: string, value: YsonValue): boolean {
  const usual = defaults[name];
  return usual !== undefined && deepEqual(value, usual);
}

/** The parameters without those at their defaults, in the order of names. */
function meant(parameters: YsonMap): [string, YsonValue][] {
  return [...parameters]
    .filter(([name, value]) => !notCompared.includes(name) && !isDefault(name, value))
    .sort(([left], [right]) => (left < right ? -1 : 1));
}

it("has a call for each recording", () => {
  expect(Object.keys(calls).sort()).toEqual(Object.keys(recordings).sort());
});

it.each(Object.keys(recordings))("%s", async (name) => {
  const recording = recordings[name];
  const call = calls[name];
  if (recording === undefined || call === undefined) {
    throw new Error("There is no such recording");
  }
  const sent = await sentBy(call);
  expect([sent.method, commandOf(sent)]).toEqual([recording.method, recording.command]);
  const recorded = parseYson(recording.parameters);
  const wanted = isMap(recorded) ? recorded : new Map<string, YsonValue>();
  const parameters = parametersOf(sent);
  expect(meant(parameters)).toEqual(meant(wanted));
  expect(
    parameters.has("mutation_id") || !wanted.has("mutation_id"),
    "is done once when it is repeated",
  ).toBe(true);
  const body = sent.body instanceof Uint8Array ? sent.body : Buffer.alloc(0);
  if (recording.rows !== undefined) {
    expect(parseYsonList(body)).toEqual(recording.rows.map((row) => parseYson(row)));
  } else if (recording.value !== undefined) {
    expect(parseYson(body)).toEqual(parseYson(recording.value));
  } else if (recording.bytes !== undefined) {
    expect(Buffer.from(body).toString()).toBe(recording.bytes);
  }
});
