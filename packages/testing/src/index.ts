/** What tests share. Never imported by the product. */
export { type CertificatePair, TestAuthority } from "./certificates.ts";
export { messagesOf } from "./errors.ts";
export { eventually } from "./eventually.ts";
export { FakeClock, settle } from "./fake-clock.ts";
export { ForgetfulStore } from "./forgetful-store.ts";
export {
  between,
  chance,
  pick,
  randomBytes,
  randomInt64,
  randomUint64,
  shuffled,
  testRandom,
} from "./generators.ts";
export {
  checkHistory,
  type HistoryRead,
  type HistoryTransaction,
  type HistoryVersion,
  type HistoryWrite,
} from "./history-checker.ts";
export {
  OrderedQueueModel,
  orderedQueueModel,
  type PulledRow,
  type PushOutcome,
} from "./ordered-queue-model.ts";
export {
  type Exit,
  freePort,
  type ProcessOptions,
  type ProgramAnswer,
  ProgramProcess,
  runProgram,
  startAgentProcess,
  startProcess,
  type TemporaryDirectory,
  temporaryDirectory,
  typescriptArgs,
} from "./system.ts";
