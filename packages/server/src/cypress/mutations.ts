/**
 * The order of mutations. They come one after another; what is known to be small and to concern the tree alone is
 * prepared while others of its kind wait for the disk, each over the changes of those before it, so that many of
 * them share a flush.
 */
import { atOnce, inSlices, turn } from "@qyt/base";
import type { Cell } from "../cell/index.ts";
import { checkUser } from "./access-service.ts";
import { TreeDraft } from "./draft.ts";
import type { TreeLimits } from "./node-type.ts";
import { checkPrerequisites } from "./prerequisites.ts";
import type { RecordStore } from "./record-store.ts";
import type { RequestContext } from "./request.ts";
import { type TreeBase, TreeLayers, type TreeState } from "./state.ts";
import { getTransaction } from "./transactions.ts";
import type { ViewEnvironment } from "./view.ts";

/** Records of so many nodes are written without a break. */
const maxNodesAtOnce = 200;
/** How many mutations share their layers at most; then all of them have to be durable first. */
const maxGroupSize = 1_000;
/** How long mutations are prepared before others have a turn, in milliseconds. */
const sliceMs = 3;
export const nullId = "0-0-0-0";

/** What a mutation does to its draft. */
export type Work<T> = (draft: TreeDraft) => T | Promise<T>;

export interface MutationOptions {
  readonly cell: Cell;
  readonly state: TreeState;
  readonly environment: ViewEnvironment;
  readonly records: RecordStore;
  readonly limits: TreeLimits;
  /** The changes are durable, and in the committed state. */
  readonly onDurable: (draft: TreeDraft, context: RequestContext) => void;
}

/** Mutations of which each stands on the changes of those before it. */
interface Group {
  /** The committed state with the changes of those that are prepared. */
  base: TreeLayers;
  /** The newest commit of the group. */
  last: Promise<void>;
}

type LightMutation = (group: Group) => Promise<void>;

export class Mutations {
  readonly #options: MutationOptions;
  #tail: Promise<unknown> = Promise.resolve();
  /** Those of the group that has not begun yet. */
  #waiting: LightMutation[] | undefined;

  constructor(options: MutationOptions) {
    this.#options = options;
  }

  /** When all that were asked for have ended. */
  get settled(): Promise<unknown> {
    return this.#tail;
  }

  /**
   * Runs `work` when no other mutation is under way.
   * @param checked the user has to exist, and the prerequisites have to hold
   */
  run<T>(context: RequestContext, checked: boolean, work: Work<T>): Promise<T> {
    this.#waiting = undefined;
    const run = this.#tail.then(async () => {
      const { draft, result } = await this.#prepare(this.#options.state, context, checked, work);
      const { durable } = await this.#join(draft, context);
      await durable;
      return result;
    });
    this.#tail = run.catch(() => {});
    return run;
  }

  /**
   * The same for work that changes nodes and has no part in what tables and accounts keep beside them. It may begin
   * before the one ahead of it is durable, and settles after that one.
   */
  runLight<T>(context: RequestContext, work: Work<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#group().push(async (group) => {
        const before = group.last;
        try {
          const { result, durable } = await this.#runOver(group, context, work);
          durable.then(() => resolve(result), reject);
        } catch (error) {
          // What it was refused for may not be durable yet.
          before.finally(() => reject(error)).catch(() => {});
        }
      });
    });
  }

  #group(): LightMutation[] {
    if (this.#waiting === undefined || this.#waiting.length >= maxGroupSize) {
      const waiting: LightMutation[] = [];
      this.#waiting = waiting;
      this.#tail = this.#tail.then(() => this.#runGroup(waiting));
    }
    return this.#waiting;
  }

  async #runGroup(waiting: readonly LightMutation[]): Promise<void> {
    if (this.#waiting === waiting) {
      this.#waiting = undefined;
    }
    const { clock } = this.#options.cell;
    const group: Group = { base: new TreeLayers(this.#options.state), last: Promise.resolve() };
    let startMs = clock.monotonic();
    for (const mutation of waiting) {
      await mutation(group);
      if (clock.monotonic() - startMs > sliceMs) {
        await turn();
        startMs = clock.monotonic();
      }
    }
    await group.last.catch(() => {});
  }

  async #runOver<T>(
    group: Group,
    context: RequestContext,
    work: Work<T>,
  ): Promise<{ readonly result: T; readonly durable: Promise<void> }> {
    for (;;) {
      const { base } = group;
      const { draft, result } = await this.#prepare(base, context, true, work);
      const before = group.last;
      const { durable, joined } = await this.#join(draft, context, {
        isCurrent: () => group.base === base,
        before,
        onFailed: () => {
          // All that is in flight is taken back, the base with it.
          group.base = new TreeLayers(this.#options.state);
        },
      });
      if (!joined) {
        continue;
      }
      draft.layers.applyTo(base);
      group.last = durable;
      if (draft.subjectsChanged) {
        await durable;
      }
      durable.catch(() => {});
      return { result, durable };
    }
  }

  async #prepare<T>(
    base: TreeBase,
    context: RequestContext,
    checked: boolean,
    work: Work<T>,
  ): Promise<{ readonly draft: TreeDraft; readonly result: T }> {
    const { cell, environment, limits } = this.#options;
    const transactionId = context.transactionId === nullId ? undefined : context.transactionId;
    if (transactionId !== undefined) {
      getTransaction(base, transactionId);
    }
    const draft = new TreeDraft({
      environment,
      layers: new TreeLayers(base),
      cell,
      limits,
      user: context.user,
      transactionId,
      suppressModificationTracking: context.suppressModificationTracking === true,
    });
    try {
      if (checked) {
        checkUser(draft, context.user);
        checkPrerequisites(draft, context);
      }
      const outcome = work(draft);
      return { draft, result: outcome instanceof Promise ? await outcome : outcome };
    } catch (error) {
      runAll(draft.failedCallbacks.toReversed());
      throw error;
    }
  }

  /** Hands the changes to the cell. `durable` is what becomes of them; not `joined`: they are out of date. */
  async #join(
    draft: TreeDraft,
    context: RequestContext,
    among?: {
      readonly isCurrent: () => boolean;
      readonly before: Promise<void>;
      readonly onFailed: () => void;
    },
  ): Promise<{ readonly durable: Promise<void>; readonly joined: boolean }> {
    const { layers, batch } = draft;
    const { cell, records, state } = this.#options;
    const failed = (): void => runAll(draft.failedCallbacks.toReversed());
    if (layers.isEmpty && batch.entryCount === 0) {
      const durable = (among?.before ?? Promise.resolve()).then(
        () => runAll(draft.durableCallbacks),
        (error: unknown) => {
          failed();
          throw error;
        },
      );
      return { durable, joined: true };
    }
    const writing = records.write(layers, batch);
    const afterwards =
      layers.nodes.changes.size > maxNodesAtOnce ? await inSlices(writing, cell.clock) : atOnce(writing);
    if (among?.isCurrent() === false) {
      failed();
      return { durable: Promise.resolve(), joined: false };
    }
    const durable = cell.commit({
      batch,
      onDurable: () => {
        state.commit(layers);
        afterwards();
        this.#options.onDurable(draft, context);
      },
      onFailed: () => {
        failed();
        among?.onFailed();
      },
    });
    return { durable, joined: true };
  }
}

function runAll(callbacks: readonly (() => void)[]): void {
  for (const callback of callbacks) {
    callback();
  }
}
