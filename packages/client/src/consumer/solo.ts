/** How a consumer gets its partitions without a group: all that it asks for, at once, and new ones as they come. */
import { type Clock, sleep } from "@qyt/base";
import type { Layout } from "./group-table.ts";
import { firstLayout, nextLayout, type StartPolicy, storeStarts } from "./layout.ts";
import { findMoved, type MembershipHost, type Subscription, versionsOf } from "./membership.ts";
import { noAttempts } from "./partition.ts";

export interface SoloOptions {
  readonly subscriptions: readonly Subscription[];
  readonly start: StartPolicy;
  /** How often it is looked for new partitions and for offsets that others have moved. */
  readonly periodMs: number;
  readonly clock: Clock;
  readonly host: MembershipHost;
}

export class SoloMembership {
  readonly #options: SoloOptions;
  readonly #stop = new AbortController();
  readonly #layouts = new Map<string, Layout>();
  #running: Promise<void> = Promise.resolve();

  constructor(options: SoloOptions) {
    this.#options = options;
  }

  isFresh(_nowMs: number): boolean {
    return true;
  }

  /** @throws YtError when the queues cannot be looked at */
  async join(): Promise<void> {
    for (const subscription of this.#options.subscriptions) {
      const { layout, starts } = await firstLayout(subscription.link, this.#options.start);
      const isRead = ([partition]: readonly [number, bigint]): boolean => reads(subscription, partition);
      await storeStarts(subscription.link, new Map([...starts].filter(isRead)), subscription.link.client);
      this.#layouts.set(subscription.link.key, layout);
      await this.#gain(subscription, 0, layout.count);
    }
    this.#running = this.#goOn();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async leave(): Promise<void> {
    // There is nobody to be told.
  }

  async #goOn(): Promise<void> {
    const { clock, host, periodMs, subscriptions } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await sleep(clock, periodMs, signal).catch(() => undefined);
      for (const subscription of signal.aborted ? [] : subscriptions) {
        try {
          await this.#look(subscription);
        } catch (thrown) {
          host.failed(`look for changes of queue ${subscription.link.key}`, thrown);
        }
      }
    }
  }

  async #look(subscription: Subscription): Promise<void> {
    const { host } = this.#options;
    const { link } = subscription;
    await findMoved(link, host, versionsOf(host.partitions.values()));
    const layout = this.#layouts.get(link.key);
    const next = layout === undefined ? undefined : await nextLayout(link, layout);
    if (layout !== undefined && next !== undefined) {
      this.#layouts.set(link.key, next);
      await this.#gain(subscription, layout.count, next.count);
    }
  }

  async #gain(subscription: Subscription, from: number, to: number): Promise<void> {
    const { link } = subscription;
    const partitions: number[] = [];
    for (let partition = from; partition < to; ++partition) {
      if (reads(subscription, partition)) {
        partitions.push(partition);
      }
    }
    const stored = await link.storedOffsets(partitions);
    for (const index of partitions) {
      const offset = stored.get(index) ?? 0n;
      this.#options.host.gain({ link, index }, { epoch: undefined, offset, attempts: noAttempts });
    }
  }
}

function reads({ partitions }: Subscription, partition: number): boolean {
  return partitions === null || partitions.includes(partition);
}
