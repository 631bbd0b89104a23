/**
 * Master and tablet transactions. A tablet transaction lives on this proxy only; its lease is renewed at
 * each use. Specified in: yt/yt/client/driver/transaction_commands.cpp, sticky_transaction_pool.cpp.
 */
import { mapOf, Uint64, type YsonMap, YtError } from "@qyt/base";
import { needs, open, right, when } from "../access.ts";
import type { CommandContext, RegisteredCommand } from "../define.ts";
import { defineCommand, structured } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { cypressContext } from "../request-context.ts";
import { reading } from "./kinds.ts";

const defaultTimeoutMs = 30_000;

const startParameters = {
  type: withDefault(parameter.oneOf("ETransactionType", ["master", "tablet"]), "master"),
  parent_id: optional(parameter.guid),
  deadline: optional(parameter.instant),
  attributes: optional(parameter.map),
  sticky: withDefault(parameter.boolean, false),
  prerequisite_transaction_ids: optional(parameter.list(parameter.guid)),
  atomicity: withDefault(parameter.oneOf("EAtomicity", ["full", "none"]), "full"),
  durability: withDefault(parameter.oneOf("EDurability", ["sync", "async"]), "sync"),
};

async function start(
  context: CommandContext,
  parameters: {
    type: "master" | "tablet";
    parent_id: string | undefined;
    deadline: number | undefined;
    attributes: YsonMap | undefined;
    atomicity: "full" | "none";
    durability: "sync" | "async";
  },
): Promise<string> {
  const timeoutMs = context.common.timeout ?? defaultTimeoutMs;
  const { services } = context;
  if (parameters.type === "tablet") {
    return services.transactions.start({
      user: context.user,
      timeoutMs,
      atomicity: parameters.atomicity,
      durability: parameters.durability,
    }).id;
  }
  return services.cypress.startTransaction(cypressContext(context), {
    timeoutMs,
    ...(parameters.attributes === undefined ? {} : { attributes: parameters.attributes }),
    ...(parameters.parent_id === undefined || parameters.parent_id === "0-0-0-0"
      ? {}
      : { parentId: parameters.parent_id }),
    ...(parameters.deadline === undefined ? {} : { deadlineMs: parameters.deadline }),
  });
}

function required(context: CommandContext): string {
  const id = context.common.transaction_id;
  if (id === undefined) {
    throw new YtError("Transaction is required");
  }
  return id;
}

async function ping(context: CommandContext): Promise<"pinged" | "nothing"> {
  const id = context.common.transaction_id;
  if (id === undefined) {
    return "nothing";
  }
  if (context.services.transactions.isTabletTransactionId(id)) {
    context.services.transactions.ping(id);
  } else {
    await context.services.cypress.pingTransaction(cypressContext(context), id);
  }
  return "pinged";
}

/** Commit timestamp of a tablet transaction; a fresh one for a master transaction. */
async function commit(context: CommandContext): Promise<bigint> {
  const id = required(context);
  if (context.services.transactions.isTabletTransactionId(id)) {
    return context.services.transactions.get(id).commit();
  }
  await context.services.cypress.commitTransaction(cypressContext(context, { withoutTransaction: true }), id);
  return context.services.cell.generateTimestamp();
}

async function abort(context: CommandContext, force: boolean): Promise<void> {
  const id = required(context);
  if (context.services.transactions.isTabletTransactionId(id)) {
    context.services.transactions.get(id).abort();
    return;
  }
  await context.services.cypress.abortTransaction(cypressContext(context, { withoutTransaction: true }), id, {
    force,
  });
}

const flags = { input: "null", isVolatile: true, isHeavy: false } as const;

const aborting = needs(when("a master transaction", right("write", "transaction", "transaction_id")));

const startTransaction = defineCommand({
  ...flags,
  name: "start_transaction",
  versions: [4],
  output: "structured",
  access: open("what is done in it needs its own rights"),
  summary: "Starts a master transaction, or a tablet transaction that lives on this proxy.",
  parameters: startParameters,
  async execute(context, parameters) {
    return context.single("transaction_id", await start(context, parameters));
  },
});

const startTx = defineCommand({
  ...flags,
  name: "start_tx",
  versions: [3],
  output: "structured",
  access: open("what is done in it needs its own rights"),
  summary: "The name of start_transaction in API v3.",
  parameters: startParameters,
  async execute(context, parameters) {
    return structured(await start(context, parameters));
  },
});

const pingTransaction = defineCommand({
  ...flags,
  name: "ping_transaction",
  versions: [4],
  output: "structured",
  access: open("who knows the id may keep the transaction alive"),
  summary: "Renews the lease of a transaction.",
  parameters: {},
  async execute(context) {
    return (await ping(context)) === "pinged" ? context.nothing() : { kind: "empty" };
  },
});

const pingTx = defineCommand({
  ...flags,
  name: "ping_tx",
  versions: [3],
  output: "null",
  access: open("who knows the id may keep the transaction alive"),
  summary: "The name of ping_transaction in API v3.",
  parameters: {},
  async execute(context) {
    await ping(context);
    return { kind: "empty" };
  },
});

const commitTransaction = defineCommand({
  ...flags,
  name: "commit_transaction",
  versions: [4],
  output: "structured",
  access: open("what was done in it has been checked"),
  summary: "Makes the changes of a transaction visible to all, or to its parent.",
  parameters: {},
  async execute(context) {
    const timestamp = new Uint64(await commit(context));
    const cellTag = context.services.cell.cellTag.toString();
    return structured(
      mapOf({ primary_commit_timestamp: timestamp, commit_timestamps: mapOf({ [cellTag]: timestamp }) }),
    );
  },
});

const commitTx = defineCommand({
  ...flags,
  name: "commit_tx",
  versions: [3],
  output: "null",
  access: open("what was done in it has been checked"),
  summary: "The name of commit_transaction in API v3.",
  parameters: {},
  async execute(context) {
    await commit(context);
    return { kind: "empty" };
  },
});

const abortParameters = { force: withDefault(parameter.boolean, false) };

const abortTransaction = defineCommand({
  ...flags,
  name: "abort_transaction",
  versions: [4],
  output: "structured",
  access: aborting,
  summary: "Drops a transaction with all its changes and locks.",
  parameters: abortParameters,
  async execute(context, { force }) {
    await abort(context, force);
    return context.nothing();
  },
});

const abortTx = defineCommand({
  ...flags,
  name: "abort_tx",
  versions: [3],
  output: "null",
  access: aborting,
  summary: "The name of abort_transaction in API v3.",
  parameters: abortParameters,
  async execute(context, { force }) {
    await abort(context, force);
    return { kind: "empty" };
  },
});

const generateTimestamp = defineCommand({
  name: "generate_timestamp",
  ...reading,
  access: open("it gives a number"),
  summary: "A fresh timestamp, above every earlier one.",
  parameters: {},
  async execute(context) {
    return context.single("timestamp", new Uint64(await context.services.cell.generateTimestamp()));
  },
});

export const transactionCommands: readonly RegisteredCommand[] = [
  startTransaction,
  startTx,
  pingTransaction,
  pingTx,
  commitTransaction,
  commitTx,
  abortTransaction,
  abortTx,
  generateTimestamp,
];
