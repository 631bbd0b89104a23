/**
 * `@qyt/queue-agent`: follows queues, consumers and registrations of a set of clusters: statuses, rates,
 * lag, alerts, automatic trimming, exports to static tables. A client of the clusters' HTTP API, never on
 * the data path.
 */
export { type DynamicConfig, defaultDynamicConfig } from "./config/dynamic-config.ts";
