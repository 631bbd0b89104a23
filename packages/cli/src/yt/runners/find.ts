/** `find`: walks a subtree from one answer to the next. Facts by: yt/python/yt/wrapper/cypress_commands.py (search). */
import { attributesOf, bare, isList, isMap, toYtError, type YsonMap, type YsonValue } from "@qyt/base";
import { deepEqual, escapeYPathLiteral, parseYsonMap } from "@qyt/yson";
import type { Runner } from "../command.ts";
import type { Context } from "../context.ts";
import { plainText, printLine } from "../printing.ts";
import { compareNames, longAttributes, printLong } from "./long-format.ts";

/** A node that is visited. */
interface Visit {
  readonly path: string;
  readonly depth: number;
  /** Asked again because its answer was left out the first time: it has been shown already. */
  readonly isShown: boolean;
  readonly isLinkTarget: boolean;
}

/** Never walked through unless it is the root. */
const excluded = "//sys/operations";

/** Nodes whose children only an own request shows. */
const opaqueTypes: ReadonlySet<string> = new Set(["account_map", "tablet_cell", "portal_entrance"]);

/** A node that meets the conditions. */
export interface Found {
  readonly path: string;
  readonly attributes: YsonMap;
}

export interface Search {
  readonly context: Context;
  readonly attributes: readonly string[];
  readonly depth?: number | undefined;
  readonly followsLinks?: boolean;
  readonly matches?: (path: string, type: string, attributes: YsonMap) => boolean;
}

export const find: Runner = async (context) => {
  const { values } = context;
  const wanted = new Map<string, YsonValue>();
  for (const name of ["account", "owner"]) {
    const value = values.text(name);
    if (value !== undefined) {
      wanted.set(name, value);
    }
  }
  const filter = values.text("attribute_filter");
  for (const [name, value] of filter === undefined ? [] : parseYsonMap(Buffer.from(filter))) {
    wanted.set(name, value);
  }
  const pattern = values.text("name");
  const nameMatches = pattern === undefined ? undefined : globPattern(pattern);
  const type = values.text("type");
  const isLong = values.is("long_format");
  const found = search({
    context,
    attributes: [...wanted.keys(), ...(isLong ? longAttributes : [])],
    depth: values.integer("depth"),
    followsLinks: values.is("follow_links"),
    matches: (path, nodeType, attributes) =>
      (type === undefined || nodeType === type) &&
      [...wanted].every(([name, value]) => deepEqual(attributes.get(name) ?? null, value)) &&
      (nameMatches === undefined || nameMatches.test(path.slice(path.lastIndexOf("/") + 1))),
  });
  for await (const { path, attributes } of found) {
    await (isLong ? printLong(context, { shown: path, path, attributes }) : printLine(context, path));
  }
  return undefined;
};

/** Nodes of the subtree of the argument `path`, parents before their children, in the order of names. */
export async function* search(options: Search): AsyncIterable<Found> {
  const { context, attributes } = options;
  const root = plainText(context.session.path(context.values.needed("path")));
  let visits: Visit[] = [{ path: root, depth: 0, isShown: false, isLinkTarget: false }];
  while (visits.length > 0) {
    const next: Visit[] = [];
    for (const visit of visits) {
      const content = await contentOf(context, visit, root, [...attributes, "type", "opaque"]);
      if (content !== undefined) {
        yield* walk(options, { ...visit, isAsked: true, content, root }, next);
      }
    }
    visits = next;
  }
}

async function contentOf(
  context: Context,
  visit: Visit,
  root: string,
  attributes: readonly string[],
): Promise<YsonValue | undefined> {
  const { read_from, cache_sticky_group_size } = context.parameters;
  try {
    return await context.session.get(visit.path, {
      attributes,
      max_size: 65_535n,
      read_from,
      cache_sticky_group_size,
    });
  } catch (thrown) {
    const error = toYtError(thrown);
    if (error.has("AuthorizationError")) {
      context.warn(`WARNING: Cannot traverse ${visit.path}, access denied`);
      return undefined;
    }
    if (error.has("ResolveError") && visit.path !== root) {
      context.warn(`WARNING: Path ${visit.path} is missing`);
      return undefined;
    }
    throw error;
  }
}

interface Walked extends Visit {
  readonly content: YsonValue;
  readonly isAsked: boolean;
  readonly root: string;
}

function* walk(options: Search, node: Walked, next: Visit[]): Generator<Found> {
  const { path, depth, content, root } = node;
  const bound = options.depth ?? Number.POSITIVE_INFINITY;
  if (depth > bound || (path === excluded && root !== excluded)) {
    return;
  }
  const attributes = attributesOf(content);
  const type = plainText(attributes.get("type") ?? "document");
  if (node.isLinkTarget && type === "link") {
    return;
  }
  const isOpaque =
    opaqueTypes.has(type) || (attributes.get("opaque") === true && type !== "document" && type !== "link");
  if (isOpaque && !node.isAsked && depth < bound) {
    next.push({ path, depth, isShown: true, isLinkTarget: false });
  }
  if (type === "link" && options.followsLinks === true) {
    next.push({ path, depth, isShown: node.isShown, isLinkTarget: true });
  }
  if (!node.isShown && (options.matches?.(path, type, attributes) ?? true)) {
    const asked = [...attributes].filter(([name]) => options.attributes.includes(name));
    yield { path, attributes: new Map(asked) };
  }
  for (const [step, child] of childrenOf(bare(content))) {
    const visit = { path: `${path}/${step}`, depth: depth + 1, isShown: false, isLinkTarget: false };
    yield* walk(options, { ...visit, content: child, isAsked: false, root }, next);
  }
}

function childrenOf(content: YsonValue): readonly (readonly [string, YsonValue])[] {
  if (isList(content)) {
    return content.map((item, index) => [String(index), item]);
  }
  if (!isMap(content)) {
    return [];
  }
  const sorted = [...content].sort(([left], [right]) => compareNames(left, right));
  return sorted.map(([name, item]) => [escapeYPathLiteral(name), item]);
}

/** A shell's pattern: `*`, `?`, `[seq]` and `[!seq]`. */
function globPattern(pattern: string): RegExp {
  const source = pattern.replace(
    /\[(!?)([^\]]+)\]|[*?]|[\\^$.|+(){}[\]]/g,
    (text, not: string, set: string) => {
      if (text === "*" || text === "?") {
        return text === "*" ? ".*" : ".";
      }
      return set === undefined ? `\\${text}` : `[${not === "!" ? "^" : ""}${set.replaceAll("\\", "\\\\")}]`;
    },
  );
  return new RegExp(`^${source}$`, "s");
}
