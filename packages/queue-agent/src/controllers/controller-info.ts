/**
 * `controller_info` of the Orchid: the objects whose passes are oldest, and how many are in error.
 *
 * Specified in: yt/yt/server/queue_agent/queue_agent.cpp (TQueueAgent::BuildControllerInfoYson).
 */
import { Attributed, mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import { instantFromMs } from "../snapshots/instants.ts";
import type { ConsumerObject, ObjectRegistry, QueueObject } from "./object-registry.ts";

type AnyObject = QueueObject | ConsumerObject;

/** @param limit objects listed of each kind at most (`inactive_object_display_limit`) */
export function controllerInfo(registry: ObjectRegistry, limit: number): YsonMap {
  const queues = [...registry.queues.values()];
  const consumers = [...registry.consumers.values()];
  const clusters = new Set([...queues, ...consumers].map(({ reference }) => reference.cluster));
  const perCluster = [...clusters].sort().map((cluster): [string, YsonValue] => {
    const isHere = ({ reference }: AnyObject): boolean => reference.cluster === cluster;
    return [cluster, describe(queues.filter(isHere), consumers.filter(isHere), limit)];
  });
  return new Map([...describe(queues, consumers, limit), ["per_cluster", new Map(perCluster)]]);
}

function describe(
  queues: readonly QueueObject[],
  consumers: readonly ConsumerObject[],
  limit: number,
): YsonMap {
  const oldest = (objects: readonly AnyObject[], isLeading: boolean): YsonValue =>
    objects
      .filter((object) => object.isLeading === isLeading && !isErroneous(object))
      .sort((left, right) => left.snapshot.passInstantMs - right.snapshot.passInstantMs)
      .slice(0, limit)
      .map(({ reference, snapshot }) =>
        mapOf({
          path: new Attributed(mapOf({ cluster: reference.cluster }), reference.path),
          pass_instant: instantFromMs(snapshot.passInstantMs),
        }),
      );
  return mapOf({
    inactive_objects: mapOf({
      leading_queues: oldest(queues, true),
      following_queues: oldest(queues, false),
      leading_consumers: oldest(consumers, true),
      following_consumers: oldest(consumers, false),
    }),
    erroneous_objects: mapOf({
      queue_count: BigInt(queues.filter(isErroneous).length),
      consumer_count: BigInt(consumers.filter(isErroneous).length),
    }),
  });
}

/** In error for its own sake: neither banned nor merely without a first pass. */
function isErroneous({ snapshot, isStateless }: AnyObject): boolean {
  return (
    isStateless || (snapshot.error !== null && snapshot.bannedSinceMs === null && snapshot.passIndex >= 0)
  );
}
