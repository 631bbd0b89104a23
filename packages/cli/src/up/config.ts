/** The configuration file of `qyt up`: YSON or JSON, the same keys in both. */
import { dirname, resolve } from "node:path";
import { toYtError, YtError } from "@qyt/base";
import { fromYson, parseYson } from "@qyt/yson";
import { z } from "zod";
import { readNamedFile } from "../named-file.ts";

export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const schema = z.strictObject({
  /** Folder with one folder for each cluster. Relative paths start at the configuration file. */
  data_directory: z.string().min(1).optional(),
  log_level: z.enum(logLevels).optional(),
  /** The clusters of this process, in the order of their default ports. */
  clusters: z
    .record(
      z.string(),
      z.strictObject({
        /** `HOST:PORT` to listen on. */
        address: z.string().optional(),
        data_directory: z.string().min(1).optional(),
        /** `HOST:PORT` as clients and other clusters reach it; by default `address`. */
        public_address: z.string().optional(),
      }),
    )
    .optional(),
  /** Clusters of other processes. */
  peers: z
    .record(
      z.string(),
      z.strictObject({
        proxy: z.string().min(1),
        /** File with the certificate of the authority that signs that of the peer; by default `tls/ca`. */
        ca: z.string().min(1).optional(),
        /** File with the token that the peer has issued to this process. */
        token_file: z.string().min(1).optional(),
        /** The user of the clusters here as whom the peer authenticates; it may act for others then. */
        user: z.string().min(1).optional(),
        /** Whether it may act for superusers too; by default not. */
        superusers: z.boolean().optional(),
      }),
    )
    .optional(),
  /** Whether a queue agent runs beside the clusters; by default it does. */
  queue_agent: z.boolean().optional(),
  /** The cluster, here or among the peers, that keeps the registrations of consumers. */
  registrations_cluster: z.string().optional(),
  /** Whether users have to prove who they are. */
  authentication: z.boolean().optional(),
  /** Files: certificate with its chain, its key, and the authority that signs those of all clusters. */
  tls: z
    .strictObject({ cert: z.string().min(1), key: z.string().min(1), ca: z.string().min(1).optional() })
    .optional(),
  /** Origins of web pages that may use the sessions of people who have logged in, as in `https://ui.example.org`. */
  allowed_origins: z.array(z.string()).optional(),
});

export type UpConfig = z.infer<typeof schema>;

/**
 * Reads and checks the file; relative data directories become absolute.
 * @throws YtError 1 with one sentence: the file cannot be read or parsed, a key is unknown, a value has the wrong type
 */
export async function readConfig(file: string): Promise<UpConfig> {
  const text = await readNamedFile(file, "the configuration file");
  const folder = dirname(resolve(file));
  return withAbsolutePaths(parseConfig(text, file), (path) => resolve(folder, path));
}

/** The configuration with its files found, wherever the process was started. */
function withAbsolutePaths(config: UpConfig, absolute: (path: string) => string): UpConfig {
  const paths = <T extends object>(entry: T, names: readonly (keyof T)[]): T => {
    const changed = { ...entry };
    for (const name of names) {
      const path = entry[name];
      if (typeof path === "string") {
        Object.assign(changed, { [name]: absolute(path) });
      }
    }
    return changed;
  };
  const each = <T extends object>(
    entries: Readonly<Record<string, T>>,
    names: readonly (keyof T)[],
  ): Record<string, T> =>
    Object.fromEntries(Object.entries(entries).map(([key, entry]) => [key, paths(entry, names)]));
  return {
    ...paths(config, ["data_directory"]),
    ...(config.clusters === undefined ? {} : { clusters: each(config.clusters, ["data_directory"]) }),
    ...(config.peers === undefined ? {} : { peers: each(config.peers, ["ca", "token_file"]) }),
    ...(config.tls === undefined ? {} : { tls: paths(config.tls, ["cert", "key", "ca"]) }),
  };
}

/**
 * A name that ends in `.json` means JSON, `.yson` means YSON; with any other both are tried.
 * @throws YtError 1
 */
export function parseConfig(text: Uint8Array, file: string): UpConfig {
  const result = schema.safeParse(parseText(text, file));
  if (result.success) {
    return result.data;
  }
  throw new YtError(`Configuration file "${file}": ${result.error.issues.map(describe).join("; ")}`);
}

function parseText(text: Uint8Array, file: string): unknown {
  const readers: readonly [string, () => unknown][] = [
    ["YSON", () => fromYson(parseYson(text))],
    ["JSON", () => JSON.parse(Buffer.from(text).toString("utf8"))],
  ];
  const asked = file.endsWith(".json") ? "JSON" : file.endsWith(".yson") ? "YSON" : undefined;
  const failures: string[] = [];
  for (const [name, read] of readers) {
    if (asked === undefined || asked === name) {
      try {
        return read();
      } catch (thrown) {
        failures.push(`${name}: ${toYtError(thrown).message}`);
      }
    }
  }
  throw new YtError(`Configuration file "${file}" cannot be parsed as ${failures.join("; as ")}`);
}

function describe(issue: z.core.$ZodIssue): string {
  const place = issue.path.length === 0 ? "" : ` in "${issue.path.join("/")}"`;
  switch (issue.code) {
    case "unrecognized_keys":
      return `unknown key${issue.keys.length > 1 ? "s" : ""} ${issue.keys.map((key) => `"${key}"`).join(", ")}${place} (known: ${knownKeys(issue.path).join(", ")})`;
    case "invalid_type":
      return `a ${issue.expected === "record" || issue.expected === "object" ? "map" : issue.expected} is expected${place}`;
    default:
      return `${issue.message}${place}`;
  }
}

function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  switch (path[0]) {
    case "clusters":
      return ["address", "data_directory", "public_address"];
    case "peers":
      return ["proxy", "ca", "token_file", "user", "superusers"];
    case "tls":
      return ["cert", "key", "ca"];
    default:
      return Object.keys(schema.shape);
  }
}
