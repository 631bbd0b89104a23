/** The readers that all controllers of one agent share: one of each cluster, one of each queue's rows. */
import type { AgentClusters } from "../context.ts";
import { type ObjectReference, referenceToString } from "../objects/reference.ts";
import { ClusterReads, type ClusterReadsOptions } from "./cluster-reads.ts";
import { QueueRows } from "./queue-rows.ts";

export class AgentReads {
  readonly #clusters: AgentClusters;
  readonly #options: ClusterReadsOptions;
  readonly #byCluster = new Map<string, ClusterReads>();
  readonly #rows = new Map<string, QueueRows>();

  constructor(clusters: AgentClusters, options: ClusterReadsOptions = {}) {
    this.#clusters = clusters;
    this.#options = options;
  }

  /** Never throws: an unknown cluster is an error of each read. */
  cluster(name: string): ClusterReads {
    const known = this.#byCluster.get(name);
    if (known !== undefined) {
      return known;
    }
    const reads = new ClusterReads(() => this.#clusters.client(name), this.#options);
    this.#byCluster.set(name, reads);
    return reads;
  }

  rows(queue: ObjectReference): QueueRows {
    const key = referenceToString(queue);
    const known = this.#rows.get(key);
    if (known !== undefined) {
      return known;
    }
    const rows = new QueueRows(this.cluster(queue.cluster), queue.path);
    this.#rows.set(key, rows);
    return rows;
  }

  /** Asks the watched reads of all clusters. Never rejects. */
  async refresh(): Promise<void> {
    await Promise.all([...this.#byCluster.values()].map((reads) => reads.refresh()));
  }

  /** Forgets the readers of queues that are not among these references. */
  retain(queues: { has(reference: string): boolean }): void {
    for (const key of this.#rows.keys()) {
      if (!queues.has(key)) {
        this.#rows.delete(key);
      }
    }
  }
}
