/** What the tests of replicated tables share: the engine with a replicated table and its replicas. Imported by tests only. */
import { emptyMap, mapOf, type YsonValue } from "@qyt/base";
import { parseYsonMap } from "@qyt/yson";
import { EngineFixture, rowsOf } from "../transactions/engine-fixture.ts";
import type { ReplicaChange } from "./replica-type.ts";

export const root = { user: "root" };
export const queueSchema = "[{name=a;type=int64}]";
export const sortedSchema =
  "[{name=k;type=int64;sort_order=ascending};{name=v;type=string};{name=n;type=int64;aggregate=sum}]";

export interface ReplicaOptions {
  readonly mode?: "sync" | "async";
  readonly enabled?: boolean;
  readonly schema?: string;
  /** Of the replica's table; the inside of a map. */
  readonly more?: string;
}

export class ReplicationFixture {
  engine: EngineFixture;
  readonly path = "//tmp/t";

  constructor(engine: EngineFixture) {
    this.engine = engine;
  }

  static async open(): Promise<ReplicationFixture> {
    return new ReplicationFixture(await EngineFixture.open());
  }

  close(): Promise<void> {
    return this.engine.close();
  }

  async reopen(): Promise<void> {
    this.engine = await this.engine.reopen();
  }

  /** The process dies with what is not flushed; so many of those batches had reached the disk. */
  async crash(flushed = 0): Promise<void> {
    const { durable, clock, store } = this.engine;
    await store.crash(flushed);
    this.engine = await EngineFixture.open({ durable, clock });
  }

  /** A mounted replicated table. */
  async createTable(schema: string, more = ""): Promise<void> {
    await this.create("replicated_table", this.path, `dynamic=%true;schema=${schema};${more}`);
    await this.engine.mount(this.path);
  }

  async create(type: string, path: string, attributes: string): Promise<void> {
    await this.engine.cypress.create(root, {
      type,
      path,
      attributes: mapOf(Object.fromEntries(parseYsonMap(attributes))),
    });
  }

  /** A replica with its mounted table. @returns its id */
  async addReplica(path: string, options: ReplicaOptions = {}): Promise<string> {
    const id = await this.createReplicaObject(path, `mode=${options.mode ?? "async"}`);
    const schema = options.schema ?? this.engine.table(this.path).schema.toYson();
    const attributes = parseYsonMap(`dynamic=%true;upstream_replica_id="${id}";${options.more ?? ""}`);
    const given = typeof schema === "string" ? parseYsonMap(`schema=${schema}`).get("schema") : schema;
    await this.engine.cypress.create(root, {
      type: "table",
      path,
      attributes: mapOf({ ...Object.fromEntries(attributes), schema: given ?? null }),
    });
    await this.engine.mount(path);
    if (options.enabled !== false) {
      await this.alter(id, { enabled: true });
    }
    return id;
  }

  async createReplicaObject(path: string, more = "", clusterName = "test"): Promise<string> {
    const attributes = parseYsonMap(
      `table_path="${this.path}";cluster_name="${clusterName}";replica_path="${path}";${more}`,
    );
    const { id } = await this.engine.cypress.create(root, {
      type: "table_replica",
      attributes: mapOf(Object.fromEntries(attributes)),
    });
    return id;
  }

  alter(replicaId: string, change: ReplicaChange): Promise<void> {
    return this.engine.tables.replication.alter(root, replicaId, change);
  }

  /** Rows into the replicated table in a transaction of their own. */
  async write(
    text: string,
    options: { requireSyncReplica?: boolean; update?: boolean } = {},
  ): Promise<bigint> {
    return this.engine.write(this.engine.table(this.path), text, options);
  }

  /** Rows into any table. */
  async writeTo(path: string, text: string): Promise<bigint> {
    return this.engine.write(this.engine.table(path), text);
  }

  copy(destinationPath: string): Promise<string> {
    return this.engine.cypress.copy(root, { sourcePath: this.path, destinationPath });
  }

  async delete(text: string, options: { requireSyncReplica?: boolean } = {}): Promise<void> {
    const table = this.engine.table(this.path);
    const transaction = this.engine.begin({ isBlind: true });
    await transaction.deleteManyRows(table, rowsOf(table.keySchema, text, false, "keys"), options);
    await transaction.commit();
  }

  /** Until replication has nothing to do. */
  async replicated(): Promise<void> {
    await this.engine.tables.replication.replicator.settled();
  }

  /** Values of the first column of a tablet of a queue. */
  rows(path: string, tabletIndex = 0): string[] {
    const table = this.engine.table(path);
    const result: string[] = [];
    for (const { block, from, to } of table.readableTablet(tabletIndex).read(0)) {
      for (let row = from; row < to; row++) {
        result.push(block.bytes.subarray(block.rowStart(row), block.rowEnd(row)).toString("hex"));
      }
    }
    return result.map(intOfCell);
  }

  /** Rows of a sorted table as `1:a:#`. */
  scan(path: string): string[] {
    return this.engine.scan(this.engine.table(path));
  }

  get(path: string): Promise<YsonValue> {
    return this.engine.cypress.get(root, { path });
  }

  unmount(path: string): Promise<void> {
    return this.engine.unmount(path);
  }

  mount(path: string): Promise<void> {
    return this.engine.mount(path);
  }

  async alterTable(path: string, upstreamReplicaId: string): Promise<void> {
    await this.engine.tables.alter(root, { path, attributes: emptyMap }, { upstreamReplicaId });
  }

  trim(path: string, tabletIndex: number, count: bigint): Promise<void> {
    return this.engine.tables.trim(root, { path, attributes: emptyMap }, tabletIndex, count);
  }
}

/** An int64 cell: 02 and a zigzag varint. */
function intOfCell(hex: string): string {
  const bytes = Buffer.from(hex, "hex");
  let value = 0n;
  for (const [index, byte] of [...bytes.subarray(1)].entries()) {
    value |= BigInt(byte & 0x7f) << BigInt(7 * index);
  }
  return String((value >> 1n) ^ -(value & 1n));
}
