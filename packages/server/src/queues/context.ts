/** What the queue commands work with, and who asks. */
import type { View } from "../cypress/index.ts";
import type { ClusterDirectory } from "../clusters/index.ts";
import type { TableManager, TabletTransaction, TabletTransactions } from "../tablets/index.ts";
import type { RegistrationTable } from "./registration-table.ts";

export interface QueueServices {
  readonly clusterName: string;
  readonly clusters: ClusterDirectory;
  readonly tables: TableManager;
  readonly transactions: TabletTransactions;
  readonly registrations: RegistrationTable;
  /** The committed tree, for permission checks. */
  readonly view: () => View;
}

export interface QueueContext {
  readonly user: string;
  readonly signal?: AbortSignal;
}

/** The caller's tablet transaction, or an own one that is committed before the answer. */
export async function inTransaction<T>(
  services: QueueServices,
  context: QueueContext,
  transactionId: string | undefined,
  work: (transaction: TabletTransaction) => T | Promise<T>,
): Promise<T> {
  if (transactionId !== undefined) {
    return work(services.transactions.get(transactionId));
  }
  const transaction = services.transactions.begin({ user: context.user });
  try {
    const result = await work(transaction);
    await transaction.commit();
    return result;
  } catch (error) {
    transaction.abort();
    throw error;
  }
}
