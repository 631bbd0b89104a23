/**
 * Settings of a command: the user's file, variables and options, by the names of the real client's configuration.
 * Facts by: yt/python/yt/wrapper/default_config.py.
 */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import {
  bare,
  isMap,
  mapOf,
  toYtError,
  withAttributes,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { parseJson, parseYson, parseYsonList } from "@qyt/yson";
import type { Environment } from "../cluster-address.ts";
import { merged, parseFormatName } from "./arguments.ts";

/** Variables, and what of the configuration they set. */
const shortcuts: Readonly<Record<string, string>> = {
  YT_PROXY: "proxy/url",
  YT_PROXY_SUFFIX: "proxy/default_suffix",
  YT_PREFER_HTTPS: "proxy/prefer_https",
  YT_TOKEN: "token",
  YT_TOKEN_PATH: "token_path",
  YT_USE_TOKEN: "enable_token",
  YT_PREFIX: "prefix",
  YT_TABULAR_DATA_FORMAT: "tabular_data_format",
  YT_TEMP_DIR: "remote_temp_tables_directory",
  YT_TEMP_TABLES_STORAGE: "remote_temp_tables_directory",
};

/** Those of the variables that are no text. */
const booleanSettings: ReadonlySet<string> = new Set(["proxy/prefer_https", "enable_token"]);

export type StructuredFormat = "yson" | "json";

export class Settings {
  /** How structured values are written on the command line, and printed. */
  readonly argumentsFormat: StructuredFormat;
  readonly structuredFormat: StructuredFormat;
  readonly #config: YsonMap;

  constructor(config: YsonMap, environment: Environment) {
    this.#config = config;
    this.argumentsFormat = structuredFormatOf(environment["YT_ARGUMENTS_FORMAT"]);
    this.structuredFormat = structuredFormatOf(environment["YT_STRUCTURED_DATA_FORMAT"]);
  }

  /** The setting at a path such as `proxy/url`. */
  at(path: string): YsonValue | undefined {
    let value: YsonValue | undefined = this.#config;
    for (const key of path.split("/")) {
      const map: YsonValue = bare(value ?? null);
      value = isMap(map) ? map.get(key) : undefined;
    }
    return value === null ? undefined : value;
  }

  text(path: string): string | undefined {
    const value = this.at(path);
    return typeof value === "string" && value !== "" ? value : undefined;
  }

  is(path: string): boolean | undefined {
    const value = this.at(path);
    return typeof value === "boolean" ? value : undefined;
  }

  number(path: string): number | undefined {
    const value = this.at(path);
    return typeof value === "bigint" || typeof value === "number" ? Number(value) : undefined;
  }

  /** The format of rows where the command says none. */
  get tabularFormat(): YsonValue | undefined {
    const value = this.at("tabular_data_format");
    return typeof value === "string" ? parseFormatName(value) : value;
  }

  /** How the server is asked to write an answer for people. */
  get prettyFormat(): YsonValue {
    return withAttributes(this.structuredFormat, mapOf({ format: "pretty" }));
  }

  /** Reads a value as the command line has it. @throws YtError for malformed text */
  readonly parseValue = (text: string): YsonValue => {
    const bytes = Buffer.from(text);
    return this.argumentsFormat === "json" ? parseJson(bytes) : parseYson(bytes);
  };
}

export interface SettingFlags {
  readonly proxy?: string | undefined;
  readonly prefix?: string | undefined;
  /** Each a map in YSON, or a file with one. */
  readonly config?: readonly string[];
}

/** @throws YtError when something cannot be read */
export async function readSettings(flags: SettingFlags, environment: Environment): Promise<Settings> {
  let config: YsonValue = patchesOf(environment["YT_CONFIG_PATCHES"]).reduceRight(
    merged,
    await readUserFile(environment),
  );
  const add = (path: string, value: YsonValue | undefined): void => {
    if (value !== undefined) {
      config = merged(config, nested(path.split("/"), value));
    }
  };
  for (const [variable, path] of Object.entries(shortcuts)) {
    const text = environment[variable];
    if (text !== undefined) {
      add(path, booleanSettings.has(path) ? isYes(text) : text);
    }
  }
  add("proxy/url", flags.proxy);
  add("prefix", flags.prefix);
  for (const text of flags.config ?? []) {
    config = merged(config, await readConfig(text));
  }
  return new Settings(isMap(config) ? config : new Map(), environment);
}

/** Maps one after the other, of which the first wins. */
function patchesOf(text: string | undefined): readonly YsonValue[] {
  try {
    return parseYsonList(Buffer.from(text ?? ""));
  } catch (thrown) {
    throw new YtError(`The variable YT_CONFIG_PATCHES cannot be read: ${toYtError(thrown).message}`);
  }
}

function nested(keys: readonly string[], value: YsonValue): YsonValue {
  return keys.reduceRight<YsonValue>((inner, key) => mapOf({ [key]: inner }), value);
}

function isYes(text: string): boolean {
  return text !== "" && text !== "0" && text.toLowerCase() !== "false" && text !== "%false";
}

async function readUserFile(environment: Environment): Promise<YsonValue> {
  const named = environment["YT_CONFIG_PATH"];
  const path = named ?? join(environment["HOME"] ?? homedir(), ".yt", "config");
  const text = await readFile(path).catch(() => undefined);
  if (text === undefined) {
    return new Map();
  }
  return mapIn(text, `file ${path}`);
}

async function readConfig(text: string): Promise<YsonValue> {
  const file = await readFile(text).catch(() => undefined);
  return mapIn(file ?? Buffer.from(text), "--config");
}

function mapIn(bytes: Uint8Array, where: string): YsonValue {
  let value: YsonValue;
  try {
    value = parseYson(bytes);
  } catch (thrown) {
    throw new YtError(`Settings of ${where} cannot be read: ${toYtError(thrown).message}`, { cause: thrown });
  }
  if (!isMap(value)) {
    throw new YtError(`Settings of ${where} are not a map: write them as in {proxy={url="localhost:8001"}}`);
  }
  return value;
}

function structuredFormatOf(text: string | undefined): StructuredFormat {
  if (text === undefined || text === "yson" || text === "json") {
    return text ?? "yson";
  }
  throw new YtError(`Incorrect structured format '${text}': use yson or json`);
}
