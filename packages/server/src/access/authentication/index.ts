/** Secrets of users: tokens, passwords, session cookies. Pure; where they are kept is for Cypress to know. */
export { CsrfTokens } from "./csrf.ts";
export { PasswordHasher } from "./passwords.ts";
export {
  generateCookieValue,
  generateToken,
  isSameSecret,
  isSha256Hex,
  sha256Hex,
  tokenPrefix,
} from "./secrets.ts";
