/**
 * Election by a lock: every instance queues an exclusive lock on `<root>/leader_lock` under a transaction of
 * its own; who has it leads. Locks of those that are gone go with their transactions.
 *
 * Specified in: yt/yt/ytlib/cypress_election/election_manager.cpp.
 */
import { isMap, sleep, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import type { PingedTransaction } from "../pinged-transaction.ts";
import { LockHolder, type LockHolderOptions } from "./lock-holder.ts";

export interface ElectionOptions extends LockHolderOptions {
  readonly lockPath: string;
}

const lockPollMs = 250;

export class LeaderElection {
  readonly #options: ElectionOptions;
  readonly #holder: LockHolder;

  constructor(options: ElectionOptions) {
    const { lockPath, logger } = options;
    this.#options = options;
    this.#holder = new LockHolder(options, {
      title: "Queue agent leader election",
      retryText: "election: trying again",
      prepare: async (client, signal) => {
        await client.create("map_node", lockPath, { recursive: true, ignoreExisting: true, signal });
      },
      take: (client, transaction, signal) => this.#candidate(client, transaction, signal),
      onTaken: ({ id }) => logger.info({ transaction_id: id }, "election: this instance leads"),
      onLost: () => logger.info("election: this instance leads no more"),
    });
  }

  /** Ask before each step that only a leader may take. */
  get isLeader(): boolean {
    return this.#holder.isHeld;
  }

  start(): void {
    this.#holder.start();
  }

  /** Gives the lock to the next one in the queue. */
  stop(): Promise<void> {
    return this.#holder.stop();
  }

  /** Queues for the lock, and waits for its turn. */
  async #candidate(client: YtClient, transaction: PingedTransaction, signal: AbortSignal): Promise<void> {
    const { clock, lockPath } = this.#options;
    const answer = await client.execute(
      "lock",
      { path: lockPath, mode: "exclusive", waitable: true, transaction_id: transaction.id },
      { signal },
    );
    const lockId = isMap(answer) ? answer.get("lock_id") : answer;
    if (typeof lockId !== "string") {
      throw new YtError("The proxy's answer to a lock has no id");
    }
    while (transaction.isAlive && !signal.aborted) {
      const state = await client.get(`#${lockId}/@state`, { signal });
      if (state === "acquired") {
        break;
      }
      await sleep(clock, lockPollMs, signal);
    }
  }
}
