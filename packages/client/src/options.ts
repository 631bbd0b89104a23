/** Options of a client, with their defaults in one place. */
import { type Clock, type Random, seededRandom, systemClock } from "@qyt/base";
import { type Transport, undiciTransport } from "./transport.ts";

export interface RetryPolicy {
  /** How many times a request is sent at most, the first time included. */
  readonly attempts: number;
  /** The first pause, in milliseconds; it doubles up to `maxDelayMs`, with jitter of ±50 %. */
  readonly minDelayMs: number;
  readonly maxDelayMs: number;
}

export interface DiscoveryOptions {
  /** The role of the proxies to use. Default: the cluster's default role. */
  readonly role?: string;
  /** How long a list is used, in milliseconds. Default: 60,000. */
  readonly refreshMs?: number;
}

export interface ClientOptions {
  /** `host:port`, a URL, or an alias from `YT_PROXY_URL_ALIASING_CONFIG` already resolved by the caller. */
  readonly proxy: string;
  /** Sent as `Authorization: OAuth …`. */
  readonly token?: string;
  /** PEM of the certificate authorities to trust for an `https` proxy. Default: those that Node trusts. */
  readonly ca?: string;
  /** Sent as `X-YT-User-Name`: acts for this user where the server allows it. */
  readonly user?: string;
  /** `false` sends every request once. */
  readonly retries?: RetryPolicy | false;
  /** How long one attempt may take, in milliseconds. */
  readonly requestTimeoutMs?: number;
  /**
   * Asks the proxy for the others (`/hosts`) and sends heavy commands, those of rows and files, to them. A proxy
   * that cannot be reached is left alone for two minutes. Default: everything goes to `proxy`.
   */
  readonly discovery?: boolean | DiscoveryOptions;
  readonly userAgent?: string;
  readonly transport?: Transport;
  readonly clock?: Clock;
  readonly random?: Random;
}

export interface ResolvedOptions {
  readonly baseUrl: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly retries: RetryPolicy;
  readonly requestTimeoutMs: number;
  readonly discovery: DiscoveryOptions | undefined;
  readonly transport: Transport;
  readonly ownsTransport: boolean;
  readonly clock: Clock;
  readonly random: Random;
}

export const defaultRetryPolicy: RetryPolicy = { attempts: 6, minDelayMs: 200, maxDelayMs: 10_000 };
export const defaultRequestTimeoutMs = 60_000;

export function resolveOptions(options: ClientOptions): ResolvedOptions {
  const headers: [string, string][] = [
    ["user-agent", options.userAgent ?? "qyt-client/0.1.0"],
    ["x-yt-header-format", "<format=text>yson"],
  ];
  if (options.token !== undefined) {
    headers.push(["authorization", `OAuth ${options.token}`]);
  }
  if (options.user !== undefined) {
    headers.push(["x-yt-user-name", options.user]);
  }
  return {
    baseUrl: proxyUrl(options.proxy),
    headers,
    retries:
      options.retries === false
        ? { ...defaultRetryPolicy, attempts: 1 }
        : (options.retries ?? defaultRetryPolicy),
    requestTimeoutMs: options.requestTimeoutMs ?? defaultRequestTimeoutMs,
    discovery: options.discovery === true ? {} : options.discovery === false ? undefined : options.discovery,
    transport: options.transport ?? undiciTransport(options.ca === undefined ? {} : { ca: options.ca }),
    ownsTransport: options.transport === undefined,
    clock: options.clock ?? systemClock,
    random: options.random ?? seededRandom((systemClock.now() ^ (process.pid << 8)) >>> 0),
  };
}

/** `host:port` and URLs alike, without a slash at the end. */
export function proxyUrl(proxy: string): string {
  const url = /^https?:\/\//.test(proxy) ? proxy : `http://${proxy}`;
  return url.replace(/\/+$/, "");
}
