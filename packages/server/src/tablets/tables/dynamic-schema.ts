/** Schemas that dynamic tables may have here. */
import { YtError } from "@qyt/base";
import { type TableSchema, toDynamicSchema } from "@qyt/schema";

/**
 * As `toDynamicSchema`, without what this server does not do.
 * @throws YtError 314 for a column `$ttl` too: rows that stay although their time is over would be no small difference
 */
export function dynamicSchema(schema: TableSchema): TableSchema {
  const dynamic = toDynamicSchema(schema);
  if (dynamic.indexOf("$ttl") >= 0) {
    throw new YtError(
      'Column "$ttl" is not supported yet: rows have no lifetime of their own; set "max_data_ttl" and "min_data_versions" = 0 for the whole table, or delete rows',
      { code: "InvalidSchemaValue", attributes: { column: "$ttl" } },
    );
  }
  return dynamic;
}
