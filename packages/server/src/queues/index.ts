/** The door of the queue room. */
export { type AdvanceParameters, advanceQueueConsumer } from "./consumers.ts";
export type { ChangeOptions, QueueContext, QueueServices } from "./context.ts";
export { Keepers, keeperSettings } from "./keepers.ts";
export {
  createProducerSession,
  type PushParameters,
  type PushResult,
  pushQueueProducer,
  pushTables,
  removeProducerSession,
  type SessionParameters,
  type SessionState,
} from "./producers.ts";
export type { PullLimits, PullResult, PullSummary } from "./pull-types.ts";
export { PullWaits, type Wait } from "./pull-waits.ts";
export { defaultMaxDataWeight, defaultMaxRowCount, pullQueue, pullQueueConsumer } from "./pulls.ts";
export type { ConsumerReference, Reference } from "./reference.ts";
export { formatReference } from "./reference.ts";
export {
  type Registration,
  type RegistrationFilter,
  registrationTablePath,
  registrationTableSchema,
  registrationToYson,
} from "./registration-rows.ts";
export {
  LocalRegistrationTable,
  type RegistrationTable,
  RemoteRegistrationTable,
} from "./registration-table.ts";
export {
  listQueueConsumerRegistrations,
  type RegisterParameters,
  registerQueueConsumer,
  unregisterQueueConsumer,
} from "./registrations.ts";
