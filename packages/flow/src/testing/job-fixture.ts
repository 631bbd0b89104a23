/** One transform or swift map alone, epoch by epoch, against a cluster in memory. */
import { seededRandom } from "@qyt/base";

import { FakeClock } from "@qyt/testing";
import { parseYson } from "@qyt/yson";
import type { FlowTransaction } from "../cluster/flow-cluster.ts";
import type { EpochResult, JobConditions, JobContext, Outbox } from "../computations/job-context.ts";
import type { StoredOutput } from "../computations/output-store.ts";
import { TransformComputation } from "../computations/transform.ts";
import type { ProcessFunction } from "../functions/process-function.ts";
import { functionRegistry } from "../functions/registry.ts";
import type { FlowTimestamp, Message, MessageId } from "../model/message.ts";
import { flowTimestamp } from "../model/timestamps.ts";
import { parseDynamicSpec } from "../spec/dynamic-spec.ts";
import { parsePipelineSpec } from "../spec/pipeline-spec.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { grantLeases, touchDeadline } from "../tables/leases.ts";
import { listRegistry } from "./connectors-fixture.ts";
import { MemoryCluster } from "./memory-cluster-fixture.ts";

export const pipelinePath = "//pipeline";
const partitionId = "partition";
const deadlineSeconds = 1_000_000;

/** Keeps what is sent, until the test says that it is delivered. */
export class HeldOutbox implements Outbox {
  sent: { readonly output: StoredOutput; readonly done: (output: StoredOutput) => void }[] = [];
  full = new Set<string>();

  consumerCount(): number {
    return 1;
  }

  isFull(streamId: string): boolean {
    return this.full.has(streamId);
  }

  send(outputs: readonly StoredOutput[], done: (output: StoredOutput) => void): void {
    this.sent.push(...outputs.map((output) => ({ output, done })));
  }

  get messages(): readonly Message[] {
    return this.sent.map(({ output }) => output.message);
  }

  deliverAll(): void {
    for (const { output, done } of this.sent.splice(0)) {
      done(output);
    }
  }
}

export interface JobWorld {
  readonly clock: FakeClock;
  readonly cluster: MemoryCluster;
  /** Of finished messages, told to their sender. */
  readonly finished: MessageId[];
  job(options?: { readonly jobId?: string }): Promise<JobUnderTest>;
  /** Waits on the fake clock. */
  drive<T>(work: Promise<T>): Promise<T>;
  grant(jobId: string): Promise<void>;
}

export interface JobUnderTest {
  readonly computation: TransformComputation;
  readonly outbox: HeldOutbox;
  epoch(): Promise<EpochResult>;
  push(messages: readonly Message[]): number;
  conditions(change: {
    readonly watermarks?: Readonly<Record<string, number>>;
    readonly dynamicSpec?: string;
    readonly isDraining?: boolean;
    readonly blockedStreams?: readonly string[];
  }): void;
}

/**
 * @param spec of a pipeline, as text, with a computation `it`
 * @param dynamicSpec of the computation, as text
 */
export function jobWorld(
  spec: string,
  functions: readonly ProcessFunction[] = [],
  dynamicSpec = "{batch_duration = 0}",
): JobWorld {
  const clock = new FakeClock();
  const random = seededRandom(1);
  const noFaults = { lostRequest: 0, lostAnswer: 0, lateRequest: 0, maxDelayMs: 0 };
  const cluster = new MemoryCluster("primary", clock, random, noFaults);
  cluster.createPipeline(pipelinePath);
  const parsed = parsePipelineSpec(parseYson(Buffer.from(spec))).spec;
  const finished: MessageId[] = [];
  const connection = cluster.connect({ isKilled: false });

  async function drive<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const settled = work.then(
      () => {
        isOver = true;
      },
      () => {
        isOver = true;
      },
    );
    await clock.advanceUntil(() => isOver);
    await settled;
    return await work;
  }

  async function grant(jobId: string): Promise<void> {
    const at = (name: "flow_control" | "leases" | "partition_transactions"): string =>
      pipelineTablePath(pipelinePath, name);
    const tables = {
      flowControl: at("flow_control"),
      leases: at("leases"),
      partitionTransactions: at("partition_transactions"),
    };
    const transaction: FlowTransaction = await drive(connection.startTransaction());
    touchDeadline(transaction, tables, deadlineSeconds);
    grantLeases(transaction, tables, [{ partitionId, jobId }]);
    await drive(transaction.commit());
  }

  function conditionsOf(
    change: Parameters<JobUnderTest["conditions"]>[0],
    before?: JobConditions,
  ): JobConditions {
    const watermarks = new Map(
      Object.entries(change.watermarks ?? {}).map(([id, time]) => [
        id,
        { systemWatermark: flowTimestamp(time), eventWatermark: flowTimestamp(time) },
      ]),
    );
    const parsedDynamic = (text: string): JobConditions["dynamicSpec"] => {
      const whole = parseDynamicSpec(parseYson(Buffer.from(`{computations = {it = ${text}}}`))).spec;
      const found = whole.computations.get("it");
      if (found === undefined) {
        throw new Error("no such computation");
      }
      return found;
    };
    return {
      dynamicSpec:
        change.dynamicSpec === undefined
          ? (before?.dynamicSpec ?? parsedDynamic(dynamicSpec))
          : parsedDynamic(change.dynamicSpec),
      isDraining: change.isDraining ?? before?.isDraining ?? false,
      watermarks: {
        currentTimestamp: flowTimestamp(clock.now() / 1_000),
        streams: change.watermarks === undefined ? (before?.watermarks.streams ?? new Map()) : watermarks,
        alignmentGroups: new Map(),
      },
      inputTraverse: new Map(),
      blockedStreams: new Set(change.blockedStreams ?? before?.blockedStreams ?? []),
      partitionState: "executing",
    };
  }

  return {
    clock,
    cluster,
    finished,
    drive,
    grant,
    async job({ jobId = "job-1" } = {}) {
      await grant(jobId);
      const computation = parsed.computations.get("it");
      if (computation === undefined) {
        throw new Error("the spec has no computation `it`");
      }
      const outbox = new HeldOutbox();
      const context: JobContext = {
        cluster: connection,
        clusters: { cluster: () => connection },
        pipelinePath,
        clock,
        random,
        log: () => {},
        status: { report: () => {} },
        registry: listRegistry(new Map()),
        functions: functionRegistry(functions),
        partition: {
          partitionId,
          computationId: "it",
          range: { lower: 0n, upper: undefined },
          sourceKey: undefined,
          state: "executing",
          currentJobId: jobId,
          workerAddress: "here",
        },
        jobId,
        spec: computation,
        streams: new Map([...parsed.streams].map(([id, stream]) => [id, stream.schema])),
        specGeneration: 1n,
        outbox,
        inputByteLimit: () => 2 ** 20,
      };
      let conditions = conditionsOf({});
      const under = new TransformComputation(context, conditions);
      await drive(under.init());
      const sender = { finished: (ids: readonly MessageId[]) => finished.push(...ids) };
      return {
        computation: under,
        outbox,
        epoch: () => drive(under.epoch()),
        push: (messages) => under.input.offer(messages, sender),
        conditions(change) {
          conditions = conditionsOf(change, conditions);
          under.update(conditions);
        },
      };
    },
  };
}

/** A message of the stream `in` with a word; its id is made of a number. */
export function wordMessage(
  number: number,
  word: string,
  times: { readonly event?: number; readonly system?: number } = {},
): Message {
  const system = (times.system ?? 1_737_640_800) as FlowTimestamp;
  return {
    messageId: `m${String(number).padStart(4, "0")}` as MessageId,
    streamId: "in",
    systemTimestamp: system,
    eventTimestamp: (times.event ?? system) as FlowTimestamp,
    alignmentTimestamp: system,
    payload: [Buffer.from(word)],
  };
}
