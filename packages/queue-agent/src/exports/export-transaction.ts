/**
 * The master transaction of an export task: pinged until it ends. When the agent dies, the cluster aborts it
 * after its timeout, and with it everything that the task has done.
 */
import { type Clock, sleep } from "@qyt/base";
import type { YtClient } from "@qyt/client";

/** Nested transactions have the same; they end with the one around them. */
export const exportTransactionTimeoutMs = 30_000;
const pingPeriodMs = 7_500;

/**
 * Runs `work` in a new transaction and commits it; when `work` throws, or the commit does, it is aborted.
 *
 * @throws YtError that of `work`, or of the start or the commit. After a failed commit it is unknown whether
 * its changes are there: read them again.
 */
export async function inTransaction<T>(
  client: YtClient,
  clock: Clock,
  signal: AbortSignal,
  title: string,
  work: (transactionId: string) => Promise<T>,
): Promise<T> {
  const transactionId = await client.startTransaction({
    transactionTimeoutMs: exportTransactionTimeoutMs,
    attributes: new Map([["title", title]]),
    signal,
  });
  const pinging = new AbortController();
  const pings = ping(client, clock, transactionId, pinging.signal);
  try {
    const result = await work(transactionId);
    signal.throwIfAborted();
    await client.commitTransaction(transactionId, { signal });
    return result;
  } catch (thrown) {
    // Not waited for long: a cluster that is gone aborts it by itself.
    await client.abortTransaction(transactionId, { timeoutMs: pingPeriodMs }).catch(() => {});
    throw thrown;
  } finally {
    pinging.abort();
    await pings;
  }
}

async function ping(
  client: YtClient,
  clock: Clock,
  transactionId: string,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await sleep(clock, pingPeriodMs, signal);
      await client.pingTransaction(transactionId, { signal });
    } catch {
      // A transaction that is gone fails the next request of the task, which says so.
    }
  }
}
