/**
 * How command parameters are declared and read: zod schemas over YSON values, with the proxy's own
 * coercions ("true" for a boolean, "5s" for a duration, `#` for an absent option). One way for all
 * commands, so that docs and validation come from the declarations.
 *
 * Specified in: yt/yt/core/ytree/yson_struct_detail (coercions), the driver's command headers (names).
 */
import {
  Attributed,
  bare,
  durationOfText,
  isList,
  isMap,
  Uint64,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { parseRichPath, type RichPath } from "@qyt/yson";
import * as z from "zod";

type Reader<T> = (value: YsonValue) => T;

/** A parameter whose value is read by `reader`; what the reader throws becomes the reason. */
function reading<T>(kind: string, reader: Reader<T>): z.ZodType<T> {
  return (
    z
      .unknown()
      // An absent key must come here too, not only a key without a value.
      .optional()
      .transform((value, context): T => {
        if (value === undefined || value === null) {
          context.issues.push({
            code: "custom",
            message: "missing",
            input: value,
            params: { missing: true },
          });
          return z.NEVER;
        }
        try {
          return reader(value as YsonValue);
        } catch (error) {
          const reason = error instanceof YtError ? error : new YtError(String(error));
          context.issues.push({ code: "custom", message: reason.message, input: value, params: { reason } });
          return z.NEVER;
        }
      })
      .meta({ kind })
  );
}

/** Turns `#` and an absent parameter into `undefined`. */
export function optional<T>(schema: z.ZodType<T>): z.ZodType<T | undefined> {
  return (
    z
      .unknown()
      // An absent key must come here too, not only a key without a value.
      .optional()
      .transform((value, context): T | undefined => {
        if (value === undefined || value === null) {
          return undefined;
        }
        const result = schema.safeParse(value);
        if (result.success) {
          return result.data;
        }
        for (const issue of result.error.issues) {
          context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
        }
        return z.NEVER;
      })
      .meta({ ...(schema.meta() ?? {}), optional: true })
  );
}

/** An optional parameter with a default. */
export function withDefault<T>(schema: z.ZodType<T>, fallback: NoInfer<T>): z.ZodType<T> {
  const inner = optional(schema);
  return inner
    .transform((value): T => (value === undefined ? fallback : value))
    .meta({ ...(schema.meta() ?? {}), optional: true, default: fallback });
}

/** A duration in milliseconds, from a number of milliseconds or a text such as `5s`, `1h`, `36h`. */
export function readDuration(value: YsonValue): number {
  const plain = bare(value);
  if (typeof plain === "bigint" || plain instanceof Uint64) {
    return toSafeNumber(plain instanceof Uint64 ? plain.value : plain);
  }
  if (typeof plain === "number") {
    return plain;
  }
  if (typeof plain === "string") {
    const duration = durationOfText(plain);
    if (duration !== undefined) {
      return duration;
    }
    if (/^\d+$/.test(plain)) {
      return Number(plain);
    }
  }
  throw new YtError(`Cannot parse duration ${describe(value)}`);
}

/** Unix milliseconds, from a number of milliseconds or an ISO 8601 text. */
export function readInstant(value: YsonValue): number {
  const plain = bare(value);
  if (typeof plain === "bigint" || plain instanceof Uint64) {
    return toSafeNumber(plain instanceof Uint64 ? plain.value : plain);
  }
  if (typeof plain === "string") {
    const parsed = Date.parse(plain);
    if (!Number.isNaN(parsed)) {
      return parsed;
    }
  }
  throw new YtError(`Cannot parse instant ${describe(value)}`);
}

export function readBoolean(value: YsonValue): boolean {
  const plain = bare(value);
  if (typeof plain === "boolean") {
    return plain;
  }
  if (plain === "true" || plain === 1n) {
    return true;
  }
  if (plain === "false" || plain === 0n) {
    return false;
  }
  if (plain instanceof Uint64 && plain.value <= 1n) {
    return plain.value === 1n;
  }
  throw new YtError(`Cannot parse boolean value from ${describe(value)}`);
}

export function readInt64(value: YsonValue): bigint {
  const plain = bare(value);
  if (typeof plain === "bigint") {
    return plain;
  }
  if (plain instanceof Uint64 && plain.value < 1n << 63n) {
    return plain.value;
  }
  throw new YtError(`Cannot parse "int64" value from ${describe(value)}`);
}

function readInt32(value: YsonValue): number {
  const wide = readInt64(value);
  if (wide < -(1n << 31n) || wide >= 1n << 31n) {
    throw new YtError(`Value ${wide} is out of expected range [-2147483648, 2147483647]`);
  }
  return Number(wide);
}

function readUint64(value: YsonValue): bigint {
  const plain = bare(value);
  if (plain instanceof Uint64) {
    return plain.value;
  }
  if (typeof plain === "bigint" && plain >= 0n) {
    return plain;
  }
  throw new YtError(`Cannot parse "uint64" value from ${describe(value)}`);
}

function readDouble(value: YsonValue): number {
  const plain = bare(value);
  if (typeof plain === "number") {
    return plain;
  }
  if (typeof plain === "bigint" || plain instanceof Uint64) {
    return Number(plain instanceof Uint64 ? plain.value : plain);
  }
  throw new YtError(`Cannot parse "double" value from ${describe(value)}`);
}

function readString(value: YsonValue): string {
  const plain = bare(value);
  if (typeof plain === "string") {
    return plain;
  }
  throw new YtError(`Cannot parse "string" value from ${describe(value)}`);
}

const guidPattern = /^[0-9a-f]{1,8}(-[0-9a-f]{1,8}){3}$/;

function readGuid(value: YsonValue): string {
  const text = readString(value);
  if (!guidPattern.test(text)) {
    throw new YtError(`Error parsing GUID ${describe(value)}`);
  }
  return text;
}

function toSafeNumber(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER) || value < BigInt(Number.MIN_SAFE_INTEGER)) {
    throw new YtError(`Value ${value} is out of expected range`);
  }
  return Number(value);
}

function describe(value: YsonValue): string {
  const plain = bare(value);
  if (plain === null) {
    return "#";
  }
  if (isMap(plain)) {
    return "a map";
  }
  if (isList(plain)) {
    return "a list";
  }
  const text = String(plain);
  return `"${text.length > 64 ? `${text.slice(0, 64)}…` : text}"`;
}

/** The kinds of parameters. Each gives a required one; wrap it in `optional` or `withDefault`. */
export const parameter = {
  boolean: reading("boolean", readBoolean),
  int32: reading("int32", readInt32),
  int64: reading("int64", readInt64),
  uint64: reading("uint64", readUint64),
  double: reading("double", readDouble),
  string: reading("string", readString),
  duration: reading("duration", readDuration),
  instant: reading("instant", readInstant),
  path: reading<RichPath>("path", (value) => parseRichPath(value)),
  yson: reading<YsonValue>("any", (value) => value),
  map: reading<YsonMap>("map", (value) => {
    const plain = bare(value);
    if (!isMap(plain)) {
      throw new YtError(`Cannot parse "map" value from ${describe(value)}`);
    }
    return plain;
  }),
  guid: reading("guid", readGuid),
  list<T>(item: z.ZodType<T>): z.ZodType<T[]> {
    return reading("list", (value) => {
      const plain = bare(value);
      if (!isList(plain)) {
        throw new YtError(`Cannot parse "list" value from ${describe(value)}`);
      }
      return plain.map((element, index) => {
        const result = item.safeParse(element);
        if (!result.success) {
          throw new YtError(
            `Error reading list item ${index}: ${result.error.issues[0]?.message ?? "invalid"}`,
          );
        }
        return result.data;
      });
    });
  },
  oneOf<const T extends string>(name: string, values: readonly T[]): z.ZodType<T> {
    return reading("enum", (value) => {
      const text = readString(value);
      const found = values.find((candidate) => candidate === text);
      if (found === undefined) {
        throw new YtError(`Error parsing ${name} value "${text}"`);
      }
      return found;
    });
  },
} as const;

/** A transaction id; `0-0-0-0` and `#` mean none. */
export const transactionId: z.ZodType<string | undefined> = optional(parameter.guid)
  .transform((id) => (id === "0-0-0-0" ? undefined : id))
  .meta({ kind: "guid", optional: true });

/** Reads declared parameters; unknown ones are ignored. @throws YtError naming the parameter */
export function readParameters<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  parameters: YsonMap,
): z.output<z.ZodObject<Shape>> {
  const input: Record<string, YsonValue> = Object.create(null);
  for (const [key, value] of parameters) {
    if (Object.hasOwn(schema.shape, key)) {
      input[key] = value instanceof Attributed && value.value === null ? null : value;
    }
  }
  const result = schema.safeParse(input);
  if (result.success) {
    return result.data;
  }
  const issue = result.error.issues[0];
  const name = String(issue?.path[0] ?? "");
  const details: unknown = issue !== undefined && issue.code === "custom" ? issue.params : undefined;
  if (typeof details === "object" && details !== null && "missing" in details) {
    throw new YtError(`Missing required parameter /${name}`, { attributes: { parameter: name } });
  }
  const reason =
    typeof details === "object" &&
    details !== null &&
    "reason" in details &&
    details.reason instanceof YtError
      ? details.reason
      : new YtError(issue?.message ?? "Invalid value");
  throw new YtError(`Error reading parameter /${name}`, {
    code: reason.code,
    attributes: { parameter: name },
    inner: [reason],
  });
}
