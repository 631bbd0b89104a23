export {
  ClusterDirectory,
  type ClusterDirectoryOptions,
  type ClusterEntry,
  normalizeClusterName,
  type PeerConnection,
} from "./directory.ts";
export { OrchidClient } from "./orchid-client.ts";
export { type ClusterTree, QueueAgents } from "./queue-agents.ts";
export { type CallBounds, Deadline, isUnanswered, RemoteCall } from "./remote-call.ts";
