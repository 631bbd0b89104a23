/** Permission checks with the message around them that clients of the real system look for. */
import { toYtError } from "@qyt/base";
import type { RichPath } from "@qyt/yson";
import type { DynamicTable } from "../tablets/index.ts";
import type { QueueContext, QueueServices } from "./context.ts";

type Permission = "read" | "write";

const names: Readonly<Record<Permission, string>> = { read: "Read", write: "Write" };

/**
 * The table at a path of this cluster, for a user who has the permission: to read is to read all columns.
 * @throws YtError 500, 901
 */
export function permittedTable(
  services: QueueServices,
  context: QueueContext,
  path: RichPath,
  permission: Permission,
): DynamicTable {
  return explained(path.path, permission, () => {
    const table = services.tables.dynamicTable(context, path, { permission });
    if (permission === "read") {
      table.check(context.user, permission, "all");
    }
    return table;
  });
}

/** @throws YtError 901 */
export function checkPermission(table: DynamicTable, context: QueueContext, permission: Permission): void {
  explained(table.path, permission, () =>
    table.check(context.user, permission, permission === "read" ? "all" : undefined),
  );
}

function explained<T>(path: string, permission: Permission, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    const error = toYtError(thrown);
    throw error.has("AuthorizationError")
      ? error.wrap(`No ${names[permission]} permission for ${path}`)
      : error;
  }
}
