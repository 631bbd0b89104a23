/**
 * The slow way of one value into its column: type conversion, then the checks of the logical type. Values that need
 * neither never come here.
 * Specified in: yt/yt/client/table_client/value_consumer.cpp, validate_logical_type.cpp, unversioned_row.cpp.
 */
import { isUtf8 } from "node:buffer";
import { YtError } from "@qyt/base";
import { bytesToString } from "@qyt/yson";
import { type PhysicalType, type RowValue, YsonAny } from "../value-type.ts";
import { writeCell } from "./encoded-rows.ts";
import { invalidColumn, invalidType, invalidValue, requiredColumn } from "./row-errors.ts";
import { RowOutput } from "./row-output.ts";
import type { PlannedColumn } from "./row-plan.ts";
import {
  formatDouble,
  parseBoolean,
  parseDouble,
  parseInteger,
  type TypeConversion,
} from "./type-conversion.ts";

/** The greatest finite value of `float`. */
const maxFloat = 3.4028234663852886e38;
const yson = { entity: new YsonAny(Buffer.from("#")) };

/**
 * The value as the column keeps it.
 * @param type the physical type the input has; tells int64 from uint64
 * @throws YtError 307 when the column does not take it, 325 for NaN in a key
 */
export function checkValue(
  column: PlannedColumn,
  value: RowValue,
  type: PhysicalType,
  conversion: TypeConversion,
): RowValue {
  if (value === null) {
    if (column.isYson && conversion.nullToYsonEntity) {
      return yson.entity;
    }
    if (column.required) {
      throw requiredColumn(column.name);
    }
    return null;
  }
  const converted = convertValue(column, value, type, conversion);
  checkLogicalType(column, converted);
  return converted;
}

function convertValue(
  column: PlannedColumn,
  value: RowValue,
  type: PhysicalType,
  conversion: TypeConversion,
): RowValue {
  const target = column.physical;
  if (target === "any") {
    if (type === "any") {
      return value;
    }
    if (column.takesCompositesOnly) {
      throw invalidType(column.name, column.typeName, type);
    }
    return new YsonAny(scalarToYson(value, type));
  }
  if (type === target) {
    return value;
  }
  if (typeof value === "bigint") {
    const fits = target === "int64" ? value < 1n << 63n : value >= 0n;
    if ((target === "int64" || target === "uint64") && conversion.integral && fits) {
      return value;
    }
    if (target === "double" && conversion.integralToDouble) {
      return Number(value);
    }
  }
  if (target === "string" && conversion.allToString && type !== "any") {
    return Buffer.from(scalarToText(value));
  }
  if (type === "string" && conversion.stringToAll && value instanceof Uint8Array) {
    return convertString(column, bytesToString(value));
  }
  throw invalidType(column.name, column.typeName, type);
}

function convertString(column: PlannedColumn, text: string): RowValue {
  let result: RowValue | undefined;
  switch (column.physical) {
    case "int64":
      result = parseInteger(text, false);
      break;
    case "uint64":
      result = parseInteger(text, true);
      break;
    case "double":
      result = parseDouble(text);
      break;
    case "boolean":
      result = parseBoolean(text);
      break;
    default:
      throw invalidType(column.name, column.typeName, "string");
  }
  if (result === undefined) {
    throw invalidValue(column.name, `Cannot convert string to type "${column.typeName}"`);
  }
  return result;
}

function scalarToText(value: RowValue): string {
  return typeof value === "number" ? formatDouble(value) : String(value);
}

/** The binary YSON of a scalar. */
export function scalarToYson(value: RowValue, type: PhysicalType): Buffer {
  const output = new RowOutput(32);
  writeCell(output, value, type === "uint64");
  return output.take();
}

function checkLogicalType(column: PlannedColumn, value: RowValue): void {
  if (typeof value === "bigint") {
    const range = column.range;
    if (range !== undefined && (value < range.min || value > range.max)) {
      throw invalidValue(
        column.name,
        `Value ${value} is out of allowed range [${range.min}, ${range.max}] of type "${column.typeName}"`,
      );
    }
  } else if (typeof value === "number") {
    if (column.isKey && Number.isNaN(value)) {
      throw new YtError(`Key column "${column.name}" cannot be NaN`, { code: "KeyCannotBeNaN" });
    }
    if (column.typeName === "float" && Number.isFinite(value) && Math.abs(value) > maxFloat) {
      throw invalidValue(column.name, `Value ${value} is out of range of type "float"`);
    }
  } else if (value instanceof Uint8Array) {
    checkText(column, value);
  }
}

function checkText(column: PlannedColumn, bytes: Uint8Array): void {
  switch (column.typeName) {
    case "utf8":
      if (!isUtf8(bytes)) {
        throw invalidValue(column.name, "Not a valid utf8 string");
      }
      break;
    case "uuid":
      if (bytes.length !== 16) {
        throw invalidValue(column.name, `Not a valid uuid: length ${bytes.length}, expected 16`);
      }
      break;
    case "json":
      try {
        if (!isUtf8(bytes)) {
          throw new YtError("Not a valid utf8 string");
        }
        JSON.parse(Buffer.from(bytes).toString("utf8"));
      } catch (thrown) {
        const reason = thrown instanceof Error ? thrown.message : "";
        throw invalidColumn(
          column.name,
          new YtError("Not a valid JSON value", { code: "SchemaViolation", inner: [new YtError(reason)] }),
        );
      }
      break;
    default:
  }
}
