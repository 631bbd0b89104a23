/**
 * The decision about one permission: a pure function of the entries on the way up and of who asks.
 * Specified in: yt/yt/server/lib/security_server/permission_checker-inl.h,
 * yt/yt/server/master/security_server/security_manager.cpp, documentation "Access control".
 */
import type { Ace, AceAction, InheritanceMode } from "./ace.ts";
import type { Permission } from "./permissions.ts";
import { ownerSubject } from "./subjects.ts";

/** What carries entries: the object itself first, then its ancestors upward. */
export interface AclHolder {
  readonly id: string;
  readonly acl: readonly Ace[];
  readonly inheritAcl: boolean;
}

/** Who asks. */
export interface Asker {
  readonly name: string;
  /** All groups, directly or not. */
  readonly groups: ReadonlySet<string>;
}

export interface Question {
  readonly permission: Permission;
  /** Owner of the object that is asked about, whatever the holder of an entry; absent: nobody. */
  readonly owner?: string;
  /** Only for `register_queue_consumer`; false by default. */
  readonly vital?: boolean;
}

export interface Decision {
  readonly action: AceAction;
  /** Holder and subject of the deciding entry; absent when nothing matched. */
  readonly holderId?: string;
  readonly subject?: string;
}

export interface ColumnDecision extends Decision {
  readonly column: string;
}

/**
 * How an entry counts for an object that is `depth` levels below its holder, as if it stood there itself;
 * undefined when it does not.
 */
function modeAtDepth(mode: InheritanceMode, depth: number): InheritanceMode | undefined {
  switch (mode) {
    case "object_and_descendants":
      return mode;
    case "object_only":
      return depth === 0 ? mode : undefined;
    case "descendants_only":
      return depth > 0 ? "object_and_descendants" : undefined;
    case "immediate_descendants_only":
      return depth === 1 ? "object_only" : undefined;
  }
}

export interface CollectedAce {
  /** With the mode that it has for the first holder. */
  readonly ace: Ace;
  readonly holder: AclHolder;
}

/** Entries that count for the first holder, in order; stops above `inherit_acl=%false`. */
export function collectEntries(chain: Iterable<AclHolder>): CollectedAce[] {
  const collected: CollectedAce[] = [];
  let depth = 0;
  for (const holder of chain) {
    for (const ace of holder.acl) {
      const inheritanceMode = modeAtDepth(ace.inheritanceMode, depth);
      if (inheritanceMode !== undefined) {
        collected.push({
          ace: inheritanceMode === ace.inheritanceMode ? ace : { ...ace, inheritanceMode },
          holder,
        });
      }
    }
    if (!holder.inheritAcl) {
      break;
    }
    depth += 1;
  }
  return collected;
}

/** The subject of the entry that is the asker, if any. */
function matchingSubject(ace: Ace, asker: Asker, owner: string | undefined): string | undefined {
  return ace.subjects.find((subject) =>
    subject === ownerSubject
      ? // Never the built-in user of that name, who would own everything.
        owner === asker.name
      : subject === asker.name || asker.groups.has(subject),
  );
}

/**
 * Whether the entry is about the permission. Who may read everything may read, and who may read may read
 * everything, as far as no entry names columns; a deny of `full_read` leaves `read` alone.
 */
function isAbout(ace: Ace, { permission, vital }: Question): boolean {
  const { permissions } = ace;
  switch (permission) {
    case "read":
      return permissions.includes("read") || (ace.action === "allow" && permissions.includes("full_read"));
    case "full_read":
      return permissions.includes("read") || permissions.includes("full_read");
    case "register_queue_consumer":
      return permissions.includes(permission) && (vital !== true || ace.vital === true);
    default:
      return permissions.includes(permission);
  }
}

function decideOver(entries: readonly CollectedAce[], asker: Asker, owner: string | undefined): Decision {
  let allowed: Decision | undefined;
  for (const { ace, holder } of entries) {
    const subject = matchingSubject(ace, asker, owner);
    if (subject === undefined) {
      continue;
    }
    const decision: Decision = { action: ace.action, holderId: holder.id, subject };
    if (decision.action === "deny") {
      return decision;
    }
    allowed ??= decision;
  }
  return allowed ?? { action: "deny" };
}

/**
 * The decision over collected entries. Entries for columns count for `full_read` only: all columns that some
 * entry names have to be readable.
 */
export function decide(entries: readonly CollectedAce[], asker: Asker, question: Question): Decision {
  const relevant = entries.filter(({ ace }) => ace.columns === undefined && isAbout(ace, question));
  const decision = decideOver(relevant, asker, question.owner);
  if (question.permission !== "full_read" || decision.action === "deny") {
    return decision;
  }
  const columns = [...restrictedColumns(entries)];
  return decideColumns(entries, asker, columns, question).find(({ action }) => action === "deny") ?? decision;
}

/**
 * Decisions about columns, one for each asked for. A column that no entry names is decided as the whole; for
 * one that is named, an entry for it has to allow, unless `full_read` is allowed in so many words.
 */
export function decideColumns(
  entries: readonly CollectedAce[],
  asker: Asker,
  columns: readonly string[],
  question: Pick<Question, "owner"> = {},
): ColumnDecision[] {
  if (columns.length === 0) {
    return [];
  }
  const { owner } = question;
  const whole = entries.filter(
    ({ ace }) => ace.columns === undefined && isAbout(ace, { permission: "read" }),
  );
  const onWhole = decideOver(whole, asker, owner);
  const onFullRead = decideOver(
    entries.filter(({ ace }) => ace.columns === undefined && ace.permissions.includes("full_read")),
    asker,
    owner,
  );
  return columns.map((column) => {
    const named = entries.filter(({ ace }) => ace.columns?.includes(column));
    if (named.length === 0 || onWhole.action === "deny") {
      return { column, ...onWhole };
    }
    const decision = decideOver(named, asker, owner);
    const isUndecided = decision.holderId === undefined;
    return { column, ...(isUndecided && onFullRead.action === "allow" ? onFullRead : decision) };
  });
}

/** Columns that some entry names, and so restricts. */
export function restrictedColumns(entries: readonly CollectedAce[]): Set<string> {
  const columns = new Set<string>();
  for (const { ace } of entries) {
    for (const column of ace.columns ?? []) {
      columns.add(column);
    }
  }
  return columns;
}
