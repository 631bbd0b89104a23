/** What an argument of a command line is, as data, and short ways to write one. */

/**
 * How the text of an argument is read: `path` gets the prefix of relative paths, `yson` is a value in YSON (several
 * maps are merged), `format` a data format such as `json` or `<format=text>yson`.
 */
export type ArgumentType = "text" | "path" | "integer" | "number" | "yson" | "format" | "flag";

export interface Argument {
  /** As the API has it, e.g. `queue_path`. */
  readonly name: string;
  /** `hybrid`: by its place, or after its option. */
  readonly place: "hybrid" | "positional" | "option";
  readonly type: ArgumentType;
  /** One line, without a full stop. */
  readonly help: string;
  /** The spellings of the option; default: the name with hyphens. */
  readonly options?: readonly string[];
  /** Of a flag: the spellings that say no. */
  readonly off?: readonly string[];
  readonly required?: boolean;
  /** `append`: the option may be repeated; `many` and `some`: it takes several words, `some` at least one. */
  readonly repeat?: "append" | "many" | "some";
  readonly choices?: readonly string[];
  /** Arguments of one group exclude each other. */
  readonly group?: string;
  /** The parameters of the API that get the value; default: that of the name. None: a runner uses it. */
  readonly parameters?: readonly string[];
  /** Of a format: rows need one, and there is no default. */
  readonly isFormatOfRows?: boolean;
}

type Extra = Partial<Omit<Argument, "name" | "type" | "help">>;

/** An argument by its place or its option; required. */
export function hybrid(name: string, help: string, type: ArgumentType = "path", extra: Extra = {}): Argument {
  return { name, place: "hybrid", type, help, required: true, ...extra };
}

export function positional(name: string, help: string, type: ArgumentType, extra: Extra = {}): Argument {
  return { name, place: "positional", type, help, required: true, ...extra };
}

export function option(name: string, type: ArgumentType, help: string, extra: Extra = {}): Argument {
  return { name, place: "option", type, help, ...extra };
}

export function flag(name: string, help: string, extra: Extra = {}): Argument {
  return { name, place: "option", type: "flag", help, ...extra };
}

/** `--NAME` and `--PREFIX-NAME`. */
export function toggle(name: string, help: string, prefix = "no", extra: Extra = {}): Argument {
  const words = hyphened(name);
  return flag(name, help, { options: [`--${words}`], off: [`--${prefix}-${words}`], ...extra });
}

export function hyphened(name: string): string {
  return name.replaceAll("_", "-");
}

/** The options that give the argument; none for one that only has a place. */
export function optionsOf(argument: Argument): readonly string[] {
  return argument.place === "positional" ? [] : (argument.options ?? [`--${hyphened(argument.name)}`]);
}

/** The format of an answer that is one value. */
export const answerFormat = option(
  "format",
  "format",
  "format of the answer: yson or json, with attributes",
  {
    parameters: ["output_format"],
  },
);

/** The format of rows in both directions, one of them, or none. */
export function rowFormat(help: string, parameters: readonly string[], name = "format"): Argument {
  return option(name, "format", help, { parameters, isFormatOfRows: true });
}

export const readFrom: readonly Argument[] = [
  option("read_from", "text", "`cache` allows an answer from the cache of masters"),
  option("cache_sticky_group_size", "integer", "size of the sticky group of such a cache"),
];

export const suppressSync = flag(
  "suppress_transaction_coordinator_sync",
  "do not wait for what coordinators of transactions do",
);
