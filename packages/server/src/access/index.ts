/** Access control: subjects, entries, the decision, and its errors. Pure; the tree feeds it. */
export {
  type Ace,
  type AceAction,
  aclToYson,
  type InheritanceMode,
  parseAcl,
  type ResolveSubject,
  withoutSubject,
} from "./ace.ts";
export {
  type AclHolder,
  type Asker,
  type CollectedAce,
  type ColumnDecision,
  collectEntries,
  type Decision,
  decide,
  decideColumns,
  type Question,
  restrictedColumns,
} from "./decision.ts";
export { accessDenied, type Denial, userBanned } from "./errors.ts";
export { type Permission, parsePermission, permissionNames } from "./permissions.ts";
export {
  builtinGroups,
  builtinSuperusers,
  builtinUsers,
  everyoneGroup,
  guestUser,
  ownerSubject,
  rootUser,
  type Subject,
  SubjectDirectory,
  superusersGroup,
  usersGroup,
} from "./subjects.ts";
