export {
  ClusterDirectory,
  type ClusterDirectoryOptions,
  type ClusterEntry,
  normalizeClusterName,
} from "./directory.ts";
export { type CallBounds, Deadline, isUnanswered, RemoteCall } from "./remote-call.ts";
