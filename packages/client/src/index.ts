/** `@qyt/client`: a client of any YTsaurus HTTP proxy. */
export { createClient, YtClient } from "./client.ts";
export { Batch } from "./consumer/batch.ts";
export {
  type BatchHandler,
  Consumer,
  type ConsumerOptions,
  createConsumer,
  type QueueSelection,
  type RunOptions,
} from "./consumer/consumer.ts";
export { createDeadLetterQueue } from "./consumer/dead-letters.ts";
export type { ConsumerEvent } from "./consumer/events.ts";
export type { StartPolicy } from "./consumer/layout.ts";
export type { PoisonPolicy } from "./consumer/settlement.ts";
export { type Call, isRetriable, Requester, readAll, readChunks } from "./core.ts";
export {
  channelNames,
  type ProducerEvent,
  type RequestEnd,
  type RequestRetry,
  type RequestStart,
  type TransactionEvent,
} from "./diagnostics.ts";
export {
  type ClientOptions,
  type DiscoveryOptions,
  defaultRequestTimeoutMs,
  defaultRetryPolicy,
  proxyUrl,
  type ResolvedOptions,
  type RetryPolicy,
  resolveOptions,
} from "./options.ts";
export { ProducerFenced } from "./producer/fenced.ts";
export { type Acknowledged, Producer, type ProducerOptions } from "./producer/producer.ts";
export { decodeRows, encodeRows, type RowInput, type RowObject } from "./rows.ts";
export {
  type InputRowOf,
  type PulledRowOf,
  queueColumns,
  queueSchema,
  type RowOf,
  Schema,
  type SchemaOptions,
  schema,
} from "./schema/schema.ts";
export { Table } from "./schema/table.ts";
export type {
  ColumnSpec,
  Columns,
  ColumnType,
  KeyRow,
  PulledRow,
  QueueRow,
  ReadRow,
  WriteRow,
} from "./schema/types.ts";
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
