/**
 * Holds a lock for as long as the process lives: under a pinged transaction of its own, and under another one,
 * after a pause, whenever that is lost or something fails.
 */
import { type Clock, mapOf, sleep, toYtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import type { Logger } from "pino";
import { PingedTransaction } from "../pinged-transaction.ts";

export interface LockHolderOptions {
  /** Asked at each try: connections change. */
  readonly client: () => YtClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The transaction's attribute `host`. */
  readonly agentId: string;
  readonly transactionTimeoutMs: number;
}

export interface HeldLock {
  /** The transaction's attribute `title`. */
  readonly title: string;
  /** Logged with what failed. */
  readonly retryText: string;
  /** Makes what is locked, before there is a transaction. */
  prepare(client: YtClient, signal: AbortSignal): Promise<void>;
  /** Resolves when the lock is taken, or cannot be any more because the transaction or the work has ended. */
  take(client: YtClient, transaction: PingedTransaction, signal: AbortSignal): Promise<void>;
  onTaken(transaction: PingedTransaction): void;
  onLost?(): void;
}

const retryMs = 500;

export class LockHolder {
  readonly #options: LockHolderOptions;
  readonly #lock: HeldLock;
  #abort: AbortController | undefined;
  #loop: Promise<void> = Promise.resolve();
  #held: PingedTransaction | undefined;

  constructor(options: LockHolderOptions, lock: HeldLock) {
    this.#options = options;
    this.#lock = lock;
  }

  /** Whether the lock is held for certain. False at once after a pause of the process. */
  get isHeld(): boolean {
    return this.#held?.isAlive === true;
  }

  start(): void {
    this.#abort = new AbortController();
    this.#loop = this.#run(this.#abort.signal);
  }

  /** Gives the lock back. */
  async stop(): Promise<void> {
    this.#abort?.abort();
    await this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#hold(signal);
      } catch (thrown) {
        if (!signal.aborted) {
          logger.warn({ err: toYtError(thrown) }, this.#lock.retryText);
        }
      }
      await sleep(clock, retryMs, signal).catch(() => {});
    }
  }

  /** One transaction, from its start to its loss. */
  async #hold(signal: AbortSignal): Promise<void> {
    const { clock, agentId, transactionTimeoutMs } = this.#options;
    const client = this.#options.client();
    await this.#lock.prepare(client, signal);
    const attributes = mapOf({ host: agentId, title: this.#lock.title });
    const transaction = await PingedTransaction.start(
      { client, clock, timeoutMs: transactionTimeoutMs, attributes },
      signal,
    );
    try {
      await this.#lock.take(client, transaction, signal);
      if (transaction.isAlive && !signal.aborted) {
        this.#held = transaction;
        this.#lock.onTaken(transaction);
        await transaction.endedOr(signal);
        this.#lock.onLost?.();
      }
    } finally {
      this.#held = undefined;
      await transaction.close();
    }
  }
}
