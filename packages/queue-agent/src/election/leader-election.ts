/**
 * Election by a lock: every instance queues an exclusive lock on `<root>/leader_lock` under a transaction of
 * its own; who has it leads. Locks of those that are gone go with their transactions.
 *
 * Specified in: yt/yt/ytlib/cypress_election/election_manager.cpp.
 */
import { type Clock, isMap, mapOf, sleep, toYtError, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import type { Logger } from "pino";
import { PingedTransaction } from "../pinged-transaction.ts";

export interface ElectionOptions {
  /** Asked at each try: connections change. */
  readonly client: () => YtClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly lockPath: string;
  /** The transaction's attribute `host`. */
  readonly agentId: string;
  readonly transactionTimeoutMs: number;
}

const lockPollMs = 250;
const retryMs = 500;

export class LeaderElection {
  readonly #options: ElectionOptions;
  #abort: AbortController | undefined;
  #loop: Promise<void> = Promise.resolve();
  #leading: PingedTransaction | undefined;

  constructor(options: ElectionOptions) {
    this.#options = options;
  }

  /** Ask before each step that only a leader may take. */
  get isLeader(): boolean {
    return this.#leading?.isAlive === true;
  }

  start(): void {
    this.#abort = new AbortController();
    this.#loop = this.#run(this.#abort.signal);
  }

  /** Gives the lock to the next one in the queue. */
  async stop(): Promise<void> {
    this.#abort?.abort();
    await this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#candidate(signal);
      } catch (thrown) {
        if (!signal.aborted) {
          logger.warn({ err: toYtError(thrown) }, "election: trying again");
        }
      }
      await sleep(clock, retryMs, signal).catch(() => {});
    }
  }

  /** One transaction, from its start to its loss. */
  async #candidate(signal: AbortSignal): Promise<void> {
    const { clock, agentId, transactionTimeoutMs, logger } = this.#options;
    const client = this.#options.client();
    const attributes = mapOf({ host: agentId, title: "Queue agent leader election" });
    const transaction = await PingedTransaction.start(
      { client, clock, timeoutMs: transactionTimeoutMs, attributes },
      signal,
    );
    try {
      const lockId = await this.#takeLock(client, transaction.id, signal);
      while (transaction.isAlive && !signal.aborted) {
        const state = await client.get(`#${lockId}/@state`, { signal });
        if (state === "acquired") {
          break;
        }
        await sleep(clock, lockPollMs, signal);
      }
      if (transaction.isAlive && !signal.aborted) {
        logger.info({ transaction_id: transaction.id }, "election: this instance leads");
        this.#leading = transaction;
        await transaction.endedOr(signal);
        logger.info("election: this instance leads no more");
      }
    } finally {
      this.#leading = undefined;
      await transaction.close();
    }
  }

  async #takeLock(client: YtClient, transactionId: string, signal: AbortSignal): Promise<string> {
    const { lockPath } = this.#options;
    await client.create("map_node", lockPath, { recursive: true, ignoreExisting: true, signal });
    const answer = await client.execute(
      "lock",
      { path: lockPath, mode: "exclusive", waitable: true, transaction_id: transactionId },
      { signal },
    );
    const lockId = isMap(answer) ? answer.get("lock_id") : answer;
    if (typeof lockId !== "string") {
      throw new YtError("The proxy's answer to a lock has no id");
    }
    return lockId;
  }
}
