/**
 * Builds the snapshots of one queue. Each pass asks for the tablets' row counts and for the table's revision;
 * the layout and the rows with weights are read only when these say that they are others.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (TQueueSnapshotBuildSession).
 */
import { isList, isMap, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { ObjectReference } from "../objects/reference.ts";
import type { QueueRow } from "../objects/state-rows.ts";
import type { AgentReads } from "../reads/agent-reads.ts";
import type { ClusterReads, WatchedRead } from "../reads/cluster-reads.ts";
import { integerOf } from "../scalars.ts";
import type { ErrorOrigin } from "./error-origin.ts";
import { instantFromMs } from "./instants.ts";
import { nextSnapshotHead, type PassInput } from "./object-snapshot.ts";
import {
  isReadable,
  type LayoutMarks,
  type QueueLayout,
  readQueueLayout,
  sameMarks,
  type TabletInfo,
  watchLayoutMarks,
} from "./queue-layout.ts";
import { queuePartitions } from "./queue-partitions.ts";
import { type QueueSnapshot, queueSnapshotWithError } from "./queue-snapshot.ts";
import { QueueWeights } from "./queue-weights.ts";

export class QueueCollector {
  readonly #reference: ObjectReference;
  readonly #reads: ClusterReads;
  readonly #weights: QueueWeights;
  readonly #origin: ErrorOrigin;
  #layout: Watched | undefined;

  constructor(reference: ObjectReference, reads: AgentReads, origin: ErrorOrigin) {
    this.#reference = reference;
    this.#reads = reads.cluster(reference.cluster);
    this.#weights = new QueueWeights(reads.rows(reference));
    this.#origin = origin;
  }

  /** Never throws: what fails is the snapshot's error. */
  async collect(input: PassInput<QueueRow, QueueSnapshot>): Promise<QueueSnapshot> {
    const { row, previous, nowMs, registrations } = input;
    const head = nextSnapshotHead(input);
    try {
      if (head.bannedSinceMs !== null) {
        throw new YtError(
          `Queue is banned by "queue_agent_banned" attribute (BannedSince: ${instantFromMs(head.bannedSinceMs)})`,
        );
      }
      const { layout, infos } = await this.#read();
      const weights = await this.#weights.read(layout, infos, previous);
      const partitions = queuePartitions({ layout, infos, weights }, previous, nowMs, this.#origin);
      return {
        ...head,
        error: null,
        tableId: layout.objectId,
        hasTimestampColumn: layout.hasTimestampColumn,
        hasCumulativeDataWeightColumn: layout.hasCumulativeDataWeightColumn,
        isReplica: layout.isReplica,
        partitions,
      };
    } catch (thrown) {
      this.#forget();
      const error = this.#origin.again(toYtError(thrown), previous?.error);
      return { ...queueSnapshotWithError(row, registrations, error), ...head };
    }
  }

  /** Nothing of the queue is asked any more. */
  close(): void {
    this.#forget();
  }

  #forget(): void {
    this.#layout?.marks.close();
    this.#layout?.infos.close();
    this.#layout = undefined;
  }

  /** Looks at the layout again only with the marks and counts of each pass, as long as all tablets can be read. */
  #remember(layout: QueueLayout): void {
    this.#forget();
    if (layout.tablets.every(isReadable)) {
      const indexes = layout.tablets.map((_, index) => index);
      const { path } = this.#reference;
      this.#layout = {
        layout,
        marks: watchLayoutMarks(this.#reads, path),
        infos: this.#reads.watch("get_tablet_infos", infosParameters(path, indexes), (output) =>
          toInfos(output, indexes),
        ),
      };
    }
  }

  /** @returns the layout, and of each readable tablet its counts, or why they could not be read */
  async #read(): Promise<{ layout: QueueLayout; infos: ReadonlyMap<number, TabletInfo | YtError> }> {
    const known = this.#layout;
    if (known !== undefined) {
      const [marks, infos] = await Promise.allSettled([known.marks.take(), known.infos.take()]);
      if (marks.status === "rejected") {
        throw marks.reason;
      }
      if (infos.status === "fulfilled" && sameMarks(known.layout, marks.value)) {
        return { layout: known.layout, infos: infos.value };
      }
    }
    const layout = await readQueueLayout(this.#reads, this.#reference.path);
    this.#remember(layout);
    const readable = [...layout.tablets.keys()].filter((index) => {
      const tablet = layout.tablets[index];
      return tablet !== undefined && isReadable(tablet);
    });
    return { layout, infos: await this.#infosOrErrors(readable) };
  }

  async #infosOrErrors(indexes: readonly number[]): Promise<ReadonlyMap<number, TabletInfo | YtError>> {
    try {
      return await this.#infos(indexes);
    } catch {
      // A tablet may have left since the layout was read: ask for each by itself, the others are fine.
      const infos = new Map<number, TabletInfo | YtError>();
      await Promise.all(
        indexes.map(async (index) => {
          try {
            for (const [, info] of await this.#infos([index])) {
              infos.set(index, info);
            }
          } catch (thrown) {
            infos.set(index, toYtError(thrown));
          }
        }),
      );
      return infos;
    }
  }

  async #infos(indexes: readonly number[]): Promise<ReadonlyMap<number, TabletInfo>> {
    return indexes.length === 0
      ? new Map()
      : toInfos(
          await this.#reads.execute("get_tablet_infos", infosParameters(this.#reference.path, indexes)),
          indexes,
        );
  }
}

/** The layout in force, and what each pass asks for to see whether it still is. */
interface Watched {
  readonly layout: QueueLayout;
  readonly marks: WatchedRead<LayoutMarks>;
  readonly infos: WatchedRead<ReadonlyMap<number, TabletInfo>>;
}

function infosParameters(path: string, indexes: readonly number[]): Readonly<Record<string, YsonValue>> {
  return { path, tablet_indexes: indexes.map((index) => BigInt(index)) };
}

function toInfos(output: YsonValue, indexes: readonly number[]): ReadonlyMap<number, TabletInfo> {
  const list = isMap(output) ? output.get("tablets") : output;
  if (!isList(list) || list.length !== indexes.length) {
    throw new YtError("The proxy answered with another number of tablets than was asked for");
  }
  return new Map(indexes.map((index, position) => [index, toInfo(list[position])]));
}

function toInfo(value: YsonValue | undefined): TabletInfo {
  const field = (name: string): bigint => (isMap(value) ? (integerOf(value.get(name)) ?? 0n) : 0n);
  return {
    lowerRowIndex: field("trimmed_row_count"),
    upperRowIndex: field("total_row_count"),
    lastWriteTimestamp: field("last_write_timestamp"),
  };
}
