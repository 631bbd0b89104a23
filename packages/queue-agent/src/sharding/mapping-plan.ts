/**
 * What has to change in the mapping of objects to instances. Pure.
 *
 * Specified in: yt/yt/server/queue_agent/queue_agent_sharding_manager.cpp.
 */
import type { ObjectReference } from "../objects/reference.ts";
import { Rendezvous } from "./rendezvous.ts";

/** A row of `queues` or `consumers`, as far as the mapping needs it. */
export interface ShardedObject {
  readonly reference: ObjectReference;
  readonly queueAgentStage: string | null;
}

export interface MappingInput {
  readonly stage: string;
  /** By reference. One that is in both tables counts once. */
  readonly objects: ReadonlyMap<string, ShardedObject>;
  readonly mapping: ReadonlyMap<string, string>;
  /** Ids of the instances of this stage that take objects. */
  readonly instances: readonly string[];
  /** Ids of the instances of other stages, which keep a mapping of their own in the same table. */
  readonly foreignInstances: ReadonlySet<string>;
}

export interface MappingPlan {
  /** Reference → new host; only what changes. */
  readonly write: ReadonlyMap<string, string>;
  readonly remove: readonly string[];
}

export function planMapping(input: MappingInput): MappingPlan {
  const { stage, objects, mapping, instances, foreignInstances } = input;
  const rendezvous = new Rendezvous(instances);
  const write = new Map<string, string>();
  for (const [key, { reference, queueAgentStage }] of objects) {
    if (queueAgentStage === stage) {
      const host = rendezvous.choose(reference);
      if (host !== undefined && mapping.get(key) !== host) {
        write.set(key, host);
      }
    }
  }
  const remove = [...mapping].flatMap(([key, host]) => {
    const object = objects.get(key);
    const isForeign = object !== undefined && object.queueAgentStage !== stage && foreignInstances.has(host);
    return object?.queueAgentStage === stage || isForeign ? [] : [key];
  });
  return { write, remove };
}
