/** Everything that commands work with: the rooms of one cluster, put together in `main.ts`. */

import type { Cell } from "../cell/index.ts";
import type { ClusterDirectory, OrchidClient } from "../clusters/index.ts";
import type { Access, Credentials, Cypress } from "../cypress/index.ts";
import type { QueueServices } from "../queues/index.ts";
import type { TableManager, TabletTransactions } from "../tablets/index.ts";

export interface Services {
  readonly clusterName: string;
  readonly version: string;
  /** `host:port` of this proxy, as clients are told it. */
  readonly proxyAddress: () => string;
  readonly cell: Cell;
  readonly cypress: Cypress;
  readonly access: Access;
  readonly credentials: Credentials;
  readonly tables: TableManager;
  readonly transactions: TabletTransactions;
  readonly clusters: ClusterDirectory;
  readonly queues: QueueServices;
  /** Asks other processes: the leading controllers of pipelines. */
  readonly processes: OrchidClient;
  /** Runs a sub-request of `execute_batch`. */
  readonly driver: () => import("./command.ts").Driver;
}
