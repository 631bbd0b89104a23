/**
 * `write_file` and `read_file`. A file is cut into pieces of one size, a row each, so that the piece with a
 * byte is found by division.
 * Specified in: yt/yt/client/driver/file_commands.cpp.
 */
import { createHash } from "node:crypto";
import { turn, YtError } from "@qyt/base";
import { EncodedRows, skipCell } from "@qyt/schema";
import { ByteWriter, type RichPath } from "@qyt/yson";
import { type Node, type RequestContext, revisionOf } from "../../cypress/index.ts";
import { type RowFormat, type RowSlice, StaticChunkWriter, type StoreRef } from "../chunks/index.ts";
import { readStore } from "../chunks/store-reader.ts";
import { releasing } from "../static/releasing.ts";
import { appendRows, replaceRows, staticChunks } from "../static/table-rows.ts";
import { isAppend } from "../static/write-plan.ts";
import { attach } from "../tables/environment.ts";
import type { TableContext, TableManager } from "../tables/manager.ts";
import type { FileState } from "./file-type.ts";

/** One piece fills a stored block. */
const pieceBytes = 8_000;
/** Pieces are written, and read, in groups of about so many bytes. */
const groupBytes = 128 * 1024;
const fileFormat: RowFormat = { columns: ["data"], hasTimestamp: false, hasCumulativeDataWeight: false };

interface FoundFile {
  readonly node: Node<FileState>;
  readonly path: string;
}

/** @throws YtError 500, 901, or for another type of node */
function findFile(
  tables: TableManager,
  context: TableContext,
  path: RichPath,
  permission: "read" | "write",
): FoundFile {
  const view = tables.cypress.view(context.transactionId);
  const node = view.resolveNode(path.path);
  if (node.type !== "file") {
    throw new YtError(`Path ${view.pathOf(node)} does not point to a file: it is of type "${node.type}"`, {
      code: "InvalidObjectType",
      attributes: { path: view.pathOf(node), type: node.type },
    });
  }
  view.check(context.user, permission, node);
  return { node: node as Node<FileState>, path: view.pathOf(node) };
}

/**
 * Replaces the bytes of a file, or adds to them with the path attribute `append`.
 * @throws YtError 500, 901, 400–403; whatever the body throws
 */
export async function writeFile(
  tables: TableManager,
  context: RequestContext,
  options: { readonly path: RichPath; readonly computeMd5: boolean; readonly body: AsyncIterable<Buffer> },
): Promise<void> {
  const { environment, cypress } = tables;
  const { node: found } = findFile(tables, context, options.path, "write");
  environment.disk.requireRoom(
    () => cypress.view(),
    () => found.account,
  );
  const append = isAppend(options.path);
  const hash = options.computeMd5 && !append ? createHash("md5") : undefined;
  const writer = new StaticChunkWriter(environment.chunks, fileFormat);
  try {
    for await (const group of groupsOf(options.body)) {
      hash?.update(group);
      await writer.write(asRows(group));
      await turn();
    }
    await writer.close();
    const md5 = hash?.digest("hex");
    await cypress.mutate(context, (draft) => {
      const node = draft.nodeOrThrow(found.id) as Node<FileState>;
      draft.check(context.user, "write", node);
      const lock = { mode: append ? "shared" : "exclusive" } as const;
      draft.lockImplicitly(node.id, lock);
      if (append && writer.rowCount === 0) {
        return;
      }
      const { md5: _, ...rest } = node.state;
      const next: FileState = md5 === undefined ? rest : { ...rest, md5 };
      if (writer.rowCount === 0) {
        draft.update(node.id, { state: replaceRows(environment, draft, node, next, undefined) }, { lock });
        return;
      }
      const { chunk, ...prepared } = writer.finish(draft.batch);
      attach(draft, prepared);
      const put = append ? appendRows : replaceRows;
      draft.update(node.id, { state: put(environment, draft, node, next, { kind: "new", chunk }) }, { lock });
    });
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** The input in groups of whole pieces; only the last one may end with a shorter piece. */
async function* groupsOf(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const wanted = Math.floor(groupBytes / pieceBytes) * pieceBytes;
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    waiting.push(chunk);
    length += chunk.length;
    if (length >= wanted) {
      const joined = Buffer.concat(waiting);
      let start = 0;
      for (; start + wanted <= joined.length; start += wanted) {
        yield joined.subarray(start, start + wanted);
      }
      waiting = [joined.subarray(start)];
      length = joined.length - start;
    }
  }
  if (length > 0) {
    yield Buffer.concat(waiting);
  }
}

/** Encoded rows of one string cell each. */
function asRows(bytes: Buffer): EncodedRows {
  const rowCount = Math.ceil(bytes.length / pieceBytes);
  const ends = new Uint32Array(rowCount);
  const weights = new Uint32Array(rowCount);
  const output = new ByteWriter();
  for (let row = 0; row < rowCount; row++) {
    const start = row * pieceBytes;
    const end = Math.min(bytes.length, start + pieceBytes);
    output.writeByte(0x01);
    output.writeVarint32((end - start) * 2);
    output.writeBytes(bytes, start, end);
    ends[row] = output.length;
    weights[row] = 1 + end - start;
  }
  return new EncodedRows({ rowCount, bytes: output.take(), ends, weights });
}

export interface FileRead {
  readonly id: string;
  readonly revision: bigint;
  readonly chunks: AsyncIterable<Buffer>;
}

/**
 * Begins to read a file: what it holds now is read.
 * @throws YtError 500, 901, and for a range that is no range
 */
export function readFile(
  tables: TableManager,
  context: TableContext,
  options: {
    readonly path: RichPath;
    readonly offset: bigint;
    readonly length: bigint | undefined;
    readonly signal: AbortSignal;
  },
): FileRead {
  const { node } = findFile(tables, context, options.path, "read");
  if (options.offset < 0n || (options.length ?? 0n) < 0n) {
    throw new YtError('"offset" and "length" must be nonnegative');
  }
  const { chunks } = tables.environment;
  const refs = staticChunks(tables.environment, node.state);
  for (const { storeId } of refs) {
    chunks.pin(storeId);
  }
  const release = (): void => {
    for (const { storeId } of refs) {
      chunks.unpin(storeId);
    }
  };
  tables.cypress.noteRead(context, node);
  const from = clamp(options.offset);
  const to = options.length === undefined ? Number.MAX_SAFE_INTEGER : clamp(options.offset + options.length);
  const stream = readGroups(readPieces(tables, refs, from, to));
  return { id: node.id, revision: revisionOf(node), chunks: releasing(stream, options.signal, release) };
}

function clamp(value: bigint): number {
  return Number(value > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : value);
}

/** The bytes [from, to) of the file, piece by piece. */
function* readPieces(
  tables: TableManager,
  refs: readonly StoreRef[],
  from: number,
  to: number,
): Generator<Buffer, void, void> {
  let start = 0;
  for (const ref of refs) {
    const length = ref.chunk.dataWeight - ref.rowCount;
    const first = Math.max(from - start, 0);
    const end = Math.min(to - start, length);
    if (first < end) {
      const firstRow = Math.floor(first / pieceBytes);
      const endRow = Math.ceil(end / pieceBytes);
      let position = firstRow * pieceBytes;
      for (const slice of readStore(tables.environment.chunks, ref, firstRow, endRow)) {
        for (const piece of piecesOf(slice)) {
          yield piece.subarray(Math.max(first - position, 0), Math.min(end - position, piece.length));
          position += piece.length;
        }
      }
    }
    start += length;
  }
}

function* piecesOf(slice: RowSlice): Generator<Buffer, void, void> {
  const { block } = slice;
  for (let row = slice.from; row < slice.to; row++) {
    const start = block.rowStart(row);
    const end = skipCell(block.bytes, start, block.rowEnd(row));
    let at = start + 1;
    while ((block.bytes[at] ?? 0) >= 0x80) {
      at++;
    }
    yield block.bytes.subarray(at + 1, end);
  }
}

async function* readGroups(pieces: Iterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  let waiting: Buffer[] = [];
  let length = 0;
  for (const piece of pieces) {
    waiting.push(piece);
    length += piece.length;
    if (length >= groupBytes) {
      yield Buffer.concat(waiting);
      waiting = [];
      length = 0;
      await turn();
    }
  }
  if (length > 0) {
    yield Buffer.concat(waiting);
  }
}
