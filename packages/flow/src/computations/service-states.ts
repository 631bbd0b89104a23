/**
 * States of a job's own parts (source, watermark generator, sinks) under their names: of a source's partition under
 * its key in `states`, of a range in `partition_states`.
 * Specified in: yt/yt/flow/library/cpp/tables/states.cpp; documentation "Flow", states.
 */
import { isMap, type YsonMap } from "@qyt/base";
import { farmHash, type RowValue } from "@qyt/schema";
import type { FlowCluster, FlowTransaction } from "../cluster/flow-cluster.ts";
import { documentCell, documentOf, textCell, textOf } from "../tables/cells.ts";

/** Where the states are. */
export interface StatesLocation {
  readonly path: string;
  /** Key columns before `name`, as they are written. */
  readonly columns: readonly string[];
  readonly values: readonly RowValue[];
  /** The same as a range is asked by: with the computed columns. */
  readonly prefix: readonly (readonly [string, RowValue])[];
}

export function partitionStatesAt(path: string, partitionId: string): StatesLocation {
  const id = textCell(partitionId);
  return {
    path,
    columns: ["partition_id"],
    values: [id],
    prefix: [
      ["hash", farmHash([id])],
      ["partition_id", id],
    ],
  };
}

export function keyStatesAt(path: string, computationId: string, key: RowValue): StatesLocation {
  const id = textCell(computationId);
  return {
    path,
    columns: ["computation_id", "key"],
    values: [id, key],
    prefix: [
      ["computation_id", id],
      ["key", key],
    ],
  };
}

export class ServiceStates {
  readonly #cluster: FlowCluster;
  readonly #location: StatesLocation;
  #states = new Map<string, YsonMap>();
  readonly #changed = new Map<string, YsonMap>();

  constructor(cluster: FlowCluster, location: StatesLocation) {
    this.#cluster = cluster;
    this.#location = location;
  }

  async load(): Promise<void> {
    const { path, prefix } = this.#location;
    const rows = await this.#cluster.selectRange(path, { columns: ["name", "state"], prefix });
    this.#states = new Map(
      rows.flatMap(([name, state]) => {
        const value = documentOf(state);
        return isMap(value) ? [[textOf(name), value] as const] : [];
      }),
    );
  }

  get(name: string): YsonMap | undefined {
    return this.#states.get(name);
  }

  /** `undefined`: nothing has changed. */
  set(name: string, state: YsonMap | undefined): void {
    if (state !== undefined) {
      this.#states.set(name, state);
      this.#changed.set(name, state);
    }
  }

  write(transaction: FlowTransaction): void {
    if (this.#changed.size === 0) {
      return;
    }
    const { path, columns, values } = this.#location;
    transaction.insertRows(path, {
      columns: [...columns, "name", "state"],
      rows: [...this.#changed].map(([name, state]) => [...values, textCell(name), documentCell(state)]),
    });
    this.#changed.clear();
  }

  /** Removes all states: the partition is over. */
  erase(transaction: FlowTransaction): void {
    const { path, columns, values } = this.#location;
    const rows = [...this.#states.keys()].map((name) => [...values, textCell(name)]);
    transaction.deleteRows(path, { columns: [...columns, "name"], rows });
    this.#states.clear();
    this.#changed.clear();
  }
}
