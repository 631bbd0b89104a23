/**
 * Errors of access control. Specified in: yt/yt/server/master/security_server/security_manager.cpp.
 */
import { YtError } from "@qyt/base";
import type { Permission } from "./permissions.ts";

export interface Denial {
  readonly user: string;
  readonly permission: Permission;
  readonly objectId: string;
  readonly objectType: string;
  /** `node //tmp/t`, `account "a"`. */
  readonly objectName: string;
  readonly path?: string;
  readonly column?: string;
  /** The denying entry: name of its holder and its subject; absent when nothing allowed. */
  readonly deniedBy?: string;
  readonly deniedById?: string;
  readonly deniedFor?: string;
  readonly deniedForId?: string;
}

export function accessDenied(denial: Denial): YtError {
  const name =
    denial.column === undefined ? denial.objectName : `column "${denial.column}" of ${denial.objectName}`;
  const reason =
    denial.deniedBy === undefined
      ? "is not allowed by any matching ACE"
      : `is denied for "${denial.deniedFor ?? ""}" by ACE at ${denial.deniedBy}`;
  return new YtError(
    `Access denied for user "${denial.user}": "${denial.permission}" permission for ${name} ${reason}`,
    {
      code: "AuthorizationError",
      attributes: {
        permission: denial.permission,
        user: denial.user,
        object_id: denial.objectId,
        object_type: denial.objectType,
        object_name: denial.objectName,
        object_column: denial.column,
        path: denial.path,
        denied_by: denial.deniedById,
        denied_for: denial.deniedForId,
      },
    },
  );
}

export function userBanned(user: string): YtError {
  return new YtError(`User "${user}" is banned`, { code: "UserBanned" });
}
