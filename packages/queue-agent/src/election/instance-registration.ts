/**
 * The node of this instance under `<root>/instances`, and its presence: a shared lock of its own key under
 * a pinged transaction. An instance without the lock is dead to the others.
 *
 * Specified in: yt/yt/server/queue_agent/bootstrap.cpp (instance node); presence replaces the discovery
 * servers of the real system.
 */
import { mapOf, toYtError, type YsonMap } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { escapeYPathLiteral, writeYson } from "@qyt/yson";
import { LockHolder, type LockHolderOptions } from "./lock-holder.ts";

/** The key of the shared lock that says that an instance lives. */
export const presenceKey = "presence";

export interface RegistrationOptions extends LockHolderOptions {
  readonly root: string;
  readonly stage: string;
  readonly annotations: YsonMap;
}

export class InstanceRegistration {
  readonly #options: RegistrationOptions;
  readonly #path: string;
  readonly #presence: LockHolder;
  #onPresent: () => void = () => {};

  constructor(options: RegistrationOptions) {
    const { root, agentId, logger } = options;
    this.#options = options;
    this.#path = `${root}/instances/${escapeYPathLiteral(agentId)}`;
    this.#presence = new LockHolder(options, {
      title: "Queue agent presence",
      retryText: "registration of the instance: trying again",
      prepare: (client, signal) => this.#createNode(client, signal),
      take: async (client, { id }, signal) => {
        await client.execute(
          "lock",
          { path: this.#path, mode: "shared", attribute_key: presenceKey, transaction_id: id },
          { signal },
        );
      },
      onTaken: () => {
        this.#onPresent();
        logger.info({ agent_id: agentId }, "the instance is registered");
      },
    });
  }

  /** Whether the others see this instance. False at once after a pause of the process. */
  get isPresent(): boolean {
    return this.#presence.isHeld;
  }

  /** Resolves when the instance is present for the first time. @throws the signal's reason when it aborts first */
  async start(signal: AbortSignal): Promise<void> {
    const present = new Promise<void>((resolve) => {
      this.#onPresent = resolve;
    });
    this.#presence.start();
    const onAbort = (): void => this.#onPresent();
    signal.addEventListener("abort", onAbort, { once: true });
    await present;
    signal.removeEventListener("abort", onAbort);
    signal.throwIfAborted();
  }

  /** Says good-bye: the presence ends now, and the node goes unless an operator has banned it. */
  async stop(): Promise<void> {
    await this.#presence.stop();
    try {
      const client = this.#options.client();
      if (!(await client.exists(`${this.#path}/@banned`))) {
        await client.remove(this.#path, { recursive: true, force: true });
      }
    } catch (thrown) {
      this.#options.logger.debug({ err: toYtError(thrown) }, "the instance's node stays");
    }
  }

  async #createNode(client: YtClient, signal: AbortSignal): Promise<void> {
    const { agentId, stage, annotations } = this.#options;
    await client.create("map_node", this.#path, {
      recursive: true,
      ignoreExisting: true,
      attributes: mapOf({ queue_agent_stage: stage, annotations }),
      signal,
    });
    // A node that is left of an earlier life of the same address.
    if ((await client.get(`${this.#path}/@queue_agent_stage`, { signal })) !== stage) {
      await client.set(`${this.#path}/@queue_agent_stage`, writeYson(stage, "binary"), { signal });
    }
    await client.create("orchid", `${this.#path}/orchid`, {
      ignoreExisting: true,
      attributes: mapOf({ remote_addresses: mapOf({ default: agentId }) }),
      signal,
    });
  }
}
