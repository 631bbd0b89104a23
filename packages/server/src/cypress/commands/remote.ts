/**
 * Reading what another process has: attributes such as `queue_status`, and the nodes `orchid`. The path is
 * resolved here as far as the tree goes; the rest of it is asked there.
 * Specified in: yt/yt/server/master/table_server/helpers.cpp (GetQueueAgentAttributeAsync),
 * yt/yt/server/lib/misc/orchid_ypath_service (orchid_node).
 */
import { type YsonValue, YtError } from "@qyt/base";
import { hasAttribute } from "../attributes/presence.ts";
import type { RemoteMethod, RemoteValue, View } from "../node-type.ts";
import { innerPathText, type Target } from "../resolve.ts";

export interface RemotePart {
  readonly value: RemoteValue;
  /** What follows, "" or "/a/b". */
  readonly path: string;
}

/** The part of a remote value that the target names; `undefined` when the answer is in the tree itself. */
export function remotePart(view: View, target: Target): RemotePart | undefined {
  switch (target.kind) {
    case "node":
    case "inner": {
      const value = view.typeOf(target.node).remote?.(target.node, view);
      const path = target.kind === "node" ? "" : innerPathText(target.steps);
      return value === undefined ? undefined : { value, path };
    }
    case "attribute": {
      const { node, name, steps } = target;
      const builtin = name === undefined ? undefined : view.types.attributesOf(node.type).get(name);
      return builtin?.remote === undefined || !hasAttribute(builtin, node, view)
        ? undefined
        : { value: builtin.remote(node, view), path: innerPathText(steps) };
    }
    default:
      return undefined;
  }
}

/** @throws YtError what the other process says; a path that is not there as an error of this path */
export async function askRemote(
  { value, path }: RemotePart,
  method: RemoteMethod,
  wholePath: string,
): Promise<YsonValue> {
  try {
    return await value.ask(method, path);
  } catch (error) {
    throw error instanceof YtError && error.has("ResolveError")
      ? error.wrap(`Error resolving path ${wholePath}`, { path: wholePath })
      : error;
  }
}

/** Whether the part is there. A path that cannot be resolved over there is not. */
export async function existsRemotely({ value, path }: RemotePart): Promise<boolean> {
  try {
    return (await value.ask("exists", path)) === true;
  } catch (error) {
    if (error instanceof YtError && error.has("ResolveError")) {
      return false;
    }
    throw error;
  }
}
