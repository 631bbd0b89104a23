/**
 * Where a cluster is and as whom one speaks to it, by the variables that the `yt` command has.
 * Facts by: yt/python/yt/wrapper/http_helpers.py (addresses of proxies, tokens).
 */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { toYtError, YtError } from "@qyt/base";
import { aliasVariable, parseAliases } from "./up/aliases.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface AddressFlags {
  /** A name, `host:port` or a URL. */
  readonly proxy?: string | undefined;
  readonly tlsCa?: string | undefined;
  /** What is put behind a name without dots that is not known. */
  readonly suffix?: string | undefined;
  readonly prefersHttps?: boolean | undefined;
  readonly token?: string | undefined;
  readonly tokenPath?: string | undefined;
  readonly sendsToken?: boolean | undefined;
}

export interface ClusterAddress {
  /** A URL, or `host:port`. */
  readonly proxy: string;
  readonly token?: string;
  readonly ca?: string;
}

/** @throws YtError 1 when no cluster is named, or when a file cannot be read */
export async function clusterAddress(flags: AddressFlags, environment: Environment): Promise<ClusterAddress> {
  const named = flags.proxy ?? environment["YT_PROXY"];
  if (named === undefined || named === "") {
    throw new YtError("No cluster is named: use --proxy, or set YT_PROXY");
  }
  const token = flags.sendsToken === false ? undefined : await tokenOf(flags, environment);
  const proxy = parseAliases(environment[aliasVariable]).get(named) ?? named;
  const prefersHttps = flags.prefersHttps ?? !["", "0"].includes(environment["YT_PREFER_HTTPS"] ?? "");
  const caFile = flags.tlsCa ?? (proxy.startsWith("http:") ? undefined : environment["REQUESTS_CA_BUNDLE"]);
  const ca = caFile === undefined || caFile === "" ? undefined : await textOf(caFile);
  return {
    proxy: withScheme(withSuffix(proxy, flags.suffix), prefersHttps),
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { ca }),
  };
}

function withSuffix(proxy: string, suffix: string | undefined): string {
  const isShort = /^[^.:/]+$/.test(proxy) && !proxy.includes("localhost");
  return isShort && suffix !== undefined ? proxy + suffix : proxy;
}

function withScheme(proxy: string, prefersHttps: boolean): string {
  return prefersHttps && !/^https?:\/\//.test(proxy) ? `https://${proxy}` : proxy;
}

async function tokenOf(flags: AddressFlags, environment: Environment): Promise<string | undefined> {
  const token = (flags.token ?? environment["YT_TOKEN"])?.trim();
  if (token !== undefined && token !== "") {
    return token;
  }
  const path = flags.tokenPath ?? environment["YT_TOKEN_PATH"];
  if (path !== undefined && path !== "") {
    return (await textOf(path)).trim();
  }
  const usual = join(environment["HOME"] ?? homedir(), ".yt", "token");
  const text = await readFile(usual, "utf8").catch(() => "");
  return text.trim() === "" ? undefined : text.trim();
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (thrown) {
    throw new YtError(`File "${path}" cannot be read: ${toYtError(thrown).message}`);
  }
}
