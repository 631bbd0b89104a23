/**
 * The decision about one permission: a pure function of the entries on the way up and of who asks.
 * Specified in: yt/yt/server/master/security_server/security_manager.cpp (permission checker) and the
 * access control documentation.
 */
import type { Ace, AceAction, InheritanceMode } from "./ace.ts";
import type { Permission } from "./permissions.ts";
import { ownerSubject } from "./subjects.ts";

/** What carries entries: the object itself first, then its ancestors upward. */
export interface AclHolder {
  readonly id: string;
  readonly owner: string;
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

/** Whether an entry counts for an object that is `depth` levels below its holder. */
export function appliesAtDepth(mode: InheritanceMode, depth: number): boolean {
  switch (mode) {
    case "object_and_descendants":
      return true;
    case "object_only":
      return depth === 0;
    case "descendants_only":
      return depth > 0;
    case "immediate_descendants_only":
      return depth === 1;
  }
}

export interface CollectedAce {
  readonly ace: Ace;
  readonly holder: AclHolder;
}

/** Entries that count for the first holder, in order; stops above `inherit_acl=%false`. */
export function collectEntries(chain: Iterable<AclHolder>): CollectedAce[] {
  const collected: CollectedAce[] = [];
  let depth = 0;
  for (const holder of chain) {
    for (const ace of holder.acl) {
      if (appliesAtDepth(ace.inheritanceMode, depth)) {
        collected.push({ ace, holder });
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
function matchingSubject({ ace, holder }: CollectedAce, asker: Asker): string | undefined {
  for (const subject of ace.subjects) {
    if (subject === asker.name || asker.groups.has(subject)) {
      return subject;
    }
    if (subject === ownerSubject && holder.owner === asker.name) {
      return subject;
    }
  }
  return undefined;
}

function decideOver(entries: readonly CollectedAce[], asker: Asker): Decision {
  let allowed: Decision | undefined;
  for (const entry of entries) {
    const subject = matchingSubject(entry, asker);
    if (subject === undefined) {
      continue;
    }
    const decision: Decision = { action: entry.ace.action, holderId: entry.holder.id, subject };
    if (decision.action === "deny") {
      return decision;
    }
    allowed ??= decision;
  }
  return allowed ?? { action: "deny" };
}

/** The decision over collected entries; entries for columns do not count here. */
export function decide(entries: readonly CollectedAce[], asker: Asker, question: Question): Decision {
  const relevant = entries.filter(
    ({ ace }) =>
      ace.columns === undefined &&
      ace.permissions.includes(question.permission) &&
      (question.permission !== "register_queue_consumer" || question.vital !== true || ace.vital === true),
  );
  return decideOver(relevant, asker);
}

/**
 * Decisions about columns that some entry names. A column that no entry names is not restricted and has
 * no decision here.
 */
export function decideColumns(
  entries: readonly CollectedAce[],
  asker: Asker,
  columns: readonly string[],
): ColumnDecision[] {
  return columns.flatMap((column) => {
    const relevant = entries.filter(({ ace }) => ace.columns?.includes(column));
    return relevant.length === 0 ? [] : [{ column, ...decideOver(relevant, asker) }];
  });
}

/** Columns that some entry restricts. */
export function restrictedColumns(entries: readonly CollectedAce[]): Set<string> {
  return new Set(entries.flatMap(({ ace }) => ace.columns ?? []));
}
