/**
 * How many requests of one user are taken a second. A request above the rate waits for its turn; when too
 * many wait already it is refused (904, to be sent again). What counts is what the masters of a real cluster
 * serve: Cypress, subjects, the life cycle of tables. Rows do not.
 *
 * Specified in: yt/yt/server/master/security_server/{user,request_tracker}.cpp.
 */
import { type Clock, sleep, YtError } from "@qyt/base";
import type { CommandDescriptor, CommandRequest } from "./command.ts";

export interface UserRequestLimits {
  /** Requests a second; `undefined`: any number. */
  readonly readRate: number | undefined;
  readonly writeRate: number | undefined;
  /** How many may wait. */
  readonly queueSize: number;
}

/** The commands that count, whatever the API version. */
export const limitedCommands: ReadonlySet<string> = new Set([
  "get",
  "list",
  "exists",
  "set",
  "multiset_attributes",
  "create",
  "copy",
  "move",
  "link",
  "remove",
  "lock",
  "unlock",
  "concatenate",
  "check_permission",
  "check_permission_by_acl",
  "add_member",
  "remove_member",
  "mount_table",
  "unmount_table",
  "remount_table",
  "freeze_table",
  "unfreeze_table",
  "reshard_table",
  "alter_table",
  "issue_token",
  "revoke_token",
  "list_user_tokens",
  "set_user_password",
]);

/** A user may use up so many seconds' worth of his rate at once. */
const burstSeconds = 1;

/** Entries of users who have not come for a while are dropped when there are so many. */
const maxEntries = 10_000;

/** When the next request of each kind would be on time, in monotonic milliseconds, and how many wait. */
interface UserState {
  read: number;
  write: number;
  waiting: number;
}

export class RequestLimits {
  readonly #clock: Clock;
  readonly #limitsOf: (user: string) => UserRequestLimits;
  readonly #users = new Map<string, UserState>();

  /** @param limitsOf asked anew for each request */
  constructor(clock: Clock, limitsOf: (user: string) => UserRequestLimits) {
    this.#clock = clock;
    this.#limitsOf = limitsOf;
  }

  /**
   * Lets a request pass at once (`undefined`), or when its turn has come.
   * @throws YtError 904 when too many wait, or the rate is 0
   */
  admit(
    request: Pick<CommandRequest, "user" | "signal">,
    command: CommandDescriptor,
  ): Promise<void> | undefined {
    if (!limitedCommands.has(command.name)) {
      return undefined;
    }
    const { user } = request;
    const limits = this.#limitsOf(user);
    const rate = command.isVolatile ? limits.writeRate : limits.readRate;
    if (rate === undefined) {
      return undefined;
    }
    const state = this.#stateOf(user);
    const kind = command.isVolatile ? "write" : "read";
    const now = this.#clock.monotonic();
    const waitMs = state[kind] - now;
    if (rate <= 0 || (waitMs > 0 && state.waiting >= limits.queueSize)) {
      throw new YtError(
        rate <= 0
          ? `User "${user}" may send no ${kind} requests: its ${kind}_request_rate_limit is 0`
          : `User "${user}" has exceeded its request queue size limit; send fewer requests at once, or ask for a higher ${kind}_request_rate_limit`,
        {
          code: "SecurityRequestQueueSizeLimitExceeded",
          attributes: { user, limit: limits.queueSize, request_rate_limit: rate },
        },
      );
    }
    // The time of the next request moves on with each; a pause saves up no more than the burst.
    state[kind] = Math.max(state[kind], now - burstSeconds * 1000) + 1000 / rate;
    // A signal is made for who asks for it, at some cost: only those that wait do.
    return waitMs > 0 ? this.#wait(state, waitMs, request.signal) : undefined;
  }

  async #wait(state: UserState, waitMs: number, signal: AbortSignal): Promise<void> {
    state.waiting++;
    try {
      await sleep(this.#clock, waitMs, signal);
    } finally {
      state.waiting--;
    }
  }

  #stateOf(user: string): UserState {
    let state = this.#users.get(user);
    if (state === undefined) {
      if (this.#users.size >= maxEntries) {
        this.#dropIdle();
      }
      state = { read: Number.NEGATIVE_INFINITY, write: Number.NEGATIVE_INFINITY, waiting: 0 };
      this.#users.set(user, state);
    }
    return state;
  }

  #dropIdle(): void {
    const idleSince = this.#clock.monotonic() - burstSeconds * 1000;
    for (const [user, state] of this.#users) {
      if (state.waiting === 0 && state.read <= idleSince && state.write <= idleSince) {
        this.#users.delete(user);
      }
    }
  }
}
