/** `read-table`: the rows as the server writes them, or as one JSON list. */
import { bare } from "@qyt/base";
import type { Runner } from "../command.ts";

export const readTable: Runner = async ({ session, parameters, values, out }) => {
  const rows = session.stream("read_table", parameters);
  const isJson = bare(parameters["output_format"] ?? null) === "json";
  const chunks = isJson && values.is("as_json_list") ? asJsonList(rows) : rows;
  for await (const chunk of chunks) {
    await out.write(chunk);
  }
  return undefined;
};

/** Rows on lines of their own become items of a list: a comma ends each line but the last. */
async function* asJsonList(rows: AsyncIterable<Buffer>): AsyncIterable<Buffer | string> {
  yield "[\n";
  let endsLine = false;
  for await (const chunk of rows) {
    const text: string = (endsLine ? "\n" : "") + chunk.toString("latin1");
    endsLine = text.endsWith("\n");
    yield Buffer.from((endsLine ? text.slice(0, -1) : text).replaceAll("\n", ",\n"), "latin1");
  }
  yield endsLine ? "\n]\n" : "]\n";
}
