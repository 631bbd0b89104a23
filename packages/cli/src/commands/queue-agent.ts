/** `qyt queue-agent`: one queue agent as a process of its own, beside clusters that run elsewhere. */
import { dirname, resolve } from "node:path";
import {
  isMap,
  mapOf,
  sleep,
  systemClock,
  toYtError,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import type { StaticConfig } from "@qyt/queue-agent";
import { parseJson, parseYson } from "@qyt/yson";
import { Command } from "commander";
import type { Logger } from "pino";
import { readNamedFile } from "../named-file.ts";
import { runUntilStopped } from "../process.ts";
import { aliasVariable, parseAliases } from "../up/aliases.ts";
import { logLevels } from "../up/config.ts";

interface QueueAgentFlags {
  readonly config?: string;
  readonly proxy?: string;
  readonly stage?: string;
  readonly listen?: string;
  readonly logLevel?: string;
}

const defaultLogLevel = "warn";
/** A client or a cluster that hangs does not hold the process longer, in milliseconds. */
const maxStopMs = 10_000;

const help = `
Examples:
  qyt queue-agent --proxy http://127.0.0.1:8000
      an agent of the stage "production" for that cluster and all clusters it knows
  qyt queue-agent --proxy pythia --stage testing --listen 127.0.0.1:9100
  qyt queue-agent --config agent.yson

Several agents of a stage share the objects; one that ends or hangs leaves its objects to the others.

A configuration file is YSON or JSON; the command line wins over it:
  {
    proxy = "http://127.0.0.1:8000";          # the cluster that keeps the agent's state
    stage = production;
    host = "127.0.0.1"; port = 0;             # where the agent answers; 0: any free port
    advertised_host = "agent-1.example.org";  # how clusters and other agents reach it
    token_file = "token";                     # relative paths start at the file
    tls_ca = "ca.pem";
    clusters = { freud = { proxy = "https://freud:8443"; token_file = "freud-token" } };
    dynamic_config = { queue_agent = { controller = { enable_automatic_trimming = %false } } };
  }
(without the comments: YSON has none)

What changes while it runs is set in //sys/queue_agents/config; it wins over dynamic_config.
Of the names in ${aliasVariable} --proxy takes any.

SIGTERM and Ctrl-C give the objects to the other agents and end.`;

export function queueAgentCommand(): Command {
  return new Command("queue-agent")
    .description("Run a queue agent: statuses, lag, automatic trimming and exports of queues.")
    .option("--config <file>", "configuration file, YSON or JSON")
    .option("--proxy <address>", "the cluster that keeps the agent's state (default: YT_PROXY)")
    .option(
      "--stage <name>",
      "the agent looks after objects of this @queue_agent_stage (default: production)",
    )
    .option("--listen <host:port>", "where the agent answers (default: any free port of 127.0.0.1)")
    .option(
      "--log-level <level>",
      `${logLevels.join(", ")} (default: ${defaultLogLevel}); logs are JSON lines on stderr`,
    )
    .addHelpText("after", help)
    .action(run);
}

async function run(flags: QueueAgentFlags): Promise<void> {
  const { config, unknown } = await configOf(flags, process.env);
  const level = logLevels.find((known) => known === (flags.logLevel ?? defaultLogLevel));
  if (level === undefined) {
    throw new YtError(`"${flags.logLevel}" is not a log level: choose one of ${logLevels.join(", ")}`);
  }
  await runUntilStopped(level, (logger, stop) => {
    if (unknown.length > 0) {
      logger.warn({ options: unknown }, "the configuration has options that do not exist");
    }
    return runAgent(config, logger, stop);
  });
}

async function runAgent(config: StaticConfig, logger: Logger, stop: Promise<void>): Promise<void> {
  const starting = new AbortController();
  void stop.then(() =>
    starting.abort(new YtError("Stopped before the agent had started", { code: "Canceled" })),
  );
  try {
    process.stdout.write(`queue agent of stage ${config.stage}, state on ${config.proxy}\n`);
    const { startQueueAgent } = await import("@qyt/queue-agent");
    const agent = await startQueueAgent({ config, logger, signal: starting.signal });
    process.stdout.write(`listening on ${agent.agentId}\nqyt queue-agent is ready\n`);
    await stop;
    await Promise.race([agent.stop(), sleep(systemClock, maxStopMs)]);
  } catch (thrown) {
    if (!starting.signal.aborted) {
      throw thrown;
    }
  }
}

/** @throws YtError 1 with one sentence */
export async function configOf(
  flags: QueueAgentFlags,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly config: StaticConfig; readonly unknown: readonly string[] }> {
  const file = flags.config === undefined ? new Map<string, YsonValue>() : await readConfig(flags.config);
  const proxy = flags.proxy ?? (file.has("proxy") ? undefined : environment["YT_PROXY"]);
  const listen = flags.listen === undefined ? {} : listenAddress(flags.listen);
  const token = environment["YT_TOKEN"]?.trim();
  const merged = new Map<string, YsonValue>([
    ...(token === undefined || token === "" ? [] : ([["token", token]] as const)),
    ...file,
    ...mapOf({
      proxy: proxy === undefined ? undefined : (parseAliases(environment[aliasVariable]).get(proxy) ?? proxy),
      stage: flags.stage,
      ...listen,
    }),
  ]);
  if (!merged.has("proxy")) {
    throw new YtError("No cluster is named: use --proxy, or --config with a file that has a proxy");
  }
  const { parseStaticConfig } = await import("@qyt/queue-agent");
  return parseStaticConfig(merged);
}

/** The file's map, with the files that it names for tokens and authorities read. */
async function readConfig(file: string): Promise<YsonMap> {
  const folder = dirname(resolve(file));
  const text = await readText(file, "the configuration file");
  const config = parseConfig(Buffer.from(text), file);
  const clusters = config.get("clusters");
  const resolved = new Map<string, YsonValue>();
  for (const [name, entry] of isMap(clusters) ? clusters : []) {
    resolved.set(name, isMap(entry) ? await withFiles(entry, folder) : entry);
  }
  return new Map([
    ...(await withFiles(config, folder)),
    ...(isMap(clusters) ? [["clusters", resolved] as const] : []),
  ]);
}

function parseConfig(bytes: Buffer, file: string): YsonMap {
  try {
    const value = /^\s*\{\s*"[^"]*"\s*:/.test(bytes.toString("utf8")) ? parseJson(bytes) : parseYson(bytes);
    if (!isMap(value)) {
      throw new YtError("it is not a map");
    }
    return value;
  } catch (thrown) {
    throw new YtError(`Configuration file "${file}": ${toYtError(thrown).message}`, { cause: thrown });
  }
}

const fileOptions = [
  ["token_file", "token"],
  ["tls_ca", "ca"],
] as const;

async function withFiles(map: YsonMap, folder: string): Promise<YsonMap> {
  const result = new Map(map);
  for (const [option, field] of fileOptions) {
    const path = map.get(option);
    if (typeof path === "string") {
      result.delete(option);
      result.set(field, (await readText(resolve(folder, path), `"${option}"`)).trim());
    }
  }
  return result;
}

async function readText(file: string, what: string): Promise<string> {
  return (await readNamedFile(file, what)).toString("utf8");
}

function listenAddress(text: string): { readonly host: string; readonly port: bigint } {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+)):([0-9]{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined) {
    throw new YtError(
      `"${text}" is not an address to listen on: write HOST:PORT, for example 127.0.0.1:9100`,
    );
  }
  return { host, port: BigInt(match?.[3] ?? 0) };
}
