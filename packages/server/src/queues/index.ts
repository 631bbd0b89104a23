/** The door of the queue room. */
export { type AdvanceParameters, advanceQueueConsumer } from "./consumers.ts";
export type { QueueContext, QueueServices } from "./context.ts";
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
export {
  defaultMaxDataWeight,
  defaultMaxRowCount,
  type PullLimits,
  type PullResult,
  pullQueue,
  pullQueueConsumer,
} from "./pulls.ts";
export { formatReference, type Reference } from "./references.ts";
export {
  LocalRegistrationTable,
  type Registration,
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
