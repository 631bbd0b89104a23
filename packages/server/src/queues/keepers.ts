/**
 * Whether clusters agree on which of them keeps the registrations. Each is told by its own configuration;
 * where two are told differently, what is registered at one is not seen at the other, and a queue would be
 * trimmed without regard to consumers that its cluster does not know of. So it is looked at before a
 * registration is made or read there.
 *
 * A cluster says so in `//sys/clusters/<its name>/queue_agent/queue_consumer_registration_manager`, where the
 * real system has its settings of registrations. Who says nothing is believed.
 */
import { attributesOf, type Clock, mapOf, toYtError, withAttributes, type YsonMap, YtError } from "@qyt/base";
import { escapeYPathLiteral } from "@qyt/yson";
import { type CallBounds, type ClusterDirectory, normalizeClusterName } from "../clusters/index.ts";
import { registrationTablePath } from "./registration-rows.ts";

/** For so long an answer is believed, in milliseconds; as long as the real system keeps its settings. */
const believedForMs = 60_000;

/** In the entry of `//sys/clusters` that a cluster has of itself. */
export function keeperSettings(keeper: string): YsonMap {
  return mapOf({
    queue_consumer_registration_manager: mapOf({
      state_write_path: withAttributes(registrationTablePath, mapOf({ cluster: keeper })),
      state_read_path: withAttributes(registrationTablePath, mapOf({ clusters: [keeper] })),
      bypass_caching: true,
    }),
  });
}

export interface KeepersOptions {
  readonly clusters: ClusterDirectory;
  /** The cluster that keeps the registrations of this one. */
  readonly keeper: string;
  readonly clock: Clock;
  /** Told once of each disagreement. */
  readonly onDisagreement: (error: YtError) => void;
}

export class Keepers {
  readonly keeper: string;
  readonly #options: KeepersOptions;
  /** When the clusters that agree said so. */
  readonly #agreed = new Map<string, number>();
  /** What the others said last. */
  readonly #disagreed = new Map<string, string>();

  constructor(options: KeepersOptions) {
    this.keeper = options.keeper;
    this.#options = options;
  }

  /** @throws YtError 1 when the cluster has its registrations elsewhere; 3, 100 when it does not answer */
  async requireAgreement(asking: CallBounds & { readonly user: string }, cluster: string): Promise<void> {
    const error = await this.disagreement(asking, cluster);
    if (error !== undefined) {
      throw error;
    }
  }

  /** What there is to say of the other cluster; `undefined` when nothing is. @throws YtError 3, 100 */
  async disagreement(
    asking: CallBounds & { readonly user: string },
    cluster: string,
  ): Promise<YtError | undefined> {
    const { clusters, clock, onDisagreement } = this.#options;
    const name = normalizeClusterName(cluster);
    const now = clock.monotonic();
    const agreedAt = this.#agreed.get(name);
    if (clusters.isLocal(name) || !clusters.isKnown(name) || (agreedAt ?? -Infinity) > now - believedForMs) {
      return undefined;
    }
    const theirs = await this.#askedFor(asking, name);
    if (theirs === undefined || theirs === this.keeper) {
      this.#agreed.set(name, now);
      this.#disagreed.delete(name);
      return undefined;
    }
    this.#agreed.delete(name);
    const error = new YtError(
      `Clusters "${clusters.localName}" and "${name}" do not share their queue consumer registrations: ` +
        `cluster "${clusters.localName}" is configured to keep them on "${this.keeper}", cluster "${name}" on "${theirs}"; ` +
        `set "registrations_cluster" to the same cluster in the configurations of both, and restart them`,
      { attributes: { cluster: name, keeper: this.keeper, other_keeper: theirs } },
    );
    if (this.#disagreed.get(name) !== theirs) {
      this.#disagreed.set(name, theirs);
      onDisagreement(error);
    }
    return error;
  }

  async #askedFor(
    asking: CallBounds & { readonly user: string },
    cluster: string,
  ): Promise<string | undefined> {
    const { clusters } = this.#options;
    const path = `//sys/clusters/${escapeYPathLiteral(cluster)}/queue_agent/queue_consumer_registration_manager/state_write_path`;
    try {
      const table = await clusters.call(cluster, clusters.actingFor(asking.user), asking, (client, options) =>
        client.get(path, options),
      );
      const keeper = attributesOf(table).get("cluster");
      return typeof keeper === "string" ? normalizeClusterName(keeper) : undefined;
    } catch (thrown) {
      const error = toYtError(thrown);
      if (error.has("ResolveError") || error.has("AuthorizationError")) {
        return undefined;
      }
      throw error;
    }
  }
}
