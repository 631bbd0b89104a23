/**
 * Rich YPath: `<attributes>cluster://path{columns}[ranges]` taken apart into a bare path and attributes.
 * Specified in: yt/yt/client/ypath/parser_detail.cpp, rich.cpp.
 */
import {
  Attributed,
  attributesOf,
  bare,
  isList,
  isMap,
  mapOf,
  withAttributes,
  type YsonMap,
  type YsonScalar,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { bytesToString, stringToBytes } from "./bytes.ts";
import { parseAttributes, parseNode } from "./parser.ts";
import { YsonScanner } from "./scanner.ts";
import { rootError, selectorStart } from "./ypath.ts";

export interface RichPath {
  /** The plain YPath, escapes kept. */
  readonly path: string;
  /** Everything else: attributes given either way, `cluster`, `columns`, `ranges`. */
  readonly attributes: YsonMap;
}

/**
 * Takes a rich path apart. Where an attribute is given twice, the one on the node wins over the one in the text.
 *
 * @throws YtError code 1 for a value that is no string, an empty path, a path that begins neither with `/` nor `#`
 * nor a cluster name, malformed selectors; 4000 for malformed attributes
 */
export function parseRichPath(value: YsonValue | string): RichPath {
  const text = bare(value);
  if (typeof text !== "string") {
    throw new YtError('YPath can only be parsed from "string"');
  }
  const attributes = new Map<string, YsonValue>();
  let path = takeAttributes(text, attributes);
  if (path === "") {
    throw new YtError("YPath cannot be empty");
  }
  if (!isRooted(path)) {
    const prefixLength = clusterLength(path);
    if (prefixLength <= 0 || !isRooted(path.slice(prefixLength + 1))) {
      throw rootError(path);
    }
    attributes.set("cluster", path.slice(0, prefixLength));
    path = path.slice(prefixLength + 1);
  }
  const selectors = selectorStart(path);
  if (selectors < path.length) {
    new SelectorReader(path.slice(selectors)).read(attributes);
    path = path.slice(0, selectors);
  }
  for (const [key, item] of attributesOf(value)) {
    attributes.set(key, item);
  }
  checkRanges(attributes.get("ranges"));
  return { path, attributes };
}

/** The normal form: the bare path as a string with attributes. */
export function richPathToYson(path: RichPath): YsonValue {
  return withAttributes(path.path, path.attributes);
}

function takeAttributes(text: string, into: Map<string, YsonValue>): string {
  const trimmed = text.trimStart();
  if (!trimmed.startsWith("<")) {
    return text;
  }
  const scanner = new YsonScanner(stringToBytes(trimmed));
  for (const [key, item] of parseAttributes(scanner, 0)) {
    into.set(key, item);
  }
  return bytesToString(scanner.buffer, scanner.position).trimStart();
}

function isRooted(path: string): boolean {
  return path.startsWith("/") || path.startsWith("#");
}

/** Length of the cluster name before the first `:`, -1 if the path has none. */
function clusterLength(path: string): number {
  for (let index = 0; index < path.length; index++) {
    const code = path.charCodeAt(index);
    if (code === 0x3a) {
      return index;
    }
    const letter = (code | 0x20) >= 97 && (code | 0x20) <= 122;
    const digit = code >= 48 && code <= 57;
    if (!letter && !digit && code !== 0x2d && code !== 0x5f) {
      return -1;
    }
  }
  return -1;
}

function checkRanges(ranges: YsonValue | undefined): void {
  const list = ranges === undefined ? [] : bare(ranges);
  if (!isList(list)) {
    throw new YtError('Attribute "ranges" of a rich YPath must be a list');
  }
  for (const item of list) {
    const range = bare(item);
    if (!isMap(range)) {
      throw new YtError('Every item of attribute "ranges" of a rich YPath must be a map');
    }
    if (range.has("exact") && (range.has("lower_limit") || range.has("upper_limit"))) {
      throw new YtError("Exact limit cannot be specified simultaneously with lower or upper limits");
    }
  }
}

const comma = 0x2c;
const colon = 0x3a;
const closeBracket = 0x5d;
const closeBrace = 0x7d;
const closeParenthesis = 0x29;

/** Reads `{columns}` and `[ranges]`, whose names and keys are YSON scalars. */
class SelectorReader {
  private readonly scanner: YsonScanner;

  constructor(text: string) {
    this.scanner = new YsonScanner(stringToBytes(text));
  }

  read(attributes: Map<string, YsonValue>): void {
    if (this.peek() === 0x7b) {
      attributes.set("columns", this.readColumns());
    }
    if (this.peek() === 0x5b) {
      attributes.set("ranges", this.readRanges());
    }
    const rest = this.peek();
    if (rest >= 0) {
      this.unexpected(rest);
    }
  }

  private peek(): number {
    return this.scanner.skipSpace();
  }

  private readColumns(): YsonValue[] {
    const columns: YsonValue[] = [];
    this.scanner.position++;
    for (let byte = this.peek(); byte !== closeBrace; byte = this.peek()) {
      const column = this.readScalar(byte);
      if (typeof column !== "string") {
        this.unexpected(byte);
      }
      columns.push(column);
      this.endItem(closeBrace);
    }
    this.scanner.position++;
    return columns;
  }

  private readRanges(): YsonValue[] {
    const ranges: YsonValue[] = [];
    do {
      this.scanner.position++;
      const first = this.readLimit();
      const byte = this.peek();
      if (byte === colon) {
        this.scanner.position++;
        ranges.push(mapOf({ lower_limit: first, upper_limit: this.readLimit() }));
      } else {
        ranges.push(mapOf({ exact: first }));
      }
    } while (this.endRange());
    this.scanner.position++;
    return ranges;
  }

  private endRange(): boolean {
    const byte = this.peek();
    if (byte !== comma && byte !== closeBracket) {
      this.unexpected(byte);
    }
    return byte === comma;
  }

  private readLimit(): YsonMap | undefined {
    const byte = this.peek();
    if (byte === comma || byte === colon || byte === closeBracket) {
      return undefined;
    }
    if (byte === 0x23) {
      this.scanner.position++;
      const next = this.peek();
      const index = this.readScalar(next);
      if (typeof index !== "bigint") {
        this.unexpected(next);
      }
      return mapOf({ row_index: index });
    }
    if (byte !== 0x28) {
      return mapOf({ key: [this.readKeyPart(byte)] });
    }
    const key: YsonValue[] = [];
    this.scanner.position++;
    for (let part = this.peek(); part !== closeParenthesis; part = this.peek()) {
      key.push(this.readKeyPart(part));
      this.endItem(closeParenthesis);
    }
    this.scanner.position++;
    return mapOf({ key });
  }

  private readKeyPart(byte: number): YsonValue {
    if (byte !== 0x3c) {
      return this.readScalar(byte);
    }
    const sentinel = parseNode(this.scanner, 0);
    const type = attributesOf(sentinel).get("type");
    if (!(sentinel instanceof Attributed) || sentinel.value !== null || (type !== "min" && type !== "max")) {
      throw new YtError(
        "Only sentinels <type=min># and <type=max># may have attributes in a key of a rich YPath",
      );
    }
    return sentinel;
  }

  private readScalar(byte: number): YsonScalar {
    // A path is text; a byte that begins a binary scalar is as unexpected here as a bracket.
    return byte < 0x20 || byte === 0x28 ? this.unexpected(byte) : this.scanner.readScalar(byte);
  }

  private endItem(close: number): void {
    const byte = this.peek();
    if (byte === comma) {
      this.scanner.position++;
    } else if (byte !== close) {
      this.unexpected(byte);
    }
  }

  private unexpected(byte: number): never {
    if (byte < 0) {
      throw new YtError("Unexpected end-of-string in the selectors of a rich YPath");
    }
    throw new YtError(
      `Unexpected token "${bytesToString(this.scanner.buffer, this.scanner.position).slice(0, 32)}" in the selectors of a rich YPath`,
    );
  }
}
