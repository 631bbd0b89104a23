/** The commands that `yt` does not have: what each is for, and where it is. Loaded when it runs. */
import type { Command } from "commander";

export interface OwnCommand {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

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
    name: "completion",
    summary: "Print what a shell needs to complete command lines.",
    load: async () => (await import("./commands/completion.ts")).completionCommand(),
  },
];
