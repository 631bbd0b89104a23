/** What is read out of answers, and how they are compared with what the model has. */
import { bare, isMap, mapOf, Uint64, type YsonValue, YtError } from "@qyt/base";
import { writeYsonList } from "@qyt/yson";
import type { Answer } from "./door.ts";
import type { Commit, OffsetMeta, Refusal, RowToWrite } from "./queue-model.ts";
import { codesOf } from "./real-cluster.ts";
import { expectSame } from "./same.ts";

export function compareMeta(value: YsonValue, expected: OffsetMeta | null): void {
  if (expected === null) {
    expectSame(value, null);
    return;
  }
  expectSame(field(value, "cumulative_data_weight"), expected.weightBefore);
  const timestamp = field(value, "offset_timestamp");
  if (expected.commitAt === null) {
    expectSame(timestamp, null);
  } else {
    learn(expected.commitAt, timestamp, true);
  }
}

/** All rows of a commit have its timestamp. */
export function learn(commit: Commit, value: YsonValue, isTold: boolean): void {
  if (!isTold) {
    expectSame(value, null);
    return;
  }
  expectSame(value instanceof Uint64, true);
  const timestamp = value instanceof Uint64 ? value.value : undefined;
  commit.timestamp ??= timestamp;
  expectSame(timestamp, commit.timestamp);
}

const pulledColumns = ["$tablet_index", "$row_index", "data", "$cumulative_data_weight"];

export function pulled(row: YsonValue): YsonValue[] {
  return pulledColumns.map((name) => field(row, name));
}

export function rowsBody(rows: readonly RowToWrite[], numbers?: readonly bigint[]): Buffer {
  return writeYsonList(
    rows.map(({ partition, data }, index) =>
      mapOf({ $tablet_index: BigInt(partition), $sequence_number: numbers?.[index], data }),
    ),
    "binary",
  );
}

export function field(value: YsonValue, name: string): YsonValue {
  const map = bare(value);
  return isMap(map) ? bare(map.get(name) ?? null) : null;
}

/** The answer, where the model has one too; nothing where both refuse. */
export async function agreeing(
  work: Promise<Answer>,
  expected: Refusal | undefined,
): Promise<Answer | undefined> {
  let answer: Answer;
  try {
    answer = await work;
  } catch (thrown) {
    const codes = codesOf(thrown);
    if (expected?.codes.some((code) => codes.includes(code)) !== true) {
      throw thrown;
    }
    return undefined;
  }
  if (expected !== undefined) {
    throw new YtError(`An error with code ${expected.codes.join(" or ")} was expected`);
  }
  return answer;
}
