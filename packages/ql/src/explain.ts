/**
 * How a query will be run, for `explain_query`: what is read of each table, and how the joins find rows.
 *
 * Specified in: yt/yt/library/query/engine_api, BuildExplainQueryYson of yt/yt/ytlib/query_client/explain.cpp.
 * What is only true of a query that is spread over nodes (`key_trie`, `subqueries`) has no place here.
 */
import { mapOf, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { type RowValue, YsonAny } from "@qyt/schema";
import { escapeBytesForDisplay } from "./escapes.ts";
import { inferColumnName } from "./format-node.ts";
import type { JoinPlan } from "./join-plan.ts";
import type { KeyBound } from "./key-ranges.ts";
import type { ParsedQuery } from "./nodes.ts";
import type { Plan } from "./plan.ts";

/** So many ranges are listed; a condition may expand to very many. */
const maxListedRanges = 1_000;

/** `{query={where_expression; is_ordered_scan; joins; …}; top_query={…}}` */
export function explainQuery(parsed: ParsedQuery, plan: Plan): YsonMap {
  return mapOf({
    query: explainLevel(parsed, plan),
    subqueries: [],
    top_query: mapOf({ is_ordered_scan: isOrderedScan(parsed) }),
  });
}

function explainLevel(parsed: ParsedQuery, plan: Plan): YsonMap {
  const entries: Record<string, YsonValue> = {
    where_expression: parsed.where === undefined ? "true" : inferColumnName(parsed.where),
    is_ordered_scan: isOrderedScan(parsed),
    joins: plan.joins.map((join) => [explainJoin(join)]),
  };
  if (plan.groupedKeyPrefix > 0) {
    entries.common_prefix_with_primary_key = new Uint64(BigInt(plan.groupedKeyPrefix));
  }
  if (plan.subplan !== undefined && parsed.subquery !== undefined) {
    entries.subquery = explainLevel(parsed.subquery, plan.subplan);
  } else {
    entries.ranges = plan.ranges
      .slice(0, maxListedRanges)
      .map(({ lower, upper }) => [
        keyText(lower, lower.inclusive ? "" : "<Max>", "<Min>"),
        keyText(upper, upper.inclusive ? "<Max>" : "", "<Max>"),
      ]);
    if (plan.ranges.length > maxListedRanges) {
      entries.range_count = BigInt(plan.ranges.length);
    }
  }
  return mapOf(entries);
}

/** Whether rows are taken in the order of the key and the scan ends with LIMIT. */
function isOrderedScan(parsed: ParsedQuery): boolean {
  return parsed.limit !== undefined && parsed.orderBy.length === 0;
}

function explainJoin(join: JoinPlan): YsonMap {
  const prefix = join.keyParts.length;
  const lookup =
    prefix === 0 ? "IN clause" : prefix >= join.foreignKeys.length ? "source ranges" : "prefix ranges";
  return mapOf({
    lookup_type: lookup,
    common_key_prefix: new Uint64(BigInt(join.commonKeyPrefix)),
    foreign_key_prefix: new Uint64(BigInt(prefix)),
  });
}

/** A bound as a row of values with their ids: `[0#5, 1#<Max>]`. */
function keyText(bound: KeyBound, sentinel: string, whenEmpty: string): string {
  const values = bound.values.map((value, index) => `${index}#${valueText(value)}`);
  if (values.length === 0) {
    return `[0#${whenEmpty}]`;
  }
  return `[${[...values, ...(sentinel === "" ? [] : [`${values.length}#${sentinel}`])].join(", ")}]`;
}

function valueText(value: RowValue): string {
  if (value === null) {
    return "<Null>";
  }
  if (value instanceof YsonAny) {
    return escapeBytesForDisplay(value.bytes);
  }
  return value instanceof Uint8Array ? `"${escapeBytesForDisplay(value)}"` : `${value}`;
}
