/** What the tables need of the queue agents; the room of the other clusters finds and asks them. */
import { YtError } from "@qyt/base";
import type { RemoteValue } from "../../cypress/index.ts";

/** A part of what a queue agent knows of an object of this cluster. */
export interface QueueAgentQuestion {
  readonly kind: "queue" | "consumer" | "producer";
  /** `//tmp/q`, escaped as a path. */
  readonly path: string;
  readonly stage: string;
  readonly part: "status" | "partitions";
}

/** The way to the queue agents, of this and of other clusters. */
export interface QueueAgentAccess {
  about(question: QueueAgentQuestion): RemoteValue;
}

/** Of a cluster that has no way to other processes. */
export const noQueueAgents: QueueAgentAccess = {
  about: ({ stage }) => ({
    async ask() {
      throw new YtError(`Queue agent stage "${stage}" is not found: this cluster cannot ask queue agents`);
    },
  }),
};
