/**
 * The tree's records in the store: `0x02 · table · key · part u16`, a record's YSON cut into parts of what
 * one stored value takes.
 *
 * Children are not stored by themselves: nodes and branches name their parent and key, and the tables
 * that are derived from them are built anew at start.
 */
import { assert, limits, Uint64, type YsonValue } from "@qyt/base";
import { bytesToString, parseYson, stringToBytes, writeYson } from "@qyt/yson";
import { type Cell, keyspace, prefixRange, storeKey, u16be, type WriteBatch } from "../cell/index.ts";
import {
  decodeBranch,
  decodeLock,
  decodeNode,
  decodeTransaction,
  encodeBranch,
  encodeLock,
  encodeNode,
  encodeTransaction,
} from "./codec.ts";
import type { NodeTypes } from "./node-type.ts";
import { branchRow, type TreeLayers, TreeState } from "./state.ts";
import { TreeView, type ViewEnvironment } from "./view.ts";

const tables = { node: "n", branch: "b", transaction: "t", lock: "l", meta: "m" } as const;
type Table = (typeof tables)[keyof typeof tables];

const partBytes = limits.maxStoreValueBytes - 4;
/** Depth of records is the depth of what clients set, plus the record's own levels. */
const maxDepth = limits.maxYsonDepth * 4;

export class RecordStore {
  readonly #cell: Cell;
  readonly #types: NodeTypes;
  /** Number of stored parts of records that have more than one. */
  readonly #parts = new Map<string, number>();

  constructor(cell: Cell, types: NodeTypes) {
    this.#cell = cell;
    this.#types = types;
  }

  /** Puts the changes of a mutation into its batch. What it returns is to be called once they are durable. */
  *write(layers: TreeLayers, batch: WriteBatch): Generator<void, () => void, void> {
    const parts = new Map<string, number>();
    const put = (table: Table, key: string, value: YsonValue | undefined): void =>
      this.#put(batch, parts, table, key, value);
    for (const [id, node] of layers.nodes.changes) {
      put(tables.node, id, node === undefined ? undefined : encodeNode(node, this.#types));
      yield;
    }
    for (const [transactionId, row] of layers.branches.changes) {
      for (const [nodeId, branch] of row) {
        const key = branchRow(transactionId, nodeId);
        const type = branch?.kind === "changed" ? this.#typeOf(layers, transactionId, nodeId) : "";
        put(tables.branch, key, branch === undefined ? undefined : encodeBranch(branch, type, this.#types));
        yield;
      }
    }
    for (const [id, record] of layers.transactions.changes) {
      put(tables.transaction, id, record === undefined ? undefined : encodeTransaction(record));
    }
    for (const row of layers.locks.changes.values()) {
      for (const [id, lock] of row) {
        put(tables.lock, id, lock === undefined ? undefined : encodeLock(lock));
        yield;
      }
    }
    put(tables.meta, "revision", new Uint64(layers.revision));
    return () => {
      for (const [key, count] of parts) {
        if (count > 1) {
          this.#parts.set(key, count);
        } else {
          this.#parts.delete(key);
        }
      }
    };
  }

  /** Type of the node that a patch in a branch is for: somebody above has the whole node. */
  #typeOf(layers: TreeLayers, transactionId: string, nodeId: string): string {
    for (
      let id: string | undefined = transactionId;
      id !== undefined;
      id = layers.transactions.get(id)?.parentId
    ) {
      const branch = layers.branches.get(id, nodeId);
      if (branch?.kind === "created" || branch?.kind === "snapshot") {
        return branch.node.type;
      }
    }
    const node = layers.nodes.get(nodeId);
    assert(node !== undefined, `node ${nodeId} of a branch exists`);
    return node.type;
  }

  #put(
    batch: WriteBatch,
    parts: Map<string, number>,
    table: Table,
    key: string,
    value: YsonValue | undefined,
  ): void {
    const bytes = value === undefined ? undefined : writeYson(value, "binary");
    const name = `${table}${key}`;
    const count = bytes === undefined ? 0 : Math.max(1, Math.ceil(bytes.length / partBytes));
    for (let part = 0; part < count; part += 1) {
      const slice = bytes?.subarray(part * partBytes, (part + 1) * partBytes);
      batch.put(recordKey(name, part), slice ?? Buffer.alloc(0));
    }
    for (let part = count; part < (this.#parts.get(name) ?? 1); part += 1) {
      batch.remove(recordKey(name, part));
    }
    parts.set(name, count);
    if (count > 1) {
      // Whoever writes the record again before this is durable removes what may be there.
      this.#parts.set(name, Math.max(count, this.#parts.get(name) ?? 1));
    }
  }

  /** Reads everything. */
  load(environment: ViewEnvironment): TreeState {
    const state = new TreeState((node) => this.#types.find(node.type)?.tabletCount?.(node.state) ?? 0);
    for (const [table, key, value] of this.#records()) {
      switch (table) {
        case tables.node:
          state.putNode(decodeNode(value, this.#types));
          break;
        case tables.transaction:
          state.putTransaction(decodeTransaction(value));
          break;
        case tables.lock:
          state.putLock(decodeLock(value));
          break;
        case tables.branch: {
          const [transactionId = "", nodeId = ""] = key.split("/");
          state.putBranch(transactionId, nodeId, decodeBranch(value, this.#types));
          break;
        }
        default:
          assert(value instanceof Uint64, "stored revision is a uint64");
          state.revision = value.value;
      }
    }
    deriveBranchChildren(state, environment);
    return state;
  }

  *#records(): Iterable<[table: string, key: string, value: YsonValue]> {
    const { from, to } = prefixRange(Buffer.of(keyspace.cypress));
    let name = "";
    let chunks: Buffer[] = [];
    for (const { key, value } of this.#cell.range(from, to)) {
      const current = bytesToString(key, 1, key.length - 2);
      const part = key.readUInt16BE(key.length - 2);
      if (current !== name && chunks.length > 0) {
        yield this.#assemble(name, chunks);
        chunks = [];
      }
      assert(part === chunks.length, `record ${current} has all its parts`);
      name = current;
      chunks.push(value);
    }
    if (chunks.length > 0) {
      yield this.#assemble(name, chunks);
    }
  }

  #assemble(name: string, chunks: readonly Buffer[]): [table: string, key: string, value: YsonValue] {
    if (chunks.length > 1) {
      this.#parts.set(name, chunks.length);
    }
    const value = parseYson(Buffer.concat(chunks), { maxDepth });
    return [name.charAt(0), name.slice(1), value];
  }
}

function recordKey(name: string, part: number): Buffer {
  return storeKey(keyspace.cypress, stringToBytes(name), u16be(part));
}

/** Children as transactions have changed them: what is created in them, and what is removed. */
function deriveBranchChildren(layers: TreeState, environment: ViewEnvironment): void {
  for (const [transactionId, record] of layers.transactions.entries()) {
    const above = new TreeView(environment, layers, record.parentId);
    const branches = [...layers.branches.row(transactionId)];
    for (const [nodeId, { kind }] of branches) {
      const node = kind === "removed" ? above.node(nodeId) : undefined;
      if (node?.parentId !== undefined && node.key !== undefined) {
        layers.branchChildren.set(branchRow(transactionId, node.parentId), node.key, "");
      }
    }
    for (const [, branch] of branches) {
      if (branch.kind === "created" && branch.node.parentId !== undefined) {
        const row = branchRow(transactionId, branch.node.parentId);
        layers.branchChildren.set(row, branch.node.key ?? "", branch.node.id);
      }
    }
  }
}
