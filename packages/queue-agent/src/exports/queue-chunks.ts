/** The flushed chunks of a queue, as `fetch_queue_chunks` tells them. */
import {
  bare,
  isList,
  isMap,
  turn,
  Uint64,
  type YsonList,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";

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

/** So many take about a millisecond. */
const chunksPerTurn = 1_000;

/** Reads a long answer in slices. @throws YtError when it is not one of `fetch_queue_chunks` */
export async function decodeQueueChunks(answer: YsonValue | undefined): Promise<QueueChunks> {
  const tablets: QueueChunk[][] = [];
  let decoded = 0;
  for (const tablet of listAt(mapAt(answer), "tablets")) {
    const fields = mapAt(tablet);
    const tabletIndex = Number(integerAt(fields, "tablet_index"));
    const chunks: QueueChunk[] = [];
    for (const chunk of listAt(fields, "chunks")) {
      chunks.push(decodeChunk(mapAt(chunk), tabletIndex));
      if (++decoded % chunksPerTurn === 0) {
        await turn();
      }
    }
    tablets.push(chunks);
  }
  return { tablets };
}

function listAt(fields: YsonMap, name: string): YsonList {
  const list = bare(fields.get(name) ?? null);
  if (!isList(list)) {
    throw malformed();
  }
  return list;
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
