/**
 * Building stones of the specs' shapes: structs with names as on the wire, durations, sizes, schemas.
 *
 * A spec arrives as YSON. `struct` takes a map apart and gives an object with the names in camel case; paths in
 * errors keep the names of the wire. Unknown fields are told apart from wrong ones (`parseSpec`).
 * Specified in: yt/yt/core/ytree/yson_struct_detail.h; yt/yt/flow/library/cpp/common/spec.cpp.
 */
import {
  bare,
  durationOfText,
  isList,
  isMap,
  Uint64,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { TableSchema } from "@qyt/schema";
import { z } from "zod";

/** What a struct's fields give. */
type Output<Shape extends z.ZodRawShape> = { readonly [Name in keyof Shape]: z.output<Shape[Name]> };

/** A map with known fields. Field names are given in camel case and are snake case on the wire. */
export function struct<Shape extends z.ZodRawShape>(shape: Shape): z.ZodType<Output<Shape>> {
  const names = Object.keys(shape);
  const wire = z.strictObject(
    Object.fromEntries(names.map((name) => [toSnake(name), shape[name] ?? z.any()])),
  );
  return z.preprocess(mapToObject, wire).transform((value) => {
    const fields = names.map((name) => [name, value[toSnake(name)]]);
    return Object.fromEntries(fields) as Output<Shape>;
  });
}

/** A struct that is there with its defaults when it is not given. */
export function nested<Shape extends z.ZodRawShape>(shape: Shape): z.ZodType<Output<Shape>> {
  return struct(shape).prefault(() => new Map<string, YsonValue>() as never);
}

/** A map from free names (ids) to one shape. */
export function mapOfFields<Item>(item: z.ZodType<Item>): z.ZodType<ReadonlyMap<string, Item>> {
  return z
    .preprocess(mapToObject, z.record(z.string(), item))
    .transform((value): ReadonlyMap<string, Item> => new Map(Object.entries(value)))
    .prefault(() => new Map<string, YsonValue>() as never);
}

export const boolean = z.preprocess(unattributed, z.boolean());
export const text = z.preprocess(unattributed, z.string());
export const double = z.preprocess(toNumber, z.number());

/** An integer that fits into a JavaScript number. */
export function integer(range: { readonly min?: number; readonly max?: number } = {}): z.ZodType<number> {
  return z.preprocess(
    toNumber,
    z
      .int()
      .min(range.min ?? Number.MIN_SAFE_INTEGER)
      .max(range.max ?? Number.MAX_SAFE_INTEGER),
  );
}

/** Milliseconds: an integer, or a text such as `15s`. */
export const duration: z.ZodType<number> = z.preprocess(
  (value) => {
    const plain = unattributed(value);
    return typeof plain === "string" ? (durationOfText(plain) ?? plain) : toNumber(plain);
  },
  z.number({ error: 'Expected milliseconds, or a duration such as "15s"' }).min(0),
);

const sizeUnits: Readonly<Record<string, number>> = {
  "": 1,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** Bytes or a count: an integer, or a text such as `50K` (thousands) or `50Ki` (of 1,024). */
export const size: z.ZodType<number> = z.preprocess(
  (value) => {
    const plain = unattributed(value);
    if (typeof plain !== "string") {
      return toNumber(plain);
    }
    const parts = /^(\d+)([KMGT]i?)?$/.exec(plain);
    const unit = sizeUnits[parts?.[2] ?? ""];
    return parts === null || unit === undefined ? plain : Number(parts[1]) * unit;
  },
  z.number({ error: 'Expected an integer, or a size such as "50K"' }).int().min(0),
);

/** A list of names, each once. */
export const names: z.ZodType<readonly string[]> = z
  .preprocess(unattributed, z.array(z.string()))
  .transform((list): readonly string[] => [...new Set(list)]);

/** Anything: kept as it came. */
export const anything: z.ZodType<YsonValue> = z.custom<YsonValue>(isYson);

/** A map that its owner checks. */
export const freeMap: z.ZodType<YsonMap> = z
  .custom<YsonMap>((value) => isYson(value) && isMap(value), { error: "Expected a map" })
  .prefault(() => new Map<string, YsonValue>());

export const tableSchema: z.ZodType<TableSchema> = anything.transform((value, context) => {
  try {
    return TableSchema.fromYson(value);
  } catch (thrown) {
    context.addIssue({ code: "custom", message: thrown instanceof Error ? thrown.message : String(thrown) });
    return z.NEVER;
  }
});

export const emptySchema = new TableSchema([]);

/** A parsed spec, and the paths of fields that are not known. */
export interface ParsedSpec<Spec> {
  readonly spec: Spec;
  readonly unknownFields: readonly string[];
}

/**
 * Parses a spec. Fields that are not known are kept out and told.
 * @throws YtError 1 naming the path of the first wrong field; further ones are inside
 */
export function parseSpec<Spec>(shape: z.ZodType<Spec>, value: YsonValue, what: string): ParsedSpec<Spec> {
  const first = shape.safeParse(value);
  if (first.success) {
    return { spec: first.data, unknownFields: [] };
  }
  const unknown: (readonly PropertyKey[])[] = [];
  const wrong: YtError[] = [];
  for (const issue of first.error.issues) {
    if (issue.code === "unrecognized_keys") {
      unknown.push(...issue.keys.map((key) => [...issue.path, key]));
    } else {
      wrong.push(fieldError(issue));
    }
  }
  if (wrong.length === 0) {
    const second = shape.safeParse(unknown.reduce<YsonValue>(without, value));
    if (second.success) {
      return { spec: second.data, unknownFields: unknown.map(pathText) };
    }
    wrong.push(...second.error.issues.map(fieldError));
  }
  const [only] = wrong;
  throw new YtError(`Cannot parse ${what}: ${only?.message ?? "unknown reason"}`, { inner: wrong });
}

function fieldError(issue: z.core.$ZodIssue): YtError {
  const path = pathText(issue.path);
  return /received undefined$/.test(issue.message)
    ? new YtError(`Missing required parameter ${path}`)
    : new YtError(`Error reading parameter ${path}: ${issue.message}`);
}

function pathText(path: readonly PropertyKey[]): string {
  return `/${path.map(String).join("/")}`;
}

/** The value without the field at a path. */
function without(value: YsonValue, path: readonly PropertyKey[]): YsonValue {
  const [step, ...rest] = path;
  const plain = bare(value);
  if (step === undefined) {
    return value;
  }
  if (isList(plain)) {
    return plain.map((item, index) => (index === Number(step) ? without(item, rest) : item));
  }
  if (!isMap(plain)) {
    return value;
  }
  const copy = new Map(plain);
  const name = String(step);
  const child = copy.get(name);
  if (rest.length === 0) {
    copy.delete(name);
  } else if (child !== undefined) {
    copy.set(name, without(child, rest));
  }
  return copy;
}

function toSnake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function mapToObject(value: unknown): unknown {
  const plain = unattributed(value);
  return plain instanceof Map ? Object.fromEntries(plain) : plain;
}

/** Attributes mean nothing to scalars and are dropped there. */
function unattributed(value: unknown): unknown {
  return isYson(value) ? bare(value) : value;
}

function toNumber(value: unknown): unknown {
  const plain = unattributed(value);
  const wide = plain instanceof Uint64 ? plain.value : plain;
  const fits = typeof wide === "bigint" && wide >= -safe && wide <= safe;
  return fits ? Number(wide) : wide;
}

const safe = BigInt(Number.MAX_SAFE_INTEGER);

function isYson(value: unknown): value is YsonValue {
  return (
    value !== undefined &&
    (value === null || ["object", "string", "number", "bigint", "boolean"].includes(typeof value))
  );
}
