/** The values of a command's arguments: options first, then what stands by its place. */
import { bare, isList, isMap, type YsonValue, YtError } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { type Argument, optionsOf } from "./argument.ts";
import { UsageError } from "./usage-error.ts";
import { type OptionUse, sortWords } from "./words.ts";

export interface ArgumentReader {
  /** How YSON arguments are written: YT_ARGUMENTS_FORMAT. */
  readonly parseValue: (text: string) => YsonValue;
}

export class Values {
  readonly #values: ReadonlyMap<string, YsonValue>;

  constructor(values: ReadonlyMap<string, YsonValue>) {
    this.#values = values;
  }

  get(name: string): YsonValue | undefined {
    return this.#values.get(name);
  }

  text(name: string): string | undefined {
    const value = this.#values.get(name);
    return typeof value === "string" ? value : undefined;
  }

  /** @throws YtError 1 when it was not given; only for arguments that are required */
  needed(name: string): string {
    const value = this.text(name);
    if (value === undefined) {
      throw new YtError(`The argument ${name} is missing`);
    }
    return value;
  }

  list(name: string): readonly YsonValue[] {
    const value = this.#values.get(name);
    return isList(value) ? value : [];
  }

  is(name: string): boolean {
    return this.#values.get(name) === true;
  }

  integer(name: string): number | undefined {
    const value = this.#values.get(name);
    return typeof value === "bigint" ? Number(value) : undefined;
  }
}

/**
 * Reads what follows the name of a command.
 * @returns undefined when help is asked for
 * @throws UsageError for words that do not fit, YtError for values that cannot be read
 */
export function readArguments(
  words: readonly string[],
  declared: readonly Argument[],
  reader: ArgumentReader,
): Values | undefined {
  const sorted = sortWords(words, declared, "refuse");
  if (sorted.wantsHelp) {
    return undefined;
  }
  const values = valuesOfOptions(sorted.uses, reader);
  placeRest(sorted.rest, declared, values, reader);
  const missing = declared.filter((argument) => argument.required === true && !values.has(argument.name));
  if (missing.length > 0) {
    throw new UsageError(`the following arguments are required: ${missing.map(nameOf).join(", ")}`);
  }
  return new Values(values);
}

/** Of options alone. */
export function valuesOfOptions(uses: readonly OptionUse[], reader: ArgumentReader): Map<string, YsonValue> {
  const values = new Map<string, YsonValue>();
  const groups = new Map<string, string>();
  for (const { argument, spelling, isOn, words } of uses) {
    if (argument.group !== undefined) {
      const other = groups.get(argument.group) ?? argument.name;
      if (other !== argument.name) {
        throw new UsageError(`argument ${spelling}: not allowed with the other options of its kind`);
      }
      groups.set(argument.group, other);
    }
    if (argument.type === "flag") {
      const before = values.get(argument.name);
      if (before !== undefined && before !== isOn) {
        throw new UsageError(`argument ${spelling}: not allowed with its opposite`);
      }
      values.set(argument.name, isOn);
      continue;
    }
    const read = words.map((word) => readWord(argument, word, spelling, reader));
    values.set(argument.name, combined(argument, values.get(argument.name), read));
  }
  return values;
}

function combined(argument: Argument, before: YsonValue | undefined, read: readonly YsonValue[]): YsonValue {
  if (argument.repeat === "append") {
    return [...(isList(before) ? before : []), ...read];
  }
  if (argument.repeat !== undefined) {
    return read;
  }
  const value = read[0] ?? null;
  return argument.type === "yson" && before !== undefined ? merged(before, value) : value;
}

/** Maps are merged key by key, to any depth; of anything else the later one stays. */
export function merged(before: YsonValue, value: YsonValue): YsonValue {
  if (!isMap(before) || !isMap(value)) {
    return value;
  }
  const result = new Map(before);
  for (const [key, item] of value) {
    const old = result.get(key);
    result.set(key, old === undefined ? item : merged(old, item));
  }
  return result;
}

/** Gives the words without an option to the arguments that have a place, in order. */
function placeRest(
  rest: readonly string[],
  declared: readonly Argument[],
  values: Map<string, YsonValue>,
  reader: ArgumentReader,
): void {
  let next = 0;
  for (const argument of declared) {
    const word = rest[next];
    if (argument.place === "option" || word === undefined) {
      continue;
    }
    if (argument.repeat !== undefined) {
      const read = rest.slice(next).map((text) => readWord(argument, text, argument.name, reader));
      values.set(argument.name, read);
      next = rest.length;
    } else if (!(argument.place === "hybrid" && values.has(argument.name))) {
      values.set(argument.name, readWord(argument, word, argument.name, reader));
      next++;
    }
  }
  if (next < rest.length) {
    throw new UsageError(`unrecognized arguments: ${rest.slice(next).join(" ")}`);
  }
}

function readWord(argument: Argument, word: string, spelling: string, reader: ArgumentReader): YsonValue {
  if (argument.choices !== undefined && !argument.choices.includes(word)) {
    throw new UsageError(
      `argument ${spelling}: invalid choice: '${word}' (choose from ${argument.choices.join(", ")})`,
    );
  }
  switch (argument.type) {
    case "integer":
      if (!/^\s*[+-]?\d+(_\d+)*\s*$/.test(word)) {
        throw new UsageError(`argument ${spelling}: "${word}" is not an integer`);
      }
      return BigInt(word.trim().replaceAll("_", "").replace(/^\+/, ""));
    case "number":
      if (word.trim() === "" || Number.isNaN(Number(word))) {
        throw new UsageError(`argument ${spelling}: "${word}" is not a number`);
      }
      return Number(word);
    case "yson":
      return reader.parseValue(word);
    case "format":
      return parseFormatName(word);
    default:
      return word;
  }
}

const formatNames = [
  "yson",
  "json",
  "dsv",
  "schemaful_dsv",
  "yamr",
  "yamred_dsv",
  "skiff",
  "arrow",
  "blob",
  "protobuf",
  "yaml",
];

/** @throws YtError 1 when there is no such format, 4000 for malformed YSON */
export function parseFormatName(text: string): YsonValue {
  const format = parseYson(Buffer.from(text));
  const name = bare(format);
  if (typeof name !== "string" || !formatNames.includes(name)) {
    throw new YtError(
      `Incorrect format ${text}: use one of ${formatNames.join(", ")}, possibly with attributes`,
    );
  }
  return format;
}

function nameOf(argument: Argument): string {
  return argument.place === "positional"
    ? argument.name
    : [...optionsOf(argument), ...(argument.off ?? [])].join("/");
}
