/** The instances under `<root>/instances`: which of them live, which are banned. */
import { attributesOf, bare, isList, isMap, type YsonMap, type YsonValue } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { presenceKey } from "../election/instance-registration.ts";
import { textOf } from "../scalars.ts";

export interface Instance {
  /** `host:port`. */
  readonly id: string;
  readonly stage: string | null;
  /** Takes no objects and leads nothing: an operator has set `@banned`. */
  readonly isBanned: boolean;
  /** Holds the lock that says that it lives. */
  readonly isPresent: boolean;
}

/** Sorted by id, which is the order of discovery. @throws YtError when the list cannot be read */
export async function listInstances(
  client: YtClient,
  root: string,
  signal: AbortSignal,
): Promise<readonly Instance[]> {
  const children = await client.list(`${root}/instances`, {
    attributes: ["queue_agent_stage", "banned", "locks"],
    signal,
  });
  const instances = isList(children) ? children.flatMap(instanceOf) : [];
  return instances.sort((a, b) => (a.id < b.id ? -1 : 1));
}

function instanceOf(child: YsonValue): Instance[] {
  const id = textOf(child);
  const attributes = attributesOf(child);
  return id === null
    ? []
    : [
        {
          id,
          stage: textOf(attributes.get("queue_agent_stage")),
          isBanned: bare(attributes.get("banned") ?? null) === true,
          isPresent: hasPresenceLock(attributes),
        },
      ];
}

function hasPresenceLock(attributes: YsonMap): boolean {
  const locks = bare(attributes.get("locks") ?? null);
  return (
    isList(locks) &&
    locks.some((item) => {
      const lock = bare(item);
      return (
        isMap(lock) &&
        textOf(lock.get("state")) === "acquired" &&
        textOf(lock.get("attribute_key")) === presenceKey
      );
    })
  );
}
