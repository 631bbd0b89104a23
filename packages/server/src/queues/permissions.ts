/** Permission checks with the message around them that clients of the real system look for. */
import { toYtError } from "@qyt/base";
import type { RichPath } from "@qyt/yson";
import type { DynamicTable } from "../tablets/index.ts";
import type { QueueContext, QueueServices } from "./context.ts";

type Permission = "read" | "write";

const names: Readonly<Record<Permission, string>> = { read: "Read", write: "Write" };

/** The table at a path of this cluster, for a user who has the permission. @throws YtError 500, 901 */
export function permittedTable(
  services: QueueServices,
  context: QueueContext,
  path: RichPath,
  permission: Permission,
): DynamicTable {
  return explained(path.path, permission, () => services.tables.dynamicTable(context, path, { permission }));
}

/** @throws YtError 901 */
export function checkPermission(table: DynamicTable, context: QueueContext, permission: Permission): void {
  explained(table.path, permission, () => table.check(context.user, permission));
}

function explained<T>(path: string, permission: Permission, check: () => T): T {
  try {
    return check();
  } catch (thrown) {
    const error = toYtError(thrown);
    throw error.has("AuthorizationError")
      ? error.wrap(`No ${names[permission]} permission for ${path}`)
      : error;
  }
}
