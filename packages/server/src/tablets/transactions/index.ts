/** Tablet transactions. */
export {
  type InsertOptions,
  TabletTransaction,
  type TransactionState,
} from "./tablet-transaction.ts";
export { type BeginOptions, type StartOptions, TabletTransactions } from "./tablet-transactions.ts";
