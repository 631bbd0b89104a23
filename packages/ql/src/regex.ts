/**
 * Regular expressions with RE2's syntax and linear time.
 *
 * Specified in: yt/yt/library/query/engine/udf/regex.cpp (over RE2).
 */
import { YtError } from "@qyt/base";
import { type Matcher, RE2JS } from "re2js";

/** Patterns longer than this are refused; their programs could take unbounded memory. */
const maxPatternLength = 64 * 1024;

export interface Regex {
  matchesWhole(text: string): boolean;
  matchesPart(text: string): boolean;
  /** Replaces the first match, or all. In the rewrite `\0`…`\9` are groups and `\\` is a backslash. */
  replace(text: string, rewrite: string, all: boolean): string;
  /** The rewrite filled from the first match; empty when there is none. */
  extract(text: string, rewrite: string): string;
}

/** @throws YtError when the pattern is no regular expression */
export function compileRegex(pattern: string): Regex {
  if (pattern.length > maxPatternLength) {
    throw new YtError("Regular expression is too long", {
      attributes: { length: BigInt(pattern.length), limit: BigInt(maxPatternLength) },
    });
  }
  const compiled = compilePattern(pattern);
  return {
    matchesWhole: (text) => compiled.matches(text),
    matchesPart: (text) => compiled.matcher(text).find(),
    replace: (text, rewrite, all) => replaceMatches(compiled, text, parseRewrite(rewrite, compiled), all),
    extract(text, rewrite) {
      const parts = parseRewrite(rewrite, compiled);
      const matcher = compiled.matcher(text);
      return matcher.find() ? fillRewrite(parts, matcher) : "";
    },
  };
}

/** The text with every character that could mean something escaped. Specified in: RE2::QuoteMeta. */
export function escapeRegex(text: string): string {
  let result = "";
  for (const character of text) {
    if (character === "\0") {
      result += "\\x00";
    } else {
      result +=
        /[A-Za-z0-9_]/.test(character) || character.charCodeAt(0) >= 0x80 ? character : `\\${character}`;
    }
  }
  return result;
}

function compilePattern(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    throw new YtError(`Error parsing regular expression "${pattern}"`, {
      attributes: { reason: error instanceof Error ? error.message : String(error) },
    });
  }
}

/** Text, or the number of a group. */
type RewritePart = string | number;

function parseRewrite(rewrite: string, regex: RE2JS): RewritePart[] {
  const parts: RewritePart[] = [];
  const groupCount = regex.groupCount();
  let plain = "";
  for (let index = 0; index < rewrite.length; index += 1) {
    const unit = rewrite.charAt(index);
    if (unit !== "\\") {
      plain += unit;
      continue;
    }
    index += 1;
    const next = rewrite.charAt(index);
    if (next === "\\") {
      plain += next;
      continue;
    }
    const group = /[0-9]/.test(next) ? Number(next) : -1;
    if (group < 0 || group > groupCount) {
      throw new YtError(`Invalid rewrite string "${rewrite}"`);
    }
    parts.push(plain, group);
    plain = "";
  }
  parts.push(plain);
  return parts;
}

function fillRewrite(parts: readonly RewritePart[], matcher: Matcher): string {
  return parts.map((part) => (typeof part === "string" ? part : (matcher.group(part) ?? ""))).join("");
}

function replaceMatches(regex: RE2JS, text: string, parts: readonly RewritePart[], all: boolean): string {
  const matcher = regex.matcher(text);
  const pieces: string[] = [];
  let position = 0;
  let previousEnd = -1;
  while (matcher.find()) {
    if (matcher.start() === matcher.end() && matcher.end() === previousEnd) {
      continue; // RE2 has no empty match right behind another one.
    }
    previousEnd = matcher.end();
    pieces.push(text.slice(position, matcher.start()), fillRewrite(parts, matcher));
    position = matcher.end();
    if (!all) {
      break;
    }
  }
  pieces.push(text.slice(position));
  return pieces.join("");
}
