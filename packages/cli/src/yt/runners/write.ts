/** `write-table` and `write-file`: standard input goes to the server as it comes, in one transaction. */
import { mapOf, type YsonValue } from "@qyt/base";
import { parseRichPath } from "@qyt/yson";
import type { Runner } from "../command.ts";
import type { Context } from "../context.ts";
import { plainText } from "../printing.ts";
import { bodyOf } from "../streams.ts";

export const writeTable: Runner = async (context) => {
  const path = parseRichPath(context.parameters["path"] ?? "");
  const schema = path.attributes.get("schema");
  await write(context, "write_table", {
    type: "table",
    path: path.path,
    ...(schema === undefined ? {} : { attributes: mapOf({ schema }) }),
  });
  return undefined;
};

export const writeFile: Runner = async (context) => {
  const { path } = parseRichPath(context.parameters["path"] ?? "");
  await write(context, "write_file", { type: "file", path });
  if (context.values.is("executable")) {
    await context.session.bytes(
      "set",
      { path: `${path}/@executable`, input_format: "yson" },
      { method: "PUT", isVolatile: true, body: Buffer.from("%true") },
    );
  }
  return undefined;
};

async function write(
  { session, parameters, values, stdin }: Context,
  command: string,
  creation: Readonly<Record<string, YsonValue>>,
): Promise<void> {
  const body = await bodyOf(stdin);
  await session.inTransaction(`qyt: write ${plainText(creation["path"] ?? "")}`, async (transaction_id) => {
    await session.change("create", { ...creation, ignore_existing: true, transaction_id });
    const headers = values.is("is_stream_compressed") ? [["content-encoding", "gzip"] as const] : [];
    await session.bytes(command, { ...parameters, transaction_id }, { method: "PUT", body }, headers);
  });
}
