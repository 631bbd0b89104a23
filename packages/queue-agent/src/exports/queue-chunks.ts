/** The flushed chunks of a queue, as `fetch_queue_chunks` tells them. */
import { bare, isList, isMap, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";

/** Flushed rows of one tablet. They never change; an exported table refers to them. */
export interface QueueChunk {
  readonly id: string;
  readonly tabletIndex: number;
  /** Counts trimmed rows too. */
  readonly startRowIndex: bigint;
  readonly rowCount: bigint;
  /** Bytes. */
  readonly dataWeight: bigint;
  /** A cluster timestamp. */
  readonly maxTimestamp: bigint;
}

export interface QueueChunks {
  /** Those of each tablet in row order. */
  readonly tablets: readonly (readonly QueueChunk[])[];
}

/** @throws YtError when the answer is not one of `fetch_queue_chunks` */
export function decodeQueueChunks(answer: YsonValue | undefined): QueueChunks {
  const tablets = mapAt(answer).get("tablets");
  if (!isList(tablets)) {
    throw malformed();
  }
  return {
    tablets: tablets.map((tablet) => {
      const fields = mapAt(tablet);
      const tabletIndex = Number(integerAt(fields, "tablet_index"));
      const chunks = fields.get("chunks");
      if (!isList(chunks)) {
        throw malformed();
      }
      return chunks.map((chunk) => decodeChunk(mapAt(chunk), tabletIndex));
    }),
  };
}

function decodeChunk(fields: YsonMap, tabletIndex: number): QueueChunk {
  const id = fields.get("id");
  if (typeof id !== "string") {
    throw malformed();
  }
  return {
    id,
    tabletIndex,
    startRowIndex: integerAt(fields, "start_row_index"),
    rowCount: integerAt(fields, "row_count"),
    dataWeight: integerAt(fields, "data_weight"),
    maxTimestamp: integerAt(fields, "max_timestamp"),
  };
}

function mapAt(value: YsonValue | undefined): YsonMap {
  const plain = value === undefined ? null : bare(value);
  if (!isMap(plain)) {
    throw malformed();
  }
  return plain;
}

function integerAt(fields: YsonMap, name: string): bigint {
  const value = fields.get(name);
  if (value instanceof Uint64) {
    return value.value;
  }
  if (typeof value !== "bigint") {
    throw malformed();
  }
  return value;
}

function malformed(): YtError {
  return new YtError("The proxy's answer about the chunks of a queue has another form than expected");
}
