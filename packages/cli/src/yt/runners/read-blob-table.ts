/** `read-blob-table`: the parts of one blob, one after the other. */
import { isList, isMap, mapOf, toYtError, type YsonValue, YtError } from "@qyt/base";
import { parseRichPath, richPathToYson } from "@qyt/yson";
import type { Runner } from "../command.ts";
import type { Context } from "../context.ts";

export const readBlobTable: Runner = async (context) => {
  const { session, parameters, values, out } = context;
  const column = values.text("part_index_column_name") ?? "part_index";
  const path = session.path(values.needed("table"));
  const rich = parseRichPath(path);
  const sortedBy = await session.get(`${rich.path}/@sorted_by`);
  const at = isList(sortedBy) ? sortedBy.indexOf(column) : -1;
  if (at < 0) {
    throw new YtError(`Table should be sorted by "${column}"`);
  }
  const key = [...keyOf(rich.attributes.get("ranges")), 0n];
  if (key.length !== at + 1) {
    throw new YtError(`Name the blob by its key in the path: ${at} values, as in '//tmp/table["name"]'`);
  }
  const attributes = new Map(rich.attributes);
  attributes.set("ranges", [mapOf({ lower_limit: mapOf({ key }) })]);
  const stream = session.stream("read_blob_table", {
    ...parameters,
    path: richPathToYson({ path: rich.path, attributes }),
    part_index_column_name: column,
    data_column_name: values.text("data_column_name") ?? "data",
    part_size: values.get("part_size") ?? (await partSize(context, rich.path)),
  });
  for await (const chunk of stream) {
    await out.write(chunk);
  }
  return undefined;
};

/** The key of the only range, or none. */
function keyOf(ranges: YsonValue | undefined): readonly YsonValue[] {
  const [range] = isList(ranges) ? ranges : [];
  for (const name of ["exact", "lower_limit"]) {
    const limit: YsonValue | undefined = isMap(range) ? range.get(name) : undefined;
    const key = isMap(limit) ? limit.get("key") : undefined;
    if (isList(key)) {
      return key;
    }
  }
  return [];
}

async function partSize({ session }: Context, path: string): Promise<YsonValue> {
  try {
    return await session.get(`${path}/@part_size`);
  } catch (thrown) {
    const error = toYtError(thrown);
    throw error.has("ResolveError") ? new YtError("You should specify part_size: use --part-size") : error;
  }
}
