/**
 * Access control entries: their shape, their YSON form and the rules of a well-formed list.
 * Specified in: yt/yt/client/security_client/acl.cpp, yt/yt/core/ytree/permission.h.
 */
import { bare, isList, isMap, limits, mapOf, type YsonValue, YtError } from "@qyt/base";
import { type Permission, parsePermission } from "./permissions.ts";

export type AceAction = "allow" | "deny";
export type InheritanceMode =
  | "object_and_descendants"
  | "object_only"
  | "descendants_only"
  | "immediate_descendants_only";

const inheritanceModes: ReadonlySet<string> = new Set<InheritanceMode>([
  "object_and_descendants",
  "object_only",
  "descendants_only",
  "immediate_descendants_only",
]);

/** One entry. `subjects` are canonical names (aliases are resolved when the list is set). */
export interface Ace {
  readonly action: AceAction;
  readonly subjects: readonly string[];
  readonly permissions: readonly Permission[];
  readonly inheritanceMode: InheritanceMode;
  readonly columns?: readonly string[];
  readonly vital?: boolean;
}

/** Canonical name of a subject. @throws YtError 907 when there is none */
export type ResolveSubject = (nameOrAlias: string) => string;

function isInheritanceMode(text: string): text is InheritanceMode {
  return inheritanceModes.has(text);
}

function parseStrings(value: YsonValue | undefined, field: string): string[] {
  const plain = value === undefined ? undefined : bare(value);
  if (!isList(plain)) {
    throw new YtError(`Field "${field}" of an access control entry must be a list of strings`);
  }
  return plain.map((item) => {
    const text = bare(item);
    if (typeof text !== "string") {
      throw new YtError(`Field "${field}" of an access control entry must be a list of strings`);
    }
    return text;
  });
}

function quoted(permissions: readonly Permission[]): string {
  return permissions.map((permission) => `"${permission}"`).join(", ");
}

/**
 * Checks the rules between the fields of one entry.
 * Specified in: yt/yt/client/security_client (validation of `vital` and `columns`).
 */
function validateAce(ace: Ace): void {
  const registers = ace.permissions.includes("register_queue_consumer");
  if (ace.vital === undefined) {
    if (registers) {
      throw new YtError('Permission "register_queue_consumer" requires vitality to be specified');
    }
  } else if (!registers || ace.permissions.length !== 1) {
    throw new YtError(
      `ACE specifying vitality must contain a single "register_queue_consumer" permission; found ${quoted(ace.permissions)}`,
    );
  }
  if (ace.columns !== undefined && (ace.permissions.length !== 1 || ace.permissions[0] !== "read")) {
    throw new YtError(
      `ACE specifying columns may contain only "read" permission; found ${quoted(ace.permissions)}`,
    );
  }
  if (ace.action === "deny" && ace.permissions.includes("full_read")) {
    throw new YtError(
      'ACE with "full_read" permission may have only "allow" action; found "deny"; deny "read" instead',
    );
  }
}

/** Fields of newer versions of the real system that narrow an entry: without them it would grant more. */
const narrowingFields: readonly string[] = [
  "row_access_predicate",
  "inapplicable_row_access_predicate_mode",
  "subject_tag_filter",
];

function parseAce(value: YsonValue, resolveSubject: ResolveSubject): Ace {
  const fields = bare(value);
  if (!isMap(fields)) {
    throw new YtError("An access control entry must be a map");
  }
  const narrowing = narrowingFields.find((name) => fields.has(name));
  if (narrowing !== undefined) {
    throw new YtError(
      `Field "${narrowing}" of an access control entry is not supported: leave it out, and grant less instead`,
    );
  }
  const action = bare(fields.get("action") ?? null);
  if (action !== "allow" && action !== "deny") {
    throw new YtError('Field "action" of an access control entry must be "allow" or "deny"');
  }
  const mode = bare(fields.get("inheritance_mode") ?? "object_and_descendants");
  if (typeof mode !== "string" || !isInheritanceMode(mode)) {
    throw new YtError('Field "inheritance_mode" of an access control entry has an unknown value');
  }
  const vital = fields.get("vital");
  const plainVital = vital === undefined ? undefined : parseBoolean(bare(vital));
  const columns = fields.get("columns");
  const ace: Ace = {
    action,
    subjects: [...new Set(parseStrings(fields.get("subjects"), "subjects").map(resolveSubject))],
    permissions: parseStrings(fields.get("permissions"), "permissions").map(parsePermission),
    inheritanceMode: mode,
    ...(columns === undefined ? {} : { columns: parseStrings(columns, "columns") }),
    ...(plainVital === undefined ? {} : { vital: plainVital }),
  };
  validateAce(ace);
  return ace;
}

function parseBoolean(value: YsonValue): boolean {
  if (value === true || value === "true") {
    return true;
  }
  if (value === false || value === "false") {
    return false;
  }
  throw new YtError('Field "vital" of an access control entry must be a boolean');
}

/**
 * Reads an access control list.
 * @throws YtError on a malformed entry, an unknown permission or an unknown subject
 */
export function parseAcl(value: YsonValue, resolveSubject: ResolveSubject): Ace[] {
  const entries = bare(value);
  if (!isList(entries)) {
    throw new YtError("An access control list must be a list");
  }
  if (entries.length > limits.maxAclEntries) {
    throw new YtError(
      `Too many access control entries: ${entries.length}, limit ${limits.maxAclEntries}; put the subjects into groups`,
    );
  }
  return entries.map((entry) => parseAce(entry, resolveSubject));
}

/** The YSON form with all fields, as `@acl` shows it. */
export function aclToYson(acl: readonly Ace[]): YsonValue {
  return acl.map((ace) =>
    mapOf({
      action: ace.action,
      subjects: [...ace.subjects],
      permissions: [...ace.permissions],
      inheritance_mode: ace.inheritanceMode,
      columns: ace.columns === undefined ? undefined : [...ace.columns],
      vital: ace.vital,
    }),
  );
}

/** The list without a subject; entries left with no subject disappear. The same list if nothing changed. */
export function withoutSubject(acl: readonly Ace[], name: string): readonly Ace[] {
  if (!acl.some((ace) => ace.subjects.includes(name))) {
    return acl;
  }
  return acl.flatMap((ace) => {
    const subjects = ace.subjects.filter((subject) => subject !== name);
    return subjects.length === 0 ? [] : [{ ...ace, subjects }];
  });
}
