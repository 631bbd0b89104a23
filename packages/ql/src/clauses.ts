/** Which clauses of a query go together. */
import { YtError } from "@qyt/base";
import type { ParsedQuery } from "./nodes.ts";
import { queryLimits } from "./options.ts";

/**
 * Specified in: query_preparer.cpp, the checks of LIMIT, OFFSET and ORDER BY.
 *
 * @throws YtError for clauses that do not go together, and too large a LIMIT or OFFSET
 */
export function checkClauses(parsed: ParsedQuery): void {
  const ordered = parsed.orderBy.length > 0;
  const { limit, offset } = parsed;
  if (limit === undefined && ordered) {
    throw new YtError("ORDER BY used without LIMIT");
  }
  if (limit === undefined && offset !== undefined) {
    throw new YtError("OFFSET used without LIMIT");
  }
  if (limit !== undefined && limit > BigInt(queryLimits.maxLimit)) {
    throw new YtError("Maximum LIMIT exceeded", {
      attributes: { limit, maximum_limit: BigInt(queryLimits.maxLimit) },
    });
  }
  if (offset !== undefined && offset > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new YtError("OFFSET is too large", { attributes: { offset } });
  }
  if (ordered && (limit ?? 0n) + (offset ?? 0n) > BigInt(queryLimits.maxLimit)) {
    // OFFSET + LIMIT rows are kept in memory to be sorted.
    throw new YtError("Maximum LIMIT exceeded", {
      attributes: { limit, offset, maximum_limit: BigInt(queryLimits.maxLimit) },
    });
  }
  if (parsed.having !== undefined && !ordered && offset !== undefined) {
    throw new YtError("HAVING with OFFSET is not allowed");
  }
  if (parsed.having !== undefined && !ordered && limit !== undefined) {
    throw new YtError("HAVING with LIMIT is not allowed");
  }
}
