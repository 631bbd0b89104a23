/**
 * `@qyt/queue-agent`: follows queues, consumers and registrations of a set of clusters: statuses, rates,
 * lag, alerts, automatic trimming, exports to static tables. A client of the clusters' HTTP API, never on
 * the data path.
 */
export type { ClusterAccess } from "./clusters/cluster-clients.ts";
export { type DynamicConfig, defaultDynamicConfig } from "./config/dynamic-config.ts";
export { parseStaticConfig, type StaticConfig } from "./config/static-config.ts";
export { type QueueAgent, type QueueAgentOptions, startQueueAgent } from "./main.ts";
