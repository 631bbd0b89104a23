/**
 * What the Queue Agent asks of queues for trimming and exports. Extensions: in the real system these are
 * requests of the native API, which have no commands.
 */
import { mapOf, toYtError, turn, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import * as z from "zod";
import { attachQueueChunks, fetchQueueChunks } from "../../tablets/static/index.ts";
import { needs, right } from "../access.ts";
import { type CommandContext, defineCommand, structured } from "../define.ts";
import { optional, parameter, readParameters } from "../parameters.ts";
import { cypressContext } from "../request-context.ts";
import { reading, writing } from "./kinds.ts";

const maxTrimRequests = 10_000;
/** So many looks at a chunk take about a millisecond; a request costs as much as some dozens. */
const looksPerTurn = 20_000;
const looksPerRequest = 100;

const trimRequest = z.object({
  path: parameter.path,
  tablet_index: parameter.int32,
  timestamp: parameter.uint64,
});

/**
 * How many rows of a tablet can be trimmed so that nothing committed at the timestamp or later goes: the first
 * row of the first store (a chunk or a dynamic store) with such a row, or the number of all rows. An extension
 * of qyt; each request answers for itself, `{row_count=5}` or `{error={…}}`.
 */
const getSafeTrimRowCount = defineCommand({
  name: "get_ordered_tablet_safe_trim_row_count",
  versions: [4],
  ...reading,
  access: needs(right("read", "node", "requests")),
  summary: "Up to which row tablets of queues can be trimmed by age, in whole stores (an extension).",
  parameters: { requests: parameter.list(parameter.map) },
  async execute(context, { requests }) {
    if (requests.length > maxTrimRequests) {
      throw new YtError(
        `Too many requests: ${requests.length}, limit ${maxTrimRequests}; send them in several calls`,
      );
    }
    const results: YsonValue[] = [];
    let looks = 0;
    for (const request of requests) {
      const { result, chunkCount } = safeTrimRowCount(context, request);
      results.push(result);
      looks += looksPerRequest + chunkCount;
      if (looks >= looksPerTurn) {
        looks = 0;
        await turn();
      }
    }
    return structured(results);
  },
});

function safeTrimRowCount(
  context: CommandContext,
  request: YsonMap,
): { readonly result: YsonMap; readonly chunkCount: number } {
  try {
    const { path, tablet_index, timestamp } = readParameters(trimRequest, request);
    const { user } = context;
    const table = context.services.tables.dynamicTable({ user }, path, { permission: "read" });
    if (table.sorted) {
      throw new YtError(`Table ${table.path} is not ordered`, { attributes: { path: table.path } });
    }
    const tablet = table.readableTablet(tablet_index);
    return {
      result: mapOf({ row_count: BigInt(tablet.safeTrimRowCount(timestamp)) }),
      chunkCount: tablet.visible.sealed.length,
    };
  } catch (thrown) {
    return { result: mapOf({ error: errorToYson(toYtError(thrown)) }), chunkCount: 0 };
  }
}

/** Flushed rows only, in row order, and only those that are still in the queue. An extension of qyt. */
const fetchChunks = defineCommand({
  name: "fetch_queue_chunks",
  versions: [4],
  ...reading,
  access: needs(right("read", "node", "path")),
  summary: "The chunks of a queue with their rows and timestamps (an extension).",
  parameters: { path: parameter.path, tablet_indexes: optional(parameter.list(parameter.int32)) },
  async execute(context, { path, tablet_indexes }) {
    return structured(
      await fetchQueueChunks(context.services.tables, cypressContext(context), path, tablet_indexes),
    );
  },
});

/**
 * The static table must have the schema of the queue, and share no name of a chunk twice. Within a master
 * transaction the rows show outside when that is committed. An extension of qyt.
 */
const attachChunks = defineCommand({
  name: "attach_queue_chunks",
  versions: [4],
  ...writing,
  access: needs(right("full_read", "node", "source_path"), right("write", "node", "path")),
  summary: "Puts chunks of a queue into a static table without copying their rows (an extension).",
  parameters: {
    path: parameter.path,
    source_path: parameter.path,
    chunk_ids: parameter.list(parameter.guid),
  },
  async execute(context, { path, source_path, chunk_ids }) {
    await attachQueueChunks(context.services.tables, cypressContext(context), {
      destination: path,
      source: source_path,
      chunkIds: chunk_ids,
    });
    return context.nothing();
  },
});

export const queueChunkCommands = [getSafeTrimRowCount, fetchChunks, attachChunks];
