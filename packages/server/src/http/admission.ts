/**
 * Who may enter: bounds on what is under way at once. Beyond them a request is refused at once (503, code
 * 108, to be sent again later); there is no queue. Specified in: yt/yt/server/http_proxy/api.cpp; http-api §2.
 */
import { YtError } from "@qyt/base";
import { HttpError } from "./http-error.ts";

export interface AdmissionLimits {
  /** Commands under way at once. */
  readonly maxConcurrentRequests: number;
  /** Commands under way at once for one user. */
  readonly maxConcurrentRequestsPerUser: number;
  /** Bytes of request bodies held in memory at once. */
  readonly maxBufferedBodyBytes: number;
}

export const defaultAdmissionLimits: AdmissionLimits = {
  maxConcurrentRequests: 4096,
  maxConcurrentRequestsPerUser: 4096,
  maxBufferedBodyBytes: 1024 * 1024 * 1024,
};

/** Seconds after which a refused client may come back. */
const retryAfterSeconds = 60;

export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #running = new Map<string, number>();
  #requests = 0;
  #bufferedBytes = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  get requests(): number {
    return this.#requests;
  }

  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  /** Counts a command in. @throws HttpError 503 */
  enter(user: string): AdmissionTicket {
    const ofUser = this.#running.get(user) ?? 0;
    if (this.#requests >= this.#limits.maxConcurrentRequests) {
      throw refused("Too many concurrent requests", { limit: BigInt(this.#limits.maxConcurrentRequests) });
    }
    if (ofUser >= this.#limits.maxConcurrentRequestsPerUser) {
      throw refused("Too many concurrent requests of one user", {
        user,
        limit: BigInt(this.#limits.maxConcurrentRequestsPerUser),
      });
    }
    if (this.#bufferedBytes >= this.#limits.maxBufferedBodyBytes) {
      throw refused("Too many bytes of request bodies are in memory", {
        limit: BigInt(this.#limits.maxBufferedBodyBytes),
      });
    }
    this.#requests++;
    this.#running.set(user, ofUser + 1);
    return new AdmissionTicket(this, user);
  }

  /** For tickets only. */
  reserve(bytes: number): void {
    if (this.#bufferedBytes + bytes > this.#limits.maxBufferedBodyBytes) {
      throw refused("Too many bytes of request bodies are in memory", {
        limit: BigInt(this.#limits.maxBufferedBodyBytes),
      });
    }
    this.#bufferedBytes += bytes;
  }

  /** For tickets only. */
  leave(user: string, bytes: number): void {
    this.#requests--;
    this.#bufferedBytes -= bytes;
    const left = (this.#running.get(user) ?? 1) - 1;
    if (left === 0) {
      this.#running.delete(user);
    } else {
      this.#running.set(user, left);
    }
  }
}

/** The place of one command. */
export class AdmissionTicket {
  readonly #admission: Admission;
  readonly #user: string;
  #bytes = 0;
  #isOpen = true;

  constructor(admission: Admission, user: string) {
    this.#admission = admission;
    this.#user = user;
  }

  /** Asks for memory until `release`. @throws HttpError 503 when there is not enough */
  reserve(bytes: number): void {
    if (this.#isOpen) {
      this.#admission.reserve(bytes);
      this.#bytes += bytes;
    }
  }

  /** Gives everything back. May be called again. */
  release(): void {
    if (this.#isOpen) {
      this.#isOpen = false;
      this.#admission.leave(this.#user, this.#bytes);
    }
  }
}

function refused(message: string, attributes: Readonly<Record<string, string | bigint>>): HttpError {
  const error = new YtError(message, { code: "RequestQueueSizeLimitExceeded", attributes });
  return new HttpError(503, error, retryAfterSeconds);
}
