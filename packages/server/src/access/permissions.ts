/**
 * Permissions by name. Specified in: yt/yt/core/ytree/permission.h.
 */
import { YtError } from "@qyt/base";

export const permissionNames = [
  "read",
  "write",
  "use",
  "administer",
  "create",
  "remove",
  "mount",
  "manage",
  "modify_children",
  "full_read",
  "register_queue_consumer",
] as const;

export type Permission = (typeof permissionNames)[number];

const known: ReadonlySet<string> = new Set(permissionNames);

function isPermission(text: string): text is Permission {
  return known.has(text);
}

/** @throws YtError when there is no such permission */
export function parsePermission(text: string): Permission {
  if (!isPermission(text)) {
    throw new YtError(`Error parsing EPermission value "${text}"`);
  }
  return text;
}
