/** The configuration file of `qyt up`: YSON or JSON, the same keys in both. */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { toYtError, YtError } from "@qyt/base";
import { fromYson, parseYson } from "@qyt/yson";
import { z } from "zod";

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
      }),
    )
    .optional(),
  /** Clusters of other processes. */
  peers: z.record(z.string(), z.strictObject({ proxy: z.string().min(1) })).optional(),
  /** The cluster, here or among the peers, that keeps the registrations of consumers. */
  registrations_cluster: z.string().optional(),
});

export type UpConfig = z.infer<typeof schema>;

/**
 * Reads and checks the file; relative data directories become absolute.
 * @throws YtError 1 with one sentence: the file cannot be read or parsed, a key is unknown, a value has the wrong type
 */
export async function readConfig(file: string): Promise<UpConfig> {
  let text: Buffer;
  try {
    text = await readFile(file);
  } catch (thrown) {
    throw new YtError(`Cannot read the configuration file: ${toYtError(thrown).message}`, { cause: thrown });
  }
  const config = parseConfig(text, file);
  const folder = dirname(resolve(file));
  return {
    ...config,
    ...(config.data_directory === undefined
      ? {}
      : { data_directory: resolve(folder, config.data_directory) }),
    ...(config.clusters === undefined
      ? {}
      : {
          clusters: Object.fromEntries(
            Object.entries(config.clusters).map(([name, cluster]) => [
              name,
              cluster.data_directory === undefined
                ? cluster
                : { ...cluster, data_directory: resolve(folder, cluster.data_directory) },
            ]),
          ),
        }),
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
      return ["address", "data_directory"];
    case "peers":
      return ["proxy"];
    default:
      return Object.keys(schema.shape);
  }
}
