/** Clients of the clusters that paths name: by the aliases of the environment, else as the cluster at hand knows them. */
import { toYtError, YtError } from "@qyt/base";
import { createClient, type YtClient } from "@qyt/client";
import { type ConnectionFlags, clientOptions, type Environment } from "../connection.ts";
import { aliasVariable, parseAliases } from "../up/aliases.ts";
import type { ClientOf } from "./queue-facts.ts";
import { textOf } from "./queue-facts.ts";

export class OtherClusters {
  readonly #client: YtClient;
  readonly #flags: ConnectionFlags;
  readonly #environment: Environment;
  readonly #clients = new Map<string, Promise<YtClient>>();

  constructor(client: YtClient, flags: ConnectionFlags, environment: Environment) {
    this.#client = client;
    this.#flags = flags;
    this.#environment = environment;
  }

  readonly clientOf: ClientOf = (cluster) => {
    const known = this.#clients.get(cluster) ?? this.#connect(cluster);
    this.#clients.set(cluster, known);
    return known;
  };

  async close(): Promise<void> {
    await Promise.all(
      [...this.#clients.values()].map((client) =>
        client.then(
          (each) => each.close(),
          () => undefined,
        ),
      ),
    );
  }

  async #connect(cluster: string): Promise<YtClient> {
    const isAlias = parseAliases(this.#environment[aliasVariable]).has(cluster);
    const proxy = isAlias ? cluster : await this.#addressOf(cluster);
    return createClient(await clientOptions({ ...this.#flags, proxy }, this.#environment));
  }

  /** @throws YtError 1 when the cluster at hand does not know it */
  async #addressOf(cluster: string): Promise<string> {
    const found = await this.#client.get(`//sys/clusters/${cluster}/proxy`).catch((thrown: unknown) => {
      throw new YtError(
        `Cluster "${cluster}" is not known here: name its address in ${aliasVariable}, or in //sys/clusters`,
        { inner: [toYtError(thrown)] },
      );
    });
    return textOf(found) ?? cluster;
  }
}
