export {
  ClusterDirectory,
  type ClusterDirectoryOptions,
  type ClusterEntry,
  normalizeClusterName,
  onCluster,
} from "./directory.ts";
