/** Types, table schemas and everything computed from row values. */
export { fixedWeightOf, rowBaseWeight, rowValuesWeight, valueWeight } from "./data-weight.ts";
export { toProducerWriteSchema, toQuerySchema, toWriteSchema } from "./derived-schemas.ts";
export { farmFingerprint, farmHash, farmHashBytes } from "./farm-hash.ts";
export {
  compareKeys,
  compareRowValues,
  decodeKey,
  encodedKeyWeight,
  encodeKey,
  encodeKeyPrefix,
  keyRangeFrom,
  keyRangeTo,
} from "./key-codec.ts";
export {
  type PipelineTable,
  type PipelineTableName,
  pipelineTables,
  schemaOfPipelineTable,
} from "./pipeline-tables.ts";
export {
  consumerSchema,
  consumerSchemaWithoutMeta,
  multiConsumerSchema,
  multiConsumerSchemaWithoutMeta,
  producerSchema,
} from "./queue-schemas.ts";
export * from "./rows/index.ts";
export { type AlterOptions, checkAlter } from "./schema-alter.ts";
export {
  type DynamicTableKind,
  toDynamicSchema,
  validateDynamicTableSchema,
  validateStaticTableSchema,
} from "./schema-validation.ts";
export { type StrftimeOptions, strftime, type ZonedTime } from "./strftime.ts";
export { isSystemColumnName, systemColumns } from "./system-columns.ts";
export {
  type ColumnOptions,
  type ColumnSchema,
  column,
  type SortOrder,
  sameColumn,
  TableSchema,
} from "./table-schema.ts";
export {
  allCommittedTimestamp,
  asyncLastCommittedTimestamp,
  isOrdinaryTimestamp,
  maxTimestamp,
  minTimestamp,
  notPreparedTimestamp,
  nullTimestamp,
  syncLastCommittedTimestamp,
  type Timestamp,
  timestampCounter,
  timestampFromMs,
  timestampFromSeconds,
  timestampSeconds,
  timestampsPerSecond,
  timestampToIso,
  uncommittedTimestamp,
} from "./timestamps.ts";
export { type ColumnType, columnTypeFromV1, columnTypeFromV3, formatTypeV3, sameTypeV3 } from "./type-v3.ts";
export {
  type IntegerRange,
  integerRangeOf,
  isLogicalType,
  type LogicalType,
  logicalTypeFromV3Name,
  logicalTypeNames,
  logicalTypeToV3Name,
  type PhysicalType,
  physicalTypeOf,
  type RowValue,
  YsonAny,
} from "./value-type.ts";
