/**
 * Rows of a sink: the columns of the payload that are to be written, and the meta.
 * Specified in: yt/yt/flow/library/cpp/connectors/queue/sink.cpp.
 */
import { YtError } from "@qyt/base";
import type { RowValue, TableSchema } from "@qyt/schema";
import type { Message } from "../../model/message.ts";
import { eventTimestampCell } from "./flow-queue-meta.ts";

export interface RowBuilderOptions {
  readonly schema: TableSchema;
  readonly columnFilter: readonly string[] | undefined;
  /** Where the meta goes; `undefined`: it is not written. */
  readonly metaColumn: string | undefined;
}

export class RowBuilder {
  /** Names of the values that `build` gives. */
  readonly columns: readonly string[];
  readonly #positions: readonly number[];
  readonly #hasMeta: boolean;

  /** @throws YtError 1 for a filter with an unknown column, and for a payload column where the meta is to be */
  constructor({ schema, columnFilter, metaColumn }: RowBuilderOptions) {
    const names = columnFilter ?? schema.columns.map((column) => column.name);
    this.#positions = names.map((name) => {
      const index = schema.indexOf(name);
      if (index < 0) {
        throw new YtError(`Column "${name}" not found in schema`);
      }
      return index;
    });
    if (metaColumn !== undefined && names.includes(metaColumn)) {
      throw new YtError(
        `Column "${metaColumn}" is in the payload and is to hold the meta, too: set "flow_queue_meta_column" to another name, or leave the column out with "column_filter"`,
      );
    }
    this.#hasMeta = metaColumn !== undefined;
    this.columns = metaColumn === undefined ? names : [...names, metaColumn];
  }

  build({ payload, eventTimestamp }: Message): RowValue[] {
    const row = this.#positions.map((index) => payload[index] ?? null);
    if (this.#hasMeta) {
      row.push(eventTimestampCell(eventTimestamp));
    }
    return row;
  }
}

/** @throws YtError 1 unless there is exactly one */
export function onlyInput<Item>(inputs: readonly Item[]): Item {
  const [only] = inputs;
  if (only === undefined || inputs.length !== 1) {
    throw new YtError(`Expected exactly one input stream id, but got ${inputs.length}`);
  }
  return only;
}
