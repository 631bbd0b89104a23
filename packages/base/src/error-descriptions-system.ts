/** Error codes of requests, Cypress, access, transactions and documents. */
import type { DescriptionTable } from "./error-description.ts";

export const systemErrorDescriptions: DescriptionTable = {
  Generic: {
    meaning: "An error without a code of its own; its message says all.",
    cause: "A missing or malformed parameter, an option that is not supported, an unknown producer session.",
    remedy: "Read the message and the inner errors, and correct the request.",
  },
  Canceled: {
    meaning: "The work was given up because nobody waits for it.",
    cause: "The client closed the connection, or its own limit of time was over.",
    remedy: "Send the request again; if the client's limit is short, make it longer.",
  },
  Timeout: {
    meaning: "Another cluster did not answer in time; the message names it.",
    cause: "That cluster is down, frozen or not reachable, or the request's `timeout` is short.",
    remedy:
      "Check that cluster and send the request again when it answers. What was sent to it may have been done.",
  },
  TransportError: {
    meaning: "Another cluster cannot be reached; the message names it.",
    cause: "Its process does not run, or its address in `//sys/clusters` is wrong.",
    remedy: "Start it, or correct the address; then send the request again. See clusters.md.",
  },
  NoSuchMethod: {
    meaning: "Objects of this type do not know the command.",
    cause: "For example `list` of something that is no map.",
    remedy: "Look at `@type` of the object and choose a command that it knows.",
  },
  Unavailable: {
    meaning: "The cluster cannot serve the request now.",
    cause: "It is starting or stopping.",
    remedy: "Send the request again after a moment.",
  },
  RequestQueueSizeLimitExceeded: {
    meaning:
      "Too many requests, or too many bytes of request bodies, are under way at once (HTTP status 503).",
    cause: "More load than the limits of limits.md allow, in all or for this user.",
    remedy: "Send the request again after the time in `Retry-After`, with fewer at once.",
  },
  SameTransactionLockConflict: {
    meaning: "The transaction holds a lock on the node that excludes this one.",
    cause: "A snapshot lock and another lock of one transaction on one node.",
    remedy: "Take the other lock in another transaction.",
  },
  DescendantTransactionLockConflict: {
    meaning: "A nested transaction holds a lock that excludes this one.",
    cause: "A change in the outer transaction while an inner one works on the same node.",
    remedy: "Commit or abort the inner transaction first.",
  },
  ConcurrentTransactionLockConflict: {
    meaning: "Another transaction holds a lock that excludes this one.",
    cause: "Two clients work on one node; the attributes name the transaction that has the lock.",
    remedy: "Wait for that transaction and send the request again, or ask for a `waitable` lock.",
  },
  PendingLockConflict: {
    meaning: "The node cannot be locked, as another lock waits for it.",
    cause: "A `waitable` lock of another transaction is ahead.",
    remedy: "Ask for a `waitable` lock too, or try again later.",
  },
  ResolveError: {
    meaning: "There is nothing at the path.",
    cause:
      "A misspelt path, a removed node, a link that leads nowhere, an object seen only in a transaction.",
    remedy: "Check the path with `list` or `exists`; give the transaction's id if it was made in one.",
  },
  AlreadyExists: {
    meaning: "There is something at the path, or an object with this name.",
    cause: "`create`, `copy` or `move` to a place that is taken.",
    remedy: "Choose another name, or pass `ignore_existing` or `force`.",
  },
  MaxChildCountViolation: {
    meaning: "The map node has as many children as it may have.",
    cause: "More than 50,000 children in one directory.",
    remedy: "Spread them over several directories.",
  },
  MaxStringLengthViolation: {
    meaning: "The string of a string node is too long.",
    cause: "More than 65,536 bytes.",
    remedy: "Keep it in a file, a document or a table.",
  },
  MaxAttributeSizeViolation: {
    meaning: "The value of an attribute is too large.",
    cause: "More than 16 MiB.",
    remedy: "Keep it in a file, a document or a table.",
  },
  MaxKeyLengthViolation: {
    meaning: "A name is too long.",
    cause: "The name of a node or a key with more than 3,900 bytes.",
    remedy: "Choose a shorter one.",
  },
  CannotRemoveNonemptyCompositeNode: {
    meaning: "The directory is not empty.",
    cause: "`remove` without `recursive`.",
    remedy: "Pass `recursive`, or remove the children first.",
  },
  InvalidCsrfToken: {
    meaning: "The request of a browser session has no valid `X-Csrf-Token`.",
    cause: "A token that is old, of another user, or of another start of the server.",
    remedy: "Take a new one from `/auth/whoami`.",
  },
  InvalidCredentials: {
    meaning: "The request does not say who sends it, or says it in a way that does not count.",
    cause:
      "No token and no session; a header that came twice or is malformed; a session that is over; a name in `X-YT-User-Name` from who may not act for others.",
    remedy: "Send `Authorization: OAuth <token>` once, or log in again.",
  },
  SecurityAuthenticationError: {
    meaning: "The token is not one that the cluster knows.",
    cause: "A misspelt or revoked token, one of another cluster, or one whose user is gone.",
    remedy: "Have one issued: `yt issue-token USER`.",
  },
  SecurityRequestQueueSizeLimitExceeded: {
    meaning: "The user sends more requests than he may.",
    cause: "More requests to Cypress a second than his rate, and as many waiting as may wait.",
    remedy: "Send it again later, fewer at once; or have `@read_request_rate_limit` of the user raised.",
  },
  AuthorizationError: {
    meaning: "The user may not do this; or the consumer is not registered for the queue.",
    cause: "No entry of the ACL allows it or one denies it; a pull or an advance without a registration.",
    remedy: "Ask for the permission that the message names, or call `register_queue_consumer`.",
  },
  AccountLimitExceeded: {
    meaning: "The account has no room for it.",
    cause: "A limit of the account or of one above it is reached.",
    remedy: "Remove something, raise the limit, or use another account.",
  },
  UserBanned: {
    meaning: "The user is banned.",
    cause: "`@banned` of the user is `%true`.",
    remedy: "Ask an administrator.",
  },
  NoSuchAccount: {
    meaning: "There is no account with this name.",
    cause: "A misspelt name in `@account` or in the attributes of `create`.",
    remedy: "Look at `//sys/accounts`.",
  },
  NoSuchSubject: {
    meaning: "There is no user or group with this name.",
    cause: "A misspelt name in an ACL, or in a command about members.",
    remedy: "Look at `//sys/users` and `//sys/groups`.",
  },
  AlreadyPresentInGroup: {
    meaning: "The user or the group is a member already.",
    cause: "`add_member` called twice.",
    remedy: "Nothing needs to be done.",
  },
  NoSuchUser: {
    meaning: "There is no user with this name.",
    cause: "A misspelt name, or a user that was never created.",
    remedy: "Look at `//sys/users`; create the user.",
  },
  PrerequisiteCheckFailed: {
    meaning: "What the request says must hold does not hold, so nothing was done.",
    cause: "A prerequisite transaction ended, or the revision of a node is another one.",
    remedy: "Read the state anew and decide again.",
  },
  InvalidObjectType: {
    meaning: "The object at the path is not of the type that the command works on.",
    cause: "For example a directory where a table is needed.",
    remedy: "Look at `@type` of the object, and correct the path.",
  },
  InvalidFormat: {
    meaning: "The format is not known, or not for this kind of data.",
    cause: "A misspelt name or attribute in `input_format` or `output_format`.",
    remedy: "Use `yson` or `json`; see the message.",
  },
  InvalidReadRange: {
    meaning: "The range of rows in a path cannot be read.",
    cause: "Limits that do not fit the table, such as a key range of a table that is not sorted.",
    remedy: "Correct the range.",
  },
  ParseError: {
    meaning: "A document or a row cannot be parsed.",
    cause: "Broken YSON, JSON or DSV; an unexpected end.",
    remedy: "Correct the text at the place that the message names; check that it has the named format.",
  },
  MemoryLimitExceeded: {
    meaning: "A document or a string is too large to be read.",
    cause: "A limit of limits.md.",
    remedy: "Send smaller pieces.",
  },
  DepthLimitExceeded: {
    meaning: "A document is nested too deeply.",
    cause: "A limit of limits.md, or `nesting_level_limit` of the format.",
    remedy: "Send it as a string, or flatten it.",
  },
  NoSuchTransaction: {
    meaning: "There is no transaction with this id.",
    cause:
      "It was committed or aborted, its timeout ran out without a ping, or the server was restarted (tablet transactions live in memory).",
    remedy: "Start a new transaction and do its work again.",
  },
  InvalidTransactionState: {
    meaning: "The transaction cannot take this now.",
    cause: "It is being committed or aborted.",
    remedy: "Start a new transaction.",
  },
  InvalidTransactionAtomicity: {
    meaning: "The transaction and the table have different atomicity.",
    cause: "`atomicity=none` for a table with `full`, or the other way round.",
    remedy: "Start the transaction with the table's `@atomicity`.",
  },
};
