/** Every command of the server. A command's whole behaviour is found from its declaration. */
import type { RegisteredCommand } from "../define.ts";
import { tokenCommands } from "./access-tokens.ts";
import { batchCommands } from "./batch.ts";
import { cypressCommands } from "./cypress.ts";
import { lookupCommands } from "./lookup-rows.ts";
import { miscCommands } from "./misc.ts";
import { queueChunkCommands } from "./queue-chunks.ts";
import { queueCommands } from "./queues.ts";
import { replicaCommands } from "./replicas.ts";
import { rowCommands } from "./rows.ts";
import { selectCommands } from "./select-rows.ts";
import { staticTableCommands } from "./static-tables.ts";
import { tableLayoutCommands } from "./table-layout.ts";
import { tableCommands } from "./tables.ts";
import { transactionCommands } from "./transactions.ts";

export const allCommands: readonly RegisteredCommand[] = [
  ...transactionCommands,
  ...cypressCommands,
  ...tableCommands,
  ...tableLayoutCommands,
  ...rowCommands,
  ...replicaCommands,
  ...lookupCommands,
  ...selectCommands,
  ...staticTableCommands,
  ...queueCommands,
  ...queueChunkCommands,
  ...miscCommands,
  ...tokenCommands,
  ...batchCommands,
];
