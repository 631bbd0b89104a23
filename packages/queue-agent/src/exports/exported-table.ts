/**
 * Makes one exported table: static, with the queue's schema, its chunks those of the queue.
 *
 * Specified in: yt/yt/server/queue_agent/queue_exporter.cpp (CreateOutputTable, AttachChunks).
 */
import { mapOf, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import type { StaticExportConfig } from "../objects/object-configs.ts";
import { instantFromMs } from "../snapshots/instants.ts";
import type { ExportPart } from "./export-plan.ts";
import { exportedTableName } from "./table-name.ts";

/** The server takes 10,000 in one request, but nobody else has a turn while it attaches them: 20 µs each. */
const chunksPerAttach = 500;

export interface ExportedTableOptions {
  readonly client: YtClient;
  readonly signal: AbortSignal;
  readonly config: StaticExportConfig;
  /** The queue as `#<id>`. */
  readonly queueTable: string;
  readonly schema: YsonValue;
}

/**
 * @param lifetimeStartMs Unix milliseconds from which `export_ttl` counts
 * @throws YtError 501 when the name is taken; then or after any other error the transaction has to be aborted
 */
export async function makeExportedTable(
  options: ExportedTableOptions,
  part: ExportPart,
  transactionId: string,
  lifetimeStartMs: number,
): Promise<void> {
  const { client, config, signal } = options;
  const path = `${config.exportDirectory}/${exportedTableName(config, part.exportTime)}`;
  const ttlMs = config.exportTtlMs;
  const attributes = mapOf({
    schema: options.schema,
    // The document has the one, the real system the other: whichever comes first holds.
    expiration_timeout: ttlMs === 0 ? undefined : BigInt(ttlMs),
    expiration_time: ttlMs === 0 ? undefined : instantFromMs(lifetimeStartMs + ttlMs),
  });
  try {
    await client.create("table", path, { transactionId, attributes, signal });
  } catch (thrown) {
    throw nameTaken(thrown, config, part, path);
  }
  for (let start = 0; start < part.chunks.length; start += chunksPerAttach) {
    await client.execute(
      "attach_queue_chunks",
      {
        path,
        source_path: options.queueTable,
        chunk_ids: part.chunks.slice(start, start + chunksPerAttach).map(({ id }) => id),
        transaction_id: transactionId,
      },
      { signal },
    );
  }
}

function nameTaken(thrown: unknown, config: StaticExportConfig, part: ExportPart, path: string): unknown {
  if (!(thrown instanceof YtError) || !thrown.has("AlreadyExists")) {
    return thrown;
  }
  return new YtError(
    `Table ${path} already exists: output table name pattern "${config.outputTableNamePattern}" must give another name for each export time; ` +
      "remove the table, or change the pattern or the export period; no rows are lost meanwhile",
    {
      code: "AlreadyExists",
      attributes: {
        output_table_name_pattern: config.outputTableNamePattern,
        path,
        export_period: BigInt(config.exportPeriodSeconds * 1_000),
        export_unix_ts: BigInt(part.exportTime),
      },
      inner: [thrown],
    },
  );
}
