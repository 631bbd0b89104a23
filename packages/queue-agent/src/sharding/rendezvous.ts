/**
 * Rendezvous hashing: each object goes to the instance with the least hash of both. When an instance goes,
 * only its objects move; when one comes, only those that it wins.
 *
 * Specified in: yt/yt/server/queue_agent/queue_agent_sharding_manager.cpp. The hash is a fixed function of
 * the names, so that every instance on every machine chooses alike.
 */
import { farmHash } from "@qyt/schema";
import { stringToBytes } from "@qyt/yson";
import type { ObjectReference } from "../objects/reference.ts";

const mask = (1n << 64n) - 1n;

/** An instance with the hash of its name, computed once. */
interface Candidate {
  readonly id: string;
  readonly hash: bigint;
}

export class Rendezvous {
  readonly #candidates: readonly Candidate[];

  /** @param instances ids of the instances that take objects; at least one */
  constructor(instances: readonly string[]) {
    this.#candidates = instances.map((id) => ({ id, hash: farmHash([stringToBytes(id)]) }));
  }

  /** The instance's id; `undefined` without instances. */
  choose({ cluster, path }: ObjectReference): string | undefined {
    const object = farmHash([stringToBytes(cluster), stringToBytes(path)]);
    let best: Candidate | undefined;
    for (const { id, hash } of this.#candidates) {
      const weight = mix(object, hash);
      if (best === undefined || weight < best.hash || (weight === best.hash && id < best.id)) {
        best = { id, hash: weight };
      }
    }
    return best?.id;
  }
}

/** Spreads the bits of both over all 64 (the finalizer of splitmix64). */
function mix(object: bigint, instance: bigint): bigint {
  let x = (object ^ ((instance * 0x9e3779b97f4a7c15n) & mask)) & mask;
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & mask;
  return x ^ (x >> 31n);
}
