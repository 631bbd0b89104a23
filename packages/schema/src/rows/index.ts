/** Rows as bytes: encoded rows, row blocks, and the readers and writers between them and the row formats. */
export {
  type Block,
  maxBlockBytes,
  mergeBlocks,
  type PackOptions,
  packBlocks,
  packBlocksOf,
  smallBlockBytes,
} from "./block-packer.ts";
export { createRowReader, createSchemalessRowReader } from "./create-row-reader.ts";
export { createRowWriter, type RowWriterOptions } from "./create-row-writer.ts";
export { writeDsvDocument } from "./dsv.ts";
export {
  cellKind,
  cellWeight,
  decodeCell,
  decodeCells,
  EncodedRows,
  noTabletIndex,
  rowWeight,
  skipCell,
  writeCell,
} from "./encoded-rows.ts";
export { EncodedRowsBuilder, type EncodedRowsBuilderOptions } from "./encoded-rows-builder.ts";
export { writeKeyCells } from "./key-cells.ts";
export { RowBlock } from "./row-block.ts";
export { RowOutput } from "./row-output.ts";
export type { RowKind } from "./row-plan.ts";
export type { RowReader, RowReaderOptions } from "./row-reader.ts";
export type { RowLimits } from "./row-sink.ts";
export type { OutputColumn, OutputSource, RowWriter } from "./row-writer.ts";
export {
  createSchemalessRowWriter,
  SchemalessRowWriter,
  type SchemalessRowWriterOptions,
  schemalessRowToYson,
} from "./schemaless-rows.ts";
export { type TypeConversion, typeConversionOf } from "./type-conversion.ts";
