/**
 * `concatenate`: the chunks of several tables or files in a row, shared and not copied.
 * Specified in: yt/yt/client/driver/cypress_commands.cpp, yt/yt/ytlib/api/native/client_impl.cpp
 * (Concatenate), documentation "Cypress: concatenate".
 */
import { YtError } from "@qyt/base";
import type { TableSchema } from "@qyt/schema";
import type { RichPath } from "@qyt/yson";
import type { Draft, Node, RequestContext } from "../../cypress/index.ts";
import type { StoreRef } from "../chunks/index.ts";
import type { TableEnvironment } from "../tables/environment.ts";
import type { TableManager } from "../tables/manager.ts";
import type { TableState } from "../tables/table-state.ts";
import { KeyColumns } from "./row-keys.ts";
import { RowOrder } from "./row-order.ts";
import { appendRows, type ListedRows, replaceRows, staticChunks } from "./table-rows.ts";
import { isAppend, planWrite, type WritePlan } from "./write-plan.ts";
import { keyOfRow, lastKey, staticRowFormat } from "./write-table.ts";

const kinds: ReadonlySet<string> = new Set(["table", "file"]);

/**
 * Puts the contents of the sources, in their order, into an existing table or file: in place of what is
 * there, or behind it with the path attribute `append`.
 * @throws YtError 500, 901, 400–403; 316 when a source does not fit the destination's schema, 301 and 306
 * when its rows do not fit its order
 */
export async function concatenate(
  tables: TableManager,
  context: RequestContext,
  options: { readonly sources: readonly RichPath[]; readonly destination: RichPath },
): Promise<void> {
  const { environment } = tables;
  await tables.cypress.mutate(context, (draft) => {
    const sources = options.sources.map((path) => draft.resolveNode(path.path));
    const destination = draft.resolveNode(options.destination.path);
    for (const node of [...sources, destination]) {
      if (!kinds.has(node.type) || node.type !== destination.type) {
        throw new YtError(
          `Type of ${draft.describe(node)} is "${node.type}"; all of them must be tables, or all files`,
          { code: "InvalidObjectType", attributes: { path: draft.pathOf(node) } },
        );
      }
    }
    for (const node of sources) {
      draft.check(context.user, "full_read", node);
    }
    draft.check(context.user, "write", destination);
    if (destination.type === "file") {
      concatenateFiles(environment, draft, sources, destination, options.destination);
    } else {
      concatenateTables(
        environment,
        draft,
        sources as Node<TableState>[],
        destination as Node<TableState>,
        options.destination,
      );
    }
  });
}

function concatenateFiles(
  environment: TableEnvironment,
  draft: Draft,
  sources: readonly Node[],
  destination: Node,
  path: RichPath,
): void {
  const files = sources as readonly Node<ListedRows>[];
  const target = destination as Node<ListedRows & { readonly md5?: string }>;
  const append = isAppend(path);
  const { md5: _, ...next } = target.state;
  put(environment, draft, target, next, chunksOf(environment, files), append);
}

function concatenateTables(
  environment: TableEnvironment,
  draft: Draft,
  sources: readonly Node<TableState>[],
  destination: Node<TableState>,
  path: RichPath,
): void {
  const destinationPath = draft.pathOf(destination);
  const plan = planWrite(path, destinationPath, destination.state);
  for (const source of sources) {
    if (source.state.dynamic) {
      throw new YtError(`Cannot concatenate dynamic table ${draft.pathOf(source)}`);
    }
    checkFits(source.state.schema, plan, draft.pathOf(source), destinationPath);
  }
  draft.lockImplicitly(destination.id, plan.lock);
  if (plan.schema.isSorted) {
    checkOrder(environment, sources, destination, plan);
  }
  const next: TableState = { ...destination.state, schema: plan.schema, schemaMode: plan.schemaMode };
  put(environment, draft, destination, next, chunksOf(environment, sources), plan.append, plan);
}

function chunksOf(environment: TableEnvironment, sources: readonly Node<ListedRows>[]): string[] {
  return sources.flatMap(({ state }) => staticChunks(environment, state).map(({ chunk }) => chunk.id));
}

function put<State extends ListedRows>(
  environment: TableEnvironment,
  draft: Draft,
  destination: Node<State>,
  next: State,
  chunkIds: readonly string[],
  append: boolean,
  plan?: WritePlan,
): void {
  const lock = plan?.lock ?? ({ mode: append ? "shared" : "exclusive" } as const);
  draft.lockImplicitly(destination.id, lock);
  const added = { kind: "shared", chunkIds } as const;
  if (append && chunkIds.length === 0) {
    return;
  }
  const state = append
    ? appendRows(environment, draft, destination, next, added)
    : replaceRows(environment, draft, destination, next, chunkIds.length === 0 ? undefined : added);
  draft.update(destination.id, { state }, { lock });
}

/** A strict destination takes rows of tables that are strict too and have no other columns. */
function checkFits(source: TableSchema, plan: WritePlan, sourcePath: string, destinationPath: string): void {
  const target = plan.schema;
  if (!target.strict && target.columns.length === 0) {
    return;
  }
  const differing = source.columns.find(({ name, type, required }) => {
    const found = target.find(name);
    return found === undefined
      ? target.strict
      : (found.type !== type && found.type !== "any") || (found.required && !required);
  });
  const missing = target.columns.find(({ name, required }) => required && source.indexOf(name) < 0);
  const column = differing ?? missing;
  if (column !== undefined || (target.strict && !source.strict)) {
    throw new YtError(`Schema of table ${sourcePath} does not fit that of ${destinationPath}`, {
      code: "IncompatibleSchemas",
      attributes: {
        column: column?.name,
        source_schema: source.toYson(),
        destination_schema: target.toYson(),
      },
    });
  }
}

/** That the sources are sorted as the destination is, and follow each other. @throws YtError 301, 306, 316 */
function checkOrder(
  environment: TableEnvironment,
  sources: readonly Node<TableState>[],
  destination: Node<TableState>,
  plan: WritePlan,
): void {
  const keys = new KeyColumns(plan.schema);
  const order = new RowOrder(plan.schema, staticRowFormat(plan.schema));
  let last = plan.append ? lastKey(environment, destination.state, plan.schema) : undefined;
  for (const { state } of sources) {
    const isSortedAlike = keys.names.every((name, index) => {
      const column = state.schema.columns[index];
      return column?.name === name && column.sortOrder === plan.schema.columns[index]?.sortOrder;
    });
    const isUniqueAlike =
      !plan.schema.uniqueKeys || (state.schema.uniqueKeys && state.schema.keyColumnCount === keys.count);
    if (!isSortedAlike || !isUniqueAlike) {
      throw new YtError("Cannot concatenate into a sorted table what is not sorted alike", {
        code: "IncompatibleKeyColumns",
      });
    }
    const refs = staticChunks(environment, state);
    const ends: [StoreRef | undefined, StoreRef | undefined] = [refs[0], refs.at(-1)];
    if (ends[0] === undefined || ends[1] === undefined) {
      continue;
    }
    const first = keyOfRow(environment, ends[0], 0, keys);
    if (last !== undefined && first !== undefined) {
      order.checkPair(last, first, 0);
    }
    last = keyOfRow(environment, ends[1], ends[1].rowCount - 1, keys);
  }
}
