/**
 * Reads the state tables. One request asks which of them were written since; only those are read again,
 * the rest is what it was. So a pass without news costs one light request.
 *
 * Specified in: yt/yt/server/queue_agent/queue_agent.cpp (reading of dynamic state in a pass).
 */
import { bare, isList, isMap, toYtError, turn, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { CommandOptions, YtClient } from "@qyt/client";
import { type BatchCall, executeReads, outputField } from "../clusters/batch.ts";
import type { AgentClusters } from "../context.ts";
import { referenceToString } from "../objects/reference.ts";
import type {
  ConsumerRow,
  DynamicState,
  NamesInState,
  QueueRow,
  RegistrationRow,
} from "../objects/state-rows.ts";
import { integerOf, textOf } from "../scalars.ts";
import { selectYson } from "./row-io.ts";
import { decodeConsumerRow, decodeQueueRow, decodeRegistrationRow } from "./state-rows-codec.ts";
import { columnsOf, type StateTableName, type StateTables } from "./state-tables.ts";

/** The tables of a pass; that of replicated tables has a life of its own. */
const passTables = [
  "queues",
  "consumers",
  "consumer_registrations",
  "queue_agent_object_mapping",
  "multi_consumer_names",
] as const satisfies readonly StateTableName[];

type PassTable = (typeof passTables)[number];

interface Contents {
  readonly queues: ReadonlyMap<string, QueueRow>;
  readonly consumers: ReadonlyMap<string, ConsumerRow>;
  readonly consumer_registrations: readonly RegistrationRow[];
  readonly queue_agent_object_mapping: ReadonlyMap<string, string>;
  readonly multi_consumer_names: ReadonlyMap<string, NamesInState>;
}

interface Known {
  readonly contents: Partial<Contents>;
  /** What the tablets said before `contents` was read; `undefined`: they cannot say, so it is read every time. */
  readonly version: string | undefined;
  readonly tabletCount: number;
}

const nothingKnown: Known = { contents: {}, version: undefined, tabletCount: 1 };

/** The poll pass, the synchronizer and the sharding manager of a process share one; reads go one after another. */
export class StateReader {
  readonly #clusters: AgentClusters;
  readonly #tables: StateTables;
  readonly #known = new Map<PassTable, Known>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(clusters: AgentClusters, tables: StateTables) {
    this.#clusters = clusters;
    this.#tables = tables;
  }

  /**
   * All of it, no older than the call. Maps of tables that were not written since are the same objects as
   * the last time.
   * @throws YtError `Error while reading dynamic state` with one inner error for each table that cannot be read
   */
  async read(signal?: AbortSignal): Promise<DynamicState> {
    const {
      queues,
      consumers,
      consumer_registrations,
      queue_agent_object_mapping,
      multi_consumer_names: consumerNames,
    } = await this.#refresh(passTables, signal);
    return {
      queues: queues ?? new Map(),
      consumers: consumers ?? new Map(),
      registrations: consumer_registrations ?? [],
      mapping: queue_agent_object_mapping ?? new Map(),
      consumerNames,
    };
  }

  /** The rows of queues and consumers alone. @throws YtError as `read` */
  async readObjects(signal?: AbortSignal): Promise<Pick<DynamicState, "queues" | "consumers">> {
    const { queues, consumers } = await this.#refresh(["queues", "consumers"], signal);
    return { queues: queues ?? new Map(), consumers: consumers ?? new Map() };
  }

  #refresh(names: readonly PassTable[], signal: AbortSignal | undefined): Promise<Partial<Contents>> {
    const result = this.#last.then(() => this.#refreshNow(names, signal));
    this.#last = result.catch(() => {});
    return result;
  }

  async #refreshNow(
    names: readonly PassTable[],
    signal: AbortSignal | undefined,
  ): Promise<Partial<Contents>> {
    const versions = await this.#readVersions(names, signal);
    const errors: YtError[] = [];
    await Promise.all(
      names.map(async (name) => {
        const known = this.#known.get(name) ?? nothingKnown;
        const now = versions.get(name);
        if (now?.version !== undefined && now.version === known.version) {
          return;
        }
        try {
          const contents = await this.#readTable(name, signal);
          this.#known.set(name, {
            contents,
            version: now?.version,
            tabletCount: now?.tabletCount ?? known.tabletCount,
          });
        } catch (thrown) {
          this.#known.delete(name);
          if (name === "multi_consumer_names") {
            // No pass rests on it: it is written for others to read.
            return;
          }
          const { cluster, path } = this.#tables[name];
          errors.push(toYtError(thrown).withAttributes({ cluster, path }));
        }
      }),
    );
    if (errors.length > 0) {
      throw new YtError("Error while reading dynamic state", { inner: errors });
    }
    let contents: Partial<Contents> = {};
    for (const name of names) {
      contents = { ...contents, ...this.#known.get(name)?.contents };
    }
    return contents;
  }

  /** One batch a cluster. A table whose tablets cannot be asked is not in the result: reading it says why. */
  async #readVersions(
    names: readonly PassTable[],
    signal: AbortSignal | undefined,
  ): Promise<Map<PassTable, { readonly version: string | undefined; readonly tabletCount: number }>> {
    const result = new Map<
      PassTable,
      { readonly version: string | undefined; readonly tabletCount: number }
    >();
    const clusters = new Set(names.map((name) => this.#tables[name].cluster));
    await Promise.all(
      [...clusters].map(async (cluster) => {
        const here = names.filter((name) => this.#tables[name].cluster === cluster);
        try {
          const items = await executeReads(
            this.#clusters.client(cluster),
            here.flatMap((name) => this.#versionRequests(name)),
            signal === undefined ? {} : { signal },
          );
          for (const [index, name] of here.entries()) {
            const version = this.#versionOf(name, items[2 * index], items[2 * index + 1]);
            if (version !== undefined) {
              result.set(name, version);
            }
          }
        } catch {
          // The reads that follow fail as well, and say for which table.
        }
      }),
    );
    return result;
  }

  #versionRequests(name: PassTable): BatchCall[] {
    const { path } = this.#tables[name];
    const { tabletCount } = this.#known.get(name) ?? nothingKnown;
    const tablet_indexes = Array.from({ length: tabletCount }, (_, index) => BigInt(index));
    return [
      { command: "get", parameters: { path: `${path}/@`, attributes: ["id", "tablet_count"] } },
      { command: "get_tablet_infos", parameters: { path, tablet_indexes } },
    ];
  }

  /** Names the table's content: its id and its tablets' last write timestamps. */
  #versionOf(
    name: PassTable,
    attributesItem: YsonValue | YtError | undefined,
    infosItem: YsonValue | YtError | undefined,
  ): { readonly version: string | undefined; readonly tabletCount: number } | undefined {
    const attributes = outputField(attributesItem, "value");
    if (attributes instanceof YtError || !isMap(attributes)) {
      return undefined;
    }
    const tabletCount = Number(integerOf(attributes.get("tablet_count")) ?? 1n);
    const tablets = outputField(infosItem, "tablets");
    const known = this.#known.get(name) ?? nothingKnown;
    if (tablets instanceof YtError || !isList(tablets) || tabletCount !== known.tabletCount) {
      return { version: undefined, tabletCount };
    }
    const timestamps = tablets.map((tablet) =>
      isMap(tablet) ? integerOf(tablet.get("last_write_timestamp")) : null,
    );
    return { version: [textOf(attributes.get("id")), ...timestamps].join(" "), tabletCount };
  }

  async #readTable(name: PassTable, signal: AbortSignal | undefined): Promise<Partial<Contents>> {
    const { cluster, path } = this.#tables[name];
    const query = `${columnsOf(name)
      .map((column) => `[${column}]`)
      .join(", ")} from [${path}]`;
    const client = this.#clusters.client(cluster);
    const options = signal === undefined ? {} : { signal };
    let rows: YsonMap[];
    try {
      rows = await selectYson(client, query, options);
    } catch (thrown) {
      const missing = await missingColumn(client, name, path, options);
      throw missing === undefined
        ? thrown
        : new YtError(`No such column "${missing}"`, {
            code: "ColumnNotFound",
            inner: [toYtError(thrown)],
          });
    }
    switch (name) {
      case "queues":
        return { queues: await byReference(rows, decodeQueueRow) };
      case "consumers":
        return { consumers: await byReference(rows, decodeConsumerRow) };
      case "consumer_registrations":
        return { consumer_registrations: rows.flatMap(tryDecodeRegistration) };
      case "queue_agent_object_mapping":
        return { queue_agent_object_mapping: decodeMapping(rows) };
      case "multi_consumer_names":
        return { multi_consumer_names: decodeNames(rows) };
    }
  }
}

/** A column that the table lacks: a reason why it cannot be read. `undefined`: none, or it cannot be told. */
async function missingColumn(
  client: YtClient,
  name: PassTable,
  path: string,
  options: CommandOptions,
): Promise<string | undefined> {
  const schema = await client.get(`${path}/@schema`, options).catch(() => null);
  const columns = bare(schema);
  if (!isList(columns)) {
    return undefined;
  }
  const present = new Set(
    columns.map((column) => {
      const plain = bare(column);
      return isMap(plain) ? textOf(plain.get("name")) : null;
    }),
  );
  return columnsOf(name).find((column) => !present.has(column));
}

/** Rows decoded before others have their turn. */
const rowsPerTurn = 500;

async function byReference<Row extends QueueRow | ConsumerRow>(
  rows: readonly YsonMap[],
  decode: (row: YsonMap) => Row,
): Promise<ReadonlyMap<string, Row>> {
  const result = new Map<string, Row>();
  for (const [index, row] of rows.entries()) {
    const decoded = decode(row);
    result.set(referenceToString(decoded.reference), decoded);
    if (index % rowsPerTurn === rowsPerTurn - 1) {
      await turn();
    }
  }
  return result;
}

/** A row whose consumer cannot be named belongs to nobody; the commands of queues do not write such rows. */
function tryDecodeRegistration(row: YsonMap): RegistrationRow[] {
  try {
    return [decodeRegistrationRow(row)];
  } catch {
    return [];
  }
}

function decodeMapping(rows: readonly YsonMap[]): ReadonlyMap<string, string> {
  const result = new Map<string, string>();
  for (const row of rows) {
    const object = textOf(row.get("object"));
    const host = textOf(row.get("host"));
    if (object !== null && host !== null) {
      result.set(object, host);
    }
  }
  return result;
}

function decodeNames(rows: readonly YsonMap[]): ReadonlyMap<string, NamesInState> {
  const result = new Map<string, Map<string, string | null>>();
  for (const row of rows) {
    const cluster = textOf(row.get("cluster"));
    const path = textOf(row.get("path"));
    const name = textOf(row.get("name"));
    if (cluster !== null && cluster !== "" && path !== null && name !== null) {
      const consumer = referenceToString({ cluster, path });
      const names = result.get(consumer) ?? new Map<string, string | null>();
      result.set(consumer, names.set(name, textOf(row.get("queue_agent_stage"))));
    }
  }
  return result;
}
