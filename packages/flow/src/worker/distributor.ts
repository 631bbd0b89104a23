/**
 * Brings messages from the jobs of this worker to those of all, and takes in what others send. One call at a time to
 * each worker, with what has gathered for it meanwhile; repeated until the receivers have committed.
 * Specified in: yt/yt/flow/library/cpp/worker/message_distributor_detail.cpp,
 * common/worker/proto/message_service.proto.
 */
import { type Clock, sleep, type YsonValue } from "@qyt/base";
import type { FinishedListener, InputBuffer } from "../computations/input-buffer.ts";
import type { JobId, MessageId } from "../model/message.ts";
import type { Network, PushAnswer, PushMessages } from "../protocol/protocol.ts";
import {
  pushAnswersFromYson,
  pushAnswersToYson,
  pushesFromYson,
  pushesToYson,
} from "../protocol/push-codec.ts";
import type { Lane, LaneLimits } from "./lane.ts";

export const pushMessagesMethod = "push_messages";

const failureBackoffMs = 200;
/** How long a sender's finished messages are kept after its last call. */
const sessionLifetimeMs = 600_000;

export interface DistributorOptions {
  readonly address: string;
  readonly network: Network;
  readonly clock: Clock;
  readonly limits: () => LaneLimits & {
    /** Between questions about what is finished, in milliseconds. */
    readonly pollMs: number;
    readonly timeoutMs: number;
  };
  /** The input of a job that runs here. */
  readonly inputOf: (jobId: JobId) => InputBuffer | undefined;
}

export class MessageDistributor {
  readonly #options: DistributorOptions;
  readonly #pumps = new Map<string, Pump>();
  readonly #sessions = new Map<string, Session>();
  #isClosed = false;

  constructor(options: DistributorOptions) {
    this.#options = options;
  }

  /** Lanes have something to send. Those without a receiver wait for a new layout. */
  wake(lanes: Iterable<Lane>): void {
    for (const lane of lanes) {
      const { address } = lane;
      if (address !== undefined && !this.#isClosed) {
        let pump = this.#pumps.get(address);
        if (pump === undefined) {
          pump = new Pump(this.#options, address, (pushes, own) => this.#push(address, pushes, own));
          this.#pumps.set(address, pump);
        }
        pump.add(lane);
      }
    }
  }

  /** A job is over: its lanes are. */
  forget(jobId: JobId): void {
    for (const pump of this.#pumps.values()) {
      pump.forget(jobId);
    }
    for (const [name, session] of this.#sessions) {
      if (session.toJobId === jobId) {
        this.#sessions.delete(name);
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const pump of this.#pumps.values()) {
      pump.close();
    }
  }

  /** What another worker sends. */
  receive(body: YsonValue): YsonValue {
    this.#dropOldSessions();
    return pushAnswersToYson(pushesFromYson(body).map((push) => this.#receiveOne(push)));
  }

  #receiveOne(push: PushMessages): PushAnswer {
    const input = this.#options.inputOf(push.toJobId);
    if (input === undefined) {
      return unknownJob;
    }
    const name = `${push.fromJobId}\0${push.toJobId}`;
    let session = this.#sessions.get(name);
    if (session === undefined) {
      session = new Session(push.toJobId);
      this.#sessions.set(name, session);
    }
    session.lastCallMs = this.#options.clock.monotonic();
    session.acknowledge(push.acknowledgedOffset);
    const accepted = input.offer(push.messages, session);
    return {
      isUnknownJob: false,
      accepted,
      finished: session.list,
      finishedOffset: session.offset + session.list.length,
      byteLimit: input.freeBytes,
    };
  }

  #dropOldSessions(): void {
    const oldestMs = this.#options.clock.monotonic() - sessionLifetimeMs;
    for (const [name, session] of this.#sessions) {
      if (session.lastCallMs < oldestMs) {
        this.#sessions.delete(name);
      }
    }
  }

  async #push(
    address: string,
    pushes: readonly PushMessages[],
    lanes: readonly Lane[],
  ): Promise<readonly PushAnswer[]> {
    if (address === this.#options.address) {
      return pushes.map((push, index) => this.#pushLocally(push, lanes[index]));
    }
    const answer = await this.#options.network.call(address, pushMessagesMethod, pushesToYson(pushes), {
      timeoutMs: this.#options.limits().timeoutMs,
    });
    return pushAnswersFromYson(answer);
  }

  /** Without a codec; the lane itself is told what is finished. */
  #pushLocally(push: PushMessages, lane: Lane | undefined): PushAnswer {
    const input = this.#options.inputOf(push.toJobId);
    if (input === undefined || lane === undefined) {
      return unknownJob;
    }
    const accepted = input.offer(push.messages, lane);
    return { isUnknownJob: false, accepted, finished: [], finishedOffset: 0, byteLimit: input.freeBytes };
  }
}

const unknownJob: PushAnswer = {
  isUnknownJob: true,
  accepted: 0,
  finished: [],
  finishedOffset: 0,
  byteLimit: 0,
};

/** What one job has finished of another one's messages and the sender may not know yet. */
class Session implements FinishedListener {
  readonly toJobId: JobId;
  lastCallMs = 0;
  offset = 0;
  list: MessageId[] = [];

  constructor(toJobId: JobId) {
    this.toJobId = toJobId;
  }

  finished(ids: readonly MessageId[]): void {
    this.list.push(...ids);
  }

  /** The sender knows all before this offset. */
  acknowledge(offset: number): void {
    const known = Math.min(Math.max(0, offset - this.offset), this.list.length);
    if (known > 0) {
      this.list = this.list.slice(known);
      this.offset += known;
    }
  }
}

type Push = (pushes: readonly PushMessages[], lanes: readonly Lane[]) => Promise<readonly PushAnswer[]>;

/** The calls to one worker. */
class Pump {
  readonly #options: DistributorOptions;
  readonly #isLocal: boolean;
  readonly #address: string;
  readonly #push: Push;
  readonly #lanes = new Set<Lane>();
  #isRunning = false;
  #isClosed = false;
  #nextPollMs = 0;
  #wake: (() => void) | undefined;

  constructor(options: DistributorOptions, address: string, push: Push) {
    this.#options = options;
    this.#address = address;
    this.#isLocal = address === options.address;
    this.#push = push;
  }

  add(lane: Lane): void {
    this.#lanes.add(lane);
    this.#wake?.();
    if (!this.#isRunning) {
      this.#isRunning = true;
      void this.#run();
    }
  }

  forget(jobId: JobId): void {
    for (const lane of this.#lanes) {
      if (lane.fromJobId === jobId) {
        this.#lanes.delete(lane);
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      for (const lane of this.#lanes) {
        if (lane.address !== this.#address || !(lane.hasUnsent || (lane.hasSent && !this.#isLocal))) {
          this.#lanes.delete(lane);
        }
      }
      if (this.#lanes.size === 0) {
        break;
      }
      const sending = [...this.#lanes].filter((lane) => lane.hasUnsent);
      const isReady = sending.some((lane) => !lane.isFull);
      const restMs = this.#nextPollMs - this.#options.clock.monotonic();
      if (!isReady && restMs > 0) {
        await this.#pause(restMs);
        continue;
      }
      await this.#exchange();
      this.#nextPollMs = this.#options.clock.monotonic() + this.#options.limits().pollMs;
    }
    this.#isRunning = false;
  }

  /** Until the time has passed, or new work has come. */
  async #pause(durationMs: number): Promise<void> {
    const timer = new AbortController();
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const passed = sleep(this.#options.clock, durationMs, timer.signal).catch(() => {});
    await Promise.race([woken, passed]);
    this.#wake = undefined;
    timer.abort();
  }

  async #exchange(): Promise<void> {
    const limits = this.#options.limits();
    const lanes = [...this.#lanes].filter((lane) => lane.hasUnsent || (lane.hasSent && !this.#isLocal));
    if (lanes.length === 0) {
      return;
    }
    const pushes = lanes.map((lane) => lane.request(limits));
    try {
      const answers = await this.#push(pushes, lanes);
      for (const [index, lane] of lanes.entries()) {
        const push = pushes[index];
        const answer = answers[index];
        if (push !== undefined && answer !== undefined) {
          lane.answered(push, answer);
        }
      }
    } catch {
      for (const [index, lane] of lanes.entries()) {
        const push = pushes[index];
        if (push !== undefined) {
          lane.failed(push);
        }
      }
      await sleep(this.#options.clock, failureBackoffMs);
    }
  }
}
