/** `@qyt/client`: a client of any YTsaurus HTTP proxy. */
export { createClient, YtClient } from "./client.ts";
export { type Call, isRetriable, Requester, readAll, readChunks } from "./core.ts";
export {
  type ClientOptions,
  defaultRequestTimeoutMs,
  defaultRetryPolicy,
  proxyUrl,
  type ResolvedOptions,
  type RetryPolicy,
  resolveOptions,
} from "./options.ts";
export { decodeRows, encodeRows, type RowInput, type RowObject } from "./rows.ts";
export { TransactionOutcomeUnknown } from "./transactions/outcome.ts";
export { Transaction, type TransactionOptions } from "./transactions/transaction.ts";
export {
  type Transport,
  type TransportRequest,
  type TransportResponse,
  undiciTransport,
} from "./transport.ts";
export type {
  Attributes,
  CommandOptions,
  LayoutOptions,
  PathInput,
  ProducerSession,
  PulledPortion,
  PullOptions,
  Registration,
  TransactionalOptions,
} from "./types.ts";
