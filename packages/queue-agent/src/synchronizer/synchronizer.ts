/**
 * The Cypress synchronizer: copies what owners set on queues and consumers of all clusters into the state
 * tables. Only the leader of the election does it.
 *
 * Specified in: yt/yt/server/queue_agent/cypress_synchronizer.cpp.
 */
import { isMap, type mapOf, toYtError, turn, type YsonValue, YtError } from "@qyt/base";
import { isRetriable } from "@qyt/client";
import type { AlertKind } from "../alerts/alert.ts";
import { alertKinds } from "../alerts/alert-kinds.ts";
import type { AlertManager } from "../alerts/alert-manager.ts";
import { type BatchCall, executeReads, outputField } from "../clusters/batch.ts";
import type { AgentContext } from "../context.ts";
import type { StateRow } from "../objects/state-rows.ts";
import { PeriodicPass } from "../periodic-pass.ts";
import { integerOf } from "../scalars.ts";
import { deleteYson, insertYson } from "../state/row-io.ts";
import type { StateReader } from "../state/state-reader.ts";
import { encodeObjectKey, encodeStateRow } from "../state/state-rows-codec.ts";
import type { StateTables } from "../state/state-tables.ts";
import { erroneousRow, fetchedAttributes, rowOfAttributes } from "./attributes.ts";
import {
  conflictingReferences,
  isSameFailure,
  nextRowRevision,
  type ObjectRevisions,
  type ObjectRows,
  planPolling,
  planWatching,
  pollingObjects,
  type SyncObject,
  type SyncPlan,
} from "./sync-plan.ts";

export interface SynchronizerOptions {
  readonly context: AgentContext;
  readonly tables: StateTables;
  readonly stateReader: StateReader;
  readonly alerts: AlertManager;
  readonly isLeader: () => boolean;
  /** Called after rows were written or deleted. */
  readonly onChanged?: () => void;
}

type ClusterAlert = "synchronizerUnableToFetchObjectRevisions" | "synchronizerUnableToFetchAttributes";

/** The same alert in the words of the other policy. */
const polledRevisionsFailed: AlertKind = {
  ...alertKinds.synchronizerUnableToFetchObjectRevisions,
  description: "Error fetching object revisions from clusters",
};

/** Rows encoded before others have their turn. */
const rowsPerTurn = 200;

export class Synchronizer {
  readonly pass: PeriodicPass;
  readonly #options: SynchronizerOptions;

  constructor(options: SynchronizerOptions) {
    const { context, alerts } = options;
    this.#options = options;
    this.pass = new PeriodicPass({
      context,
      alerts,
      periodMs: () => context.config().synchronizer.passPeriodMs,
      run: (signal) => this.#pass(signal),
      failedAlert: alertKinds.synchronizerPassFailed,
      failedText: "Cypress synchronizer pass failed",
    });
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { context, isLeader } = this.#options;
    if (!isLeader()) {
      this.pass.status.rest();
      this.pass.alerts.publish();
      return;
    }
    if (context.config().synchronizer.enable) {
      await this.pass.status.measure(() => this.#synchronize(signal));
      this.pass.alerts.publish();
    }
  }

  async #synchronize(signal: AbortSignal): Promise<void> {
    const { context, stateReader } = this.#options;
    const { policy, writeReplicatedTableMapping } = context.config().synchronizer;
    if (policy === "polling" && writeReplicatedTableMapping) {
      throw new YtError("Cypress synchronizer cannot work with replicated objects in polling mode");
    }
    const rows = await stateReader.readObjects(signal);
    this.#reportConflicts(rows);
    const plan = policy === "watching" ? await this.#watch(rows, signal) : await this.#poll(rows, signal);
    await this.#apply(rows, plan, signal);
  }

  async #watch(rows: ObjectRows, signal: AbortSignal): Promise<SyncPlan> {
    const { clusters, config } = this.#options.context;
    const revisions = new Map<string, ObjectRevisions>();
    await Promise.all(
      (config().synchronizer.clusters ?? clusters.names()).map(async (cluster) => {
        try {
          const value = await clusters.client(cluster).get("//sys/@queue_agent_object_revisions", { signal });
          revisions.set(cluster, parseRevisions(value));
        } catch (thrown) {
          this.#reportCluster("synchronizerUnableToFetchObjectRevisions", cluster, thrown);
        }
      }),
    );
    return planWatching(rows, revisions);
  }

  async #poll(rows: ObjectRows, signal: AbortSignal): Promise<SyncPlan> {
    const objects = pollingObjects(rows);
    const results = await this.#readAll(
      objects,
      ({ reference }) => ({ command: "get", parameters: { path: `${reference.path}/@attribute_revision` } }),
      "synchronizerUnableToFetchObjectRevisions",
      signal,
    );
    const revisions = results.map((result) => {
      const value = result === undefined ? undefined : outputField(result, "value");
      return value === undefined || value instanceof YtError ? value : (integerOf(value) ?? undefined);
    });
    return planPolling(rows, objects, revisions);
  }

  async #apply(rows: ObjectRows, plan: SyncPlan, signal: AbortSignal): Promise<void> {
    const { tables, context, isLeader, onChanged } = this.#options;
    const fetched = await this.#fetch(rows, plan.fetch, signal);
    const failed = plan.failed
      .filter((object) => !isSameFailure(rows, object, object.error))
      .map((object) =>
        erroneousRow(object.kind, object.reference, nextRowRevision(rows, object), object.error),
      );
    const written = [...fetched, ...failed];
    if (written.length === 0 && plan.remove.length === 0) {
      return;
    }
    if (!isLeader()) {
      throw new YtError("The leadership was lost during the pass; nothing was written");
    }
    for (const kind of ["queue", "consumer"] as const) {
      const { cluster, path } = tables[kind === "queue" ? "queues" : "consumers"];
      const client = context.clusters.client(cluster);
      const keys = plan.remove.filter((object) => object.kind === kind);
      await deleteYson(
        client,
        path,
        keys.map(({ reference }) => encodeObjectKey(reference)),
        { signal },
      );
      await insertYson(client, path, await encodeRows(written.filter((row) => row.kind === kind)), {
        signal,
      });
    }
    onChanged?.();
  }

  /** The rows of the objects as they are now. Objects of a cluster that does not answer are left out. */
  async #fetch(rows: ObjectRows, objects: readonly SyncObject[], signal: AbortSignal): Promise<StateRow[]> {
    const results = await this.#readAll(
      objects,
      ({ kind, reference }) => ({
        command: "get",
        parameters: { path: `${reference.path}/@`, attributes: fetchedAttributes[kind] },
      }),
      "synchronizerUnableToFetchAttributes",
      signal,
    );
    const fetched: StateRow[] = [];
    for (const [index, object] of objects.entries()) {
      const result = results[index];
      const value = result === undefined ? undefined : outputField(result, "value");
      const { kind, reference } = object;
      const rowRevision = nextRowRevision(rows, object);
      if (value instanceof YtError) {
        if (!isSameFailure(rows, object, value)) {
          fetched.push(erroneousRow(kind, reference, rowRevision, value));
        }
      } else if (isMap(value)) {
        fetched.push(rowOfAttributes(kind, reference, rowRevision, value));
      }
    }
    return fetched;
  }

  /**
   * One read an object, a batch a cluster. `undefined` where the cluster did not answer, or could not take
   * the read just now: its rows stay, and an alert names it.
   */
  async #readAll(
    objects: readonly SyncObject[],
    read: (object: SyncObject) => BatchCall,
    alert: ClusterAlert,
    signal: AbortSignal,
  ): Promise<readonly (YsonValue | YtError | undefined)[]> {
    const results = new Array<YsonValue | YtError | undefined>(objects.length).fill(undefined);
    await Promise.all(
      [...indexesByCluster(objects)].map(async ([cluster, indexes]) => {
        try {
          const client = this.#options.context.clusters.client(cluster);
          const reads = indexes.flatMap((index) => objects.slice(index, index + 1).map(read));
          const answers = await executeReads(client, reads, { signal });
          for (const [position, index] of indexes.entries()) {
            const answer = answers[position];
            if (answer instanceof YtError && isRetriable(answer)) {
              this.#reportCluster(alert, cluster, answer);
            } else {
              results[index] = answer;
            }
          }
        } catch (thrown) {
          this.#reportCluster(alert, cluster, thrown);
        }
      }),
    );
    return results;
  }

  #reportCluster(alert: ClusterAlert, cluster: string, thrown: unknown): void {
    const { policy } = this.#options.context.config().synchronizer;
    const kind =
      alert === "synchronizerUnableToFetchObjectRevisions" && policy === "polling"
        ? polledRevisionsFailed
        : alertKinds[alert];
    this.pass.alerts.stage(kind, toYtError(thrown), new Map([["cluster", cluster]]));
  }

  #reportConflicts(rows: ObjectRows): void {
    for (const { cluster, path } of conflictingReferences(rows)) {
      this.pass.alerts.stage(
        alertKinds.synchronizerConflictingDynamicStateObjects,
        new YtError(`The object ${cluster}:${path} is both a queue and a consumer in the state tables`),
        new Map([
          ["cluster", cluster],
          ["path", path],
        ]),
      );
    }
  }
}

function indexesByCluster(objects: readonly SyncObject[]): ReadonlyMap<string, readonly number[]> {
  const result = new Map<string, number[]>();
  for (const [index, { reference }] of objects.entries()) {
    const indexes = result.get(reference.cluster);
    if (indexes === undefined) {
      result.set(reference.cluster, [index]);
    } else {
      indexes.push(index);
    }
  }
  return result;
}

/** @throws YtError when the answer is no map of maps */
function parseRevisions(value: YsonValue): ObjectRevisions {
  const of = (name: string): ReadonlyMap<string, bigint> => {
    const listed = isMap(value) ? value.get(name) : undefined;
    if (!isMap(listed)) {
      throw new YtError(`The list of the cluster's objects has no map "${name}"`);
    }
    const revisions = new Map<string, bigint>();
    for (const [path, revision] of listed) {
      const number = integerOf(revision);
      if (number !== null) {
        revisions.set(path, number);
      }
    }
    return revisions;
  };
  return { queue: of("queues"), consumer: of("consumers") };
}

async function encodeRows(rows: readonly StateRow[]): Promise<ReturnType<typeof mapOf>[]> {
  const result: ReturnType<typeof mapOf>[] = [];
  for (const row of rows) {
    result.push(encodeStateRow(row));
    if (result.length % rowsPerTurn === 0) {
      await turn();
    }
  }
  return result;
}
