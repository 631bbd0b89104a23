/**
 * The static configuration of one agent: the file that `qyt queue-agent --config` reads.
 *
 * Specified in: yt/yt/server/queue_agent/config.h (TQueueAgentServerConfig). The real system's file names
 * native connections; this one names HTTP proxies.
 */
import { emptyMap, isMap, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { ClusterAccess } from "../clusters/cluster-clients.ts";
import { FieldReader } from "./fields.ts";
import { parseDynamicConfig } from "./parse-dynamic-config.ts";

export interface StaticConfig {
  /** HTTP proxy of the cluster that keeps the state. */
  readonly proxy: string;
  /** Names the family of instances; objects carry it as `@queue_agent_stage`. */
  readonly stage: string;
  /** Where the agent answers; port 0: any free one. */
  readonly host: string;
  readonly port: number;
  /** The host by which the clusters and other agents reach it; `null`: `host`, or the machine's name. */
  readonly advertisedHost: string | null;
  readonly root: string;
  readonly lockPath: string;
  readonly dynamicConfigPath: string;
  readonly consumerRegistrationTablePath: string | null;
  readonly replicatedTableMappingTablePath: string | null;
  readonly annotations: YsonMap;
  /** An instance that is silent for so many milliseconds is dead to the others. */
  readonly membershipTimeoutMs: number;
  /** For all clusters, where `clusters` says nothing else. */
  readonly access: ClusterAccess;
  /** By cluster name. */
  readonly clusters: ReadonlyMap<string, ClusterAccess>;
  /** Options of the dynamic configuration; those of its node win. */
  readonly dynamicConfig: YsonValue;
}

const defaultStage = "production";
const defaultRoot = "//sys/queue_agents";
const minMembershipTimeoutMs = 500;
const maxPort = 65_535;

/**
 * @returns the configuration, and the paths of options that do not exist
 * @throws YtError that names the option and what is right
 */
export function parseStaticConfig(value: YsonValue): {
  readonly config: StaticConfig;
  readonly unknown: readonly string[];
} {
  const fields = FieldReader.of(value);
  const proxy = fields.string("proxy", "");
  if (proxy === "") {
    fields.fail("proxy", "it is required: the HTTP proxy of the cluster that keeps the agent's state");
  }
  const dynamicState = fields.map("dynamic_state", (state) => ({
    root: state.string("root", defaultRoot),
    consumerRegistrationTablePath: state.optionalString("consumer_registration_table_path"),
    replicatedTableMappingTablePath: state.optionalString("replicated_table_mapping_table_path"),
  }));
  const { root } = dynamicState;
  const dynamicConfig = fields.raw("dynamic_config") ?? emptyMap;
  const { unknown: unknownDynamic } = parseDynamicConfig(dynamicConfig);
  const annotations = fields.raw("cypress_annotations") ?? emptyMap;
  const config: StaticConfig = {
    proxy,
    ...dynamicState,
    stage: readStage(fields),
    host: fields.string("host", "127.0.0.1"),
    port: fields.integer("port", 0, { max: maxPort }),
    advertisedHost: fields.optionalString("advertised_host"),
    lockPath: fields.map("election_manager", (election) =>
      election.string("lock_path", `${root}/leader_lock`),
    ),
    dynamicConfigPath: fields.string("dynamic_config_path", `${root}/config`),
    annotations: isMap(annotations) ? annotations : fields.fail("cypress_annotations", "it must be a map"),
    membershipTimeoutMs: fields.integer("membership_timeout", 5_000, { min: minMembershipTimeoutMs }),
    access: readAccess(fields),
    clusters: fields.entries("clusters", (entry) => ({
      ...readAccess(entry),
      ...optional("proxy", entry.optionalString("proxy")),
    })),
    dynamicConfig,
  };
  const abort = fields.boolean("abort_on_unrecognized_options", false);
  const unknown = [...fields.unknown(), ...unknownDynamic.map((path) => `/dynamic_config${path}`)];
  if (abort && unknown.length > 0) {
    throw new YtError(`The configuration has options that do not exist: ${unknown.join(", ")}`);
  }
  return { config, unknown };
}

/** `queue_agent/stage` as in the real system's file, or `stage`. */
function readStage(fields: FieldReader): string {
  const stage = fields.map("queue_agent", (agent) => agent.optionalString("stage"));
  const result = stage ?? fields.string("stage", defaultStage);
  return result === "" ? fields.fail("stage", "it must not be empty") : result;
}

function readAccess(fields: FieldReader): ClusterAccess {
  return {
    ...optional("token", fields.optionalString("token")),
    ...optional("user", fields.optionalString("user")),
    ...optional("ca", fields.optionalString("ca")),
  };
}

function optional<K extends string>(key: K, value: string | null): Partial<Record<K, string>> {
  const result: Partial<Record<K, string>> = {};
  if (value !== null) {
    result[key] = value;
  }
  return result;
}
