/**
 * Plain YPath: the tokens, and the steps that the tree walks.
 * Specified in: yt/yt/core/ypath/tokenizer.cpp, helpers.cpp; yt/docs "YPath".
 */
import { limits, YtError } from "@qyt/base";
import { bytesToString, stringToBytes } from "./bytes.ts";
import { hexDigit } from "./string-escapes.ts";

export interface YPath {
  readonly root: { readonly kind: "root" } | { readonly kind: "object"; readonly id: string };
  readonly steps: readonly YPathStep[];
}

/** List positions (`0`, `-1`, `begin`, `before:1`) are child steps: only the node knows that it is a list. */
export type YPathStep =
  | { readonly kind: "child"; readonly name: string }
  /** `/@name`; without a name: all attributes. */
  | { readonly kind: "attribute"; readonly name: string | undefined }
  /** `/*` */
  | { readonly kind: "all" }
  /** `/@*` */
  | { readonly kind: "allAttributes" }
  /** `&`: the node itself, even if it is a link. */
  | { readonly kind: "ampersand" };

type TokenKind = "literal" | "slash" | "at" | "ampersand" | "asterisk" | "range" | "end";

interface Token {
  readonly kind: TokenKind;
  /** The token as it stands in the path. */
  readonly text: string;
  /** A literal without its escapes. */
  readonly literal: string;
}

const singles = new Map<string, TokenKind>([
  ["/", "slash"],
  ["@", "at"],
  ["&", "ampersand"],
  ["*", "asterisk"],
]);
const specials = new Set("\\/@*&[{");
const objectIdPattern = /^#[0-9a-f]{1,8}(-[0-9a-f]{1,8}){3}$/i;

/**
 * Splits a path into its root and steps.
 *
 * @throws YtError code 1: an empty path, another beginning than `/` or `#<id>`, a malformed escape, a token where
 * another one had to stand; also beyond `limits.maxPathBytes`
 */
export function tokenizeYPath(path: string): YPath {
  if (path === "") {
    throw new YtError("YPath cannot be empty");
  }
  if (path.length > limits.maxPathBytes) {
    throw new YtError("YPath is too long", {
      attributes: { limit: BigInt(limits.maxPathBytes), length: BigInt(path.length) },
    });
  }
  const reader = new TokenReader(path);
  const first = reader.next();
  let root: YPath["root"];
  if (first.kind === "slash") {
    root = { kind: "root" };
  } else if (first.kind === "literal" && first.text.startsWith("#")) {
    if (!objectIdPattern.test(first.text)) {
      throw new YtError(`Error parsing object id "${first.text.slice(1)}"`);
    }
    root = { kind: "object", id: first.text.slice(1) };
  } else {
    throw rootError(path);
  }
  return { root, steps: readSteps(reader) };
}

export function rootError(path: string): YtError {
  return new YtError(`Path "${path}" does not start with a valid root-designator`);
}

function readSteps(reader: TokenReader): YPathStep[] {
  const steps: YPathStep[] = [];
  let ampersandAllowed = true;
  for (let token = reader.next(); token.kind !== "end"; token = reader.next()) {
    if (token.kind === "ampersand" && ampersandAllowed) {
      steps.push({ kind: "ampersand" });
      ampersandAllowed = false;
      continue;
    }
    if (token.kind !== "slash") {
      throw expected("slash", token);
    }
    const step = reader.next();
    ampersandAllowed = step.kind === "literal";
    if (step.kind === "literal") {
      steps.push({ kind: "child", name: step.literal });
    } else if (step.kind === "asterisk") {
      steps.push({ kind: "all" });
    } else if (step.kind === "at") {
      const name = reader.next();
      if (name.kind === "literal") {
        steps.push({ kind: "attribute", name: name.literal });
      } else if (name.kind === "asterisk") {
        steps.push({ kind: "allAttributes" });
      } else if (name.kind === "end") {
        steps.push({ kind: "attribute", name: undefined });
        break;
      } else {
        throw expected("literal", name);
      }
    } else {
      throw unexpected(step);
    }
  }
  return steps;
}

/** A name as one segment of a path: special characters with a backslash, bytes outside of ASCII as `\xHH`. */
export function escapeYPathLiteral(name: string): string {
  let result = "";
  for (const byte of stringToBytes(name)) {
    const character = String.fromCharCode(byte);
    if (specials.has(character)) {
      result += `\\${character}`;
    } else if (byte < 32 || byte > 126) {
      result += `\\x${byte.toString(16).padStart(2, "0")}`;
    } else {
      result += character;
    }
  }
  return result;
}

/** Where the column or range selector of a rich path begins: the first unescaped `{` or `[`, else the length. */
export function selectorStart(path: string): number {
  for (let index = 0; index < path.length; index++) {
    const character = path[index];
    if (character === "\\") {
      index++;
    } else if (character === "[" || character === "{") {
      return index;
    }
  }
  return path.length;
}

class TokenReader {
  private readonly path: string;
  private position = 0;

  constructor(path: string) {
    this.path = path;
  }

  next(): Token {
    const { path } = this;
    const start = this.position;
    const first = path[start];
    if (first === undefined) {
      return { kind: "end", text: path[start - 1] ?? "", literal: "" };
    }
    const single = singles.get(first);
    if (single !== undefined) {
      this.position++;
      return { kind: single, text: first, literal: "" };
    }
    if (first === "[" || first === "{") {
      this.position = path.length;
      return { kind: "range", text: path.slice(start), literal: "" };
    }
    let escaped = false;
    let index = start;
    while (index < path.length) {
      const character = path.charAt(index);
      if (character === "\\") {
        escaped = true;
        index++;
      } else if (specials.has(character)) {
        break;
      }
      index++;
    }
    this.position = Math.min(index, path.length);
    const text = path.slice(start, this.position);
    return { kind: "literal", text, literal: escaped ? unescapeLiteral(text) : text };
  }
}

function unescapeLiteral(text: string): string {
  const source = stringToBytes(text);
  const result = Buffer.allocUnsafe(source.length);
  let length = 0;
  let index = 0;
  while (index < source.length) {
    const byte = source[index++] ?? 0;
    if (byte !== 0x5c) {
      result[length++] = byte;
      continue;
    }
    if (index >= source.length) {
      throw new YtError("Unexpected end-of-string in YPath while parsing escape sequence");
    }
    const escaped = source[index++] ?? 0;
    const high = hexDigit(source, index, source.length);
    const low = hexDigit(source, index + 1, source.length);
    if (specials.has(String.fromCharCode(escaped))) {
      result[length++] = escaped;
    } else if (escaped === 0x78 && high >= 0 && low >= 0) {
      result[length++] = high * 16 + low;
      index += 2;
    } else {
      const end = escaped === 0x78 ? index + 2 : index;
      throw new YtError(
        `Malformed escape sequence "${bytesToString(source.subarray(index - 2, end))}" in YPath`,
      );
    }
  }
  return bytesToString(result, 0, length);
}

const slashAtEnd = 'please note that YPath cannot normally end with "/"';

function expected(kind: TokenKind, found: Token): YtError {
  if (found.kind === "end") {
    return new YtError(`Expected "${kind}" in YPath but found end-of-string`);
  }
  return new YtError(`Expected "${kind}" in YPath but found "${found.kind}" token "${found.text}"`);
}

function unexpected(found: Token): YtError {
  if (found.kind === "end") {
    return new YtError(`Unexpected end-of-string in YPath${found.text === "/" ? `; ${slashAtEnd}` : ""}`);
  }
  return new YtError(`Unexpected "${found.kind}" token "${found.text}" in YPath`);
}
