/**
 * Brakes of qyt: an export pauses while its directory holds as many tables, or as much data, as the
 * configuration allows. The queue keeps the rows meanwhile, because an export counts as a vital consumer.
 */
import { Attributed, bare, isList, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import type { StaticExportConfig } from "../objects/object-configs.ts";
import type { ReadOptions } from "./export-attributes.ts";

/** The static tables in a directory. */
export interface DirectoryUsage {
  readonly tableCount: number;
  /** Bytes. */
  readonly dataWeight: bigint;
}

type Limits = Pick<StaticExportConfig, "exportDirectory" | "maxTableCount" | "maxDataWeight">;

/** `null` when the export has no brakes: then nothing is read. @throws YtError */
export async function readDirectoryUsage(
  client: YtClient,
  limits: Limits,
  options: ReadOptions,
): Promise<DirectoryUsage | null> {
  if (limits.maxTableCount === null && limits.maxDataWeight === null) {
    return null;
  }
  const children = await client.list(limits.exportDirectory, {
    attributes: ["type", "dynamic", "data_weight"],
    ...options,
  });
  let tableCount = 0;
  let dataWeight = 0n;
  for (const child of isList(children) ? children : []) {
    if (child instanceof Attributed && isStaticTable(child)) {
      tableCount++;
      const weight = bare(child.attributes.get("data_weight") ?? null);
      dataWeight += typeof weight === "bigint" ? weight : 0n;
    }
  }
  return { tableCount, dataWeight };
}

/** Why no table may be made now; `null`: one may. */
export function pauseReason(limits: Limits, usage: DirectoryUsage | null): YtError | null {
  const { exportDirectory, maxTableCount, maxDataWeight } = limits;
  if (usage !== null && maxTableCount !== null && usage.tableCount >= maxTableCount) {
    return paused(
      `directory ${exportDirectory} holds ${usage.tableCount} tables and "max_table_count" is ${maxTableCount}`,
      { table_count: BigInt(usage.tableCount), max_table_count: BigInt(maxTableCount) },
    );
  }
  if (usage !== null && maxDataWeight !== null && usage.dataWeight >= maxDataWeight) {
    return paused(
      `tables in directory ${exportDirectory} have ${usage.dataWeight} bytes and "max_data_weight" is ${maxDataWeight}`,
      { data_weight: usage.dataWeight, max_data_weight: maxDataWeight },
    );
  }
  return null;
}

function paused(reason: string, attributes: Readonly<Record<string, YsonValue>>): YtError {
  return new YtError(
    `Export is paused: ${reason}; remove tables from the directory or raise the limit in @static_export_config, no rows are lost meanwhile`,
    { attributes },
  );
}

function isStaticTable({ attributes }: Attributed): boolean {
  return bare(attributes.get("type") ?? null) === "table" && bare(attributes.get("dynamic") ?? null) !== true;
}
