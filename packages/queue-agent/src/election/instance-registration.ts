/**
 * The node of this instance under `<root>/instances`, and its presence: a shared lock of its own key under
 * a pinged transaction. An instance without the lock is dead to the others.
 *
 * Specified in: yt/yt/server/queue_agent/bootstrap.cpp (instance node); presence replaces the discovery
 * servers of the real system.
 */
import { type Clock, mapOf, sleep, toYtError, type YsonMap } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { escapeYPathLiteral, writeYson } from "@qyt/yson";
import type { Logger } from "pino";
import { PingedTransaction } from "../pinged-transaction.ts";

/** The key of the shared lock that says that an instance lives. */
export const presenceKey = "presence";

export interface RegistrationOptions {
  readonly client: () => YtClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly root: string;
  readonly agentId: string;
  readonly stage: string;
  readonly annotations: YsonMap;
  readonly transactionTimeoutMs: number;
}

const retryMs = 500;

export class InstanceRegistration {
  readonly #options: RegistrationOptions;
  readonly #path: string;
  #abort: AbortController | undefined;
  #loop: Promise<void> = Promise.resolve();
  #presence: PingedTransaction | undefined;
  #onPresent: () => void = () => {};

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#path = `${options.root}/instances/${escapeYPathLiteral(options.agentId)}`;
  }

  /** Whether the others see this instance. False at once after a pause of the process. */
  get isPresent(): boolean {
    return this.#presence?.isAlive === true;
  }

  /** Resolves when the instance is present for the first time. @throws the signal's reason when it aborts first */
  async start(signal: AbortSignal): Promise<void> {
    const abort = new AbortController();
    this.#abort = abort;
    const present = new Promise<void>((resolve) => {
      this.#onPresent = resolve;
    });
    this.#loop = this.#run(abort.signal);
    const onAbort = (): void => this.#onPresent();
    signal.addEventListener("abort", onAbort, { once: true });
    await present;
    signal.removeEventListener("abort", onAbort);
    signal.throwIfAborted();
  }

  /** Says good-bye: the presence ends now, and the node goes unless an operator has banned it. */
  async stop(): Promise<void> {
    this.#abort?.abort();
    await this.#loop;
    try {
      const client = this.#options.client();
      if (!(await client.exists(`${this.#path}/@banned`))) {
        await client.remove(this.#path, { recursive: true, force: true });
      }
    } catch (thrown) {
      this.#options.logger.debug({ err: toYtError(thrown) }, "the instance's node stays");
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#stay(signal);
      } catch (thrown) {
        if (!signal.aborted) {
          logger.warn({ err: toYtError(thrown) }, "registration of the instance: trying again");
        }
      }
      await sleep(clock, retryMs, signal).catch(() => {});
    }
  }

  async #stay(signal: AbortSignal): Promise<void> {
    const { clock, agentId, transactionTimeoutMs, logger } = this.#options;
    const client = this.#options.client();
    await this.#createNode(client, signal);
    const transaction = await PingedTransaction.start(
      {
        client,
        clock,
        timeoutMs: transactionTimeoutMs,
        attributes: mapOf({ host: agentId, title: "Queue agent presence" }),
      },
      signal,
    );
    try {
      await client.execute(
        "lock",
        { path: this.#path, mode: "shared", attribute_key: presenceKey, transaction_id: transaction.id },
        { signal },
      );
      this.#presence = transaction;
      this.#onPresent();
      logger.info({ agent_id: agentId }, "the instance is registered");
      await transaction.endedOr(signal);
    } finally {
      this.#presence = undefined;
      await transaction.close();
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
