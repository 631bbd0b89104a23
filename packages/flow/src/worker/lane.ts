/**
 * Messages from one job to one partition: those that wait to be sent, and those that the receiver has but has not
 * finished with. Sent in order; sent again when the receiver is another job, or an answer was lost.
 */
import type { StoredOutput } from "../computations/output-store.ts";
import type { JobId, MessageId, PartitionId } from "../model/message.ts";
import type { PushAnswer, PushMessages } from "../protocol/protocol.ts";
import type { Consumer, Target } from "./routes.ts";

/** A message on its way to one consumer. */
export interface Parcel {
  /** Grows in the order of sending. */
  readonly order: number;
  readonly output: StoredOutput;
  readonly consumer: Consumer;
  readonly done: (output: StoredOutput) => void;
}

export interface LaneLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
}

export class Lane {
  readonly fromPartitionId: PartitionId;
  readonly fromJobId: JobId;
  #target: Target;
  /** In order; those before `#head` are gone. */
  #unsent: Parcel[] = [];
  #head = 0;
  readonly #sent = new Map<MessageId, Parcel>();
  #acknowledgedOffset = 0;
  /** The receiver had no room at the last call, or did not run the job: tried again with one message. */
  isFull = false;
  readonly #onDone: (parcel: Parcel) => void;

  constructor(
    from: { partitionId: PartitionId; jobId: JobId },
    target: Target,
    onDone: (parcel: Parcel) => void,
  ) {
    this.fromPartitionId = from.partitionId;
    this.fromJobId = from.jobId;
    this.#target = target;
    this.#onDone = onDone;
  }

  get address(): string | undefined {
    return this.#target.jobId === undefined ? undefined : this.#target.address;
  }

  get partitionId(): PartitionId {
    return this.#target.partitionId;
  }

  get hasUnsent(): boolean {
    return this.#head < this.#unsent.length && this.address !== undefined;
  }

  /** Whether the receiver is to be asked about what it has. */
  get hasSent(): boolean {
    return this.#sent.size > 0 && this.address !== undefined;
  }

  add(parcel: Parcel): void {
    this.#unsent.push(parcel);
  }

  /** The layout has changed. What another job was to get is sent to its successor. */
  retarget(target: Target): void {
    const isSame = target.jobId === this.#target.jobId && target.address === this.#target.address;
    this.#target = target;
    if (!isSame) {
      this.isFull = false;
      this.#acknowledgedOffset = 0;
      this.sendAgain();
    }
  }

  /** What was sent and is not finished waits to be sent again, before the rest. */
  sendAgain(): void {
    if (this.#sent.size > 0) {
      const again = [...this.#sent.values(), ...this.#unsent.slice(this.#head)];
      again.sort((left, right) => left.order - right.order);
      this.#sent.clear();
      this.#unsent = again;
      this.#head = 0;
    }
  }

  /** Everything that is not finished; the lane is empty then. */
  drain(): Parcel[] {
    this.sendAgain();
    const parcels = this.#unsent.slice(this.#head);
    this.#unsent = [];
    this.#head = 0;
    return parcels;
  }

  /** The next call's content; messages in it count as sent. With a full receiver only a first message, as a try. */
  request(limits: LaneLimits): PushMessages {
    const messages = [];
    let bytes = 0;
    const maxRows = this.isFull ? 1 : limits.maxRows;
    while (messages.length < maxRows && bytes < limits.maxBytes) {
      const parcel = this.#unsent[this.#head];
      if (parcel === undefined) {
        break;
      }
      this.#head += 1;
      bytes += parcel.output.byteSize;
      this.#sent.set(parcel.output.message.messageId, parcel);
      messages.push(parcel.output.message);
    }
    if (this.#head > 0 && this.#head * 2 > this.#unsent.length) {
      this.#unsent.splice(0, this.#head);
      this.#head = 0;
    }
    return {
      fromPartitionId: this.fromPartitionId,
      fromJobId: this.fromJobId,
      toPartitionId: this.partitionId,
      toJobId: this.#target.jobId ?? "",
      messages,
      acknowledgedOffset: this.#acknowledgedOffset,
    };
  }

  /** The answer to a request. An answer to a job that is no longer the target says nothing. */
  answered(request: PushMessages, answer: PushAnswer): void {
    if (request.toJobId !== this.#target.jobId) {
      return;
    }
    if (answer.isUnknownJob) {
      this.isFull = true;
      this.sendAgain();
      return;
    }
    if (answer.accepted < request.messages.length) {
      this.#takeBack(request, answer.accepted);
    }
    this.isFull = answer.accepted < request.messages.length || answer.byteLimit <= 0;
    this.finished(answer.finished);
    this.#acknowledgedOffset = Math.max(this.#acknowledgedOffset, answer.finishedOffset);
  }

  /** The call failed: whether the receiver has the messages is not known. */
  failed(request: PushMessages): void {
    if (request.toJobId === this.#target.jobId) {
      this.#takeBack(request, 0);
    }
  }

  /** The receiver has committed these. */
  finished(ids: readonly MessageId[]): void {
    for (const id of ids) {
      const parcel = this.#sent.get(id);
      if (parcel !== undefined) {
        this.#sent.delete(id);
        this.#onDone(parcel);
      }
    }
  }

  #takeBack(request: PushMessages, accepted: number): void {
    const back: Parcel[] = [];
    for (const message of request.messages.slice(accepted)) {
      const parcel = this.#sent.get(message.messageId);
      if (parcel !== undefined) {
        this.#sent.delete(message.messageId);
        back.push(parcel);
      }
    }
    this.#unsent = [...back, ...this.#unsent.slice(this.#head)];
    this.#head = 0;
  }
}
