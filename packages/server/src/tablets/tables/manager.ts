/**
 * The tables of the cluster: finding them, their life cycle, and the background work on their rows.
 */
import { type Timer, toYtError, turn, YtError } from "@qyt/base";
import { keyRangeFrom, keyRangeTo, type RowValue, timestampFromMs } from "@qyt/schema";
import { parseRichPath, type RichPath } from "@qyt/yson";
import { type Cell, WriteBatch } from "../../cell/index.ts";
import {
  type BuiltinAttribute,
  type Cypress,
  checkBundle,
  type Node,
  type NodeType,
  type View,
} from "../../cypress/index.ts";
import { ChunkManager } from "../chunks/chunk-manager.ts";
import { commitPrepared } from "../chunks/commit-prepared.ts";
import type { DynamicTable } from "../dynamic-table.ts";
import { createFileType } from "../files/file-type.ts";
import { BlockMerger, OrderedTablet } from "../ordered/index.ts";
import { earlierOf } from "../ordered/tablet-state.ts";
import { replicaTypeName, replicatedTableTypeName } from "../replicated/replica-state.ts";
import { createReplicaType } from "../replicated/replica-type.ts";
import { TableReplication } from "../replicated/table-replication.ts";
import { FigureChanges, type ScannedRows } from "../sorted/index.ts";
import type { TabletTransactions } from "../transactions/index.ts";
import { type AlterOptions, alterTable, stageRows } from "./alter.ts";
import { createChunkListType, findChunkListObject } from "./chunk-list-objects.ts";
import { createChunkType, findChunkObject } from "./chunk-objects.ts";
import { DynamicTableHandle } from "./dynamic-table-handle.ts";
import { TableEnvironment } from "./environment.ts";
import { changeTabletStates, type LifecycleCommand, type TabletRange } from "./lifecycle.ts";
import { maintainTablets } from "./maintenance.ts";
import { noQueueAgents, type QueueAgentAccess } from "./queue-agent-access.ts";
import { QueueObjects } from "./queue-objects.ts";
import { choosePivots, type ReshardOptions, reshardTable } from "./reshard.ts";
import { tabletFormatOf } from "./row-format.ts";
import { bundleOf, sortedRetention } from "./settings.ts";
import { dropAllStaged, dropStaged } from "./sorted-switch.ts";
import { completeFigures } from "./sorted-tablets.ts";
import { withStagedCopies } from "./staged-copies.ts";
import { hasOrderedTablets, isSortedDynamic, isTableType, type TableState } from "./table-state.ts";
import { createReplicatedTableType, createTableType } from "./table-type.ts";
import { tabletOfKey } from "./tablets.ts";

export interface TableContext {
  readonly user: string;
  /** Master transaction whose version of the tree is read. */
  readonly transactionId?: string;
}

export interface Table {
  readonly id: string;
  readonly path: string;
  readonly node: Node<TableState>;
  readonly view: View;
}

interface DynamicTableOptions {
  /** What the user has to have on the table. Of columns, that is asked when it is known which are read. */
  readonly permission?: "read" | "write";
}

/** Rights that every change of tablets needs. @throws YtError 901 */
function checkTabletRights(view: View, user: string, node: Node<TableState>): void {
  view.check(user, "mount", node);
  if (node.state.dynamic) {
    checkBundle(view, user, bundleOf(node.state), "use");
  }
}

/** How often flushes, retention and compaction are looked at, in milliseconds. */
const maintenancePeriodMs = 1_000;
const scanBatchRows = 200;

export class TableManager {
  readonly environment: TableEnvironment;
  readonly nodeTypes: readonly NodeType[];
  /** The queues and consumers among the tables, as queue agents watch them. */
  readonly queueObjects = new QueueObjects();
  /** Attributes of other types that tell of tables. */
  readonly attributeExtensions: ReadonlyMap<string, ReadonlyMap<string, BuiltinAttribute>> = new Map([
    [
      "sys_node",
      new Map<string, BuiltinAttribute>([
        ["queue_agent_object_revisions", { opaque: true, get: () => this.queueObjects.revisions() }],
      ]),
    ],
  ]);
  #cypress: Cypress | undefined;
  #transactions: TabletTransactions | undefined;
  #replication: TableReplication | undefined;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(environment: TableEnvironment) {
    this.environment = environment;
    this.nodeTypes = [
      createTableType(environment) as NodeType,
      createReplicatedTableType(environment) as NodeType,
      createReplicaType(environment) as NodeType,
      createFileType(environment) as NodeType,
      createChunkType() as NodeType,
      createChunkListType() as NodeType,
    ];
  }

  /** Opens the chunks. The tree is opened next, with `nodeTypes`; then `start` opens the tablets. */
  static async open(cell: Cell): Promise<TableManager> {
    const chunks = await ChunkManager.open(cell);
    return new TableManager(new TableEnvironment(cell, chunks, new BlockMerger(chunks)));
  }

  /** Opens all tablets and begins the background work. */
  async start(
    cypress: Cypress,
    transactions: TabletTransactions,
    options: { readonly nodeAddress: string; readonly queueAgents?: QueueAgentAccess },
  ): Promise<void> {
    this.#cypress = cypress;
    this.#transactions = transactions;
    this.environment.nodeAddress = options.nodeAddress;
    this.environment.queueAgents = options.queueAgents ?? noQueueAgents;
    this.environment.visibleTimestamp = () => transactions.visibleTimestamp;
    const view = cypress.view();
    const cells = view.findNode("//sys/tablet_cells");
    for (const [, id] of cells === undefined ? [] : view.children(cells.id)) {
      this.environment.tabletCellId = id;
      break;
    }
    for (const node of this.#allTables(cypress)) {
      if (hasOrderedTablets(node.state)) {
        for (const tablet of node.state.tablets) {
          await this.#openTablet(node, tablet.id);
        }
      }
    }
    this.nodesChanged(
      ["table", replicatedTableTypeName, replicaTypeName].flatMap((type) =>
        [...view.nodesOfType(type)].map((node) => [node.id, node] as const),
      ),
      view,
    );
    await dropAllStaged(this.environment);
    await completeFigures(this.environment, this.#allTables(cypress));
    this.#replication = new TableReplication(this.environment, cypress, transactions);
    this.#schedule();
    this.#replication.start();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#running;
    await this.#replication?.close();
    await this.environment.merger.stop();
    for (const tablet of this.environment.orderedTablets.values()) {
      tablet.close();
    }
  }

  /** Objects that are not in the tree: chunks and chunk lists by their ids. */
  findObject(id: string): Node | undefined {
    return (
      findChunkObject(this.environment.chunks, id) ??
      (this.#cypress === undefined
        ? undefined
        : findChunkListObject(this.environment, this.#cypress.view(), id))
    );
  }

  /** Takes over committed changes of the tree; `undefined` for a node that is gone. */
  nodesChanged(changes: Iterable<readonly [id: string, node: Node | undefined]>, view: View): void {
    const all = [...changes];
    this.queueObjects.update(all, view);
    this.environment.replicas.update(all);
  }

  /** Replicated tables and their replicas. */
  get replication(): TableReplication {
    if (this.#replication === undefined) {
      throw new YtError("The tables are not open yet", { code: "Unavailable" });
    }
    return this.#replication;
  }

  get cypress(): Cypress {
    if (this.#cypress === undefined) {
      throw new YtError("The tree is not open yet", { code: "Unavailable" });
    }
    return this.#cypress;
  }

  /** The table at a path, links followed. @throws YtError 500 */
  find(context: TableContext, path: RichPath | string): Table {
    const view = this.cypress.view(context.transactionId);
    const node = view.resolveNode(typeof path === "string" ? parseRichPath(path).path : path.path);
    if (!isTableType(node.type)) {
      throw new YtError(`Path ${view.pathOf(node)} does not point to a table: it is of type "${node.type}"`, {
        code: "InvalidObjectType",
        attributes: { path: view.pathOf(node), type: node.type },
      });
    }
    return { id: node.id, path: view.pathOf(node), node: node as Node<TableState>, view };
  }

  /** @throws YtError 500, 901, `Table //t is not dynamic` */
  dynamicTable(
    context: TableContext,
    path: RichPath | string,
    options: DynamicTableOptions = {},
  ): DynamicTable {
    return this.dynamicHandle(context, path, options);
  }

  /** As `dynamicTable`, with what only this room uses. */
  dynamicHandle(
    context: TableContext,
    path: RichPath | string,
    options: DynamicTableOptions = {},
  ): DynamicTableHandle {
    const table = this.find({ user: context.user }, path);
    if (options.permission !== undefined) {
      table.view.check(context.user, options.permission, table.node);
    }
    if (!table.node.state.dynamic) {
      throw new YtError(`Table ${table.path} is not dynamic`, { attributes: { path: table.path } });
    }
    return new DynamicTableHandle(this.environment, () => this.cypress.view(), table.id, table.path);
  }

  /** Rows of a sorted table whose key begins with the prefix, newest versions, in batches in key order. */
  async *scanSorted(table: DynamicTable, keyPrefix: readonly RowValue[] = []): AsyncIterable<RowValue[][]> {
    const { keyTypes } = table.rows;
    const to = keyPrefix.length === 0 ? undefined : keyRangeTo(keyPrefix, keyTypes);
    const { timestamp, letGo } = this.#holdNow();
    try {
      let from: Buffer | undefined = keyRangeFrom(keyPrefix, keyTypes);
      while (from !== undefined) {
        const { rows, next }: ScannedRows = table.rows.scan(from, to, timestamp, scanBatchRows);
        yield rows;
        from = next;
        if (next !== undefined) {
          await turn();
        }
      }
    } finally {
      letGo();
    }
  }

  /** For a table that is not committed yet and that the user is going to mount. @throws YtError 901 */
  checkMayMount(view: View, user: string, node: Node): void {
    checkTabletRights(view, user, node as Node<TableState>);
  }

  mount(
    context: TableContext,
    path: RichPath,
    options: TabletRange & { readonly freeze?: boolean },
  ): Promise<void> {
    return this.#change(context, path, options.freeze === true ? "mount_frozen" : "mount", options);
  }

  unmount(
    context: TableContext,
    path: RichPath,
    options: TabletRange & { readonly force?: boolean },
  ): Promise<void> {
    return this.#change(context, path, options.force === true ? "force_unmount" : "unmount", options);
  }

  remount(context: TableContext, path: RichPath, options: TabletRange): Promise<void> {
    return this.#change(context, path, "remount", options);
  }

  freeze(context: TableContext, path: RichPath, options: TabletRange): Promise<void> {
    return this.#change(context, path, "freeze", options);
  }

  unfreeze(context: TableContext, path: RichPath, options: TabletRange): Promise<void> {
    return this.#change(context, path, "unfreeze", options);
  }

  /** @throws YtError of tables §5.6 */
  async reshard(context: TableContext, path: RichPath, options: ReshardOptions): Promise<void> {
    const { path: real, node: seen, view } = this.find({ user: context.user }, path);
    checkTabletRights(view, context.user, seen);
    const chosen = await choosePivots(this.environment, seen, real, options);
    await this.cypress.mutate({ user: context.user }, (draft) => {
      const node = draft.resolveNode(real) as Node<TableState>;
      checkTabletRights(draft, context.user, node);
      reshardTable(this.environment, draft, node, options, chosen);
    });
  }

  /** @throws YtError 314, 316 … */
  async alter(context: TableContext, path: RichPath, options: AlterOptions): Promise<void> {
    const { path: real, node: seen, view } = this.find(context, path);
    view.check(context.user, "write", seen);
    const staged =
      context.transactionId === undefined
        ? await stageRows(this.environment, seen, real, options, () => this.#holdNow())
        : undefined;
    try {
      await this.cypress.mutate(context, (draft) => {
        const node = draft.resolveNode(real) as Node<TableState>;
        draft.check(context.user, "write", node);
        const isSame = node.id === seen.id && node.state === seen.state;
        alterTable(this.environment, draft, node, options, isSame ? staged : undefined);
      });
    } catch (error) {
      if (staged !== undefined) {
        await dropStaged(this.environment, staged);
      }
      throw error;
    }
    if (staged?.kind === "static" && staged.writer.rowCount === 0) {
      await staged.writer.abort();
    }
  }

  /**
   * Runs a copy of a subtree; the rows of large sorted tables in it are copied before, in parts.
   * @param copy the mutation
   */
  async copy<T>(context: TableContext, sourcePath: string, copy: () => Promise<T>): Promise<T> {
    const view = this.cypress.view(context.transactionId);
    const source = view.findNode(sourcePath);
    return source !== undefined && view.decide(context.user, "read", source).action === "allow"
      ? withStagedCopies(this.environment, view, source, copy)
      : copy();
  }

  /** Makes rows of one tablet below an index disappear. Takes effect at once, outside of transactions. */
  async trim(
    context: TableContext,
    path: RichPath,
    tabletIndex: number,
    trimmedRowCount: bigint,
  ): Promise<void> {
    const table = this.dynamicHandle(context, path, { permission: "write" });
    if (table.state.isReplicated === true) {
      throw new YtError("Trim is not supported for this table type: trim the tables of its replicas", {
        attributes: { path: table.path },
      });
    }
    if (table.sorted) {
      throw new YtError(`Table ${table.path} is not ordered`, { attributes: { path: table.path } });
    }
    const tablet = table.writableTablet(tabletIndex);
    const wanted =
      trimmedRowCount > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(trimmedRowCount);
    await commitPrepared(this.environment.cell, (batch, prepared) => {
      prepared.push(tablet.prepareTrim(batch, wanted));
    });
  }

  async #change(
    context: TableContext,
    path: RichPath,
    command: LifecycleCommand,
    range: TabletRange,
  ): Promise<void> {
    const { path: real } = this.find({ user: context.user }, path);
    await this.cypress.mutate({ user: context.user }, (draft) => {
      const node = draft.resolveNode(real) as Node<TableState>;
      checkTabletRights(draft, context.user, node);
      if (command === "force_unmount") {
        checkBundle(draft, context.user, bundleOf(node.state), "administer");
      }
      changeTabletStates(this.environment, draft, node, command, range);
    });
  }

  *#allTables(cypress: Cypress): Iterable<Node<TableState>> {
    for (const type of ["table", replicatedTableTypeName]) {
      for (const node of cypress.allNodesOfType(type)) {
        yield node as Node<TableState>;
      }
    }
  }

  async #openTablet(node: Node<TableState>, tabletId: string): Promise<void> {
    const tablet = await OrderedTablet.open(this.environment.cell, this.environment.chunks, {
      tabletId,
      tableId: node.id,
      format: tabletFormatOf(node.state),
      merger: this.environment.merger,
      visibleTimestamp: () => this.environment.visibleTimestamp(),
    });
    this.environment.orderedTablets.set(tabletId, tablet);
  }

  /** Keeps what can be read now. */
  #holdNow(): { timestamp: bigint; letGo: () => void } {
    const timestamp = this.environment.visibleTimestamp();
    const letGo = this.#transactions?.hold(timestamp);
    return { timestamp, letGo: () => letGo?.() };
  }

  #schedule(): void {
    if (!this.#isClosed) {
      this.#timer = this.environment.cell.clock.after(maintenancePeriodMs, () => {
        this.#running = this.#maintain()
          .catch(() => undefined)
          .finally(() => this.#schedule());
      });
    }
  }

  /** One round of flushes, retention and compaction over all tables. A failing table does not stop the rest. */
  async #maintain(): Promise<void> {
    const nowMs = this.environment.cell.clock.now();
    for (const table of this.#allTables(this.cypress)) {
      try {
        if (hasOrderedTablets(table.state)) {
          const present = (): Node<TableState> | undefined =>
            this.cypress.view().node(table.id) as Node<TableState> | undefined;
          await maintainTablets(this.environment, present, nowMs);
        } else if (isSortedDynamic(table.state)) {
          await this.#compact(table);
        }
      } catch (thrown) {
        this.#onMaintenanceError(table, toYtError(thrown));
      }
    }
    try {
      await this.#replication?.maintain();
      await this.environment.disk.update(() => this.cypress.view());
    } catch (thrown) {
      const error = toYtError(thrown).wrap("The disk usage of accounts cannot be summed up");
      this.onMaintenanceError("0-0-0-0", error);
    }
  }

  async #compact(node: Node<TableState>): Promise<void> {
    const { cell } = this.environment;
    const startMs = cell.clock.monotonic();
    for (let isDone = false; !isDone && cell.clock.monotonic() - startMs < compactionRoundMs; ) {
      const horizon = this.#transactions?.horizon;
      const present = this.cypress.view().node(node.id);
      if (horizon === undefined || this.#isClosed || present === undefined) {
        return;
      }
      if (this.environment.keepsVersions((present as Node<TableState>).state.rowsId ?? "")) {
        return;
      }
      const rows = this.environment.sortedRows(present as Node<TableState>, () =>
        this.cypress.view().pathOf(present),
      );
      const batch = new WriteBatch();
      const table = present as Node<TableState>;
      const nowMs = cell.clock.now();
      const { minTtlMs, retention } = sortedRetention(table.attributes, table.state, nowMs);
      const recent = timestampFromMs(Math.max(0, nowMs - minTtlMs));
      const { tablets } = table.state;
      const changes = new FigureChanges((key) => tabletOfKey(tablets, key).id);
      isDone = rows.compact(batch, earlierOf(horizon, recent), compactedRecordsPerTurn, retention, changes);
      if (batch.entryCount > 0) {
        const figures = this.environment.figures.prepareChanges(batch, changes);
        try {
          await cell.commit({
            batch,
            onDurable: () => figures.onDurable(),
            onFailed: () => figures.onFailed(),
          });
        } catch (thrown) {
          rows.compactionFailed();
          throw thrown;
        }
      } else {
        await turn();
      }
    }
  }

  /** Told to whoever listens: a background failure is never silent. */
  onMaintenanceError: (tableId: string, error: YtError) => void = () => undefined;

  #onMaintenanceError(node: Node<TableState>, error: YtError): void {
    this.onMaintenanceError(node.id, error);
  }
}

/** About 2 ms of reading, then others have a turn. */
const compactedRecordsPerTurn = 200;
/** How much time of each round goes to one table, in milliseconds. */
const compactionRoundMs = 100;
