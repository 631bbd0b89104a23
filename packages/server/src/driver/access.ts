/**
 * What a command asks of its user: the access column of the command table. The command reference is written
 * from it, and a test proves every right in it, one by one: refused without it, done with it.
 * Specified in: documentation "Access control", section "Permissions of commands"; the checks themselves are
 * where the commands do their work.
 */
import type { Permission } from "../access/index.ts";

/**
 * The object that a right is on, found from a parameter of the command:
 * - `node`: the node that the parameter names
 * - `subtree`: that node and everything below it; `descendants`: everything below it
 * - `parent`: the directory that the node is in, or is to be in
 * - `columns`: of the table, those that are read and that some entry names
 * - `schema`: `//sys/schemas/<type>`, of the type that is created
 * - `account`: who pays for the node; `bundle`: the tablet cell bundle of the table
 * - `group`: the group of this name; `transaction`: the transaction of this id
 */
export type AccessObject =
  | "node"
  | "subtree"
  | "descendants"
  | "parent"
  | "columns"
  | "schema"
  | "account"
  | "bundle"
  | "group"
  | "transaction";

/** One right that a user may have. */
export interface Right {
  readonly permission: Permission;
  readonly object: AccessObject;
  /** The command's parameter that the object is found from. */
  readonly parameter: string;
}

/**
 * What a banned user may still do: keep alive what he has begun, and parse text.
 * Specified in: yt/yt/server/http_proxy/context.cpp (http-api §8).
 */
export const commandsForBanned: ReadonlySet<string> = new Set(["ping_tx", "ping_transaction", "parse_ypath"]);

/** Any one of the rights fulfils it. */
export interface Requirement {
  readonly anyOf: readonly Right[];
  /** In which case it is asked for; absent: always. */
  readonly when?: string;
}

/** All requirements have to be fulfilled. */
export interface CommandAccess {
  readonly requirements: readonly Requirement[];
  /** What else decides, or why nothing is asked for. */
  readonly remark?: string;
}

export function right(permission: Permission, object: AccessObject, parameter: string): Right {
  return { permission, object, parameter };
}

/** Fulfilled by any of the rights, always asked for. */
function oneOf(...anyOf: readonly Right[]): Requirement {
  return { anyOf };
}

/** Fulfilled by any of the rights; asked for in one case only, which `condition` describes. */
export function when(condition: string, ...anyOf: readonly Right[]): Requirement {
  return { anyOf, when: condition };
}

export function needs(...requirements: readonly (Requirement | Right)[]): CommandAccess {
  return { requirements: requirements.map((each) => ("anyOf" in each ? each : { anyOf: [each] })) };
}

/** The same rights, with a sentence on what else decides. */
export function remarked(access: CommandAccess, remark: string): CommandAccess {
  return { ...access, remark };
}

/** Open to every user who is not banned. @param remark why */
export function open(remark: string): CommandAccess {
  return { requirements: [], remark };
}

/** Whoever may change the children of the directory: fully, or with the weaker permission. */
export function childrenOf(parameter: string): Requirement {
  return oneOf(right("write", "parent", parameter), right("modify_children", "parent", parameter));
}

/** The same in one case. */
export function childrenWhen(condition: string, parameter: string): Requirement {
  return { ...childrenOf(parameter), when: condition };
}

const objectTexts: Readonly<Record<AccessObject, (parameter: string) => string>> = {
  node: (parameter) => `\`${parameter}\``,
  subtree: (parameter) => `\`${parameter}\` and everything below it`,
  descendants: (parameter) => `everything below \`${parameter}\``,
  parent: (parameter) => `the directory of \`${parameter}\``,
  columns: (parameter) => `the columns of \`${parameter}\` that are read and that entries name`,
  schema: () => "`//sys/schemas/<type>`",
  account: () => "the account",
  bundle: (parameter) => `the tablet cell bundle of \`${parameter}\``,
  group: () => "the group",
  transaction: () => "the transaction",
};

function requirementText({ anyOf, when: condition }: Requirement): string {
  const text = anyOf
    .map(({ permission, object, parameter }) => `\`${permission}\` on ${objectTexts[object](parameter)}`)
    .join(" or ");
  return condition === undefined ? text : `${condition}: ${text}`;
}

/** One line for the command reference. */
export function accessText({ requirements, remark }: CommandAccess): string {
  const parts = requirements.map(requirementText);
  if (parts.length === 0) {
    return remark === undefined ? "none" : `none (${remark})`;
  }
  return remark === undefined ? parts.join("; ") : `${parts.join("; ")} (${remark})`;
}
