/** `concatenate`: the destination is created where it is missing, all in one transaction. */
import { YtError } from "@qyt/base";
import type { Runner } from "../command.ts";
import { plainText } from "../printing.ts";

export const concatenate: Runner = async ({ session, parameters, values }) => {
  const [first] = values.list("source_paths");
  const source = plainText(session.path(typeof first === "string" ? first : ""));
  const type = await session.get(`${source}/@type`);
  if (type !== "file" && type !== "table") {
    throw new YtError(`Type of '${source}' is not table or file`);
  }
  await session.inTransaction("qyt: concatenate", async (id) => {
    const bound = { transaction_id: id };
    await session.change("create", {
      type,
      path: parameters["destination_path"],
      ignore_existing: true,
      ...bound,
    });
    await session.bytes("concatenate", { ...parameters, ...bound }, { method: "POST" });
  });
  return undefined;
};
