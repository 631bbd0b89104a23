/**
 * Follows the node `<root>/config`. A change holds at once; a wrong one is shown and changes nothing.
 *
 * Specified in: yt/yt/ytlib/dynamic_config/dynamic_config_manager.cpp.
 */
import { type Clock, emptyMap, isMap, mapOf, toYtError, type YsonValue, type YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { errorToYson, writeYsonText } from "@qyt/yson";
import type { Logger } from "pino";
import { PeriodicExecutor } from "../periodic.ts";
import { type DynamicConfig, defaultDynamicConfig } from "./dynamic-config.ts";
import { parseDynamicConfig } from "./parse-dynamic-config.ts";
import { dynamicConfigToYson } from "./print-dynamic-config.ts";

export interface ConfigManagerOptions {
  readonly client: () => YtClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Path of the node. */
  readonly path: string;
  /** What holds below the node: options that the node gives win over it. */
  readonly base?: YsonValue;
}

const pollPeriodMs = 500;

export class DynamicConfigManager {
  readonly #options: ConfigManagerOptions;
  readonly #executor: PeriodicExecutor;
  #config: DynamicConfig = defaultDynamicConfig;
  /** The node's last content, as text. */
  #seen: string | undefined;
  #error: YtError | null = null;
  #unknown: readonly string[] = [];

  constructor(options: ConfigManagerOptions) {
    this.#options = options;
    this.#executor = new PeriodicExecutor({
      clock: options.clock,
      periodMs: () => pollPeriodMs,
      run: (signal) => this.#poll(signal),
      onError: (error) => options.logger.warn({ err: error }, "the dynamic configuration cannot be read"),
    });
  }

  get current(): DynamicConfig {
    return this.#config;
  }

  /** Why the node's content is not in force; `null` when it is. */
  get error(): YtError | null {
    return this.#error;
  }

  /** Reads the node once, then follows it. Never rejects: the configuration before holds. */
  async start(): Promise<void> {
    await this.#executor.runOnce();
    this.#executor.start();
  }

  stop(): Promise<void> {
    return this.#executor.stop();
  }

  /** `dynamic_config_manager` of the Orchid. */
  orchid(): YsonValue {
    return mapOf({
      effective_config: dynamicConfigToYson(this.#config),
      error: this.#error === null ? null : errorToYson(this.#error),
      unrecognized_options: this.#unknown,
    });
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { client, path, logger } = this.#options;
    const value = await readNode(client(), path, signal);
    const text = writeYsonText(value);
    if (text === this.#seen) {
      return;
    }
    this.#seen = text;
    try {
      const { config, unknown } = parseDynamicConfig(merge(this.#options.base ?? emptyMap, value));
      this.#config = config;
      this.#error = null;
      this.#unknown = unknown;
      logger.info({ path }, "the dynamic configuration is in force");
      if (unknown.length > 0) {
        logger.warn({ path, options: unknown }, "the dynamic configuration has options that do not exist");
      }
    } catch (thrown) {
      this.#error = toYtError(thrown).wrap(
        `The dynamic configuration "${path}" is wrong; the one before stays in force`,
      );
      logger.error({ err: this.#error }, "the dynamic configuration is wrong; the one before stays in force");
    }
  }
}

/** A node that is not there is an empty one. */
async function readNode(client: YtClient, path: string, signal: AbortSignal): Promise<YsonValue> {
  try {
    return await client.get(path, { signal });
  } catch (thrown) {
    if (toYtError(thrown).has("ResolveError")) {
      return emptyMap;
    }
    throw thrown;
  }
}

/** Maps are merged key by key; anything else of `over` replaces that of `under`. */
function merge(under: YsonValue, over: YsonValue): YsonValue {
  if (!isMap(under) || !isMap(over)) {
    return over;
  }
  const result = new Map(under);
  for (const [key, value] of over) {
    const below = result.get(key);
    result.set(key, below === undefined ? value : merge(below, value));
  }
  return result;
}
