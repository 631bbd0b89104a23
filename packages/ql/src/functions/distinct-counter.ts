/**
 * The number of distinct values: exact while few, estimated in fixed memory (HyperLogLog) beyond.
 *
 * Specified in: yt/yt/library/query/engine/udf/hyperloglog.cpp; Flajolet et al., "HyperLogLog" (2007).
 */
import { farmHash, type RowValue } from "@qyt/schema";

/** 2^14 registers: a standard error of 0.8 %. */
const precision = 14;
const registerCount = 1 << precision;
const maxExact = 4096;

/** An aggregate state; null when no value was seen, as with every aggregate. */
export class DistinctCounter {
  #hashes: Set<bigint> | undefined = new Set();
  #registers: Uint8Array | undefined;

  update([value = null]: readonly RowValue[]): void {
    if (value === null) {
      return;
    }
    this.#add(farmHash([typeof value === "number" ? doubleBits(value) : value]));
  }

  /** Counts what another counter has counted too; other states are passed over. */
  merge(other: object): void {
    if (!(other instanceof DistinctCounter)) {
      return;
    }
    for (const hash of other.#hashes ?? []) {
      this.#add(hash);
    }
    if (other.#registers !== undefined) {
      const registers = this.#toRegisters();
      for (const [index, zeros] of other.#registers.entries()) {
        registers[index] = Math.max(registers[index] ?? 0, zeros);
      }
    }
  }

  #add(hash: bigint): void {
    if (this.#registers !== undefined) {
      addHash(this.#registers, hash);
      return;
    }
    const hashes = this.#hashes ?? new Set();
    hashes.add(hash);
    this.#hashes = hashes;
    if (hashes.size > maxExact) {
      this.#toRegisters();
    }
  }

  #toRegisters(): Uint8Array {
    const registers = this.#registers ?? new Uint8Array(registerCount);
    for (const known of this.#hashes ?? []) {
      addHash(registers, known);
    }
    this.#registers = registers;
    this.#hashes = undefined;
    return registers;
  }

  result(): RowValue {
    if (this.#registers !== undefined) {
      return estimate(this.#registers);
    }
    const count = this.#hashes?.size ?? 0;
    return count === 0 ? null : BigInt(count);
  }
}

function doubleBits(value: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return view.getBigInt64(0);
}

function addHash(registers: Uint8Array, hash: bigint): void {
  const high = Number(hash >> 32n);
  const low = Number(hash & 0xffff_ffffn);
  const index = high >>> (32 - precision);
  const rest = (high << precision) >>> 0;
  const zeros = rest === 0 ? 32 - precision + Math.clz32(low) : Math.clz32(rest);
  registers[index] = Math.max(registers[index] ?? 0, zeros + 1);
}

function estimate(registers: Uint8Array): bigint {
  let sum = 0;
  let empty = 0;
  for (const register of registers) {
    sum += 2 ** -register;
    empty += register === 0 ? 1 : 0;
  }
  const alpha = 0.7213 / (1 + 1.079 / registerCount);
  const raw = (alpha * registerCount * registerCount) / sum;
  const linear = raw <= 2.5 * registerCount && empty > 0;
  return BigInt(Math.round(linear ? registerCount * Math.log(registerCount / empty) : raw));
}
