/**
 * Tokens and session cookies: what they look like, and how they are known again without being stored.
 * Secrets come from the system's generator, never from the `Random` of a cluster.
 *
 * Specified in: yt/yt/ytlib/api/native/client_authentication_impl.cpp (DoIssueToken),
 * yt/yt/library/auth_server/cypress_cookie.cpp.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** 128 random bits; more than anybody can try. */
const tokenBytes = 16;
const cookieBytes = 32;

/** How much of a token may be shown again, so that its owner knows which one a digest belongs to. */
const shownPrefixLength = 4;

/** A new token: 32 hexadecimal digits. */
export function generateToken(): string {
  return randomBytes(tokenBytes).toString("hex");
}

/** A new cookie value: 64 hexadecimal digits, in upper case as in the real system. */
export function generateCookieValue(): string {
  return randomBytes(cookieBytes).toString("hex").toUpperCase();
}

/** SHA-256 in lower-case hexadecimal digits: what is stored of a token. */
export function sha256Hex(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

export function isSha256Hex(text: string): boolean {
  return /^[0-9a-f]{64}$/i.test(text);
}

export function tokenPrefix(token: string): string {
  return token.slice(0, shownPrefixLength);
}

/** Whether two secrets are the same, in a time that tells nothing about where they differ. */
export function isSameSecret(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();
  return timingSafeEqual(digest(left), digest(right));
}
