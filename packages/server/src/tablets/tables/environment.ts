/** What the table type needs of the engine below, shared by all tables of the cluster. */
import { assert, YtError } from "@qyt/base";
import { timestampFromMs } from "@qyt/schema";
import type { Cell, WriteBatch } from "../../cell/index.ts";
import type { Draft, Node } from "../../cypress/index.ts";
import type { ChunkManager } from "../chunks/chunk-manager.ts";
import type { Prepared } from "../chunks/prepared.ts";
import { StaticChunkList } from "../chunks/static-chunk-list.ts";
import type { DynamicTable, Replication } from "../dynamic-table.ts";
import type { BlockMerger, OrderedTablet } from "../ordered/index.ts";
import { earlierOf } from "../ordered/tablet-state.ts";
import { ReplicationProgress } from "../replicated/progress.ts";
import { ReplicaIndex } from "../replicated/replica-state.ts";
import { ReplicationErrors } from "../replicated/replication-errors.ts";
import { putRetained, readRetained, SortedRows, SortedTabletFigures } from "../sorted/index.ts";
import { DiskLedger } from "./disk-usage.ts";
import { noQueueAgents, type QueueAgentAccess } from "./queue-agent-access.ts";
import type { StagedCopies } from "./staged-copy.ts";
import type { TableState } from "./table-state.ts";

/** Of rows whose retention was not written down, versions younger than this had stayed. */
const recentVersionsMs = 60_000;

export class TableEnvironment {
  readonly cell: Cell;
  readonly chunks: ChunkManager;
  readonly merger: BlockMerger;
  /** Who has room for more. */
  readonly disk: DiskLedger;
  /** Id of the one tablet cell, and this node's address, as clients are shown them. */
  tabletCellId = "0-0-0-0";
  nodeAddress = "localhost";
  /** Whom the statuses of queues and consumers are asked of. */
  queueAgents: QueueAgentAccess = noQueueAgents;
  /** Replicas of replicated tables, and how far each is. */
  readonly replicas = new ReplicaIndex();
  readonly progress: ReplicationProgress;
  /** How much is in the tablets of sorted tables. */
  readonly figures: SortedTabletFigures;
  readonly replicationErrors = new ReplicationErrors();
  /** The log of a replicated table; set when the tables are open. */
  replicationOf: (table: DynamicTable) => Replication;
  /** Nothing that is not visible has this timestamp or a smaller one. */
  visibleTimestamp: () => bigint;
  /** Ordered tablets by id: open from creation to removal, whatever their mount state. */
  readonly orderedTablets = new Map<string, OrderedTablet>();
  /** Tablets that a mutation in flight unmounts, freezes or removes. */
  readonly #leaving = new Set<string>();
  /** Rows that were copied for a mutation to come. */
  readonly stagedCopies = new Set<StagedCopies>();
  /** Rows of sorted tables, by rows id, whose versions are being copied: they have to stay as they are. */
  readonly #kept = new Map<string, number>();
  readonly #chunkLists = new Map<string, StaticChunkList>();
  readonly #sortedRows = new Map<string, SortedRows>();
  /** Rows ids of sorted tables that were removed: a transaction's snapshot may still name them. */
  readonly #removedRows = new Set<string>();
  /** By rows id, where it is known better than `#retainedAtStart`. */
  readonly #retainedBefore = new Map<string, bigint>();
  /** Of rows that an older release has compacted: it did not write down what it left, this time at most. */
  readonly #retainedAtStart: bigint;

  constructor(cell: Cell, chunks: ChunkManager, merger: BlockMerger) {
    this.cell = cell;
    this.chunks = chunks;
    this.merger = merger;
    this.disk = new DiskLedger(cell);
    this.visibleTimestamp = () => cell.lastTimestamp;
    this.progress = ReplicationProgress.open(cell);
    this.figures = SortedTabletFigures.open(cell);
    this.replicationOf = () => {
      throw new YtError("The tables are not open yet", { code: "Unavailable" });
    };
    const recent = timestampFromMs(Math.max(0, cell.clock.now() - recentVersionsMs));
    this.#retainedAtStart = earlierOf(recent, cell.lastTimestamp);
  }

  orderedTablet(id: string): OrderedTablet {
    const tablet = this.orderedTablets.get(id);
    assert(tablet !== undefined, `Tablet ${id} is open`);
    return tablet;
  }

  /**
   * From now on the tablet takes no rows: what came before is flushed or goes with the draft, and a row that
   * joined behind it would be in a tablet that is unmounted or gone. The durable state says so afterwards.
   */
  stopWrites(draft: Draft, tabletId: string): void {
    this.#leaving.add(tabletId);
    draft.onDurable(() => this.#leaving.delete(tabletId));
    draft.onFailed(() => this.#leaving.delete(tabletId));
  }

  isLeaving(tabletId: string): boolean {
    return this.#leaving.has(tabletId);
  }

  /** Compaction leaves the versions alone until `releaseVersions` is called as often. */
  keepVersions(rowsId: string): void {
    this.#kept.set(rowsId, (this.#kept.get(rowsId) ?? 0) + 1);
  }

  releaseVersions(rowsId: string): void {
    const count = (this.#kept.get(rowsId) ?? 0) - 1;
    if (count > 0) {
      this.#kept.set(rowsId, count);
    } else {
      this.#kept.delete(rowsId);
    }
  }

  keepsVersions(rowsId: string): boolean {
    return this.#kept.has(rowsId);
  }

  chunkList(id: string): StaticChunkList {
    let list = this.#chunkLists.get(id);
    if (list === undefined) {
      list = StaticChunkList.open(this.cell, this.chunks, id);
      this.#chunkLists.set(id, list);
    }
    return list;
  }

  newChunkList(): StaticChunkList {
    const list = StaticChunkList.create(this.cell, this.chunks);
    this.#chunkLists.set(list.id, list);
    return list;
  }

  forgetChunkList(id: string): void {
    this.#chunkLists.delete(id);
  }

  /** Rows of a sorted table as the node's schema shows them. Their locks are the same for all schemas. */
  sortedRows(node: Node<TableState>, path: () => string): SortedRows {
    const { rowsId, schema, valueColumns } = node.state;
    assert(rowsId !== undefined, `Table ${node.id} has sorted rows`);
    const known = this.#sortedRows.get(rowsId);
    if (known?.schema === schema) {
      return known;
    }
    const rows = new SortedRows({
      cell: this.cell,
      rowsId,
      schema,
      valueColumns,
      path,
      state: known?.state,
      retainedTimestamp: this.retainedTimestamp(rowsId),
    });
    if (this.#removedRows.has(rowsId)) {
      rows.state.end();
    } else {
      this.#sortedRows.set(rowsId, rows);
    }
    return rows;
  }

  /** Reads of the sorted rows at an earlier time are refused: compaction may have joined versions. */
  retainedTimestamp(rowsId: string): bigint {
    return (
      this.#sortedRows.get(rowsId)?.state.sweep.retainedTimestamp ??
      this.#retainedBefore.get(rowsId) ??
      readRetained(this.cell, rowsId) ??
      this.#retainedAtStart
    );
  }

  /** New sorted rows. @param retained reads at earlier times are refused */
  addSortedRows(batch: WriteBatch, rowsId: string, retained = 0n): void {
    this.#retainedBefore.set(rowsId, retained);
    putRetained(batch, rowsId, retained);
  }

  /** When rows of a sorted tablet were written last, those that readers see; 0 when they never were. */
  lastWriteTimestamp(tabletId: string): bigint {
    return this.figures.find(tabletId)?.lastCommitTimestamp ?? 0n;
  }

  /** The table is removed: reads of its rows fail from now on. */
  forgetSortedRows(rowsId: string): void {
    this.#removedRows.add(rowsId);
    this.#sortedRows.get(rowsId)?.state.end();
    this.#sortedRows.delete(rowsId);
    this.#retainedBefore.delete(rowsId);
  }
}

/** Lets a prepared change of the engine take part in a mutation of the tree. */
export function attach(draft: Draft, prepared: Prepared): void {
  draft.onDurable(() => prepared.onDurable());
  draft.onFailed(() => prepared.onFailed());
}
