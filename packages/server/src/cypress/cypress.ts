/**
 * Cypress: the tree of one cluster. The whole tree is in memory; a mutation is one commit of the cell and
 * visible when that is durable. Mutations come one after another, reads never wait.
 */
import { emptyMap, inSlices, limits, type Timer, type YsonValue, YtError } from "@qyt/base";
import { SubjectDirectory } from "../access/index.ts";
import type { Cell } from "../cell/index.ts";
import { Access, checkUser } from "./access-service.ts";
import { AccessTracker } from "./access-tracker.ts";
import { type CopyParameters, copyTo } from "./commands/copy.ts";
import {
  type CreateParameters,
  checkCreateOptions,
  createNodeAt,
  type LinkParameters,
  linkAt,
} from "./commands/create.ts";
import {
  existsAt,
  getAt,
  type LongReads,
  listAt,
  type ReadObserver,
  type ReadParameters,
} from "./commands/get.ts";
import { type LockParameters, type LockResult, lockAt, unlockAt } from "./commands/lock.ts";
import {
  type CheckPermissionByAclParameters,
  type CheckPermissionParameters,
  checkPermission,
  checkPermissionByAcl,
} from "./commands/permissions.ts";
import { type RemoveParameters, removeAt } from "./commands/remove.ts";
import { type MultisetParameters, multisetAt, type SetParameters, setAt } from "./commands/set.ts";
import type { TreeDraft } from "./draft.ts";
import { Mutations, nullId, type Work } from "./mutations.ts";
import type { Node } from "./node.ts";
import type { Draft, View } from "./node-type.ts";
import { checkPrerequisites } from "./prerequisites.ts";
import { RecordStore } from "./record-store.ts";
import type { CypressOptions, RequestContext } from "./request.ts";
import type { TreeLayers, TreeState } from "./state.ts";
import { subjectsOf } from "./subject-index.ts";
import { abortExpired, expiredNodes, expiredTransactions, removeExpired, writeAccesses } from "./sweeper.ts";
import {
  abortTransaction,
  commitTransaction,
  getTransaction,
  type StartTransactionInput,
  startTransaction,
} from "./transactions.ts";
import { checkIncrease } from "./types/account-limits.ts";
import { TypeRegistry } from "./types/registry.ts";
import { addMember, removeMember } from "./types/subjects.ts";
import { TreeView, type ViewEnvironment } from "./view.ts";
import { createWorld, rootIdOf } from "./world.ts";

export type { LockParameters, LockResult } from "./commands/lock.ts";
export type { CypressOptions, RequestContext } from "./request.ts";

const defaultSweepPeriodMs = 500;
const system: RequestContext = { user: "root" };

export class Cypress {
  readonly access: Access;
  readonly #cell: Cell;
  readonly #options: CypressOptions;
  readonly #environment: ViewEnvironment;
  readonly #mutations: Mutations;
  readonly #state: TreeState;
  readonly #accesses: AccessTracker;
  readonly #lastPingMs: Map<string, number>;
  #subjects: SubjectDirectory | undefined;
  #timer: Timer | undefined;
  #isClosed = false;
  #isStarting = true;

  private constructor(cell: Cell, options: CypressOptions) {
    this.#cell = cell;
    this.#options = options;
    this.#accesses = new AccessTracker();
    this.#lastPingMs = new Map();
    const types = new TypeRegistry({
      nodeTypes: options.nodeTypes ?? [],
      attributeExtensions: options.attributeExtensions ?? new Map(),
      virtualMaps: options.virtualMaps ?? new Map(),
      lastPing: (id) => this.#lastPingMs.get(id),
      remoteAddress: options.remoteAddress ?? noRemoteAddress,
    });
    this.#environment = {
      clusterName: options.clusterName,
      cellTag: cell.cellTag,
      rootId: rootIdOf(cell.cellTag),
      types,
      accesses: this.#accesses,
      findObject: options.findObject,
      checkAccount: (view, account, increase) => {
        if (!this.#isStarting) {
          checkIncrease(view, account, increase);
        }
      },
      subjects: () => {
        this.#subjects ??= new SubjectDirectory(subjectsOf(this.#view(undefined)));
        return this.#subjects;
      },
    };
    const records = new RecordStore(cell, types);
    this.#state = records.load(this.#environment);
    this.#mutations = new Mutations({
      cell,
      state: this.#state,
      environment: this.#environment,
      records,
      limits: { ...limits, ...options.limits },
      onDurable: (draft, context) => this.#onDurable(draft, context),
    });
    for (const [id] of this.#state.transactions.entries()) {
      this.#lastPingMs.set(id, cell.clock.now());
    }
    this.access = new Access((transactionId) => this.view(transactionId));
  }

  /** Reads the tree from the store, creates what is missing of `//sys`, and starts the sweeps. */
  static async open(cell: Cell, options: CypressOptions): Promise<Cypress> {
    const cypress = new Cypress(cell, options);
    await cypress.#mutate(system, false, (draft) =>
      createWorld(draft, {
        cellTag: cell.cellTag,
        proxyAddress: options.proxyAddress,
        virtualMaps: options.virtualMaps?.keys() ?? [],
      }),
    );
    cypress.#isStarting = false;
    cypress.#scheduleSweep();
    return cypress;
  }

  /** Stops the sweeps and waits for the mutation under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#mutations.settled;
  }

  #view(transactionId: string | undefined): TreeView {
    return new TreeView(this.#environment, this.#state, transactionId);
  }

  /** Committed state, live: it changes under the reader's feet between awaits. @throws YtError 11000 */
  view(transactionId?: string): View {
    return this.#viewIn(transactionId);
  }

  #viewIn(transactionId: string | undefined): TreeView {
    const id = transactionId === nullId ? undefined : transactionId;
    if (id !== undefined) {
      getTransaction(this.#state, id);
    }
    return this.#view(id);
  }

  /** All nodes of a type, in the tree and in transactions: what a room has to open at start. */
  *allNodesOfType(type: string): Iterable<Node> {
    yield* this.#view(undefined).nodesOfType(type);
    for (const [transactionId] of this.#state.transactions.entries()) {
      const view = this.#view(transactionId);
      for (const [nodeId, branch] of this.#state.branches.row(transactionId)) {
        const node = branch.kind === "created" && branch.node.type === type ? view.node(nodeId) : undefined;
        if (node !== undefined) {
          yield node;
        }
      }
    }
  }

  /**
   * One mutation: `work` runs synchronously over committed state and its own changes; then one commit of
   * the cell. Readers see it when it is durable; if `work` throws or the commit fails nothing has changed.
   * @throws YtError what `work` throws; 11000, 1000, 910, 903 before that
   */
  mutate<T>(context: RequestContext, work: (draft: Draft) => T): Promise<T> {
    return this.#mutate(context, true, work);
  }

  /**
   * The same for work that may be large: others have their turns in between. They see nothing of it, and no
   * other mutation runs before this one is durable.
   */
  #mutateInSlices<T>(
    context: RequestContext,
    work: (draft: TreeDraft) => Generator<void, T, void>,
  ): Promise<T> {
    return this.#mutate<T>(context, true, (draft) => inSlices(work(draft), this.#cell.clock));
  }

  #mutate<T>(context: RequestContext, checked: boolean, work: Work<T>): Promise<T> {
    return this.#mutations.run(context, checked, work);
  }

  #onDurable(draft: TreeDraft, context: RequestContext): void {
    const { layers } = draft;
    this.#forgetEnded(layers);
    if (draft.subjectsChanged) {
      this.#subjects = undefined;
    }
    if (context.suppressExpirationTimeoutRenewal !== true) {
      for (const [, node] of layers.nodes.changes) {
        this.#touch(node);
      }
    }
    for (const callback of draft.durableCallbacks) {
      callback();
    }
    this.#options.onNodesChanged?.(layers.nodes.changes, this.#view(undefined));
  }

  #forgetEnded(layers: TreeLayers): void {
    for (const [id, record] of layers.transactions.changes) {
      if (record === undefined) {
        this.#lastPingMs.delete(id);
      } else if (!this.#lastPingMs.has(id)) {
        this.#lastPingMs.set(id, this.#cell.clock.now());
      }
    }
  }

  /** Renews the expiration timeouts of the node and of what is above it. */
  #touch(node: Node | undefined): void {
    const nowUs = Math.round(this.#cell.clock.now() * 1000);
    for (let current = node; current !== undefined; ) {
      if (current.expirationTimeoutMs !== undefined) {
        this.#accesses.touch(current.id, nowUs);
      }
      current = current.parentId === undefined ? undefined : this.#state.nodes.get(current.parentId);
    }
  }

  #observer(context: RequestContext): ReadObserver {
    const touch = (node: Node): void => {
      if (context.suppressExpirationTimeoutRenewal !== true) {
        this.#touch(node);
      }
    };
    return {
      touched: touch,
      accessed: (node) => {
        touch(node);
        if (context.suppressAccessTracking !== true) {
          this.#accesses.access(node.id, Math.round(this.#cell.clock.now() * 1000));
        }
      },
    };
  }

  /** The content of a table or file is read: an access to its node as by `get`. */
  noteRead(context: RequestContext, node: Node): void {
    this.#observer(context).accessed(node);
  }

  #readView(context: RequestContext): TreeView {
    const view = this.#viewIn(context.transactionId);
    checkUser(view, context.user);
    checkPrerequisites(view, context);
    return view;
  }

  // Reading

  #reading(context: RequestContext, parameters: ReadParameters): Parameters<typeof getAt> {
    const view = this.#readView(context);
    return [view, context.user, parameters, this.#observer(context), this.#longReads(view)];
  }

  /** Reads over the committed state as it is when they begin. */
  #longReads({ transactionId }: TreeView): LongReads {
    return {
      run: async (read) => {
        const snapshot = this.#state.openSnapshot();
        try {
          const view = new TreeView(this.#environment, snapshot, transactionId);
          return await inSlices(read(view), this.#cell.clock);
        } finally {
          this.#state.closeSnapshot(snapshot);
        }
      },
    };
  }

  async get(context: RequestContext, parameters: ReadParameters): Promise<YsonValue> {
    return getAt(...this.#reading(context, parameters));
  }

  async list(context: RequestContext, parameters: ReadParameters): Promise<YsonValue> {
    return listAt(...this.#reading(context, parameters));
  }

  async exists(context: RequestContext, parameters: { readonly path: string }): Promise<boolean> {
    return existsAt(this.#readView(context), parameters.path, this.#observer(context));
  }

  async checkPermission(context: RequestContext, parameters: CheckPermissionParameters): Promise<YsonValue> {
    return checkPermission(this.#readView(context), parameters);
  }

  async checkPermissionByAcl(
    context: RequestContext,
    parameters: CheckPermissionByAclParameters,
  ): Promise<YsonValue> {
    return checkPermissionByAcl(this.#readView(context), parameters);
  }

  // Changing

  async set(context: RequestContext, parameters: SetParameters): Promise<void> {
    await this.#mutations.runLight(context, (draft) => inSlices(setAt(draft, parameters), this.#cell.clock));
  }

  async multisetAttributes(context: RequestContext, parameters: MultisetParameters): Promise<void> {
    await this.#mutations.runLight(context, (draft) => multisetAt(draft, parameters));
  }

  /** Creates a node, or an object when there is no path. */
  async create(
    context: RequestContext,
    parameters: CreateParameters,
  ): Promise<{ readonly id: string; readonly isNode: boolean }> {
    checkCreateOptions(parameters);
    const { path } = parameters;
    if (path === undefined) {
      const { transactionId: _, ...outside } = context;
      const id = await this.#mutate(outside, true, (draft) => this.#createObject(draft, parameters));
      return { id, isNode: false };
    }
    const create = (draft: TreeDraft): string => createNodeAt(draft, path, parameters);
    const id = await (this.#isLight(parameters.type)
      ? this.#mutations.runLight(context, create)
      : this.#mutate(context, true, create));
    return { id, isNode: true };
  }

  /** Nodes of the type are nothing but nodes. */
  #isLight(type: string): boolean {
    const content = this.#environment.types.find(type)?.content;
    return type === "map_node" || content === "scalar" || content === "document";
  }

  #createObject(draft: TreeDraft, parameters: CreateParameters): string {
    const type = draft.types.get(parameters.type);
    if (type.createObject === undefined) {
      throw new YtError(`Objects of type "${parameters.type}" cannot be created without a path`);
    }
    return type.createObject(draft, new Map(parameters.attributes ?? emptyMap), {
      ignoreExisting: parameters.ignoreExisting === true,
    });
  }

  async remove(context: RequestContext, parameters: RemoveParameters): Promise<void> {
    await this.#mutateInSlices(context, (draft) => removeAt(draft, parameters));
  }

  copy(context: RequestContext, parameters: CopyParameters): Promise<string> {
    return this.#mutateInSlices(context, (draft) => copyTo(draft, parameters, false));
  }

  move(context: RequestContext, parameters: CopyParameters): Promise<string> {
    return this.#mutateInSlices(context, (draft) => copyTo(draft, parameters, true));
  }

  link(context: RequestContext, parameters: LinkParameters): Promise<string> {
    return this.#mutate(context, true, (draft) => linkAt(draft, parameters));
  }

  async addMember(context: RequestContext, parameters: { group: string; member: string }): Promise<void> {
    const { transactionId: _, ...outside } = context;
    await this.#mutate(outside, true, (draft) => addMember(draft, parameters.group, parameters.member));
  }

  async removeMember(context: RequestContext, parameters: { group: string; member: string }): Promise<void> {
    const { transactionId: _, ...outside } = context;
    await this.#mutate(outside, true, (draft) => removeMember(draft, parameters.group, parameters.member));
  }

  // Transactions and locks

  /** The transaction of the context, if any, is the parent unless another is named. */
  startTransaction(context: RequestContext, parameters: StartTransactionInput): Promise<string> {
    const { transactionId, ...outside } = context;
    const parentId = parameters.parentId ?? transactionId;
    return this.#mutate(outside, true, (draft) =>
      startTransaction(draft, {
        ...parameters,
        ...(parentId === undefined || parentId === nullId ? {} : { parentId }),
        prerequisiteTransactionIds:
          parameters.prerequisiteTransactionIds ?? context.prerequisiteTransactionIds ?? [],
      }),
    );
  }

  /** Renews the lease. @throws YtError 11000 */
  async pingTransaction(
    _context: RequestContext,
    id: string,
    options: { readonly pingAncestors?: boolean } = {},
  ): Promise<void> {
    let record = getTransaction(this.#state, id);
    for (;;) {
      this.#lastPingMs.set(record.id, this.#cell.clock.now());
      if (options.pingAncestors !== true || record.parentId === undefined) {
        return;
      }
      record = getTransaction(this.#state, record.parentId);
    }
  }

  async commitTransaction(context: RequestContext, id: string): Promise<void> {
    const { transactionId: _, ...outside } = context;
    await this.#mutate(outside, true, (draft) => commitTransaction(draft, id));
  }

  async abortTransaction(
    context: RequestContext,
    id: string,
    _options: { readonly force?: boolean } = {},
  ): Promise<void> {
    const { transactionId: _, ...outside } = context;
    await this.#mutate(outside, true, (draft) => {
      const transaction = draft.node(id);
      if (transaction !== undefined) {
        draft.check(context.user, "write", transaction);
      }
      abortTransaction(draft, id);
    });
  }

  lock(context: RequestContext, parameters: LockParameters): Promise<LockResult> {
    return this.#mutate(context, true, (draft) => lockAt(draft, parameters));
  }

  async unlock(context: RequestContext, parameters: { readonly path: string }): Promise<void> {
    await this.#mutate(context, true, (draft) => unlockAt(draft, parameters.path));
  }

  // What happens by itself

  #scheduleSweep(): void {
    if (this.#isClosed) {
      return;
    }
    const period = this.#options.sweepPeriodMs ?? defaultSweepPeriodMs;
    this.#timer = this.#cell.clock.after(period, () => {
      this.sweep()
        .catch((error: unknown) => this.#options.logger?.warn({ err: error }, "Sweep of the tree failed"))
        .finally(() => this.#scheduleSweep());
    });
  }

  /** One sweep: expired transactions, expired nodes, accesses. Runs by itself; tests call it too. */
  async sweep(): Promise<void> {
    const nowMs = this.#cell.clock.now();
    const lastPing = (id: string): number => this.#lastPingMs.get(id) ?? nowMs;
    const transactions = expiredTransactions(this.#state, lastPing, nowMs);
    if (transactions.length > 0) {
      await this.#mutate(system, false, (draft) =>
        abortExpired(draft, transactions, lastPing, this.#cell.clock.now()),
      );
    }
    for (const id of expiredNodes(this.#view(undefined), nowMs * 1000)) {
      await this.#mutate(system, false, (draft) => removeExpired(draft, id, this.#cell.clock.now() * 1000));
    }
    if (this.#accesses.size > 0) {
      await this.#mutate({ ...system, suppressExpirationTimeoutRenewal: true }, false, (draft) => {
        draft.onDurable(writeAccesses(draft, this.#accesses));
      });
    }
  }
}

function noRemoteAddress(address: string): never {
  throw new YtError(`This cluster cannot ask ${address}: it has no way to other processes`);
}
