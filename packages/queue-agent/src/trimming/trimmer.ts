/**
 * Trims a queue by a plan: asks for what the plan needs, and sends the trims.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (TQueueTrimSession). Tables are named by object
 * id, so that a queue made anew is never trimmed by decisions about the one before it.
 */
import { bare, isList, isMap, mapOf, Uint64, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { timestampFromSeconds, timestampSeconds } from "@qyt/schema";
import { errorFromYson } from "@qyt/yson";
import { executeWrites } from "../clusters/batch.ts";
import type { AgentContext } from "../context.ts";
import { referenceToString } from "../objects/reference.ts";
import {
  type LifetimeFloor,
  type PartitionTrim,
  planTrim,
  type TrimPlan,
  type TrimView,
} from "./trim-plan.ts";

type TrimmerContext = Pick<AgentContext, "clusters" | "isPresent">;

export class Trimmer {
  readonly #context: TrimmerContext;

  constructor(context: TrimmerContext) {
    this.#context = context;
  }

  /**
   * Trims each partition of the queue as far as it may. What fails in one partition leaves the others.
   *
   * @returns how many partitions were trimmed
   * @throws YtError for alert 3036, when something could not be read or trimmed
   */
  async trim(view: TrimView): Promise<number> {
    const { queue } = view;
    let plan = planTrim(view);
    const needed = plan.floorsNeeded;
    let client: YtClient | undefined;
    if (needed.length > 0 || plan.trims.length > 0) {
      client = this.#context.clusters.client(queue.reference.cluster);
      const table = tableOf(view);
      if (needed.length > 0) {
        plan = planTrim(view, await readLifetimeFloors(client, table, view, needed));
      }
      // While floors were asked for, another instance may have taken over, and consumers may have gone back.
      if (this.#context.isPresent?.() === false) {
        return 0;
      }
      const failed = await trimPartitions(client, table, plan.trims);
      plan = { ...plan, errors: new Map([...plan.errors, ...failed]) };
    }
    if (plan.errors.size > 0) {
      throw sessionError(view, plan);
    }
    return plan.trims.length;
  }
}

function tableOf({ queue }: TrimView): string {
  const { objectId } = queue.row;
  if (objectId === null) {
    throw new YtError(
      `Object id of queue ${referenceToString(queue.reference)} is not known yet, so it cannot be trimmed`,
    );
  }
  if (queue.tableId !== objectId) {
    throw new YtError(
      `Trimming iteration skipped since queue ${referenceToString(queue.reference)} has been made anew: it is table ${queue.tableId}, and settings are known of table ${objectId}`,
    );
  }
  return `#${objectId}`;
}

/** For each partition the first row that is younger than the retained lifetime, in whole stores. */
async function readLifetimeFloors(
  client: YtClient,
  table: string,
  { queue }: TrimView,
  partitions: readonly number[],
): Promise<ReadonlyMap<number, LifetimeFloor>> {
  const barrier = await lifetimeBarrier(
    client,
    queue.reference.cluster,
    queue.row.autoTrimConfig?.retainedLifetimeDurationMs ?? 0,
  );
  const answer = await client.execute("get_ordered_tablet_safe_trim_row_count", {
    requests: partitions.map((partitionIndex) =>
      mapOf({ path: table, tablet_index: BigInt(partitionIndex), timestamp: new Uint64(barrier) }),
    ),
  });
  const results = isList(answer) ? answer : [];
  return new Map(partitions.map((partitionIndex, index) => [partitionIndex, floorOf(results[index])]));
}

/** The timestamp before which rows are old enough. */
async function lifetimeBarrier(client: YtClient, cluster: string, durationMs: number): Promise<bigint> {
  let now: bigint;
  try {
    now = await client.generateTimestamp();
  } catch (thrown) {
    throw thrown instanceof YtError
      ? thrown.wrap(`Cannot generate timestamp for cluster ${cluster}`)
      : thrown;
  }
  return timestampFromSeconds(Math.max(0, timestampSeconds(now) - durationMs / 1_000));
}

function floorOf(result: YsonValue | undefined): LifetimeFloor {
  const fields = result === undefined ? null : bare(result);
  if (isMap(fields)) {
    const rowCount = bare(fields.get("row_count") ?? null);
    if (typeof rowCount === "bigint") {
      return rowCount;
    }
    const error = fields.get("error");
    if (error !== undefined) {
      return errorFromYson(error);
    }
  }
  return new YtError("The cluster did not say which rows are older than the retained lifetime");
}

/** @returns what failed, by partition */
async function trimPartitions(
  client: YtClient,
  table: string,
  trims: readonly PartitionTrim[],
): Promise<ReadonlyMap<number, YtError>> {
  const results = await executeWrites(
    client,
    trims.map(({ partitionIndex, trimmedRowCount }) => ({
      command: "trim_rows",
      parameters: {
        path: table,
        tablet_index: BigInt(partitionIndex),
        trimmed_row_count: trimmedRowCount,
      },
    })),
  );
  const failed = new Map<number, YtError>();
  for (const [index, { partitionIndex }] of trims.entries()) {
    const result = results[index];
    if (result instanceof YtError) {
      failed.set(partitionIndex, result);
    }
  }
  return failed;
}

function sessionError({ queue }: TrimView, { errors }: TrimPlan): YtError {
  const inner = [...errors].map(([partitionIndex, error]) =>
    error.withAttributes({ partition_index: BigInt(partitionIndex) }),
  );
  const session = new YtError(`Failed to trim ${inner.length} partitions`, {
    inner,
    attributes: { replica: referenceToString(queue.reference) },
  });
  return new YtError("Error trimming 1 queue replicas", { inner: [session] });
}
