/**
 * The pages of an LMDB file that its newest state is made of, and which of their bytes are in use. As in
 * lmdb 3 (LMDB 1.0): offsets in a page count from the end of its header.
 */

export const pageBytes = 8192;
const headerBytes = 24;
/** `u64 number · u64 transaction · u16 pad · u16 flags · u16 lower · u16 upper`, or `u32 page count`. */
const header = { flags: 18, lower: 20, upper: 22, pageCount: 20 } as const;
const pageFlags = { branch: 1, leaf: 2 } as const;
/** Of a meta page: root of the main tree, number of the transaction that wrote it. */
const meta = { root: 136, transaction: 152 } as const;
/** `u16 low · u16 high · u16 flags · u16 key length · key · data`. */
const node = { low: 0, high: 2, flags: 4, keyLength: 6, key: 8 } as const;
const valueOnOwnPage = 1;

export type PageKind = "branch" | "leaf" | "value";

export interface UsedBytes {
  readonly start: number;
  readonly end: number;
}

/** By kind: the ranges of bytes that mean something. */
export function usedBytes(file: Buffer): Readonly<Record<PageKind, readonly UsedBytes[]>> {
  const used: Record<PageKind, UsedBytes[]> = { branch: [], leaf: [], value: [] };
  const metaPages = [0, pageBytes];
  const newest = metaPages.reduce((best, page) =>
    file.readBigUInt64LE(page + meta.transaction) > file.readBigUInt64LE(best + meta.transaction)
      ? page
      : best,
  );
  visit(file, Number(file.readBigUInt64LE(newest + meta.root)), used);
  return used;
}

function visit(file: Buffer, pageNumber: number, used: Record<PageKind, UsedBytes[]>): void {
  const page = pageNumber * pageBytes;
  if (Number(file.readBigUInt64LE(page)) !== pageNumber) {
    throw new Error(`Page ${pageNumber} says it is page ${file.readBigUInt64LE(page)}`);
  }
  const isBranch = (file.readUInt16LE(page + header.flags) & pageFlags.branch) !== 0;
  const lower = page + headerBytes + file.readUInt16LE(page + header.lower);
  const upper = page + headerBytes + file.readUInt16LE(page + header.upper);
  used[isBranch ? "branch" : "leaf"].push(
    { start: page, end: lower },
    { start: upper, end: page + pageBytes },
  );
  for (let pointer = page + headerBytes; pointer < lower; pointer += 2) {
    const at = page + headerBytes + file.readUInt16LE(pointer);
    const low = file.readUInt16LE(at + node.low) + file.readUInt16LE(at + node.high) * 0x1_0000;
    if (isBranch) {
      visit(file, low, used);
    } else if ((file.readUInt16LE(at + node.flags) & valueOnOwnPage) !== 0) {
      const key = at + node.key + file.readUInt16LE(at + node.keyLength);
      const start = Number(file.readBigUInt64LE(key)) * pageBytes;
      used.value.push({ start, end: start + headerBytes + low });
    }
  }
}
