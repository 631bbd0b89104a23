/** Users and groups of the tree as the subjects of access control. */
import type { Subject } from "../access/index.ts";
import type { View } from "./node-type.ts";
import { groupState, userState } from "./types/subjects.ts";

export function* subjectsOf(view: View): Iterable<Subject> {
  for (const node of view.nodesOfType("user")) {
    const { name, aliases, memberOf, banned } = userState(node);
    yield { kind: "user", id: node.id, name, aliases, memberOf, banned };
  }
  for (const node of view.nodesOfType("group")) {
    const { name, aliases, memberOf } = groupState(node);
    yield { kind: "group", id: node.id, name, aliases, memberOf, banned: false };
  }
}
