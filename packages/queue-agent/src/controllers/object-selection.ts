/**
 * Which objects this agent leads and which it follows. A pure function of the state tables.
 *
 * Specified in: yt/yt/server/queue_agent/queue_agent.cpp (TQueueAgent::Pass).
 */
import { referenceToString } from "../objects/reference.ts";
import {
  type DynamicState,
  isReplicated,
  type RegistrationRow,
  type StateRow,
} from "../objects/state-rows.ts";

/** Reference → whether it is led; what is not in it is none of this agent's. */
type SelectedObjects = ReadonlyMap<string, boolean>;

export interface Selection {
  readonly queues: SelectedObjects;
  readonly consumers: SelectedObjects;
  readonly registrationsByQueue: ReadonlyMap<string, readonly RegistrationRow[]>;
  readonly registrationsByConsumer: ReadonlyMap<string, readonly RegistrationRow[]>;
}

/**
 * Leads what is mapped to it, and follows the other end of each registration of these. An object without a
 * row cannot be followed.
 */
export function selectObjects(
  state: DynamicState,
  agentId: string,
  options: { readonly handleReplicatedObjects: boolean },
): Selection {
  const queues = led(state.queues, state.mapping, agentId, options.handleReplicatedObjects);
  const consumers = led(state.consumers, state.mapping, agentId, options.handleReplicatedObjects);
  const registrationsByQueue = new Map<string, RegistrationRow[]>();
  const registrationsByConsumer = new Map<string, RegistrationRow[]>();
  const followedQueues: string[] = [];
  const followedConsumers: string[] = [];
  for (const registration of state.registrations) {
    const queue = referenceToString(registration.queue);
    const consumer = referenceToString(registration.consumer);
    append(registrationsByQueue, queue, registration);
    append(registrationsByConsumer, consumer, registration);
    if (queues.has(queue) && state.consumers.has(consumer)) {
      followedConsumers.push(consumer);
    }
    if (consumers.has(consumer) && state.queues.has(queue)) {
      followedQueues.push(queue);
    }
  }
  follow(queues, followedQueues);
  follow(consumers, followedConsumers);
  return { queues, consumers, registrationsByQueue, registrationsByConsumer };
}

function led(
  rows: ReadonlyMap<string, StateRow>,
  mapping: ReadonlyMap<string, string>,
  agentId: string,
  handleReplicatedObjects: boolean,
): Map<string, boolean> {
  const result = new Map<string, boolean>();
  for (const [reference, row] of rows) {
    if (mapping.get(reference) === agentId && (handleReplicatedObjects || !isReplicated(row))) {
      result.set(reference, true);
    }
  }
  return result;
}

function follow(objects: Map<string, boolean>, references: readonly string[]): void {
  for (const reference of references) {
    if (!objects.has(reference)) {
      objects.set(reference, false);
    }
  }
}

function append<T>(groups: Map<string, T[]>, key: string, item: T): void {
  const group = groups.get(key);
  if (group === undefined) {
    groups.set(key, [item]);
  } else {
    group.push(item);
  }
}
