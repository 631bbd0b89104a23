/**
 * Users and groups as a directory: names, aliases, and who belongs to what.
 * Specified in: yt/yt/server/master/security_server/security_manager.cpp.
 */
import { YtError } from "@qyt/base";

export interface Subject {
  readonly kind: "user" | "group";
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  /** Groups that it is directly in. */
  readonly memberOf: readonly string[];
  readonly banned: boolean;
}

export const rootUser = "root";
export const guestUser = "guest";
/** The pseudo-subject that stands for the owner of an object. */
export const ownerSubject = "owner";
export const everyoneGroup = "everyone";
export const usersGroup = "users";
export const superusersGroup = "superusers";

export const builtinUsers: readonly string[] = [
  rootUser,
  guestUser,
  "job",
  "scheduler",
  ownerSubject,
  "replicator",
  "file_cache",
  "operations_cleaner",
  "operations_client",
  "tablet_cell_changelogger",
  "tablet_cell_snapshotter",
  "table_mount_informer",
  "alien_cell_synchronizer",
  "queue_agent",
  "yql_agent",
  "tablet_balancer",
];

/** Users that may do everything: the administrator and the services. */
export const builtinSuperusers: ReadonlySet<string> = new Set(
  builtinUsers.filter((name) => name !== guestUser && name !== ownerSubject),
);

export const builtinGroups: readonly string[] = [everyoneGroup, usersGroup, superusersGroup];

/** All subjects at one moment. Immutable; closures are computed once. */
export class SubjectDirectory {
  readonly #byName = new Map<string, Subject>();
  readonly #closures = new Map<string, ReadonlySet<string>>();

  constructor(subjects: Iterable<Subject>) {
    for (const subject of subjects) {
      this.#byName.set(subject.name, subject);
      for (const alias of subject.aliases) {
        this.#byName.set(alias, subject);
      }
    }
  }

  /** By name or alias. */
  find(name: string): Subject | undefined {
    return this.#byName.get(name);
  }

  /** @throws YtError 907 */
  subject(name: string): Subject {
    const subject = this.#byName.get(name);
    if (subject === undefined) {
      throw new YtError(`No such subject "${name}"`, { code: "NoSuchSubject" });
    }
    return subject;
  }

  /** @throws YtError 910 */
  user(name: string): Subject {
    const subject = this.#byName.get(name);
    if (subject?.kind !== "user") {
      throw new YtError(`No such user "${name}"`, { code: "NoSuchUser" });
    }
    return subject;
  }

  /** @throws YtError 907 */
  group(name: string): Subject {
    const subject = this.#byName.get(name);
    if (subject?.kind !== "group") {
      throw new YtError(`No such group "${name}"`, { code: "NoSuchSubject" });
    }
    return subject;
  }

  /** Names of all groups that the subject is in, directly or not. */
  closureOf(name: string): ReadonlySet<string> {
    const known = this.#closures.get(name);
    if (known !== undefined) {
      return known;
    }
    const closure = new Set<string>();
    const queue = [...(this.#byName.get(name)?.memberOf ?? [])];
    for (let group = queue.pop(); group !== undefined; group = queue.pop()) {
      if (!closure.has(group)) {
        closure.add(group);
        queue.push(...(this.#byName.get(group)?.memberOf ?? []));
      }
    }
    this.#closures.set(name, closure);
    return closure;
  }

  /** Direct members of a group. */
  membersOf(group: string): string[] {
    const members = new Set<string>();
    for (const subject of this.#byName.values()) {
      if (subject.memberOf.includes(group)) {
        members.add(subject.name);
      }
    }
    return [...members];
  }

  isSuperuser(name: string): boolean {
    return name === rootUser || this.closureOf(name).has(superusersGroup);
  }
}
