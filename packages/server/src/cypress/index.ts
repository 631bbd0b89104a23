/** The public names of Cypress. */
export { Access } from "./access-service.ts";
export { setAttribute } from "./attributes/apply.ts";
export {
  formatTimeUs,
  parseBoolean,
  parseDurationMs,
  parseInteger,
  parseString,
  parseTimeUs,
} from "./attributes/values.ts";
export { authorizeBundle, checkBundle } from "./bundles.ts";
export type { CopyParameters } from "./commands/copy.ts";
export type { CreateParameters, LinkParameters } from "./commands/create.ts";
export type { ReadParameters } from "./commands/get.ts";
export type { CheckPermissionByAclParameters, CheckPermissionParameters } from "./commands/permissions.ts";
export type { RemoveParameters } from "./commands/remove.ts";
export type { MultisetParameters, SetParameters } from "./commands/set.ts";
export { Credentials, type Session, type TokenMetadata } from "./credentials.ts";
export {
  Cypress,
  type CypressOptions,
  type LockParameters,
  type LockResult,
  type RequestContext,
} from "./cypress.ts";
export { type Node, type NodePatch, revisionOf } from "./node.ts";
export type {
  BuiltinAttribute,
  CheckOptions,
  CreateInput,
  CreateNodeInput,
  Draft,
  LockRequest,
  NodeContent,
  NodeType,
  NodeTypes,
  PermissionDecision,
  RemoteMethod,
  RemoteValue,
  ResourceUsage,
  TreeLimits,
  UpdateOptions,
  View,
  VirtualChildren,
} from "./node-type.ts";
export { type ResolveOptions, resolveTarget, type Target } from "./resolve.ts";
export type { StartTransactionInput } from "./transactions.ts";
export { type Excess, fullAccounts, limitExceeded } from "./types/account-limits.ts";
export { inheritableSettings } from "./types/map-node.ts";
export type { RemoteAddress } from "./types/orchid.ts";
export { clusterConfig } from "./types/sys-node.ts";
export { objectNode, unstoredType } from "./unstored-objects.ts";
