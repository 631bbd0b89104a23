/** Types, table schemas and everything computed from row values. */
export {
  asInvalidSchema,
  type ColumnOptions,
  type ColumnSchema,
  column,
  type SortOrder,
  sameColumn,
  TableSchema,
} from "./table-schema.ts";
export { type ColumnType, columnTypeFromV1, columnTypeFromV3, formatTypeV3 } from "./type-v3.ts";
export {
  type IntegerRange,
  integerRangeOf,
  isLogicalType,
  type LogicalType,
  logicalTypeFromV3Name,
  logicalTypeToV3Name,
  type PhysicalType,
  physicalTypeOf,
  type RowValue,
  YsonAny,
} from "./value-type.ts";
