/**
 * Making a queue, and its settings of trimming and export: checked before they are sent, so that a mistake is told
 * here and not by an alert of the queue agent.
 */
import { bare, durationOfText, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { parseYson } from "@qyt/yson";
import { objectPath, registrationsOf, textOf } from "./queue-facts.ts";
import { fieldsOf } from "./report.ts";

const mountTimeoutMs = 30_000;

export interface NewQueue {
  /** `data:string` or `data`, which is a string. */
  readonly columns: readonly string[];
  readonly partitions: number;
  readonly hasTimestamp: boolean;
  readonly hasWeight: boolean;
  readonly ignoresExisting: boolean;
  readonly createsParents: boolean;
  readonly attributes: YsonMap;
}

/** Creates and mounts. @throws YtError 1 on a column that is none, 501 when something is there */
export async function createQueue(client: YtClient, path: string, queue: NewQueue): Promise<string> {
  const columns = queue.columns.map(parseColumn);
  const system: YsonValue[] = [];
  if (queue.hasTimestamp) {
    system.push(mapOf({ name: "$timestamp", type: "uint64" }));
  }
  if (queue.hasWeight) {
    system.push(mapOf({ name: "$cumulative_data_weight", type: "int64" }));
  }
  const attributes = new Map<string, YsonValue>([
    ...queue.attributes,
    ["dynamic", true],
    ["schema", [...columns, ...system]],
    ["tablet_count", BigInt(queue.partitions)],
  ]);
  const id = await client.create("table", path, {
    attributes,
    recursive: queue.createsParents,
    ignoreExisting: queue.ignoresExisting,
  });
  await client.mountTable(path, { waitTimeoutMs: mountTimeoutMs });
  return id;
}

function parseColumn(text: string): YsonValue {
  const [name = "", type = "string", ...rest] = text.split(":");
  if (name === "" || rest.length > 0) {
    throw new YtError(`Column "${text}" is not of the form name:type, for example data:string`);
  }
  return mapOf({ name, type });
}

export interface Retention {
  readonly isOff: boolean;
  readonly retainedRows: bigint | undefined;
  /** As the user wrote it: milliseconds, or `36h`. */
  readonly retainedLifetime: string | undefined;
}

/** Sets `@auto_trim_config`. @returns what the queue does from now on, and what holds it back */
export async function setRetention(client: YtClient, path: string, retention: Retention): Promise<string> {
  const lifetimeMs =
    retention.retainedLifetime === undefined ? undefined : wholeSeconds(retention.retainedLifetime);
  if (retention.retainedRows !== undefined && retention.retainedRows < 0n) {
    throw new YtError("--retained-rows must not be negative");
  }
  const config = mapOf({
    enable: !retention.isOff,
    retained_rows: retention.retainedRows,
    retained_lifetime_duration: lifetimeMs,
  });
  await requireQueue(client, path);
  await client.set(`${objectPath(path).path}/@auto_trim_config`, config);
  if (retention.isOff) {
    return `${path} is not trimmed automatically any more`;
  }
  const readers = await registrationsOf(client, { queuePath: objectPath(path).path });
  const exports = fieldsOf(
    await client.get(`${objectPath(path).path}/@static_export_config`).catch(() => null),
  );
  const isHeld = readers.some((reader) => reader.isVital) || exports.size > 0;
  return isHeld
    ? `${path} is trimmed up to what all vital consumers have read and all exports have`
    : `${path} will be trimmed once it has a vital consumer or an export; without one nothing is trimmed ` +
        `(yt register-queue-consumer … --vital, or qyt queue set-export)`;
}

export interface Export {
  readonly name: string;
  readonly directory: string;
  readonly period: string;
  readonly ttl: string | undefined;
  readonly pattern: string | undefined;
  /** Set the directory's side too: its right to take exports of this queue. */
  readonly isPrepared: boolean;
  readonly isRemoved: boolean;
}

/** Sets one export in `@static_export_config`. @returns what was done, in a sentence */
export async function setExport(client: YtClient, path: string, request: Export): Promise<string> {
  await requireQueue(client, path);
  const queue = objectPath(path).path;
  const current = new Map(fieldsOf(await client.get(`${queue}/@static_export_config`).catch(() => null)));
  if (request.isRemoved) {
    if (!current.delete(request.name)) {
      throw new YtError(
        `${queue} has no export "${request.name}"; it has: ${[...current.keys()].join(", ") || "none"}`,
      );
    }
    await (current.size === 0
      ? client.remove(`${queue}/@static_export_config`)
      : client.set(`${queue}/@static_export_config`, current));
    return `Export "${request.name}" of ${queue} is gone; its tables stay`;
  }
  const other = [...current].find(
    ([name, item]) => name !== request.name && fieldsOf(item).get("export_directory") === request.directory,
  );
  if (other !== undefined) {
    throw new YtError(
      `Export "${other[0]}" of ${queue} has the directory ${request.directory} already: each export needs its own`,
    );
  }
  await prepareDirectory(client, queue, request);
  current.set(
    request.name,
    mapOf({
      export_directory: request.directory,
      export_period: wholeSeconds(request.period),
      export_ttl: request.ttl === undefined ? undefined : wholeSeconds(request.ttl),
      output_table_name_pattern: request.pattern,
    }),
  );
  await client.set(`${queue}/@static_export_config`, current);
  return `${queue} is exported to ${request.directory} each ${request.period}`;
}

const destinationAttribute = "queue_static_export_destination";

/** The directory must say that it takes exports of this queue. */
async function prepareDirectory(client: YtClient, queue: string, request: Export): Promise<void> {
  const id = textOf(await client.get(`${queue}/@id`));
  if (request.isPrepared) {
    await client.create("map_node", request.directory, { recursive: true, ignoreExisting: true });
    await client.set(`${request.directory}/@${destinationAttribute}`, mapOf({ originating_queue_id: id }));
    return;
  }
  const destination = bare(
    await client.get(`${request.directory}/@${destinationAttribute}`).catch(() => null),
  );
  const owner = isMap(destination) ? textOf(destination.get("originating_queue_id")) : undefined;
  if (owner !== id) {
    throw new YtError(
      `${request.directory} does not take exports of ${queue}: it must have @${destinationAttribute} = {originating_queue_id="${id}"}; ` +
        `--prepare creates the directory and sets it`,
    );
  }
}

async function requireQueue(client: YtClient, path: string): Promise<void> {
  const queue = objectPath(path).path;
  const isQueue = await client.get(`${queue}/@dynamic`);
  const isSorted = await client.get(`${queue}/@sorted`);
  if (isQueue !== true || isSorted === true) {
    throw new YtError(`${queue} is not a queue: it must be a dynamic table without key columns`);
  }
}

/** Milliseconds, which must be whole seconds. */
function wholeSeconds(text: string): bigint {
  const milliseconds = /^\d+$/.test(text) ? Number(text) : durationOfText(text);
  if (milliseconds === undefined || milliseconds <= 0 || milliseconds % 1_000 !== 0) {
    throw new YtError(
      `Duration "${text}" must be whole seconds, such as 60s, 15m, 36h, or 60000 (milliseconds)`,
    );
  }
  return BigInt(milliseconds);
}

/** Attributes as the user gives them, in YSON. @throws YtError when it is no map */
export function parseAttributes(text: string | undefined): YsonMap {
  const value = text === undefined ? new Map<string, YsonValue>() : bare(parseYson(Buffer.from(text)));
  if (!isMap(value)) {
    throw new YtError("--attributes must be a map in YSON, for example '{account=shop}'");
  }
  return value;
}
