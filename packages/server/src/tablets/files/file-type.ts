/**
 * The node type `file`. Its bytes are kept as rows of one string cell each, in the chunk lists of static
 * tables, so that transactions, copies and snapshot locks treat both alike.
 * Specified in: yt/yt/server/master/file_server/file_node_proxy.cpp, chunk_owner_node_proxy.cpp.
 */
import { assert, bare, isList, isMap, mapOf, type YsonValue } from "@qyt/base";
import {
  type BuiltinAttribute,
  type Node,
  type NodeType,
  parseBoolean,
  parseString,
} from "../../cypress/index.ts";
import {
  abortRows,
  commitRows,
  holdRows,
  type ListedRows,
  releaseRows,
  staticChunks,
  staticStatistics,
  withRows,
} from "../static/table-rows.ts";
import { attach, type TableEnvironment } from "../tables/environment.ts";

export interface FileState extends ListedRows {
  /** Hexadecimal; known when the last writer asked for it. */
  readonly md5?: string;
}

const fileObjectType = 400;

export function createFileType(environment: TableEnvironment): NodeType<FileState> {
  return {
    name: "file",
    objectType: fileObjectType,
    content: "entity",
    attributes: fileAttributes(environment),
    encodeState,
    decodeState,
    create: () => ({}),
    onRemove: (draft, node) => releaseRows(environment, draft, node.state),
    onCommit: (draft, branch, above) => commitRows(environment, draft, branch, above),
    onAbort: (draft, branch) => abortRows(environment, draft, branch),
    onSnapshot: (draft, node) => holdRows(environment, draft, node.state),
    onSnapshotReleased: (draft, node) => releaseRows(environment, draft, node.state),
    copy(draft, source) {
      const chunkIds = staticChunks(environment, source.state).map(({ chunk }) => chunk.id);
      if (chunkIds.length === 0) {
        return withRows(source.state, {});
      }
      const list = environment.newChunkList();
      attach(draft, list.prepareShare(draft.batch, chunkIds));
      return withRows(source.state, { chunkListId: list.id });
    },
    usage(node) {
      const { byteSize, chunkCount } = staticStatistics(environment, node.state);
      return { diskSpaceBytes: byteSize, chunkCount };
    },
  };
}

/** Length of a file in bytes. A row weighs one more than its bytes. */
export function fileLength(environment: TableEnvironment, state: FileState): number {
  const { dataWeight, rowCount } = staticStatistics(environment, state);
  return dataWeight - rowCount;
}

function fileAttributes(environment: TableEnvironment): ReadonlyMap<string, BuiltinAttribute<FileState>> {
  const attributes = new Map<string, BuiltinAttribute<FileState>>();
  const add = (name: string, get: (node: Node<FileState>) => YsonValue | undefined, opaque = false): void => {
    attributes.set(name, { get, ...(opaque ? { opaque } : {}) });
  };
  const length = (node: Node<FileState>): YsonValue => BigInt(fileLength(environment, node.state));
  add("uncompressed_data_size", length);
  add("compressed_data_size", (node) => BigInt(staticStatistics(environment, node.state).byteSize));
  add("compression_ratio", () => 1);
  add("chunk_count", (node) => BigInt(staticStatistics(environment, node.state).chunkCount));
  add("chunk_ids", (node) => staticChunks(environment, node.state).map(({ chunk }) => chunk.id), true);
  add("chunk_list_id", (node) => node.state.chunkListId ?? "0-0-0-0");
  add("compression_statistics", () => mapOf({}), true);
  add("erasure_statistics", () => mapOf({}), true);
  add("update_mode", () => "none");
  add("md5", (node) => node.state.md5);
  addSettings(attributes);
  return attributes;
}

/** What a client may set, kept as it would be a user attribute, with what is shown when it is not set. */
const settings: Readonly<Record<string, YsonValue | undefined>> = {
  compression_codec: "none",
  erasure_codec: "none",
  replication_factor: 3n,
  primary_medium: "default",
  vital: true,
  executable: undefined,
  file_name: undefined,
};
const parsers: Readonly<Record<string, (value: YsonValue) => unknown>> = {
  executable: parseBoolean,
  vital: parseBoolean,
  file_name: parseString,
  compression_codec: parseString,
  erasure_codec: parseString,
};

function addSettings(attributes: Map<string, BuiltinAttribute<FileState>>): void {
  for (const [name, fallback] of Object.entries(settings)) {
    attributes.set(name, {
      get: (node) => node.attributes.get(name) ?? fallback,
      set(_draft, _node, value) {
        parsers[name]?.(value);
        return { attributes: new Map([[name, value]]) };
      },
      remove: () => ({ attributes: new Map([[name, undefined]]) }),
    });
  }
}

function encodeState(state: FileState): YsonValue {
  return mapOf({
    chunk_list_id: state.chunkListId,
    delta_list_ids: state.deltaListIds,
    rows_holder: state.rowsHolder,
    md5: state.md5,
  });
}

function decodeState(value: YsonValue): FileState {
  const map = bare(value);
  if (!isMap(map)) {
    // A file of the time when files had no content.
    return {};
  }
  const text = (name: string): string | undefined => {
    const field = map.get(name);
    assert(field === undefined || typeof field === "string", "Stored state of a file is readable");
    return field;
  };
  const deltas = map.get("delta_list_ids");
  const md5 = text("md5");
  const state: FileState = md5 === undefined ? {} : { md5 };
  return withRows(state, {
    chunkListId: text("chunk_list_id"),
    deltaListIds: isList(deltas) ? deltas.map(String) : [],
    rowsHolder: text("rows_holder"),
  });
}
