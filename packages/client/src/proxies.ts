/**
 * Which proxy a request goes to: the configured one, or for heavy commands one of those that the cluster names.
 * Specified in: yt/python/yt/wrapper/http_driver.py (heavy proxies, their bans); the route `/hosts`.
 */
import type { ResolvedOptions } from "./options.ts";

/** Commands with rows or files in their bodies or answers, and those that wait for rows. */
export const heavyCommands: ReadonlySet<string> = new Set([
  "insert_rows",
  "delete_rows",
  "lock_rows",
  "lookup_rows",
  "select_rows",
  "explain_query",
  "trim_rows",
  "get_in_sync_replicas",
  "pull_queue",
  "pull_queue_consumer",
  "push_queue_producer",
  "advance_queue_consumer",
  "read_table",
  "write_table",
  "read_file",
  "write_file",
  "get_table_columnar_statistics",
  "flow_execute",
]);

export interface ProxyChoice {
  /** The address to send to: a URL without a path. */
  choose(isHeavy: boolean): Promise<string> | string;
  /** It could not be reached, or said that it is banned. */
  avoid(proxy: string): void;
}

/** By the client's options. */
export function proxyChoice(options: ResolvedOptions): ProxyChoice {
  const { baseUrl } = options;
  return options.discovery === undefined
    ? { choose: () => baseUrl, avoid: () => undefined }
    : new DiscoveredProxies(options);
}

/** The proxy that is chosen for the first request, for all of them. */
export function pinnedChoice(proxies: ProxyChoice): ProxyChoice {
  let chosen: Promise<string> | string | undefined;
  return {
    choose: () => {
      chosen ??= proxies.choose(true);
      return chosen;
    },
    avoid: (proxy) => proxies.avoid(proxy),
  };
}

const defaultRefreshMs = 60_000;
/** So long a proxy is not used after it failed, as the Python client does. */
const banMs = 120_000;
/** One of the first few is taken: the list comes with the least loaded first. */
const candidateCount = 5;
const discoveryTimeoutMs = 10_000;

class DiscoveredProxies implements ProxyChoice {
  readonly #options: ResolvedOptions;
  readonly #bannedUntilMs = new Map<string, number>();
  #known: readonly string[] = [];
  #staleMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;

  constructor(options: ResolvedOptions) {
    this.#options = options;
  }

  async choose(isHeavy: boolean): Promise<string> {
    const { baseUrl, clock, random } = this.#options;
    if (!isHeavy) {
      return baseUrl;
    }
    if (clock.monotonic() >= this.#staleMs) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
      await this.#asking;
    }
    const nowMs = clock.monotonic();
    const candidates = this.#known
      .filter((proxy) => (this.#bannedUntilMs.get(proxy) ?? nowMs) <= nowMs)
      .slice(0, candidateCount);
    return candidates[random.below(Math.max(1, candidates.length))] ?? baseUrl;
  }

  avoid(proxy: string): void {
    this.#bannedUntilMs.set(proxy, this.#options.clock.monotonic() + banMs);
    this.#staleMs = Number.NEGATIVE_INFINITY;
  }

  /** A list that does not come leaves the old one; the configured proxy serves where there is none. */
  async #ask(): Promise<void> {
    const { clock, discovery } = this.#options;
    const list = await this.#fetch().catch(() => undefined);
    this.#staleMs = clock.monotonic() + (discovery?.refreshMs ?? defaultRefreshMs);
    if (list !== undefined && list.length > 0) {
      this.#known = list;
    }
  }

  async #fetch(): Promise<string[]> {
    const { baseUrl, discovery, headers, transport } = this.#options;
    const query = discovery?.role === undefined ? "" : `?role=${encodeURIComponent(discovery.role)}`;
    const response = await transport.send({
      method: "GET",
      url: `${baseUrl}/hosts${query}`,
      headers: [...headers, ["accept", "application/json"]],
      timeoutMs: discoveryTimeoutMs,
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response.body) {
      chunks.push(chunk);
    }
    const hosts: unknown = JSON.parse(Buffer.concat(chunks).toString());
    const scheme = baseUrl.slice(0, baseUrl.indexOf("://"));
    return Array.isArray(hosts)
      ? hosts.filter((host) => typeof host === "string").map((host) => `${scheme}://${host}`)
      : [];
  }
}
