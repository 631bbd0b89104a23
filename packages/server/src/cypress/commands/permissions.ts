/**
 * `check_permission` and `check_permission_by_acl`.
 * Specified in: yt/yt/server/master/object_server/object_proxy.cpp (CheckPermission),
 * yt/yt/server/master/security_server/security_manager.cpp (CheckPermission over a list).
 */
import { mapOf, type YsonValue } from "@qyt/base";
import { type Decision, decide, parseAcl, parsePermission, rootUser } from "../../access/index.ts";
import type { CheckOptions, View } from "../node-type.ts";
import { resolveTarget } from "../resolve.ts";

export interface CheckPermissionParameters {
  readonly user: string;
  readonly permission: string;
  readonly path: string;
  readonly columns?: readonly string[];
  readonly vital?: boolean;
}

export interface CheckPermissionByAclParameters {
  /** Absent: root. */
  readonly user?: string;
  readonly permission: string;
  readonly acl: YsonValue;
}

/** @throws YtError 910 for an unknown user, 500 for an unknown path */
export function checkPermission(view: View, parameters: CheckPermissionParameters): YsonValue {
  const permission = parsePermission(parameters.permission);
  const target = resolveTarget(view, parameters.path, { method: "CheckPermission" });
  const node = target.kind === "missing" ? target.parent : target.node;
  const options: CheckOptions = {
    ...(parameters.vital === undefined ? {} : { vital: parameters.vital }),
    ...(parameters.columns === undefined ? {} : { columns: parameters.columns }),
  };
  const decision = view.decide(parameters.user, permission, node, options);
  const answer = new Map(decisionToYson(view, decision));
  if (parameters.columns !== undefined) {
    // A superuser, or somebody who is banned, is decided about without looking at columns.
    answer.set(
      "columns",
      parameters.columns.map((_, index) => decisionToYson(view, decision.columns?.[index] ?? decision)),
    );
  }
  return answer;
}

function decisionToYson(view: View, decision: Decision): ReadonlyMap<string, YsonValue> {
  const holder = decision.holderId === undefined ? undefined : view.node(decision.holderId);
  const subject = decision.subject;
  return mapOf({
    action: decision.action,
    object_id: holder?.id,
    object_name: holder === undefined ? undefined : view.describe(holder),
    subject_id: subject === undefined ? undefined : view.subjects.find(subject)?.id,
    subject_name: subject,
  });
}

/** Subjects that do not exist do not match; they are reported. */
export function checkPermissionByAcl(view: View, parameters: CheckPermissionByAclParameters): YsonValue {
  const permission = parsePermission(parameters.permission);
  const missing = new Set<string>();
  const acl = parseAcl(parameters.acl, (name) => {
    const subject = view.subjects.find(name);
    if (subject === undefined) {
      missing.add(name);
    }
    return subject?.name ?? name;
  });
  const user = view.subjects.user(parameters.user ?? rootUser);
  const missingSubjects = missing.size === 0 ? undefined : [...missing];
  if (user.banned) {
    return mapOf({ action: "deny", missing_subjects: missingSubjects });
  }
  if (view.subjects.isSuperuser(user.name)) {
    return mapOf({ action: "allow", missing_subjects: missingSubjects });
  }
  const holder = { id: "", owner: "", acl, inheritAcl: false };
  const { action, subject } = decide(
    acl.map((ace) => ({ ace, holder })),
    { name: user.name, groups: view.subjects.closureOf(user.name) },
    { permission },
  );
  return mapOf({
    action,
    subject_id: subject === undefined ? undefined : view.subjects.find(subject)?.id,
    subject_name: subject,
    missing_subjects: missingSubjects,
  });
}
