/** What the queue commands work with, and who asks. */

import type { CallBounds, ClusterDirectory } from "../clusters/index.ts";
import type { View } from "../cypress/index.ts";
import type { TableManager, TabletTransaction, TabletTransactions } from "../tablets/index.ts";
import type { Keepers } from "./keepers.ts";
import type { PullWaits } from "./pull-waits.ts";
import type { RegistrationTable } from "./registration-table.ts";

export interface QueueServices {
  readonly clusterName: string;
  readonly clusters: ClusterDirectory;
  readonly tables: TableManager;
  readonly transactions: TabletTransactions;
  readonly registrations: RegistrationTable;
  readonly keepers: Keepers;
  readonly waits: PullWaits;
  /** The committed tree, for permission checks. */
  readonly view: () => View;
}

/** Who asks, and for how long he waits. */
export interface QueueContext extends CallBounds {
  readonly user: string;
  /** The trusted cluster that asks in the name of the user; `undefined`: the user asks himself. */
  readonly peer?: string | undefined;
  /** Aborts when waiting for rows is over, whereas the answer is still wanted. */
  readonly endOfWait?: AbortSignal | undefined;
  /** For after a wait: whether the user is still there, not banned, and the one who asks. @throws YtError 900, 111, 903, 910 */
  readonly checkUserAgain?: () => Promise<void>;
}

/** Which transaction a change is made in. */
export interface ChangeOptions {
  /** The caller's tablet transaction. Absent: an own one, committed before the answer. */
  readonly transactionId: string | undefined;
  /** Of an own transaction. Default: `full`, `sync`. */
  readonly atomicity?: "full" | "none";
  readonly durability?: "sync" | "async";
}

/** The caller's tablet transaction, or an own one that is committed before the answer. */
export async function inTransaction<T>(
  services: QueueServices,
  context: QueueContext,
  options: ChangeOptions,
  work: (transaction: TabletTransaction) => T | Promise<T>,
): Promise<T> {
  if (options.transactionId !== undefined) {
    return work(services.transactions.get(options.transactionId));
  }
  const { atomicity = "full", durability = "sync" } = options;
  return services.transactions.run({ user: context.user, atomicity, durability }, work);
}
