/** Commands on transactions and locks. */
import { flag, hybrid, option } from "./argument.ts";
import type { YtFamily } from "./command.ts";

const transaction = hybrid("transaction", "id of the transaction", "text", {
  parameters: ["transaction_id"],
});

export const transactions: YtFamily = {
  title: "Transactions",
  commands: [
    {
      name: "start-tx",
      summary: "Start a transaction, inside that of --tx if given, and print its id.",
      arguments: [
        option("attributes", "yson", "attributes, a map in YSON", { parameters: [] }),
        option("timeout", "integer", "how long it lives without a ping, in milliseconds; default: 30000", {
          parameters: [],
        }),
      ],
      examples: ["start-tx --timeout 60000"],
      run: async () => (await import("./runners/start-tx.ts")).startTransaction,
    },
    {
      name: "commit-tx",
      summary: "Commit a transaction.",
      arguments: [transaction],
      examples: ["commit-tx 1-2-10001-4"],
      run: { command: "commit_transaction", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "abort-tx",
      summary: "Abort a transaction.",
      arguments: [transaction],
      examples: ["abort-tx 1-2-10001-4"],
      run: { command: "abort_transaction", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "ping-tx",
      summary: "Let a transaction live on for its timeout.",
      arguments: [transaction],
      examples: ["ping-tx 1-2-10001-4"],
      run: { command: "ping_transaction", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
    {
      name: "lock",
      summary: "Lock a node in the transaction of --tx, and print the lock.",
      arguments: [
        hybrid("path", "the node"),
        option("mode", "text", "kind of lock; default: exclusive", {
          choices: ["snapshot", "shared", "exclusive"],
        }),
        flag("waitable", "queue up where the lock is not free"),
        option("wait_for", "integer", "with --waitable: wait so long for the lock, in milliseconds", {
          parameters: [],
        }),
        option("child_key", "text", "with mode shared: lock this child alone"),
        option("attribute_key", "text", "with mode shared: lock this attribute alone"),
      ],
      examples: ["lock //tmp/node --mode shared --tx 1-2-10001-4"],
      run: async () => (await import("./runners/lock.ts")).lock,
    },
    {
      name: "unlock",
      summary: "Give up the locks that the transaction of --tx has on a node.",
      arguments: [hybrid("path", "the node")],
      examples: ["unlock //tmp/node --tx 1-2-10001-4"],
      run: { command: "unlock", method: "POST", isVolatile: true, output: { kind: "none" } },
    },
  ],
};
