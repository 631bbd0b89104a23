/**
 * The errors a row can have, with YTsaurus's codes and texts.
 * Specified in: yt/yt/client/table_client/unversioned_row.cpp, yt/yt/client/formats and
 * yt/yt/client/table_client/table_consumer.cpp.
 */
import { YtError } from "@qyt/base";

/** A row names a column that the schema does not have: 307. */
export function unexpectedColumn(name: string): YtError {
  return new YtError(`Unexpected column "${name}"`, { code: "SchemaViolation" });
}

/** The error around whatever is wrong with the value of one column: 307. */
export function invalidColumn(name: string, reason: YtError): YtError {
  return new YtError(`Error validating column "${name}"`, { code: "SchemaViolation", inner: [reason] });
}

/** A value of another type than the column: 307 inside of 307. */
export function invalidType(column: string, expected: string, actual: string): YtError {
  return invalidColumn(
    column,
    new YtError(`Invalid type, expected type "${expected}" but got "${actual}"`, { code: "SchemaViolation" }),
  );
}

/** A value of the right physical type that the logical type does not allow: 307 inside of 307. */
export function invalidValue(column: string, reason: string): YtError {
  return invalidColumn(column, new YtError(reason, { code: "SchemaViolation" }));
}

/** Null, given or meant, in a required column: 307 inside of 307. */
export function requiredColumn(column: string): YtError {
  return invalidColumn(
    column,
    new YtError(`Required column "${column}" cannot have "null" value`, { code: "SchemaViolation" }),
  );
}

/** A required column that a partial row does not mention: 307. */
export function missingRequiredColumn(column: string): YtError {
  return new YtError(`Missing required column "${column}"`, { code: "SchemaViolation" });
}

/** A string, any or composite value over the limit: 326. */
export function valueTooLong(type: string, length: number, limit: number): YtError {
  return new YtError(
    `Value of type "${type}" is too long for dynamic data: length ${length}, limit ${limit}`,
    {
      code: "StringLikeValueLengthLimitExceeded",
    },
  );
}

/** A row over the limit of its data weight: 308. */
export function rowTooLarge(weight: number, limit: number): YtError {
  return new YtError(`Row is too large: data weight ${weight}, limit ${limit}`, {
    code: "RowWeightLimitExceeded",
  });
}

/** More values in a row than any row may have: 321. */
export function tooManyValues(count: number, limit: number): YtError {
  return new YtError("Too many values in row", {
    code: "TooManyValuesInRow",
    attributes: { actual: BigInt(count), limit: BigInt(limit) },
  });
}

export function topLevelAttributes(): YtError {
  return new YtError("Table values cannot have top-level attributes");
}

export function mapExpected(): YtError {
  return new YtError("Invalid row format, map expected");
}

/** The stream ends or breaks off where YSON does not allow it: 4000. */
export function ysonSyntax(reason: string, position: number): YtError {
  return new YtError("Error occurred while parsing YSON", {
    code: "ParseError",
    attributes: { context_pos: BigInt(position) },
    inner: [new YtError(reason, { code: "ParseError" })],
  });
}

/** Broken JSON: a generic error, as the yajl-based parser reports it. */
export function jsonSyntax(reason: string, position: number): YtError {
  return new YtError("Error parsing JSON", {
    attributes: { context_pos: BigInt(position) },
    inner: [new YtError(reason)],
  });
}

/** Values nested deeper than allowed: 4002. */
export function tooDeep(limit: number): YtError {
  return new YtError("Depth limit exceeded", {
    code: "DepthLimitExceeded",
    attributes: { limit: BigInt(limit) },
  });
}

/** Stored bytes that are no row or no block: 721. */
export function damaged(what: string): YtError {
  return new YtError("Stored record is damaged", {
    code: "InvalidBlockChecksum",
    inner: [new YtError(what)],
  });
}
