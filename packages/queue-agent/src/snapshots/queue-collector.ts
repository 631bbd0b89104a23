/**
 * Builds the snapshots of one queue. Each pass asks for the tablets' row counts and for the table's revision;
 * the layout and the rows with weights are read only when these say that they are others.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (TQueueSnapshotBuildSession).
 */
import { isList, isMap, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { ObjectReference } from "../objects/reference.ts";
import type { QueueRow, RegistrationRow } from "../objects/state-rows.ts";
import type { AgentReads } from "../reads/agent-reads.ts";
import type { ClusterReads } from "../reads/cluster-reads.ts";
import { integerOf, type QueueRowInfo, type QueueRows, rowKey } from "../reads/queue-rows.ts";
import type { ErrorOrigin } from "./error-origin.ts";
import { instantFromMs } from "./instants.ts";
import { isReadable, type QueueLayout, readLayoutMarks, readQueueLayout, sameMarks } from "./queue-layout.ts";
import type { QueuePartitionSnapshot, QueueSnapshot, WriteRates } from "./queue-snapshot.ts";
import { emptyRateCounter, updatedIfKnown, updateRateCounter } from "./rates.ts";

export interface QueuePassInput {
  readonly row: QueueRow;
  readonly registrations: readonly RegistrationRow[];
  readonly previous: QueueSnapshot | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

interface TabletInfo {
  readonly lowerRowIndex: bigint;
  readonly upperRowIndex: bigint;
  readonly lastWriteTimestamp: bigint;
}

export const emptyWriteRates: WriteRates = { rowCount: emptyRateCounter, dataWeight: emptyRateCounter };

export class QueueCollector {
  readonly #reference: ObjectReference;
  readonly #reads: ClusterReads;
  readonly #rows: QueueRows;
  readonly #origin: ErrorOrigin;
  #layout: QueueLayout | undefined;
  /** The latest query of weights failed: what is kept of them says nothing. */
  #weightsFailed = false;

  constructor(reference: ObjectReference, reads: AgentReads, origin: ErrorOrigin) {
    this.#reference = reference;
    this.#reads = reads.cluster(reference.cluster);
    this.#rows = reads.rows(reference);
    this.#origin = origin;
  }

  /** Never throws: what fails is the snapshot's error. */
  async collect(input: QueuePassInput): Promise<QueueSnapshot> {
    const { row, previous, nowMs, registrations } = input;
    const isBanned = row.queueAgentBanned === true;
    const bannedSinceMs = isBanned ? (previous?.bannedSinceMs ?? nowMs) : null;
    const common = {
      kind: "queue" as const,
      reference: this.#reference,
      row,
      registrations,
      passIndex: (previous?.passIndex ?? -1) + 1,
      passInstantMs: nowMs,
      bannedSinceMs,
    };
    try {
      if (bannedSinceMs !== null) {
        throw new YtError(
          `Queue is banned by "queue_agent_banned" attribute (BannedSince: ${instantFromMs(bannedSinceMs)})`,
        );
      }
      const { layout, infos } = await this.#read();
      const partitions = await this.#partitions(layout, infos, input);
      return {
        ...common,
        error: null,
        hasTimestampColumn: layout.hasTimestampColumn,
        hasCumulativeDataWeightColumn: layout.hasCumulativeDataWeightColumn,
        partitions,
      };
    } catch (thrown) {
      this.#layout = undefined;
      return {
        ...common,
        error: this.#origin.again(toYtError(thrown), previous?.error),
        hasTimestampColumn: false,
        hasCumulativeDataWeightColumn: false,
        partitions: [],
      };
    }
  }

  /** @returns the layout, and of each readable tablet its counts, or why they could not be read */
  async #read(): Promise<{ layout: QueueLayout; infos: ReadonlyMap<number, TabletInfo | YtError> }> {
    const known = this.#layout;
    if (known?.tablets.every(isReadable) === true) {
      const { path } = this.#reference;
      const [marks, infos] = await Promise.allSettled([
        readLayoutMarks(this.#reads, path),
        this.#infos(known.tablets.map((_, index) => index)),
      ]);
      if (marks.status === "rejected") {
        throw marks.reason;
      }
      if (infos.status === "fulfilled" && sameMarks(known, marks.value)) {
        return { layout: known, infos: infos.value };
      }
    }
    const layout = await readQueueLayout(this.#reads, this.#reference.path);
    this.#layout = layout;
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
    const infos = new Map<number, TabletInfo>();
    if (indexes.length === 0) {
      return infos;
    }
    const output = await this.#reads.execute("get_tablet_infos", {
      path: this.#reference.path,
      tablet_indexes: indexes.map((index) => BigInt(index)),
    });
    const list = isMap(output) ? output.get("tablets") : output;
    if (!isList(list) || list.length !== indexes.length) {
      throw new YtError("The proxy answered with another number of tablets than was asked for");
    }
    for (const [position, index] of indexes.entries()) {
      infos.set(index, toInfo(list[position]));
    }
    return infos;
  }

  async #partitions(
    layout: QueueLayout,
    infos: ReadonlyMap<number, TabletInfo | YtError>,
    { previous, nowMs }: QueuePassInput,
  ): Promise<readonly QueuePartitionSnapshot[]> {
    const weights = await this.#weights(layout, infos, previous);
    return layout.tablets.map((tablet, partitionIndex): QueuePartitionSnapshot => {
      const before = previous?.partitions[partitionIndex];
      const info = infos.get(partitionIndex);
      const common = {
        partitionIndex,
        tabletId: tablet.tabletId,
        tabletState: tablet.state,
        cellId: tablet.cellId,
        host: tablet.host,
      };
      if (info === undefined || info instanceof YtError) {
        const error =
          info ??
          new YtError(`Tablet ${tablet.tabletId} is not mounted or frozen`, {
            attributes: { state: tablet.state },
          });
        return {
          ...common,
          ...noData,
          error: this.#origin.again(error, before?.error),
        };
      }
      const weight = weights.get(partitionIndex) ?? noWeights;
      const rates = before === undefined || before.error !== null ? emptyWriteRates : before.writeRates;
      return {
        ...common,
        ...info,
        error: null,
        ...weight,
        writeRates: {
          rowCount: updateRateCounter(rates.rowCount, Number(info.upperRowIndex), nowMs),
          dataWeight: updatedIfKnown(
            rates.dataWeight,
            // Nothing written weighs nothing: so the first rows written count as a rise.
            info.upperRowIndex === 0n && layout.hasCumulativeDataWeightColumn
              ? 0n
              : weight.cumulativeDataWeight,
            nowMs,
          ),
        },
      };
    });
  }

  /** The weights of the last row written and of the first available one; both are there as long as rows are. */
  async #weights(
    layout: QueueLayout,
    infos: ReadonlyMap<number, TabletInfo | YtError>,
    previous: QueueSnapshot | undefined,
  ): Promise<ReadonlyMap<number, Weights>> {
    const weights = new Map<number, Weights>();
    if (!layout.hasCumulativeDataWeightColumn) {
      return weights;
    }
    const keys: string[] = [];
    const mayKeep = !this.#weightsFailed && previous?.hasCumulativeDataWeightColumn === true;
    const missing: { readonly index: number; readonly info: TabletInfo; readonly kept: Partial<Weights> }[] =
      [];
    for (const [index, info] of infos) {
      if (info instanceof YtError || info.lowerRowIndex >= info.upperRowIndex) {
        continue;
      }
      const before = mayKeep ? previous.partitions[index] : undefined;
      const isSame = before?.error === null && before.tabletId === layout.tablets[index]?.tabletId;
      const kept: Partial<Weights> = {
        ...(isSame && before.upperRowIndex === info.upperRowIndex && before.lowerRowIndex < info.upperRowIndex
          ? { cumulativeDataWeight: before.cumulativeDataWeight }
          : {}),
        ...(isSame && before.lowerRowIndex === info.lowerRowIndex && before.upperRowIndex > info.lowerRowIndex
          ? { trimmedDataWeight: before.trimmedDataWeight }
          : {}),
      };
      if (kept.cumulativeDataWeight === undefined) {
        keys.push(rowKey(index, info.upperRowIndex - 1n));
      }
      if (kept.trimmedDataWeight === undefined) {
        keys.push(rowKey(index, info.lowerRowIndex));
      }
      missing.push({ index, info, kept });
    }
    let rows: ReadonlyMap<string, QueueRowInfo> = new Map();
    this.#weightsFailed = false;
    if (keys.length > 0) {
      try {
        rows = await this.#rows.read(keys, layout);
      } catch {
        // Weights are no reason to lose sight of the row counts: they are unknown for this pass.
        this.#weightsFailed = true;
      }
    }
    const weightAt = (index: number, row: bigint): bigint | null =>
      rows.get(rowKey(index, row))?.cumulativeDataWeight ?? null;
    for (const { index, info, kept } of missing) {
      weights.set(index, {
        cumulativeDataWeight:
          kept.cumulativeDataWeight === undefined
            ? weightAt(index, info.upperRowIndex - 1n)
            : kept.cumulativeDataWeight,
        trimmedDataWeight:
          kept.trimmedDataWeight === undefined ? weightAt(index, info.lowerRowIndex) : kept.trimmedDataWeight,
      });
    }
    return weights;
  }
}

type Weights = Pick<QueuePartitionSnapshot, "cumulativeDataWeight" | "trimmedDataWeight">;

const noWeights: Weights = { cumulativeDataWeight: null, trimmedDataWeight: null };

const noData = {
  lowerRowIndex: 0n,
  upperRowIndex: 0n,
  lastWriteTimestamp: 0n,
  ...noWeights,
  writeRates: emptyWriteRates,
};

function toInfo(value: YsonValue | undefined): TabletInfo {
  const field = (name: string): bigint => (isMap(value) ? (integerOf(value.get(name)) ?? 0n) : 0n);
  return {
    lowerRowIndex: field("trimmed_row_count"),
    upperRowIndex: field("total_row_count"),
    lastWriteTimestamp: field("last_write_timestamp"),
  };
}
