/** Row values as YSON values. */
import { Uint64, type YsonValue } from "@qyt/base";
import { type PhysicalType, type RowValue, YsonAny } from "@qyt/schema";
import { bytesToString, parseYson } from "@qyt/yson";

/** `type` tells int64 from uint64. */
export function valueToYson(value: RowValue, type: PhysicalType): YsonValue {
  if (typeof value === "bigint") {
    return type === "uint64" ? new Uint64(value) : value;
  }
  if (value instanceof YsonAny) {
    return parseYson(value.bytes);
  }
  return value instanceof Uint8Array ? bytesToString(value) : value;
}
