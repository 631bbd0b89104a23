/** The commands that `yt` does not have: what each is for, and where it is. Loaded when it runs. */
import type { OwnCommand } from "./own-command.ts";

export const ownCommands: readonly OwnCommand[] = [
  {
    name: "up",
    summary: "Start one or more clusters in this process.",
    load: async () => (await import("./commands/up.ts")).upCommand(),
  },
  {
    name: "queue-agent",
    summary: "Run a queue agent: statuses, lag, automatic trimming and exports of queues.",
    load: async () => (await import("./commands/queue-agent.ts")).queueAgentCommand(),
  },
  {
    name: "check",
    summary: "Verify the checksums of all stored records.",
    load: async () => (await import("./commands/check.ts")).checkCommand(),
  },
  {
    name: "acl",
    summary: "Grant rights on queues and directories.",
    load: async () => (await import("./commands/acl.ts")).aclCommand(),
  },
  {
    name: "queue",
    summary: "Queues for people: describe, tail, create, set-retention, set-export.",
    load: async () => (await import("./commands/queue.ts")).queueCommand(),
  },
  {
    name: "consumer",
    summary: "Consumers for people: where they stand and how far behind they are.",
    load: async () => (await import("./commands/consumer.ts")).consumerCommand(),
  },
  {
    name: "producer",
    summary: "Producers for people: their sessions.",
    load: async () => (await import("./commands/producer.ts")).producerCommand(),
  },
  {
    name: "bench",
    summary: "Measure a cluster: rows in, rows out, latency.",
    load: async () => (await import("./commands/bench.ts")).benchCommand(),
  },
  {
    name: "completion",
    summary: "Print what a shell needs to complete command lines.",
    load: async () => (await import("./commands/completion.ts")).completionCommand(ownCommands),
  },
];
