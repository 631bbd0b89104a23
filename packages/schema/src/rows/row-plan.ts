/**
 * What a row sink must know of a schema, compiled once per reader: where each column goes, which values it takes
 * without a further look, and which checks the others need.
 */
import { bare, isMap, type YsonValue } from "@qyt/base";
import type { ColumnSchema, TableSchema } from "../table-schema.ts";
import { type IntegerRange, integerRangeOf, type PhysicalType } from "../value-type.ts";
import { ColumnTable } from "./column-table.ts";

/** What a reader makes of rows. */
export type RowKind = "insert" | "keys" | "producer" | "static";

/** Where the values of a column go instead of a cell. */
export const tabletIndexCell = -1;
export const sequenceNumberCell = -2;
/** A column of the schema that this kind of row must not have. */
export const forbiddenCell = -3;

/** Which values a column takes as they are. All other values take the slow way. */
export const fastValue = {
  none: 0,
  string: 1,
  int64: 2,
  uint64: 3,
  double: 4,
  boolean: 5,
} as const;

export interface PlannedColumn {
  readonly name: string;
  /** Index of the cell, or one of the negative constants above. */
  readonly cell: number;
  /** The type as error texts name it. */
  readonly typeName: string;
  readonly physical: PhysicalType;
  readonly required: boolean;
  readonly isKey: boolean;
  readonly isComputed: boolean;
  /** The column's type is exactly YSON, not a composite one. */
  readonly isYson: boolean;
  /** A composite type whose values are lists or maps. */
  readonly takesCompositesOnly: boolean;
  readonly range?: IntegerRange;
  readonly schema?: ColumnSchema;
}

export class RowPlan {
  readonly columns: readonly PlannedColumn[];
  /** The columns that have a cell, by cell. */
  readonly cells: readonly PlannedColumn[];
  readonly table: ColumnTable;
  readonly keyCellCount: number;
  /** By column: `fastValue`. */
  readonly fast: Uint8Array;
  /** By column: the cell. */
  readonly cellOf: Int32Array;
  /** By column: 1 if the column is required. */
  readonly required: Uint8Array;
  readonly requiredCount: number;

  constructor(schema: TableSchema, kind: RowKind, spell?: (name: Buffer) => Buffer) {
    const columns: PlannedColumn[] = [];
    let cell = 0;
    for (const [index, column] of schema.columns.entries()) {
      const isKey = column.sortOrder !== undefined;
      if (column.name === "$tablet_index" && kind !== "static") {
        columns.push(systemColumn("$tablet_index", tabletIndexCell));
      } else if (column.name === "$sequence_number" && kind !== "static") {
        columns.push(
          systemColumn("$sequence_number", kind === "producer" ? sequenceNumberCell : forbiddenCell),
        );
      } else if (kind === "keys" && index >= schema.keyColumnCount) {
        columns.push(planColumn(column, forbiddenCell, isKey));
      } else {
        columns.push(planColumn(column, cell++, isKey));
      }
    }
    // Callers may give the table's own schema where the derived write schema is meant.
    const isQueue = !schema.isSorted && (kind === "insert" || kind === "producer");
    if (isQueue && schema.indexOf("$tablet_index") < 0) {
      columns.push(systemColumn("$tablet_index", tabletIndexCell));
    }
    if (kind === "producer" && schema.indexOf("$sequence_number") < 0) {
      columns.push(systemColumn("$sequence_number", sequenceNumberCell));
    }
    this.columns = columns;
    this.cells = columns.filter((column) => column.cell >= 0);
    this.keyCellCount = this.cells.filter((column) => column.isKey).length;
    this.table = new ColumnTable(
      columns.map((column) => column.name),
      spell,
    );
    this.fast = Uint8Array.from(columns, fastValueOf);
    this.cellOf = Int32Array.from(columns, (column) => column.cell);
    this.required = Uint8Array.from(columns, (column) => (column.required && column.cell >= 0 ? 1 : 0));
    this.requiredCount = this.required.reduce((sum, flag) => sum + flag, 0);
  }
}

/** Plans by schema object: a plan costs more than the few rows a small request has. */
const plans = new WeakMap<TableSchema, Map<string, RowPlan>>();

/**
 * The plan for the schema, made once per schema object.
 * @param spelling names `spell` among all that are used
 */
export function rowPlanOf(
  schema: TableSchema,
  kind: RowKind,
  spelling = "",
  spell?: (name: Buffer) => Buffer,
): RowPlan {
  let ofSchema = plans.get(schema);
  if (ofSchema === undefined) {
    ofSchema = new Map();
    plans.set(schema, ofSchema);
  }
  const key = `${kind} ${spelling}`;
  let plan = ofSchema.get(key);
  if (plan === undefined) {
    plan = new RowPlan(schema, kind, spell);
    ofSchema.set(key, plan);
  }
  return plan;
}

/** A column that no schema declares: any value of any type. */
export function undeclaredColumn(name: string): PlannedColumn {
  return {
    name,
    cell: 0,
    typeName: "any",
    physical: "any",
    required: false,
    isKey: false,
    isComputed: false,
    isYson: true,
    takesCompositesOnly: false,
  };
}

export function planColumn(column: ColumnSchema, cell: number, isKey: boolean): PlannedColumn {
  const range = integerRangeOf(column.type);
  const isComposite = column.physical === "any" && !isYsonType(column.typeV3);
  return {
    name: column.name,
    cell,
    typeName: column.type,
    physical: column.physical,
    required: column.required,
    isKey,
    isComputed: column.expression !== undefined,
    isYson: column.physical === "any" && !isComposite,
    takesCompositesOnly: isComposite && takesComposites(column.typeV3),
    schema: column,
    ...(range === undefined || column.type === "int64" || column.type === "uint64" ? {} : { range }),
  };
}

function systemColumn(name: string, cell: number): PlannedColumn {
  return {
    name,
    cell,
    typeName: "int64",
    physical: "int64",
    required: false,
    isKey: false,
    isComputed: false,
    isYson: false,
    takesCompositesOnly: false,
  };
}

function fastValueOf(column: PlannedColumn): number {
  if (column.cell < 0 || column.isComputed) {
    return fastValue.none;
  }
  switch (column.typeName) {
    case "string":
      return fastValue.string;
    case "int64":
      return fastValue.int64;
    case "uint64":
      return fastValue.uint64;
    case "double":
      // A key must not be NaN.
      return column.isKey ? fastValue.none : fastValue.double;
    case "boolean":
      return fastValue.boolean;
    default:
      return fastValue.none;
  }
}

function isYsonType(typeV3: YsonValue): boolean {
  const type = bare(typeV3);
  if (typeof type === "string") {
    return type === "yson" || type === "any";
  }
  return isMap(type) && type.get("type_name") === "optional" && isYsonType(type.get("item") ?? null);
}

function takesComposites(typeV3: YsonValue): boolean {
  const type = bare(typeV3);
  if (!isMap(type)) {
    return false;
  }
  switch (bare(type.get("type_name") ?? null)) {
    case "optional":
    case "tagged":
      return takesComposites(type.get("item") ?? null);
    case "list":
    case "tuple":
    case "struct":
    case "dict":
    case "variant":
      return true;
    default:
      return false;
  }
}
