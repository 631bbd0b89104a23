/**
 * The query string as a layer of parameters: `a=1&b[c][]=x`.
 * Specified in: yt/yt/server/http_proxy/helpers.cpp (ParseQueryString), library/cpp/cgiparam; http-api §4.
 */
import {
  attributesOf,
  bare,
  isMap,
  limits,
  withAttributes,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { bytesToString } from "@qyt/yson";

type QueryMap = Map<string, QueryNode>;
type QueryNode = string | bigint | null | QueryMap | QueryNode[];

/** What one request may spend on gaps in lists: `a[1000]=x` makes 1000 of them. */
const maxListSlots = 65_536;

/**
 * Parses the text after `?`. Text that is no valid percent-encoding stands for itself, as in the original.
 * @throws YtError for brackets that do not match, deep nesting, large indexes and conflicting values
 */
export function parseQueryString(query: string): YsonMap {
  const root: QueryMap = new Map();
  const budget = { slots: maxListSlots };
  for (const pair of query.split("&")) {
    if (pair === "") {
      continue;
    }
    const equals = pair.indexOf("=");
    const name = decodeComponent(equals < 0 ? pair : pair.slice(0, equals));
    const value = equals < 0 ? "" : decodeComponent(pair.slice(equals + 1));
    insert(root, tokenizeName(name), scalarOf(value), budget);
  }
  const result = new Map<string, YsonValue>();
  for (const [key, value] of root) {
    result.set(key, joinAttributes(value));
  }
  return result;
}

function scalarOf(text: string): string | bigint {
  if (!/^-?\d{1,19}$/.test(text)) {
    return text;
  }
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : text;
}

function tokenizeName(name: string): string[] {
  let open = name.indexOf("[");
  if (open < 0) {
    return [name];
  }
  const parts = [name.slice(0, open)];
  while (open >= 0 && open < name.length) {
    const close = name.indexOf("]", open);
    if (close < 0) {
      throw new YtError("Unmatched bracket in query argument name", { attributes: { argument: name } });
    }
    if (parts.length > limits.maxQueryNesting) {
      throw new YtError("Nesting limit reached in query argument name", { attributes: { argument: name } });
    }
    parts.push(name.slice(open + 1, close));
    open = close + 1;
  }
  return parts;
}

/** Puts `value` at the end of the path `parts`, making the maps and lists on the way. */
function insert(
  root: QueryMap,
  parts: readonly string[],
  value: string | bigint,
  budget: { slots: number },
): void {
  let container: QueryMap | QueryNode[] = root;
  for (const [i, part] of parts.entries()) {
    const isLast = i === parts.length - 1;
    const next = parts[i + 1];
    const fresh = (): QueryNode => (isLast ? value : next === undefined || isListStep(next) ? [] : new Map());
    const present: QueryNode | undefined = childOf(container, part, parts);
    let child: QueryNode;
    if (present === undefined || present === null) {
      child = fresh();
      setChild(container, part, child, budget);
    } else {
      child = present;
      if (isLast) {
        throw conflict(parts);
      }
    }
    if (!isLast) {
      if (!(child instanceof Map) && !Array.isArray(child)) {
        throw conflict(parts);
      }
      container = child;
    }
  }
}

function isListStep(part: string): boolean {
  return part === "" || /^-?\d+$/.test(part);
}

function childOf(
  container: QueryMap | QueryNode[],
  part: string,
  parts: readonly string[],
): QueryNode | undefined {
  if (container instanceof Map) {
    return container.get(part);
  }
  if (!isListStep(part)) {
    throw conflict(parts);
  }
  return part === "" ? undefined : container[indexOf(part)];
}

function setChild(
  container: QueryMap | QueryNode[],
  part: string,
  child: QueryNode,
  budget: { slots: number },
): void {
  if (container instanceof Map) {
    container.set(part, child);
    return;
  }
  const index = part === "" ? container.length : indexOf(part);
  if (index > limits.maxQueryListIndex) {
    throw invalidIndex(index);
  }
  budget.slots -= Math.max(0, index + 1 - container.length);
  if (budget.slots < 0) {
    throw new YtError("Too many list items in query string");
  }
  while (container.length <= index) {
    container.push(null);
  }
  container[index] = child;
}

function indexOf(part: string): number {
  const index = Number(part);
  if (index < 0 || index > limits.maxQueryListIndex) {
    throw invalidIndex(index);
  }
  return index;
}

function invalidIndex(index: number): YtError {
  return new YtError("Invalid list index in query argument", { attributes: { index: String(index) } });
}

function conflict(parts: readonly string[]): YtError {
  return new YtError("Conflicting values in query argument", { attributes: { argument: parts.join("/") } });
}

/** `{$value; $attributes}` as a value with attributes. Only the top level is treated so. */
function joinAttributes(node: QueryNode): YsonValue {
  if (!(node instanceof Map) || node.size > 2) {
    return node;
  }
  const value: YsonValue | undefined = node.get("$value");
  if (value === undefined) {
    return node;
  }
  const attributes: YsonValue | undefined = node.get("$attributes");
  if (attributes === undefined) {
    return node.size === 1 ? value : node;
  }
  if (!isMap(attributes)) {
    throw new YtError("Attributes in query argument must be a map");
  }
  return withAttributes(bare(value), new Map([...attributesOf(value), ...attributes]));
}

/** Undoes percent-encoding and `+`. The result has the project's image of arbitrary bytes. */
function decodeComponent(text: string): string {
  if (/^[\x21-\x24\x26-\x2a\x2c-\x7e]*$/.test(text)) {
    return text;
  }
  const bytes = Buffer.from(text, "latin1");
  let length = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === 0x2b) {
      bytes[length++] = 0x20;
      continue;
    }
    const high = byte === 0x25 ? hexDigit(bytes[i + 1]) : -1;
    const low = high >= 0 ? hexDigit(bytes[i + 2]) : -1;
    if (low >= 0) {
      bytes[length++] = high * 16 + low;
      i += 2;
    } else {
      bytes[length++] = byte;
    }
  }
  return bytesToString(bytes, 0, length);
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) {
    return -1;
  }
  if (byte >= 0x30 && byte <= 0x39) {
    return byte - 0x30;
  }
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
