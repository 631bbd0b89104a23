/**
 * Single documents of the controller in `flow_state_obsolete`: specs with their versions, the controller's view.
 * Specified in: yt/yt/flow/library/cpp/controller/persisted_state_manager.cpp.
 */
import { emptyMap, isMap, mapOf, type YsonValue } from "@qyt/base";
import type { FlowCluster, FlowTransaction } from "../cluster/flow-cluster.ts";
import { documentCell, documentOf, textCell } from "../tables/cells.ts";

/** A value and the version it has: a fresh growing int64 with every change. */
export interface Versioned {
  readonly version: bigint;
  readonly value: YsonValue;
}

export const neverSet: Versioned = { version: 0n, value: emptyMap };

export type DocumentKey = "spec" | "dynamic_spec" | "flow_view" | "important_versions" | "flow_core_target";

/** Reads documents; `null` for those that were never written. */
export async function readDocuments(
  cluster: FlowCluster,
  path: string,
  keys: readonly DocumentKey[],
): Promise<ReadonlyMap<DocumentKey, YsonValue>> {
  const rows = await cluster.lookupRows(
    path,
    { columns: ["key"], rows: keys.map((key) => [textCell(key)]) },
    { columns: ["value"] },
  );
  return new Map(keys.map((key, index) => [key, documentOf(rows[index]?.[0])]));
}

export function writeDocument(
  transaction: FlowTransaction,
  path: string,
  key: DocumentKey,
  value: YsonValue,
): void {
  transaction.insertRows(path, {
    columns: ["key", "value"],
    rows: [[textCell(key), documentCell(value)]],
  });
}

export function versionedToYson({ version, value }: Versioned): YsonValue {
  return mapOf({ version, value });
}

export function versionedFromYson(document: YsonValue | undefined): Versioned {
  if (!isMap(document)) {
    return neverSet;
  }
  const version = document.get("version");
  return { version: typeof version === "bigint" ? version : 0n, value: document.get("value") ?? emptyMap };
}
