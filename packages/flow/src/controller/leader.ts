/**
 * The leading controller of one pipeline: all decisions, once a cycle, in one transaction each; answers to the
 * heartbeats of workers from what was committed last.
 *
 * Its memory is right as long as every transaction succeeds. When one does not, the leader is thrown away and
 * whoever leads next reads the tables.
 * Specified in: yt/yt/flow/library/cpp/controller/controller.cpp, job_manager.cpp.
 */
import { emptyMap, isMap, mapOf, toYtError, type YsonMap, type YsonValue, type YtError } from "@qyt/base";
import type { FlowCluster, FlowTransaction } from "../cluster/flow-cluster.ts";
import type { ComputationId, FlowTimestamp } from "../model/message.ts";
import {
  timestampFromYson,
  timestampOfSeqNo,
  timestampToUint64,
  undefinedTimestamp,
} from "../model/timestamps.ts";
import type { Heartbeat, HeartbeatAnswer, PipelineState, Traverse } from "../protocol/protocol.ts";
import { pipelineStates } from "../spec/dynamic-spec.ts";
import { textCell } from "../tables/cells.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { grantLeases, type LeaseTables, revokeLeases, touchDeadline } from "../tables/leases.ts";
import { Assignments } from "./assignments.ts";
import { ConnectorControllers } from "./connector-controllers.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { FailureLog } from "./failures.ts";
import type { Job, Layout } from "./layout.ts";
import { LayoutLog } from "./layout-log.ts";
import type { Leadership } from "./leadership.ts";
import { type ProgressReport, ProgressTracker } from "./progress.ts";
import { schedule, tooFewWorkers } from "./scheduling.ts";
import { noSpecs, type ParsedSpecs, parseSpecs, type Specs } from "./spec-store.ts";
import { afterJobs, hasJobs, towardsTarget } from "./state-machine.ts";
import { readDocuments, versionedFromYson, versionedToYson, writeDocument } from "./versioned.ts";
import { WorkerRegistry } from "./workers.ts";

const documents = ["spec", "dynamic_spec", "flow_view"] as const;

export class Leader {
  readonly options: ControllerOptions;
  readonly #leadership: Leadership;
  readonly #tables: LeaseTables;
  readonly #documentsPath: string;
  readonly #log: LayoutLog;
  readonly workers = new WorkerRegistry();
  readonly failures = new FailureLog();
  readonly #sinceMs: number;
  #layout: Layout;
  #specs: Specs = noSpecs;
  #parsed: ParsedSpecs | undefined;
  #specError: YtError | undefined;
  #state: PipelineState = "unknown";
  #connectors: ConnectorControllers | undefined;
  /** Versions that the connectors were made for. */
  #connectorVersions = "";
  #tracker = new ProgressTracker();
  #progress: ProgressReport | undefined;
  #connectorStates: YsonMap = emptyMap;
  #appliedTopologies = new Map<ComputationId, string>();
  #steadySinceMs: number;
  /** Of the specs and the layout; the start of the transaction that changed them last. */
  #epoch = 0n;
  #epochKey = "";
  #now: FlowTimestamp = undefinedTimestamp;
  #assignments: Assignments | undefined;
  #failure: YtError | undefined;
  /** One after the other: cycles and changes of specs. */
  #serial: Promise<unknown> = Promise.resolve();

  private constructor(options: ControllerOptions, leadership: Leadership, layout: Layout, log: LayoutLog) {
    this.options = options;
    this.#leadership = leadership;
    this.#layout = layout;
    this.#log = log;
    this.#sinceMs = options.clock.monotonic();
    this.#steadySinceMs = this.#sinceMs;
    const at = (name: Parameters<typeof pipelineTablePath>[1]): string =>
      pipelineTablePath(options.pipelinePath, name);
    this.#documentsPath = at("flow_state_obsolete");
    this.#tables = {
      flowControl: at("flow_control"),
      leases: at("leases"),
      partitionTransactions: at("partition_transactions"),
    };
  }

  /** Reads everything from the tables. The caller has captured the lease. */
  static async load(options: ControllerOptions, leadership: Leadership): Promise<Leader> {
    const log = new LayoutLog(pipelineTablePath(options.pipelinePath, "flow_state"));
    const layout = await log.load(options.cluster);
    const leader = new Leader(options, leadership, layout, log);
    await leader.#loadDocuments(options.cluster);
    return leader;
  }

  /** Why this leader is to be thrown away; `undefined` while it is good. */
  get failure(): YtError | undefined {
    return this.#failure;
  }

  get state(): PipelineState {
    return this.#state;
  }

  get specs(): Specs {
    return this.#specs;
  }

  get parsed(): ParsedSpecs | undefined {
    return this.#parsed;
  }

  get layout(): Layout {
    return this.#layout;
  }

  get progress(): ProgressReport | undefined {
    return this.#progress;
  }

  get epoch(): bigint {
    return this.#epoch;
  }

  get now(): FlowTimestamp {
    return this.#now;
  }

  get target(): PipelineState {
    return this.#parsed?.dynamicSpec.targetState ?? "unknown";
  }

  /** What holds the pipeline back, by path of the status tree. */
  get errors(): ReadonlyMap<string, YtError> {
    const errors = new Map<string, YtError>(this.#connectors?.errors);
    for (const [path, error] of this.#progress?.errors ?? []) {
      errors.set(path, error);
    }
    if (this.#specError !== undefined) {
      errors.set("/spec", this.#specError);
    }
    const few =
      this.#parsed === undefined || !hasJobs(this.#state)
        ? undefined
        : tooFewWorkers(this.workers.workers.size, this.#parsed.dynamicSpec.jobManager.minimumWorkerCount);
    if (few !== undefined) {
      errors.set("/job_manager/workers", few);
    }
    return errors;
  }

  /** One cycle. @throws YtError when this one leads no more, or cannot tell: it is to be thrown away */
  cycle(): Promise<void> {
    return this.#inOrder(() =>
      this.#transact(async (transaction) => {
        await this.#refreshSpecs();
        this.#decide(transaction);
        this.#write(transaction);
      }),
    ).then(() => this.#publish());
  }

  /**
   * Changes the specs by a pure function of them, in a transaction of its own; nothing is written when it gives the
   * same object back.
   * @throws YtError of `change`, and then nothing has changed
   */
  changeSpecs(change: (specs: Specs, newVersion: bigint) => Specs): Promise<Specs> {
    return this.#inOrder(async () => {
      const newVersion = await this.options.cluster.generateTimestamp();
      const changed = change(this.#specs, newVersion);
      if (changed !== this.#specs) {
        await this.#transact((transaction) => {
          this.#writeSpecs(transaction, changed);
          return Promise.resolve();
        });
        this.#specs = changed;
      }
      return changed;
    });
  }

  heartbeat(heartbeat: Heartbeat): HeartbeatAnswer | undefined {
    this.workers.heartbeat(heartbeat, this.options.clock.monotonic());
    return this.#assignments?.answer(heartbeat);
  }

  async stop(): Promise<void> {
    await this.#connectors?.stop();
  }

  async #loadDocuments(cluster: FlowCluster): Promise<void> {
    const found = await readDocuments(cluster, this.#documentsPath, documents);
    this.#specs = {
      spec: versionedFromYson(found.get("spec")),
      dynamicSpec: versionedFromYson(found.get("dynamic_spec")),
    };
    const view = found.get("flow_view");
    const state = isMap(view) ? view.get("pipeline_state") : undefined;
    this.#state = pipelineStates.find((name) => name === state) ?? "unknown";
    const streams = isMap(view) ? view.get("streams") : undefined;
    this.#tracker = new ProgressTracker(traversesFromYson(streams));
    const states = isMap(view) ? view.get("connector_states") : undefined;
    this.#connectorStates = isMap(states) ? states : emptyMap;
    const topologies = isMap(view) ? view.get("applied_sink_topologies") : undefined;
    for (const [id, topology] of isMap(topologies) ? topologies : emptyMap) {
      this.#appliedTopologies.set(id, String(topology));
    }
  }

  /** Parses specs that are new, and makes their connectors' controllers. */
  async #refreshSpecs(): Promise<void> {
    const { spec, dynamicSpec } = this.#specs;
    const versions = `${spec.version}/${dynamicSpec.version}`;
    if (versions === this.#connectorVersions) {
      return;
    }
    try {
      const parsed = parseSpecs(this.#specs, {
        registry: this.options.registry,
        pipelineCluster: this.options.cluster.name,
      });
      const isStaticSame = this.#connectorVersions.startsWith(`${spec.version}/`);
      this.#parsed = parsed;
      if (isStaticSame && this.#connectors !== undefined) {
        this.#connectors.reconfigure(parsed.dynamicSpec);
      } else {
        const states = this.#connectors?.states() ?? this.#connectorStates;
        await this.#connectors?.stop();
        this.#connectors = new ConnectorControllers({
          registry: this.options.registry,
          contextAt: this.options.connectorContext,
          spec: parsed.spec,
          dynamicSpec: parsed.dynamicSpec,
          states,
        });
      }
      this.#specError = undefined;
    } catch (thrown) {
      this.#specError = toYtError(thrown);
    }
    this.#connectorVersions = versions;
  }

  #decide(transaction: FlowTransaction): void {
    const { clock, random, log } = this.options;
    this.#now = timestampOfSeqNo(transaction.startTimestamp);
    const before = [...this.#layout.jobs.values()];
    const parsed = this.#parsed;
    this.#state = towardsTarget(this.#state, this.target, true);
    if (parsed !== undefined && this.#connectors !== undefined && hasJobs(this.#state)) {
      const result = schedule({
        specs: parsed,
        layout: this.#layout,
        workers: this.workers,
        connectors: this.#connectors,
        failures: this.failures,
        random,
        now: this.#now,
        nowMs: clock.monotonic(),
        leaderSinceMs: this.#sinceMs,
        steadySinceMs: this.#steadySinceMs,
        appliedTopologies: this.#appliedTopologies,
      });
      if (result.hasRepartitioned || result.addedJobs.length > 0 || result.removedJobs.length > 0) {
        this.#steadySinceMs = clock.monotonic();
      }
      for (const event of result.events) {
        log("info", event);
      }
      this.#writePublicLog(transaction, result.events);
    }
    this.#markEpoch(transaction);
    if (parsed !== undefined) {
      this.#advance(parsed);
    }
    if (!hasJobs(this.#state)) {
      for (const job of [...this.#layout.jobs.values()]) {
        this.#layout.removeJob(job.jobId);
      }
    }
    this.#markEpoch(transaction);
    this.#writeLeases(transaction, before);
  }

  #advance(parsed: ParsedSpecs): void {
    const progress = this.#tracker.update({
      spec: parsed.spec,
      layout: this.#layout,
      statuses: this.workers.statuses,
      epoch: this.#epoch,
      now: this.#now,
    });
    this.#progress = progress;
    this.#connectors?.setWatermarks(
      new Map([...progress.streams].map(([name, traverse]) => [name, traverse.eventWatermark])),
    );
    this.#state = afterJobs(this.#state, progress);
  }

  /** A change of specs, state or layout begins an epoch: what jobs report of an earlier one says nothing of the end. */
  #markEpoch(transaction: FlowTransaction): void {
    const { spec, dynamicSpec } = this.#specs;
    const key = `${spec.version}/${dynamicSpec.version}/${this.#state}/${this.#layout.version}`;
    if (key !== this.#epochKey) {
      this.#epochKey = key;
      this.#epoch = transaction.startTimestamp;
    }
  }

  #writeLeases(transaction: FlowTransaction, before: readonly Job[]): void {
    const after = this.#layout.jobs;
    const known = new Set(before.map((job) => job.jobId));
    const granted = [...after.values()].filter((job) => !known.has(job.jobId));
    const regranted = new Set(granted.map((job) => job.partitionId));
    const revoked = before.filter((job) => !after.has(job.jobId) && !regranted.has(job.partitionId));
    touchDeadline(transaction, this.#tables, this.options.jobLeaseSeconds);
    grantLeases(transaction, this.#tables, granted);
    revokeLeases(transaction, this.#tables, revoked);
  }

  #write(transaction: FlowTransaction): void {
    this.#log.append(transaction, this.#layout);
    this.#connectorStates = this.#connectors?.states() ?? this.#connectorStates;
    writeDocument(
      transaction,
      this.#documentsPath,
      "flow_view",
      mapOf({
        pipeline_state: this.#state,
        streams: traversesToYson(this.#tracker.streams),
        connector_states: this.#connectorStates,
        applied_sink_topologies: new Map(this.#appliedTopologies),
      }),
    );
  }

  #writeSpecs(transaction: FlowTransaction, specs: Specs): void {
    writeDocument(transaction, this.#documentsPath, "spec", versionedToYson(specs.spec));
    writeDocument(transaction, this.#documentsPath, "dynamic_spec", versionedToYson(specs.dynamicSpec));
    const versions = mapOf({ pipeline_spec: specs.spec.version, dynamic_spec: specs.dynamicSpec.version });
    writeDocument(transaction, this.#documentsPath, "important_versions", versions);
  }

  #writePublicLog(transaction: FlowTransaction, events: readonly string[]): void {
    if (events.length > 0) {
      const host = textCell(this.options.address);
      transaction.insertRows(pipelineTablePath(this.options.pipelinePath, "controller_logs"), {
        columns: ["host", "data"],
        rows: events.map((event) => [host, textCell(event)]),
      });
    }
  }

  #publish(): void {
    if (this.#parsed !== undefined && this.#progress !== undefined) {
      this.#assignments = new Assignments({
        incarnationId: this.options.incarnationId,
        state: this.#state,
        specs: this.#specs,
        spec: this.#parsed.spec,
        layout: this.#layout,
        epoch: this.#epoch,
        progress: this.#progress,
      });
    }
  }

  /** A transaction that fails leaves it open what the tables hold: this leader's memory is worth nothing then. */
  async #transact(write: (transaction: FlowTransaction) => Promise<void>): Promise<void> {
    try {
      await this.#leadership.transact(write);
    } catch (thrown) {
      this.#failure = toYtError(thrown);
      throw thrown;
    }
  }

  #inOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = this.#serial.then(work, work);
    this.#serial = next.catch(() => undefined);
    return next;
  }
}

function traversesToYson(streams: ReadonlyMap<string, Traverse>): YsonMap {
  return new Map(
    [...streams].map(([name, traverse]): [string, YsonValue] => [
      name,
      mapOf({
        system_watermark: timestampToUint64(traverse.systemWatermark),
        event_watermark: timestampToUint64(traverse.eventWatermark),
      }),
    ]),
  );
}

function traversesFromYson(value: YsonValue | undefined): ReadonlyMap<string, Traverse> {
  const streams = new Map<string, Traverse>();
  for (const [name, fields] of isMap(value) ? value : emptyMap) {
    if (isMap(fields)) {
      streams.set(name, {
        epoch: 0n,
        state: "active",
        systemWatermark: timestampFromYson(fields.get("system_watermark") ?? 0n),
        eventWatermark: timestampFromYson(fields.get("event_watermark") ?? 0n),
      });
    }
  }
  return streams;
}
