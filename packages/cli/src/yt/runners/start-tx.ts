/** `start-tx`: says who started the transaction in its attributes, as the real client does. */
import { hostname, userInfo } from "node:os";
import { isMap, mapOf } from "@qyt/base";
import { version } from "../../version.ts";
import type { Runner } from "../command.ts";
import { plainText, printLine } from "../printing.ts";
import { fieldOf } from "../session.ts";

const defaultTimeoutMs = 30_000;

export const startTransaction: Runner = async (context) => {
  const { session, settings, values } = context;
  const starter = mapOf({
    hostname: hostname(),
    pid: BigInt(process.pid),
    user: userInfo().username,
    command: ["qyt", "start-tx"],
    wrapper_version: `qyt ${version}`,
  });
  const more = values.get("attributes");
  const timeout = values.integer("timeout") ?? settings.number("transaction_timeout") ?? defaultTimeoutMs;
  const answer = await session.change("start_transaction", {
    timeout: BigInt(timeout),
    attributes: new Map([...starter, ...(isMap(more) ? more : [])]),
    type: "master",
  });
  await printLine(context, plainText(fieldOf(answer, "transaction_id")));
  return undefined;
};
