/** Rights on tablet cell bundles: `use` for what runs in one, `administer` for what may hurt others in it. */
import { type YsonValue, YtError } from "@qyt/base";
import type { Permission } from "../access/index.ts";
import { parseString } from "./attributes/values.ts";
import type { Node } from "./node.ts";
import type { Draft, View } from "./node-type.ts";

/** @throws YtError 500 `No such tablet cell bundle "b"` */
function bundleByName(view: View, name: string): Node {
  const map = view.findNode("//sys/tablet_cell_bundles");
  const bundle = map === undefined ? undefined : view.child(map.id, name);
  if (bundle === undefined) {
    throw new YtError(`No such tablet cell bundle "${name}"`, { code: "ResolveError" });
  }
  return bundle;
}

/** @throws YtError 500, 901 */
export function checkBundle(view: View, user: string, name: string, permission: Permission): void {
  view.check(user, permission, bundleByName(view, name));
}

/** For attributes that name a bundle: who sets it needs `use`. @throws YtError 500, 901 */
export function authorizeBundle(draft: Draft, _node: Node, value: YsonValue): void {
  checkBundle(draft, draft.user, parseString(value), "use");
}
