/**
 * A closed corner of a cluster with one of everything, and users who have exactly the rights that a test gives
 * them: no built-in group helps, as nobody may create, use or mount anything at first.
 */
import { Attributed, mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import { allCommands } from "@qyt/server";
import { toYson, writeYson, writeYsonText } from "@qyt/yson";
import type { TestCluster } from "../queue-api/fixture.ts";

export interface Answer {
  readonly status: number;
  /** The body, and the error of the header or of the trailer. */
  readonly text: string;
  readonly isRefused: boolean;
}

const textYson = new Attributed(mapOf({ format: "text" }), "yson");

/** Sends one command over HTTP as a user, whatever its input and output are. */
export async function call(
  cluster: TestCluster,
  user: string,
  name: string,
  parameters: Readonly<Record<string, YsonValue | undefined>>,
  body?: string,
): Promise<Answer> {
  const command = allCommands.find((each) => each.name === name);
  const version = command?.versions.at(-1) ?? 4;
  const input = command?.descriptor(version).inputType ?? "null";
  const response = await fetch(`http://${cluster.cluster.address}/api/v${version}/${name}`, {
    method: input === "null" ? "POST" : "PUT",
    headers: {
      "X-YT-User-Name": user,
      "X-YT-Header-Format": "<format=text>yson",
      "X-YT-Parameters": writeYsonText(
        mapOf({ input_format: "yson", output_format: textYson, ...parameters }),
      ),
    },
    ...(input === "null" ? {} : { body: body ?? "" }),
  });
  const text = `${response.headers.get("x-yt-error") ?? ""}\n${await response.text()}`;
  return { status: response.status, text, isRefused: /"?code"?\s*[:=]\s*901\b/.test(text) };
}

/** Text YSON, for `set` of attributes and bodies. */
export function yson(value: unknown): string {
  return writeYsonText(toYson(value));
}

export async function setAsRoot(cluster: TestCluster, path: string, value: unknown): Promise<void> {
  await cluster.root.set(path, writeYson(toYson(value), "binary"));
}

/** Takes away what everybody may do in a new cluster; only `read` of everyone at the root is left. */
export async function closeCluster(cluster: TestCluster): Promise<void> {
  for (const map of ["//sys/schemas", "//sys/accounts", "//sys/tablet_cell_bundles"]) {
    const names = await cluster.root.list(map);
    for (const name of Array.isArray(names) ? names : []) {
      await setAsRoot(cluster, `${map}/${String(name)}/@acl`, []);
    }
  }
  for (const path of ["//tmp", "//home"]) {
    await setAsRoot(cluster, `${path}/@acl`, []);
  }
}

const queueSchema = [
  { name: "$timestamp", type: "uint64" },
  { name: "$cumulative_data_weight", type: "int64" },
  { name: "data", type: "string" },
  { name: "secret", type: "string" },
];
const sortedSchema = [
  { name: "key", type: "int64", sort_order: "ascending" },
  { name: "value", type: "string" },
  { name: "secret", type: "string" },
];
const staticSchema = [
  { name: "value", type: "string" },
  { name: "secret", type: "string" },
];

/** So that whoever reads `secret` needs an entry that names it. */
const secretIsRoots = {
  action: "allow",
  subjects: ["root"],
  permissions: ["read"],
  columns: ["secret"],
};

let areaCount = 0;
let userCount = 0;

export class Area {
  readonly cluster: TestCluster;
  readonly base: string;
  readonly account: string;
  readonly otherAccount: string;
  readonly bundle: string;
  readonly otherBundle: string;
  readonly group: string;
  /** Id of the replica of the replicated table. */
  replica = "";
  /** Who has what was granted since he came. */
  user = "";

  private constructor(cluster: TestCluster) {
    const number = areaCount++;
    this.cluster = cluster;
    this.base = `//area-${number}`;
    this.account = `account-${number}`;
    this.otherAccount = `other-account-${number}`;
    this.bundle = `bundle-${number}`;
    this.otherBundle = `other-bundle-${number}`;
    this.group = `group-${number}`;
  }

  static async make(cluster: TestCluster): Promise<Area> {
    const area = new Area(cluster);
    await area.#fill();
    return area;
  }

  path(name: string): string {
    return `${this.base}/${name}`;
  }

  async #object(type: string, attributes: YsonMap): Promise<void> {
    await this.cluster.root.execute("create", { type, attributes });
  }

  /** A node that inherits no entries. */
  async node(type: string, name: string, attributes: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const all = toYson({ inherit_acl: false, account: this.account, ...attributes });
    await this.cluster.root.create(type, this.path(name), all instanceof Map ? { attributes: all } : {});
  }

  async #fill(): Promise<void> {
    const { cluster } = this;
    const { root } = cluster;
    for (const name of [this.account, this.otherAccount]) {
      await this.#object("account", mapOf({ name }));
    }
    for (const name of [this.bundle, this.otherBundle]) {
      await this.#object("tablet_cell_bundle", mapOf({ name }));
    }
    await this.#object("group", mapOf({ name: this.group }));
    await this.newUser();
    await root.create("map_node", this.base, {
      attributes: mapOf({ inherit_acl: false, account: this.account }),
    });
    for (const name of ["src", "dst"]) {
      await this.node("map_node", name);
    }
    await this.node("map_node", "src/map", { inherit_acl: true });
    await root.set(this.path("src/map/child"), Buffer.from("text"));
    await this.node("map_node", "src/leaf", { inherit_acl: true });
    const inBundle = { tablet_cell_bundle: this.bundle };
    const dynamic = { dynamic: true, ...inBundle };
    await Promise.all([
      this.node("table", "queue", { ...dynamic, schema: queueSchema, acl: [secretIsRoots] }),
      this.node("table", "sorted", { ...dynamic, schema: sortedSchema, acl: [secretIsRoots] }),
      this.node("table", "unmounted", { ...dynamic, schema: queueSchema }),
      this.node("queue_consumer", "consumer", inBundle),
      this.node("queue_producer", "producer", inBundle),
      this.node("table", "static", { schema: staticSchema, acl: [secretIsRoots] }),
      this.node("table", "other-static", { schema: staticSchema }),
      this.node("replicated_table", "replicated", { ...dynamic, schema: sortedSchema }),
      this.node("file", "file"),
      this.node("document", "document"),
    ]);
    await Promise.all(["queue", "sorted"].map((name) => root.mountTable(this.path(name))));
    await Promise.all([
      root.insertRows(this.path("queue"), [{ data: "a", secret: "s" }]),
      root.insertRows(this.path("sorted"), [{ key: 1n, value: "a", secret: "s" }]),
      call(cluster, "root", "write_table", { path: this.path("static") }, "{value=a;secret=s};"),
      call(cluster, "root", "write_file", { path: this.path("file") }, "bytes"),
      setAsRoot(cluster, this.path("document"), { a: 0n }),
    ]);
    const answer = await root.execute("create", {
      type: "table_replica",
      attributes: mapOf({
        table_path: this.path("replicated"),
        cluster_name: cluster.name,
        replica_path: this.path("replica"),
      }),
    });
    this.replica = answer instanceof Map ? String(answer.get("object_id")) : "";
    await root.registerQueueConsumer(this.path("queue"), this.path("consumer"), { vital: false });
    await this.#session();
  }

  async #session(): Promise<void> {
    await this.cluster.root.execute("create_queue_producer_session", {
      producer_path: this.path("producer"),
      queue_path: this.path("queue"),
      session_id: "session",
    });
  }

  /** The next grants are for somebody who has no right here yet. */
  async newUser(): Promise<void> {
    this.user = `user-${userCount++}`;
    await this.#object("user", mapOf({ name: this.user }));
  }

  /** Adds an entry for the area's user. */
  async grant(path: string, permission: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await setAsRoot(this.cluster, `${path}/@acl/end`, {
      action: "allow",
      subjects: [this.user],
      permissions: [permission],
      inheritance_mode: "object_only",
      ...more,
    });
  }

  /** Everything that a command of the area's user could change, as text. */
  async fingerprint(): Promise<string> {
    const { root } = this.cluster;
    const attributes = [
      "revision",
      "acl",
      "inherit_acl",
      "owner",
      "account",
      "lock_count",
      "type",
      "tablet_state",
    ];
    const parts: YsonValue[] = [
      await root.get(this.base, { attributes }),
      await root.get(`//sys/groups/${this.group}/@members`),
      await root.get(`//sys/users/${this.user}/@`),
      (await root.listQueueConsumerRegistrations({ queuePath: this.path("queue") })) ?? null,
    ];
    parts.push((await root.get(`#${this.replica}/@state`)) ?? null);
    const rows: string[] = [];
    for (const name of ["queue", "sorted", "consumer", "producer"]) {
      rows.push(yson(await root.selectRows(`* from [${this.path(name)}]`)));
    }
    return [...parts.map((part) => writeYsonText(part)), ...rows].join("\n");
  }
}
