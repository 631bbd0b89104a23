/**
 * Reads the fields of a map one by one: each has a type, a default and bounds, and a wrong one is an error
 * that names its path and what is right. Unknown keys are noted, never refused.
 *
 * Specified in: yt/yt/core/ytree/yson_struct.cpp (errors of fields, unrecognized options).
 */
import {
  bare,
  durationUnits,
  emptyMap,
  isList,
  isMap,
  Uint64,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";

export interface IntegerBounds {
  readonly min?: number;
  readonly max?: number;
}

/** Milliseconds. A moment that is so far from now still has a year of four digits, as instants are shown. */
const maxDurationMs = 250_000_000_000_000;

const maxInt64 = (1n << 63n) - 1n;

export class FieldReader {
  readonly #map: YsonMap;
  readonly #path: string;
  readonly #unknown: string[];
  readonly #known = new Set<string>();

  private constructor(map: YsonMap, path: string, unknown: string[]) {
    this.#map = map;
    this.#path = path;
    this.#unknown = unknown;
  }

  /** @throws YtError when the value is no map; an entity is an empty one */
  static of(value: YsonValue | undefined, path = ""): FieldReader {
    return new FieldReader(mapAt(value, path), path, []);
  }

  /** Paths of the keys that nobody asked for, here and below. Complete when all has been read. */
  unknown(): readonly string[] {
    const here = [...this.#map.keys()].filter((key) => !this.#known.has(key));
    return [...here.map((key) => `${this.#path}/${key}`), ...this.#unknown];
  }

  has(name: string): boolean {
    this.#known.add(name);
    return this.#value(name) !== undefined;
  }

  /** Notes keys that are known and mean nothing here. */
  ignore(...names: readonly string[]): void {
    for (const name of names) {
      this.#known.add(name);
    }
  }

  /** The value as it stands. */
  raw(name: string): YsonValue | undefined {
    this.#known.add(name);
    return this.#value(name);
  }

  map<T>(name: string, read: (fields: FieldReader) => T): T {
    const path = `${this.#path}/${name}`;
    const fields = new FieldReader(mapAt(this.raw(name), path), path, []);
    const result = read(fields);
    this.#unknown.push(...fields.unknown());
    return result;
  }

  /** The map's values by key, each read by `read` from its reader. */
  entries<T>(name: string, read: (fields: FieldReader, key: string) => T): ReadonlyMap<string, T> {
    return this.map(name, (fields) => {
      const result = new Map<string, T>();
      for (const key of fields.#map.keys()) {
        result.set(
          key,
          fields.map(key, (inner) => read(inner, key)),
        );
      }
      return result;
    });
  }

  boolean(name: string, byDefault: boolean): boolean {
    return this.#read(name, byDefault, readBoolean, "boolean");
  }

  string(name: string, byDefault: string): string {
    return this.#read(name, byDefault, (value) => (typeof value === "string" ? value : undefined), "string");
  }

  optionalString(name: string): string | null {
    return this.#read<string | null>(
      name,
      null,
      (value) => (typeof value === "string" ? value : undefined),
      "string",
    );
  }

  oneOf<T extends string>(name: string, values: readonly T[], byDefault: T): T {
    return this.#read(
      name,
      byDefault,
      (value) => values.find((known) => known === value),
      `one of ${values.map((value) => `"${value}"`).join(", ")}`,
    );
  }

  /** An integer that fits into a JavaScript number: durations in milliseconds, counts, limits. */
  integer(name: string, byDefault: number, bounds: IntegerBounds = {}): number {
    return this.optionalInteger(name, bounds) ?? byDefault;
  }

  optionalInteger(name: string, bounds: IntegerBounds = {}): number | null {
    const { min = 0, max = Number.MAX_SAFE_INTEGER } = bounds;
    return this.#read<number | null>(
      name,
      null,
      (value) => {
        const number = Number(integerOf(value) ?? Number.NaN);
        return number >= min && number <= max ? number : undefined;
      },
      max === Number.MAX_SAFE_INTEGER ? `an integer, at least ${min}` : `an integer from ${min} to ${max}`,
    );
  }

  /** Milliseconds, or text with a unit: `5s`. At most `maxDurationMs` unless `bounds` say otherwise. */
  duration(name: string, byDefault: number, bounds: IntegerBounds = {}): number {
    return this.optionalDuration(name, bounds) ?? byDefault;
  }

  optionalDuration(name: string, bounds: IntegerBounds = {}): number | null {
    const { min = 0, max = maxDurationMs } = bounds;
    const duration = this.#read<number | null>(
      name,
      null,
      (value) => {
        const number = readDuration(value) ?? Number.NaN;
        return number >= min ? number : undefined;
      },
      `an integer, at least ${min}`,
    );
    return duration !== null && duration > max ? this.fail(name, `it must be at most ${max} ms`) : duration;
  }

  /** Any int64, at least `min`. */
  optionalInt64(name: string, min: bigint): bigint | null {
    return this.#read<bigint | null>(
      name,
      null,
      (value) => {
        const number = integerOf(value);
        return number !== undefined && number >= min && number <= maxInt64 ? number : undefined;
      },
      `an integer, at least ${min}`,
    );
  }

  /** A double; integers are taken too. */
  number(name: string, byDefault: number, bounds: IntegerBounds = {}): number {
    const { min = 0, max = Number.MAX_VALUE } = bounds;
    return this.#read(
      name,
      byDefault,
      (value) => {
        const number = typeof value === "number" ? value : Number(integerOf(value) ?? Number.NaN);
        return number >= min && number <= max ? number : undefined;
      },
      max === Number.MAX_VALUE ? `a number, at least ${min}` : `a number from ${min} to ${max}`,
    );
  }

  strings(name: string): readonly string[] | null {
    return this.#read<readonly string[] | null>(
      name,
      null,
      (value) => {
        const texts = isList(value) ? value.map((item) => bare(item)) : [];
        return isList(value) && texts.every((text) => typeof text === "string")
          ? texts.filter((text) => typeof text === "string")
          : undefined;
      },
      "a list of strings",
    );
  }

  /** @throws YtError that names the field */
  fail(name: string, reason: string): never {
    throw fieldError(`${this.#path}/${name}`, reason);
  }

  #value(name: string): YsonValue | undefined {
    const value = this.#map.get(name);
    return value === undefined || bare(value) === null ? undefined : value;
  }

  #read<T>(name: string, byDefault: T, read: (value: YsonValue) => T | undefined, wanted: string): T {
    const value = this.raw(name);
    if (value === undefined) {
      return byDefault;
    }
    const result = read(bare(value));
    return result === undefined ? this.fail(name, `it must be ${wanted}`) : result;
  }
}

/**
 * As the real system reads a boolean: `{enable=true}` is a string, and means what it says.
 *
 * Specified in: yt/yt/core/ytree/serialize.cpp (Deserialize of bool), yt/yt/core/misc (ParseBool).
 */
export function readBoolean(value: YsonValue): boolean | undefined {
  const plain = bare(value);
  const integer = integerOf(plain);
  if (typeof plain === "boolean") {
    return plain;
  }
  if (plain === "true" || plain === "1" || integer === 1n) {
    return true;
  }
  return plain === "false" || plain === "0" || integer === 0n ? false : undefined;
}

/** Specified in: yt/yt/core/ytree/serialize.cpp (Deserialize of TDuration). */
function readDuration(value: YsonValue): number | undefined {
  if (typeof value === "string") {
    const [, digits, unit = ""] = /^(\d{1,15})(ms|[smhdw])$/.exec(value) ?? [];
    const factor = durationUnits[unit];
    return digits === undefined || factor === undefined ? undefined : inRange(Number(digits) * factor);
  }
  const integer = integerOf(value);
  return integer === undefined ? undefined : inRange(Number(integer));
}

function inRange(number: number): number | undefined {
  return number <= Number.MAX_SAFE_INTEGER ? number : undefined;
}

function mapAt(value: YsonValue | undefined, path: string): YsonMap {
  const plain = value === undefined ? null : bare(value);
  if (plain === null) {
    return emptyMap;
  }
  if (!isMap(plain)) {
    throw fieldError(path, "it must be a map");
  }
  return plain;
}

function fieldError(path: string, reason: string): YtError {
  const where = path === "" ? "/" : path;
  return new YtError(`Error reading parameter ${where}`, {
    attributes: { path: where },
    inner: [new YtError(reason)],
  });
}

function integerOf(value: YsonValue): bigint | undefined {
  if (value instanceof Uint64) {
    return value.value;
  }
  if (typeof value === "number" && Number.isSafeInteger(value)) {
    // JSON has one kind of number; a whole one is meant as an integer.
    return BigInt(value);
  }
  return typeof value === "bigint" ? value : undefined;
}
