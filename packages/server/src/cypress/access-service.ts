/** Permission checks for the rooms above: tables and queues check on their data paths too. */
import { type Permission, userBanned } from "../access/index.ts";
import type { Node } from "./node.ts";
import type { CheckOptions, View } from "./node-type.ts";

export class Access {
  readonly #view: (transactionId?: string) => View;

  constructor(view: (transactionId?: string) => View) {
    this.#view = view;
  }

  /**
   * Does nothing when the user may.
   * @throws YtError 901; 903 when the user is banned; 910 when there is no such user
   */
  check(user: string, permission: Permission, node: Node, options?: CheckOptions): void {
    this.#view().check(user, permission, node, options);
  }

  isAllowed(user: string, permission: Permission, node: Node, options?: CheckOptions): boolean {
    return this.#view().isAllowed(user, permission, node, options);
  }

  /** @throws YtError 910, 903: whether requests of the user are taken at all */
  checkUser(user: string): void {
    checkUser(this.#view(), user);
  }
}

/** @throws YtError 910, 903 */
export function checkUser(view: View, user: string): void {
  if (view.subjects.user(user).banned) {
    throw userBanned(user);
  }
}
