/**
 * The master transaction of an export task: pinged until it ends. When the agent dies, the cluster aborts it
 * after its timeout, and with it everything that the task has done.
 */
import { type Clock, mapOf } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { PingedTransaction } from "../pinged-transaction.ts";

/** So long the directory stays locked at most when the agent dies in the middle of a task. */
export const exportTransactionTimeoutMs = 10_000;
/** Nested transactions are not pinged: they end with the one around them. */
export const nestedTransactionTimeoutMs = 3_600_000;

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
  const transaction = await PingedTransaction.start(
    { client, clock, timeoutMs: exportTransactionTimeoutMs, attributes: mapOf({ title }) },
    signal,
  );
  try {
    const result = await work(transaction.id);
    signal.throwIfAborted();
    await transaction.commit(signal);
    return result;
  } catch (thrown) {
    await transaction.close();
    throw thrown;
  }
}
