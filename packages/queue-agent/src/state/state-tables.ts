/**
 * The tables that keep the agent's state: names, schemas, and their creation where they are missing.
 *
 * Specified in: yt/yt/ytlib/queue_client/records/*.yaml; the real system's script init_queue_agent_state.py.
 */
import { bare, type Clock, mapOf, sleep, toYtError, type YsonValue } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { parseRichPath } from "@qyt/yson";
import type { AgentClusters } from "../context.ts";

export type StateTableName =
  | "queues"
  | "consumers"
  | "consumer_registrations"
  | "queue_agent_object_mapping"
  | "multi_consumer_names"
  | "replicated_table_mapping";

/** Where one table is. */
export interface TableLocation {
  readonly cluster: string;
  readonly path: string;
}

export type StateTables = Readonly<Record<StateTableName, TableLocation>>;

export interface StateTableOptions {
  readonly root: string;
  readonly stateCluster: string;
  /** Rich paths, which may name another cluster. */
  readonly consumerRegistrationTablePath?: string;
  readonly replicatedTableMappingTablePath?: string;
}

/** @throws YtError when a path cannot be read */
export function locateStateTables(options: StateTableOptions): StateTables {
  const { root, stateCluster, consumerRegistrationTablePath, replicatedTableMappingTablePath } = options;
  const own = (name: string): TableLocation => ({ cluster: stateCluster, path: `${root}/${name}` });
  const at = (richPath: string | undefined, name: string): TableLocation => {
    if (richPath === undefined) {
      return own(name);
    }
    const { path, attributes } = parseRichPath(richPath);
    const cluster = bare(attributes.get("cluster") ?? stateCluster);
    return { cluster: typeof cluster === "string" ? cluster : stateCluster, path };
  };
  return {
    queues: own("queues"),
    consumers: own("consumers"),
    queue_agent_object_mapping: own("queue_agent_object_mapping"),
    multi_consumer_names: own("multi_consumer_names"),
    consumer_registrations: at(consumerRegistrationTablePath, "consumer_registrations"),
    replicated_table_mapping: at(replicatedTableMappingTablePath, "replicated_table_mapping"),
  };
}

type Columns = readonly (readonly [name: string, type: string])[];

const objectKey: Columns = [
  ["cluster", "string"],
  ["path", "string"],
];

/** Key columns first, then the others. */
const columns: Readonly<Record<StateTableName, readonly [keys: Columns, values: Columns]>> = {
  queues: [
    objectKey,
    [
      ["row_revision", "uint64"],
      ["revision", "uint64"],
      ["object_type", "string"],
      ["dynamic", "boolean"],
      ["sorted", "boolean"],
      ["auto_trim_config", "any"],
      ["static_export_config", "any"],
      ["queue_agent_stage", "string"],
      ["object_id", "string"],
      ["synchronization_error", "any"],
      ["queue_agent_banned", "boolean"],
      ["queue_profiling_tag", "string"],
    ],
  ],
  consumers: [
    objectKey,
    [
      ["row_revision", "uint64"],
      ["revision", "uint64"],
      ["object_type", "string"],
      ["treat_as_queue_consumer", "boolean"],
      ["schema", "any"],
      ["queue_agent_stage", "string"],
      ["synchronization_error", "any"],
      ["queue_agent_banned", "boolean"],
      ["queue_consumer_profiling_tag", "string"],
      ["is_multi_consumer", "boolean"],
    ],
  ],
  consumer_registrations: [
    [
      ["queue_cluster", "string"],
      ["queue_path", "string"],
      ["consumer_cluster", "string"],
      ["consumer_path", "string"],
    ],
    [
      ["vital", "boolean"],
      ["partitions", "any"],
    ],
  ],
  queue_agent_object_mapping: [[["object", "string"]], [["host", "string"]]],
  multi_consumer_names: [[...objectKey, ["name", "string"]], [["queue_agent_stage", "string"]]],
  replicated_table_mapping: [
    objectKey,
    [
      ["revision", "uint64"],
      ["object_type", "string"],
      ["meta", "any"],
      ["synchronization_error", "any"],
    ],
  ],
};

const stateTableNames: readonly StateTableName[] = [
  "queues",
  "consumers",
  "consumer_registrations",
  "queue_agent_object_mapping",
  "multi_consumer_names",
  "replicated_table_mapping",
];

/** Names of the table's columns in schema order. */
export function columnsOf(table: StateTableName): readonly string[] {
  return columns[table].flat().map(([name]) => name);
}

/** The table's schema as a YSON value. */
export function stateTableSchema(table: StateTableName): YsonValue {
  const [keys, values] = columns[table];
  return [
    ...keys.map(([name, type]) => mapOf({ name, type, sort_order: "ascending" })),
    ...values.map(([name, type]) => mapOf({ name, type })),
  ];
}

const mountPollMs = 50;

/**
 * Creates the tables that are missing, mounts those that are unmounted, and waits until all are mounted.
 * @throws YtError of the first request that failed; the call may be repeated
 */
export async function ensureStateTables(
  clusters: AgentClusters,
  tables: StateTables,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (const name of stateTableNames) {
    const { cluster, path } = tables[name];
    const client = clusters.client(cluster);
    if (!(await client.exists(path, { signal }))) {
      await createStateTable(client, name, path, signal);
    }
    let state = await client.get(`${path}/@tablet_state`, { signal });
    if (state === "unmounted") {
      await client.mountTable(path, { signal });
      state = null;
    }
    while (state !== "mounted" && state !== "frozen") {
      state = await client.get(`${path}/@tablet_state`, { signal });
      await sleep(clock, mountPollMs, signal);
    }
  }
}

async function createStateTable(
  client: YtClient,
  name: StateTableName,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const attributes = mapOf({ dynamic: true, schema: stateTableSchema(name) });
  try {
    await client.create("table", path, { attributes, recursive: true, signal });
  } catch (thrown) {
    // Another agent, or the cluster itself, was faster.
    if (!toYtError(thrown).has("AlreadyExists")) {
      throw thrown;
    }
  }
}
