/** The cell's own records: the version of the format of the data, and the state that every batch carries on. */
import { YtError } from "@qyt/base";
import { keyspace, storeKey, u32be } from "./keyspace.ts";
import type { Reader } from "./store.ts";
import type { WriteBatch } from "./write-batch.ts";

/** Version of everything in the store. Grows when an older program would misread the data. */
export const dataFormatVersion = 1;

const formatKey = storeKey(keyspace.cellMeta, Buffer.from("format"));
export const stateKey = storeKey(keyspace.cellMeta, Buffer.from("state"));

export interface CellState {
  /** Number of starts. */
  readonly epoch: number;
  /** Number of mutations, over all starts. */
  readonly sequenceNumber: bigint;
  /** No timestamp beyond it was handed out. */
  readonly timestampBound: bigint;
}

/** @throws YtError 1 when a newer version wrote the data */
export function checkFormat(reader: Reader): void {
  const record = reader.get(formatKey);
  const version = record?.readUInt32BE(0) ?? dataFormatVersion;
  if (version > dataFormatVersion) {
    throw new YtError(
      `The data were written by a newer version of qyt (format ${version}, this version knows ${dataFormatVersion}): start that version or a newer one`,
      { attributes: { format_version: BigInt(version), supported_version: BigInt(dataFormatVersion) } },
    );
  }
}

export function writeFormat(batch: WriteBatch, version: number = dataFormatVersion): void {
  batch.put(formatKey, u32be(version));
}

export function encodeState(state: CellState): Buffer {
  const bytes = Buffer.allocUnsafe(20);
  let position = bytes.writeUInt32BE(state.epoch, 0);
  position = bytes.writeBigUInt64BE(state.sequenceNumber, position);
  bytes.writeBigUInt64BE(state.timestampBound, position);
  return bytes;
}

export function decodeState(bytes: Buffer | undefined): CellState {
  return bytes === undefined
    ? { epoch: 0, sequenceNumber: 0n, timestampBound: 0n }
    : {
        epoch: bytes.readUInt32BE(0),
        sequenceNumber: bytes.readBigUInt64BE(4),
        timestampBound: bytes.readBigUInt64BE(12),
      };
}
