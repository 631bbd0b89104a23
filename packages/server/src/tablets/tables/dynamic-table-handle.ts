/**
 * A dynamic table as transactions and queries use it: always the present state of the node, so that a
 * transaction that commits after an unmount is refused.
 */
import { mapOf, Uint64, YtError } from "@qyt/base";
import {
  column,
  type RowValue,
  TableSchema,
  toProducerWriteSchema,
  toQuerySchema,
  toWriteSchema,
} from "@qyt/schema";
import type { WriteBatch } from "../../cell/index.ts";
import type { Node, View } from "../../cypress/index.ts";
import type { Prepared } from "../chunks/prepared.ts";
import type { DynamicTable, Replication, RowInfo } from "../dynamic-table.ts";
import type { OrderedTablet, TabletInfo } from "../ordered/index.ts";
import { earlierOf } from "../ordered/tablet-state.ts";
import { FigureChanges, type SortedRows } from "../sorted/index.ts";
import { ComputedColumns } from "./computed-columns.ts";
import type { TableEnvironment } from "./environment.ts";
import { atomicityOf, maxTabletDataWeight } from "./settings.ts";
import { hasOrderedTablets, isSortedDynamic, type TableState, type TabletRecord } from "./table-state.ts";
import { tabletOfKey } from "./tablets.ts";

/** Of the columns that tell when values were written, in versioned reads. */
export const timestampColumnPrefix = "$timestamp:";

interface DerivedSchemas {
  readonly query: TableSchema;
  readonly write: TableSchema;
  readonly producerWrite: TableSchema;
  readonly key: TableSchema;
  readonly computed: ComputedColumns | undefined;
}

const derivedSchemas = new WeakMap<TableSchema, DerivedSchemas>();

function derived(schema: TableSchema): DerivedSchemas {
  let known = derivedSchemas.get(schema);
  if (known === undefined) {
    known = {
      query: toQuerySchema(schema),
      write: toWriteSchema(schema),
      // Nothing is pushed into a sorted table; its key would not stand in front any more.
      producerWrite: schema.isSorted ? toWriteSchema(schema) : toProducerWriteSchema(schema),
      key: new TableSchema(
        schema.columns.slice(0, schema.keyColumnCount).filter(({ expression }) => expression === undefined),
        { strict: true, uniqueKeys: schema.uniqueKeys },
      ),
      computed: ComputedColumns.of(schema),
    };
    derivedSchemas.set(schema, known);
  }
  return known;
}

/** Who reads the timestamp of a value has to be allowed to read the value. */
function columnOfTimestamp(name: string): string {
  return name.replace(/^\$timestamp:/, "");
}

export class DynamicTableHandle implements DynamicTable {
  readonly id: string;
  readonly path: string;
  readonly #environment: TableEnvironment;
  readonly #view: () => View;

  constructor(environment: TableEnvironment, view: () => View, id: string, path: string) {
    this.#environment = environment;
    this.#view = view;
    this.id = id;
    this.path = path;
  }

  /** The committed node. @throws YtError 500 when the table is gone */
  get node(): Node<TableState> {
    const node = this.#view().node(this.id);
    if (node === undefined) {
      throw new YtError(`Table ${this.path} does not exist any more`, {
        code: "ResolveError",
        attributes: { table_id: this.id, path: this.path },
      });
    }
    return node as Node<TableState>;
  }

  get state(): TableState {
    return this.node.state;
  }

  get schema(): TableSchema {
    return this.state.schema;
  }

  get sorted(): boolean {
    return isSortedDynamic(this.state);
  }

  get atomicity(): "full" | "none" {
    return atomicityOf(this.state);
  }

  get querySchema(): TableSchema {
    return derived(this.schema).query;
  }

  /**
   * The schema of a sorted table with a column `$timestamp:<name>` for each value column behind it, as versioned
   * reads see it. Specified in: yt/yt/client/table_client/timestamped_schema_helpers.cpp.
   * @throws YtError for an ordered table
   */
  get timestampedSchema(): TableSchema {
    const { schema } = this;
    if (!this.sorted) {
      throw new YtError(
        `Table ${this.path} is not sorted: only values of sorted tables have timestamps; rows of a queue have column "$timestamp"`,
        { attributes: { path: this.path } },
      );
    }
    const stamps = schema.columns
      .slice(schema.keyColumnCount)
      .map(({ name }) => column(`${timestampColumnPrefix}${name}`, "uint64"));
    const { strict, uniqueKeys } = schema;
    return new TableSchema([...schema.columns, ...stamps], { strict, uniqueKeys });
  }

  get writeSchema(): TableSchema {
    return derived(this.schema).write;
  }

  get producerWriteSchema(): TableSchema {
    return derived(this.schema).producerWrite;
  }

  get keySchema(): TableSchema {
    return derived(this.schema).key;
  }

  get tabletCount(): number {
    return this.state.tablets.length;
  }

  get layoutRevision(): bigint {
    return this.state.layoutRevision ?? 0n;
  }

  get upstreamReplicaId(): string | undefined {
    return this.state.upstreamReplicaId;
  }

  get replication(): Replication | undefined {
    return this.state.isReplicated === true ? this.#environment.replicationOf(this) : undefined;
  }

  readTarget(timestamp?: bigint): DynamicTableHandle {
    const target = this.replication?.readTarget(timestamp);
    return target === undefined
      ? this
      : new DynamicTableHandle(this.#environment, this.#view, target.id, target.path);
  }

  requireLayout(revision: bigint): void {
    if (this.sorted) {
      throw new YtError(`Table ${this.path} is not ordered: its tablets have no layout revision`, {
        attributes: { path: this.path },
      });
    }
    const actual = this.layoutRevision;
    if (revision !== actual) {
      throw new YtError(
        `The tablets of table ${this.path} have changed: expected layout revision ${revision}, actual ${actual}; look at the tablets again, then send the rows again`,
        {
          code: "InvalidMountRevision",
          attributes: mapOf({ path: this.path, expected: new Uint64(revision), actual: new Uint64(actual) }),
        },
      );
    }
  }

  requireSchema(schema: TableSchema): void {
    if (schema !== this.schema) {
      throw new YtError(`Table ${this.path} has been altered since the rows were read`, {
        code: "InvalidMountRevision",
        attributes: { path: this.path },
      });
    }
  }

  get layout(): object {
    return this.state.tablets;
  }

  check(user: string, permission: "read" | "write" | "mount", columns?: readonly string[] | "all"): void {
    const read = columns === undefined || columns === "all" ? columns : columns.map(columnOfTimestamp);
    this.#view().check(user, permission, this.node, read === undefined ? {} : { columns: read });
  }

  requireRoom(): void {
    this.#environment.disk.requireRoom(this.#view, () => this.node.account);
  }

  writableTabletIndexes(): readonly number[] {
    const indexes: number[] = [];
    for (const [index, record] of this.state.tablets.entries()) {
      if (this.#takesRows(record)) {
        indexes.push(index);
      }
    }
    if (indexes.length === 0) {
      throw new YtError(`Table ${this.path} has no mounted tablets`, {
        code: "TabletNotMounted",
        attributes: { path: this.path, table_id: this.id },
      });
    }
    return indexes;
  }

  writableTablet(index: number): OrderedTablet {
    const node = this.node;
    const record = this.#record(node.state, index);
    if (!this.#takesRows(record)) {
      throw this.#notMounted(record);
    }
    const tablet = this.#environment.orderedTablet(record.id);
    const limit = maxTabletDataWeight(node.attributes, node.state);
    if (limit !== undefined) {
      this.#checkWeight(tablet, limit);
    }
    return tablet;
  }

  readableTablet(index: number): OrderedTablet {
    const record = this.#record(this.state, index);
    if (record.state === "unmounted") {
      throw this.#notReadable(record);
    }
    return this.#environment.orderedTablet(record.id);
  }

  tabletInfo(index: number): TabletInfo {
    if (hasOrderedTablets(this.state)) {
      return this.readableTablet(index).info();
    }
    const record = this.#record(this.state, index);
    if (record.state === "unmounted") {
      throw this.#notReadable(record);
    }
    // Whatever follows gets a larger timestamp than this; what is in flight is not visible.
    this.#environment.cell.nextTimestamp();
    const visible = this.#environment.visibleTimestamp();
    const written = this.#environment.lastWriteTimestamp(record.id);
    return {
      totalRowCount: 0,
      trimmedRowCount: 0,
      barrierTimestamp: visible,
      lastWriteTimestamp: earlierOf(written, visible),
    };
  }

  rowInfos(tabletIndex: number, fromRow: number, toRow: number): readonly RowInfo[] {
    const tablet = this.readableTablet(tabletIndex);
    const { hasTimestamp, hasCumulativeDataWeight } = tablet.format;
    const infos: RowInfo[] = [];
    for (let rowIndex = fromRow; rowIndex < toRow; rowIndex++) {
      const facts = tablet.rowFacts(rowIndex);
      if (facts !== undefined) {
        infos.push({
          rowIndex,
          ...(hasTimestamp ? { timestamp: facts.timestamp } : {}),
          ...(hasCumulativeDataWeight ? { cumulativeDataWeight: BigInt(facts.cumulativeDataWeight) } : {}),
        });
      }
    }
    return infos;
  }

  get rows(): SortedRows {
    return this.#environment.sortedRows(this.node, () => this.path);
  }

  requireWritableKey(key: Buffer): string {
    const record = this.tabletOfKey(key);
    if (!this.#takesRows(record)) {
      throw this.#notMounted(record);
    }
    return record.id;
  }

  countChanges(): FigureChanges {
    const { tablets } = this.state;
    return new FigureChanges((key) => tabletOfKey(tablets, key).id);
  }

  prepareFigures(batch: WriteBatch, changes: FigureChanges, commitTimestamp: bigint): Prepared {
    return this.#environment.figures.prepareChanges(batch, changes, commitTimestamp);
  }

  requireWritableTablets(tabletIds: ReadonlySet<string>): void {
    const leaving = this.state.tablets.find(({ id }) => tabletIds.has(id) && this.#environment.isLeaving(id));
    if (leaving !== undefined) {
      throw this.#notMounted(leaving);
    }
  }

  requireReadableKey(key: Buffer): void {
    const record = this.tabletOfKey(key);
    if (record.state === "unmounted") {
      throw this.#notReadable(record);
    }
  }

  tabletIdOf(key: Buffer): string {
    return this.tabletOfKey(key).id;
  }

  /** The tablet whose range of keys holds the key. */
  tabletOfKey(key: Buffer): TabletRecord {
    return tabletOfKey(this.state.tablets, key);
  }

  /** @throws YtError 1702 unless every tablet can be read */
  requireReadable(): void {
    for (const record of this.state.tablets) {
      if (record.state === "unmounted") {
        throw this.#notReadable(record);
      }
    }
  }

  /** Of a sorted table, for keys in [from, to). @throws YtError 1702 unless their tablets can be read */
  requireReadableKeys(from: Buffer, to: Buffer | undefined): void {
    const { tablets } = this.state;
    for (let index = tablets.indexOf(this.tabletOfKey(from)); index < tablets.length; index++) {
      const record = tablets[index];
      const pivot = record?.pivotKey;
      if (
        record === undefined ||
        (pivot !== undefined && to !== undefined && Buffer.compare(pivot, to) >= 0)
      ) {
        return;
      }
      if (record.state === "unmounted") {
        throw this.#notReadable(record);
      }
    }
  }

  completeRow(row: readonly (RowValue | undefined)[]): readonly (RowValue | undefined)[] {
    return derived(this.schema).computed?.completeRow(row) ?? row;
  }

  completeKey(key: readonly (RowValue | undefined)[]): readonly RowValue[] {
    return derived(this.schema).computed?.completeKey(key) ?? key.map((value) => value ?? null);
  }

  #record(state: TableState, index: number): TabletRecord {
    const record = state.tablets[index];
    if (record === undefined || !Number.isInteger(index)) {
      throw new YtError(
        `Invalid tablet index for table ${this.path}: expected in range [0,${state.tablets.length - 1}], got ${index}`,
        { code: "NoSuchTablet", attributes: { path: this.path, tablet_index: BigInt(index) } },
      );
    }
    return record;
  }

  #checkWeight(tablet: OrderedTablet, limit: number): void {
    const weight = tablet.retainedDataWeight;
    if (weight >= limit) {
      throw new YtError(
        `Data weight of tablet ${tablet.tabletId} of table ${this.path} is ${weight}, which is not below the limit "max_ordered_tablet_data_weight" of ${limit}`,
        { attributes: { tablet_id: tablet.tabletId, data_weight: BigInt(weight), limit: BigInt(limit) } },
      );
    }
  }

  #takesRows({ id, state }: TabletRecord): boolean {
    return state === "mounted" && !this.#environment.isLeaving(id);
  }

  #notMounted(record: TabletRecord): YtError {
    // One that is mounted is about to leave: to be unmounted, frozen or removed.
    const state = record.state === "mounted" ? "unmounting" : record.state;
    return new YtError(`Tablet ${record.id} of table ${this.path} is in "${state}" state`, {
      code: "TabletNotMounted",
      attributes: {
        tablet_id: record.id,
        path: this.path,
        is_tablet_unmounted: record.state === "unmounted",
      },
    });
  }

  #notReadable(record: TabletRecord): YtError {
    return new YtError(`Cannot read from tablet ${record.id} while it is in "${record.state}" state`, {
      code: "TabletNotMounted",
      attributes: { tablet_id: record.id, path: this.path, is_tablet_unmounted: true },
    });
  }
}
