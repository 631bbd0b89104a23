/**
 * Passwords as they are stored: the SHA-256 digest that clients send, hashed once more by scrypt with a salt
 * of its own, so that a stolen data directory does not give them away. The real system salts a plain
 * SHA-256 there. The work is done off the main thread, few at a time: it is meant to be slow.
 *
 * Specified in: yt/yt/core/crypto/crypto.cpp (HashPassword) for what is hashed; RFC 7914 for how.
 */
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { YtError } from "@qyt/base";

/** Costs of a hash: 32 MiB and a fraction of a second of one core. Old records keep their own. */
const cost = { N: 2 ** 15, r: 8, p: 3 };
const saltBytes = 16;
const hashBytes = 32;

/** Above what any of our records needs; a record that asks for more is damaged. */
const maxMemoryBytes = 64 * 1024 * 1024;

/** Hashes at work at once: the pool of threads is shared with the disk. */
const maxRunning = 2;
/** Hashes that wait for their turn; beyond them nobody can log in for a moment, and the cluster stays well. */
const maxWaiting = 64;

export class PasswordHasher {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /**
   * The record of a password.
   * @param passwordSha256 lower-case hexadecimal SHA-256 digest of the password
   * @throws YtError 108 when too many hashes are under way
   */
  async hash(passwordSha256: string): Promise<string> {
    const salt = randomBytes(saltBytes);
    const hash = await this.#derive(passwordSha256, salt, cost);
    return ["scrypt", cost.N, cost.r, cost.p, salt.toString("hex"), hash.toString("hex")].join("$");
  }

  /**
   * Whether the password is that of the record; without a record the answer is no, and takes as long.
   * @throws YtError 108 when too many hashes are under way
   */
  async verify(passwordSha256: string, record: string | undefined): Promise<boolean> {
    const parsed = record === undefined ? undefined : parseRecord(record);
    const { salt, hash, ...costs } = parsed ?? { ...cost, salt: Buffer.alloc(saltBytes), hash: undefined };
    const derived = await this.#derive(passwordSha256, salt, costs);
    return hash !== undefined && derived.length === hash.length && timingSafeEqual(derived, hash);
  }

  async #derive(text: string, salt: Buffer, costs: typeof cost): Promise<Buffer> {
    await this.#enter();
    try {
      return await new Promise((resolve, reject) => {
        scrypt(text, salt, hashBytes, { ...costs, maxmem: maxMemoryBytes }, (error, key) =>
          error === null ? resolve(key) : reject(error),
        );
      });
    } finally {
      this.#leave();
    }
  }

  #enter(): Promise<void> {
    if (this.#running < maxRunning) {
      this.#running++;
      return Promise.resolve();
    }
    if (this.#waiting.length >= maxWaiting) {
      return Promise.reject(
        new YtError("Too many passwords are being checked; try again in a few seconds", {
          code: "RequestQueueSizeLimitExceeded",
          attributes: { limit: BigInt(maxWaiting) },
        }),
      );
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The place goes to the next one, if any. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#running--;
    } else {
      next();
    }
  }
}

function parseRecord(
  record: string,
): (typeof cost & { readonly salt: Buffer; readonly hash: Buffer }) | undefined {
  const match = /^scrypt\$(\d{1,8})\$(\d{1,3})\$(\d{1,3})\$([0-9a-f]+)\$([0-9a-f]+)$/.exec(record);
  const [, N, r, p, salt = "", hash = ""] = match ?? [];
  return match === null
    ? undefined
    : {
        N: Number(N),
        r: Number(r),
        p: Number(p),
        salt: Buffer.from(salt, "hex"),
        hash: Buffer.from(hash, "hex"),
      };
}
