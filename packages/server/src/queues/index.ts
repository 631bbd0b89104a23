/** The door of the queue room. */
export { type AdvanceParameters, advanceQueueConsumer } from "./consumers.ts";
export type { ChangeOptions, QueueContext, QueueServices } from "./context.ts";
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
export { PullWaits, type Wait } from "./pull-waits.ts";
export {
  defaultMaxDataWeight,
  defaultMaxRowCount,
  type PullLimits,
  type PullResult,
  type PullSummary,
  pullQueue,
  pullQueueConsumer,
} from "./pulls.ts";
export { type ConsumerReference, formatReference, type Reference } from "./references.ts";
export {
  LocalRegistrationTable,
  type Registration,
  type RegistrationFilter,
  type RegistrationTable,
  RemoteRegistrationTable,
  registrationTablePath,
  registrationTableSchema,
} from "./registration-table.ts";
export {
  listQueueConsumerRegistrations,
  type RegisterParameters,
  registerQueueConsumer,
  unregisterQueueConsumer,
} from "./registrations.ts";
