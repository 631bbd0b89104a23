/** The rights that the tree's commands need; those of attributes are the same for all that set them. */
import {
  type CommandAccess,
  childrenOf,
  childrenWhen,
  needs,
  open,
  type Requirement,
  remarked,
  right,
  when,
} from "../access.ts";

const path = "path";

/** Of attributes that need more than `write` on the node. */
const ofAttributes: readonly Requirement[] = [
  when("`acl`, `inherit_acl`, `owner`", right("administer", "node", path)),
  when("`account`", right("use", "account", path)),
  when("`tablet_cell_bundle`", right("use", "bundle", path)),
  when("`expiration_time`, `expiration_timeout`", right("remove", "subtree", path)),
];

/** Of whatever comes to be at a path; `condition` says when it does. */
function newNode(parameter: string, condition?: string): readonly Requirement[] {
  const create = right("create", "schema", parameter);
  const use = right("use", "account", parameter);
  return condition === undefined
    ? [childrenOf(parameter), { anyOf: [create] }, { anyOf: [use] }]
    : [childrenWhen(condition, parameter), when(condition, create), when(condition, use)];
}

const copyRequirements: readonly Requirement[] = [
  { anyOf: [right("full_read", "subtree", "source_path")] },
  ...newNode("destination_path"),
  when("`preserve_acl`", right("administer", "parent", "destination_path")),
  when("a node is replaced", right("remove", "subtree", "destination_path")),
];

export const treeAccess = {
  read: remarked(
    needs(right("read", "node", path)),
    "what lies below and may not be read is shown as an entity, without attributes",
  ),
  exists: open("it tells no more than whether something is there"),
  set: needs(
    when("the node is there, or an attribute of it is set", right("write", "node", path)),
    ...newNode(path, "the node is new"),
    when("the children of a map are replaced", right("remove", "descendants", path)),
    when("the node is replaced by one of another type", right("remove", "subtree", path)),
    ...ofAttributes,
  ),
  multisetAttributes: needs(
    when("any attribute but `acl`, `inherit_acl`, `owner`", right("write", "node", path)),
    ...ofAttributes,
  ),
  create: needs(
    ...newNode(path),
    when("`acl` or `inherit_acl` is among the attributes", right("administer", "parent", path)),
    when("a bundle is named", right("use", "bundle", path)),
    when("a node is replaced", right("remove", "subtree", path)),
    when("a `queue_consumer` or `queue_producer`, mounted at once", right("mount", "node", path)),
  ),
  remove: needs(
    childrenWhen("a node", path),
    when("a node", right("remove", "subtree", path)),
    when("an attribute", right("write", "node", path)),
    when("a part of `acl`", right("administer", "node", path)),
  ),
  copy: needs(...copyRequirements),
  move: needs(...copyRequirements, right("remove", "subtree", "source_path"), childrenOf("source_path")),
  link: needs(...newNode("link_path"), when("a node is replaced", right("remove", "subtree", "link_path"))),
  lock: needs(
    when("a snapshot lock", right("read", "node", path)),
    when("any other lock", right("write", "node", path)),
  ),
  unlock: needs(right("read", "node", path)),
} as const satisfies Readonly<Record<string, CommandAccess>>;
