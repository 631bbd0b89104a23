/**
 * Users and groups as objects: children of `//sys/users` and `//sys/groups`.
 * Specified in: yt/yt/server/master/security_server/{user,group,subject}_*.
 */
import { assert, bare, isList, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import {
  builtinGroups,
  builtinUsers,
  rootUser,
  type SubjectDirectory,
  usersGroup,
} from "../../access/index.ts";
import { parseBoolean, parseInteger, parseString } from "../attributes/values.ts";
import type { Node } from "../node.ts";
import type { BuiltinAttribute, Draft, NodeType, View } from "../node-type.ts";
import { checkObjectName, createNamedObject } from "./objects.ts";

export interface GroupState {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Groups that it is directly in. */
  readonly memberOf: readonly string[];
}

export interface UserState extends GroupState {
  readonly banned: boolean;
  /** Further settings: rate limits, `password_revision`… */
  readonly settings: YsonMap;
}

function isGroupState(state: unknown): state is GroupState {
  return typeof state === "object" && state !== null && "memberOf" in state && "aliases" in state;
}

function isUserState(state: unknown): state is UserState {
  return isGroupState(state) && "banned" in state && "settings" in state;
}

export function userState(node: Node): UserState {
  assert(isUserState(node.state), `node ${node.id} is a user`);
  return node.state;
}

export function groupState(node: Node): GroupState {
  assert(isGroupState(node.state), `node ${node.id} is a group`);
  return node.state;
}

function strings(value: YsonValue | undefined): string[] {
  const plain = bare(value ?? []);
  if (!isList(plain)) {
    throw new YtError("Expected a list of strings");
  }
  return plain.map(parseString);
}

function mapValue(value: YsonValue | undefined): YsonMap {
  const plain = bare(value ?? new Map());
  return isMap(plain) ? plain : new Map();
}

/** @throws YtError 501 when a name or an alias is already somebody's */
function checkNameIsFree(subjects: SubjectDirectory, name: string, except?: string): void {
  const taken = subjects.find(name);
  if (taken === undefined || taken.id === except) {
    return;
  }
  const text =
    taken.name === name ? `${taken.kind === "user" ? "User" : "Group"} "${name}"` : `Alias "${name}"`;
  throw new YtError(`${text} already exists`, { code: "AlreadyExists" });
}

function checkAliases(draft: Draft, aliases: readonly string[], except?: string): void {
  for (const alias of aliases) {
    const taken = draft.subjects.find(alias);
    checkObjectName(draft, "Alias", alias);
    if (new Set(aliases).size !== aliases.length) {
      throw new YtError(`Aliases must be distinct; "${alias}" may be one of those that are there twice`);
    }
    if (taken !== undefined && taken.id !== except) {
      throw new YtError(`Alias "${alias}" already exists`, { code: "AlreadyExists" });
    }
  }
}

function subjectAttributes<State extends GroupState>(): Map<string, BuiltinAttribute<State>> {
  return new Map<string, BuiltinAttribute<State>>([
    ["name", { get: (node) => node.state.name }],
    [
      "aliases",
      {
        get: (node) => [...node.state.aliases],
        set(draft, node, value) {
          const aliases = strings(value);
          checkAliases(draft, aliases, node.id);
          return { state: { ...node.state, aliases } };
        },
      },
    ],
    ["member_of", { get: (node) => [...node.state.memberOf] }],
    ["member_of_closure", { get: (node, view) => [...view.subjects.closureOf(node.state.name)] }],
  ]);
}

function setting(name: string, fallback: YsonValue | undefined): BuiltinAttribute<UserState> {
  return {
    get: (node) => node.state.settings.get(name) ?? fallback,
    set(_draft, node, value) {
      const number = parseInteger(value);
      if (number < 0n) {
        throw new YtError(`"${name}" cannot be negative`);
      }
      if (number === 0n && node.state.name === rootUser && name.endsWith("rate_limit")) {
        throw new YtError(`"${name}" of user "root" cannot be 0: nobody could undo it`);
      }
      const settings = new Map(node.state.settings);
      settings.set(name, number);
      return { state: { ...node.state, settings } };
    },
    remove(_draft, node) {
      const settings = new Map(node.state.settings);
      settings.delete(name);
      return { state: { ...node.state, settings } };
    },
  };
}

/** Names of the objects of a map under `//sys` that a user may use. */
function usable(mapPath: string): BuiltinAttribute<UserState> {
  return {
    opaque: true,
    get(node, view) {
      const map = view.findNode(mapPath);
      const names: string[] = [];
      for (const [name, id] of map === undefined ? [] : view.children(map.id)) {
        const object = view.node(id);
        if (object !== undefined && view.isAllowed(node.state.name, "use", object)) {
          names.push(name);
        }
      }
      return names;
    },
  };
}

const userAttributes = new Map<string, BuiltinAttribute<UserState>>([
  ...subjectAttributes<UserState>(),
  [
    "banned",
    {
      get: (node) => node.state.banned,
      set(_draft, node, value) {
        const banned = parseBoolean(value);
        if (banned && node.state.name === rootUser) {
          throw new YtError('User "root" cannot be banned');
        }
        return { state: { ...node.state, banned } };
      },
    },
  ],
  ["request_rate_limit", setting("request_rate_limit", 100n)],
  ["read_request_rate_limit", setting("read_request_rate_limit", 100n)],
  ["write_request_rate_limit", setting("write_request_rate_limit", 100n)],
  ["request_queue_size_limit", setting("request_queue_size_limit", 100n)],
  // Of the password itself nothing is shown to anybody.
  ["password_revision", { get: (node) => node.state.settings.get("password_revision") }],
  ["password_is_temporary", { get: (node) => node.state.settings.get("password_is_temporary") }],
  ["usable_accounts", usable("//sys/accounts")],
  ["usable_tablet_cell_bundles", usable("//sys/tablet_cell_bundles")],
]);

function subjectName(draft: Draft, attributes: Map<string, YsonValue>): string {
  const name = attributes.get("name");
  if (name === undefined) {
    throw new YtError('Attribute "name" is not found', { code: "ResolveError" });
  }
  attributes.delete("name");
  const text = parseString(name);
  checkObjectName(draft, "Subject name", text);
  return text;
}

function newSubject(draft: Draft, attributes: Map<string, YsonValue>): GroupState {
  const name = subjectName(draft, attributes);
  checkNameIsFree(draft.subjects, name);
  const aliases = strings(attributes.get("aliases"));
  attributes.delete("aliases");
  checkAliases(draft, aliases);
  return { name, aliases, memberOf: [] };
}

function checkNotBuiltin(node: Node, state: GroupState): void {
  if (builtinUsers.includes(state.name) || builtinGroups.includes(state.name)) {
    throw new YtError(`Cannot remove a built-in ${node.type} "${state.name}"`);
  }
}

/** Who was in a removed group is so no longer. */
function forgetGroup(draft: Draft, name: string): void {
  for (const member of draft.subjects.membersOf(name)) {
    changeMembership(draft, draft.subjects.subject(member).id, (groups) => groups.filter((g) => g !== name));
  }
}

function changeMembership(
  draft: Draft,
  memberId: string,
  change: (groups: readonly string[]) => readonly string[],
): void {
  const node = draft.nodeOrThrow(memberId);
  const state = groupState(node);
  draft.update(memberId, { state: { ...state, memberOf: change(state.memberOf) } });
}

export const userType: NodeType<UserState> = {
  name: "user",
  objectType: 501,
  content: "entity",
  isObject: true,
  attributes: userAttributes,
  encodeState: (state) =>
    mapOf({
      name: state.name,
      aliases: [...state.aliases],
      member_of: [...state.memberOf],
      banned: state.banned,
      settings: state.settings,
    }),
  decodeState(value) {
    const map = mapValue(value);
    return {
      name: parseString(map.get("name") ?? ""),
      aliases: strings(map.get("aliases")),
      memberOf: strings(map.get("member_of")),
      banned: parseBoolean(map.get("banned") ?? false),
      settings: mapValue(map.get("settings")),
    };
  },
  create(draft, input) {
    const subject = newSubject(draft, input.attributes);
    return { ...subject, memberOf: [usersGroup], banned: false, settings: new Map() };
  },
  createObject: (draft, attributes, options) =>
    createNamedObject(draft, { type: "user", mapPath: "//sys/users", attributes, ...options }),
  onRemove(draft, node) {
    checkNotBuiltin(node, node.state);
    draft.forgetSubject(node.state.name);
  },
  describe: (node) => `user "${node.state.name}"`,
};

const groupAttributes = new Map<string, BuiltinAttribute<GroupState>>([
  ...subjectAttributes<GroupState>(),
  ["members", { get: (node: Node<GroupState>, view: View) => view.subjects.membersOf(node.state.name) }],
]);

export const groupType: NodeType<GroupState> = {
  name: "group",
  objectType: 502,
  content: "entity",
  isObject: true,
  attributes: groupAttributes,
  encodeState: (state) =>
    mapOf({ name: state.name, aliases: [...state.aliases], member_of: [...state.memberOf] }),
  decodeState(value) {
    const map = mapValue(value);
    return {
      name: parseString(map.get("name") ?? ""),
      aliases: strings(map.get("aliases")),
      memberOf: strings(map.get("member_of")),
    };
  },
  create: (draft, input) => newSubject(draft, input.attributes),
  createObject: (draft, attributes, options) =>
    createNamedObject(draft, { type: "group", mapPath: "//sys/groups", attributes, ...options }),
  onRemove(draft, node) {
    checkNotBuiltin(node, node.state);
    forgetGroup(draft, node.state.name);
    draft.forgetSubject(node.state.name);
  },
  describe: (node) => `group "${node.state.name}"`,
};

/** @throws YtError 907, 908 when it is already in, or when the group would come to be in itself */
export function addMember(draft: Draft, groupName: string, memberName: string): void {
  const group = draft.subjects.group(groupName);
  const member = draft.subjects.subject(memberName);
  draft.check(draft.user, "write", draft.nodeOrThrow(group.id));
  if (member.memberOf.includes(group.name)) {
    throw new YtError(`Member "${member.name}" is already present in group "${group.name}"`, {
      code: "AlreadyPresentInGroup",
    });
  }
  if (member.name === group.name || draft.subjects.closureOf(group.name).has(member.name)) {
    throw new YtError(`Adding group "${member.name}" to group "${group.name}" would produce a cycle`);
  }
  changeMembership(draft, member.id, (groups) => [...groups, group.name]);
}

/** @throws YtError 907, or when it is not in */
export function removeMember(draft: Draft, groupName: string, memberName: string): void {
  const group = draft.subjects.group(groupName);
  const member = draft.subjects.subject(memberName);
  draft.check(draft.user, "write", draft.nodeOrThrow(group.id));
  if (!member.memberOf.includes(group.name)) {
    throw new YtError(`Member "${member.name}" is not present in group "${group.name}"`);
  }
  changeMembership(draft, member.id, (groups) => groups.filter((name) => name !== group.name));
}
