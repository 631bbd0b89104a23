/**
 * What each error code of this server means, what causes it and what to do: the source of
 * `docs/errors.md`. A code that the server can raise and that is not described here fails a test.
 */
import type { DescriptionTable } from "./error-description.ts";
import { alertDescriptions } from "./error-descriptions-alerts.ts";
import { dataErrorDescriptions } from "./error-descriptions-data.ts";
import { systemErrorDescriptions } from "./error-descriptions-system.ts";

export const errorDescriptions: DescriptionTable = {
  ...systemErrorDescriptions,
  ...dataErrorDescriptions,
  ...alertDescriptions,
};

/** Areas of codes: each goes on until the next one begins. */
export const errorAreas: readonly { readonly title: string; readonly from: number }[] = [
  { title: "Generic", from: -1 },
  { title: "Network and RPC", from: 100 },
  { title: "Scheduler", from: 200 },
  { title: "Tables: rows and schemas", from: 300 },
  { title: "Cypress locks", from: 400 },
  { title: "Cypress tree", from: 500 },
  { title: "Hydra", from: 600 },
  { title: "Chunks", from: 700 },
  { title: "Election", from: 800 },
  { title: "Security", from: 900 },
  { title: "Objects", from: 1000 },
  { title: "Nodes", from: 1600 },
  { title: "Dynamic tables and queries", from: 1700 },
  { title: "API", from: 1900 },
  { title: "RPC proxy", from: 2100 },
  { title: "Hive", from: 2200 },
  { title: "Paths", from: 2700 },
  { title: "Formats", from: 2800 },
  { title: "Alerts of the queue agent", from: 3000 },
  { title: "Queues", from: 3100 },
  { title: "Chaos", from: 3200 },
  { title: "Flow", from: 3300 },
  { title: "Query tracker", from: 3900 },
  { title: "YSON", from: 4000 },
  { title: "Sequoia", from: 6000 },
  { title: "Transactions", from: 11_000 },
  { title: "File system", from: 19_000 },
];
