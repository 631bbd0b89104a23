/** Values of cells of the pipeline's tables: texts, and documents in columns of type `any`. */
import type { YsonValue } from "@qyt/base";
import { type RowValue, YsonAny } from "@qyt/schema";
import { bytesToString, parseYson, stringToBytes, writeYson } from "@qyt/yson";

export function textCell(text: string): Uint8Array {
  return stringToBytes(text);
}

/** The text of a cell; empty when it is none. */
export function textOf(cell: RowValue | undefined): string {
  return cell instanceof Uint8Array ? bytesToString(cell) : "";
}

export function documentCell(value: YsonValue): YsonAny {
  return new YsonAny(writeYson(value, "binary"));
}

/** The document of a cell; `null` when it is none. */
export function documentOf(cell: RowValue | undefined): YsonValue {
  return cell instanceof YsonAny ? parseYson(cell.bytes) : null;
}
