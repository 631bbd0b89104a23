/**
 * The words of a command line told apart: options with what they take, and the rest by their places. Options may
 * stand anywhere, be cut short while they are clear, be written `--name=value`, and short flags be joined (`-rf`).
 * Facts by: Python's argparse, which `yt` uses.
 */
import { type Argument, optionsOf } from "./argument.ts";
import { UsageError } from "./usage-error.ts";

export interface OptionUse {
  readonly argument: Argument;
  /** As it was written, for messages. */
  readonly spelling: string;
  /** Of a flag: whether it says yes. */
  readonly isOn: boolean;
  /** What it takes; none of a flag. */
  readonly words: readonly string[];
}

export interface SortedWords {
  readonly uses: readonly OptionUse[];
  /** What is no option and belongs to none, in order. */
  readonly rest: readonly string[];
  readonly wantsHelp: boolean;
}

interface Spelling {
  readonly argument: Argument;
  readonly isOn: boolean;
}

/**
 * @param unknown `keep` leaves options that are none of these among the rest
 * @throws UsageError
 */
export function sortWords(
  words: readonly string[],
  options: readonly Argument[],
  unknown: "keep" | "refuse",
): SortedWords {
  const spellings = spellingsOf(options);
  const uses: OptionUse[] = [];
  const rest: string[] = [];
  let wantsHelp = false;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "--") {
      rest.push(...words.slice(unknown === "keep" ? index : index + 1));
      break;
    }
    if (!isOption(word)) {
      rest.push(word);
      continue;
    }
    if (unknown === "refuse" && (word === "-h" || word === "--help")) {
      wantsHelp = true;
      continue;
    }
    const [name, joined] = splitAtEquals(word);
    const found = findSpelling(spellings, name);
    if (found !== undefined) {
      const taken = takeWords(found.argument, name, joined, words, index + 1);
      uses.push({ ...found, spelling: name, words: taken });
      index += joined === undefined ? taken.length : 0;
    } else if (joinedFlags(spellings, word, uses)) {
      // Taken as several flags.
    } else if (unknown === "keep") {
      rest.push(word);
    } else {
      throw new UsageError(`unrecognized arguments: ${word}`);
    }
  }
  return { uses, rest, wantsHelp };
}

function spellingsOf(options: readonly Argument[]): ReadonlyMap<string, Spelling> {
  const spellings = new Map<string, Spelling>();
  for (const argument of options) {
    for (const text of optionsOf(argument)) {
      spellings.set(text, { argument, isOn: true });
    }
    for (const text of argument.off ?? []) {
      spellings.set(text, { argument, isOn: false });
    }
  }
  return spellings;
}

/** A number below zero is none. */
function isOption(word: string): boolean {
  return word.length > 1 && word.startsWith("-") && !/^-\d+$|^-\d*\.\d+$/.test(word) && !word.includes(" ");
}

function splitAtEquals(word: string): readonly [string, string | undefined] {
  const at = word.startsWith("--") ? word.indexOf("=") : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

/** The option of that name, or the one that begins so. */
function findSpelling(spellings: ReadonlyMap<string, Spelling>, name: string): Spelling | undefined {
  const exact = spellings.get(name);
  if (exact !== undefined || !name.startsWith("--")) {
    return exact;
  }
  const candidates = [...spellings].filter(([text]) => text.startsWith(name));
  if (candidates.length > 1) {
    const names = candidates.map(([text]) => text).join(", ");
    throw new UsageError(`ambiguous option: ${name} could match ${names}`);
  }
  return candidates[0]?.[1];
}

function takeWords(
  argument: Argument,
  name: string,
  joined: string | undefined,
  words: readonly string[],
  from: number,
): readonly string[] {
  if (argument.type === "flag") {
    if (joined !== undefined) {
      throw new UsageError(`argument ${name}: takes no value, "${joined}" was given`);
    }
    return [];
  }
  if (joined !== undefined) {
    return [joined];
  }
  const isSeveral = argument.repeat === "many" || argument.repeat === "some";
  let end = from;
  while (end < words.length && (isSeveral || end === from) && !isOption(words[end] ?? "")) {
    end++;
  }
  if (end === from && argument.repeat !== "many") {
    throw new UsageError(`argument ${name}: expected ${isSeveral ? "at least " : ""}one argument`);
  }
  return words.slice(from, end);
}

/** `-rf` as `-r -f`; false when some letter is no flag. */
function joinedFlags(spellings: ReadonlyMap<string, Spelling>, word: string, uses: OptionUse[]): boolean {
  if (word.startsWith("--")) {
    return false;
  }
  const found = [...word.slice(1)].map((letter) => spellings.get(`-${letter}`));
  const flags = found.filter((spelling) => spelling?.argument.type === "flag");
  if (flags.length !== found.length) {
    return false;
  }
  for (const [index, spelling] of flags.entries()) {
    if (spelling !== undefined) {
      uses.push({ ...spelling, spelling: `-${word[index + 1]}`, words: [] });
    }
  }
  return true;
}
