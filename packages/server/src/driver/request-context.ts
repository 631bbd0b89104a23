/** From a command's parameters to the context that Cypress and the tables take. */

import { inSlices, limits, type YsonValue } from "@qyt/base";
import { parseStructuredInSlices } from "@qyt/yson";
import * as z from "zod";
import type { RequestContext } from "../cypress/index.ts";
import type { CommandContext } from "./define.ts";
import { optional, parameter, readBoolean, readParameters } from "./parameters.ts";

const prerequisites = z.object({
  prerequisite_transaction_ids: optional(parameter.list(parameter.guid)),
  suppress_access_tracking: optional(parameter.boolean),
  suppress_modification_tracking: optional(parameter.boolean),
  suppress_expiration_timeout_renewal: optional(parameter.boolean),
});

const revision = z.object({
  path: parameter.path,
  transaction_id: optional(parameter.guid),
  revision: parameter.uint64,
});

type Prerequisites = z.output<typeof prerequisites>;

/** Most requests have none of these, and a batch has thousands of requests. */
const nothing: Partial<Prerequisites> = {};
const names = Object.keys(prerequisites.shape);

function hasAny(parameters: CommandContext["parameters"]): boolean {
  return names.some((name) => parameters.has(name));
}

/** Who asks, in which master transaction, under which conditions. */
export function cypressContext(
  context: CommandContext,
  options: { readonly withoutTransaction?: boolean } = {},
): RequestContext {
  const read = hasAny(context.parameters) ? readParameters(prerequisites, context.parameters) : nothing;
  const transactionId = options.withoutTransaction === true ? undefined : context.common.transaction_id;
  const revisions = context.parameters.get("prerequisite_revisions");
  const list = Array.isArray(revisions) ? revisions : [];
  return {
    user: context.user,
    ...(transactionId === undefined ? {} : { transactionId }),
    ...(read.prerequisite_transaction_ids === undefined
      ? {}
      : { prerequisiteTransactionIds: read.prerequisite_transaction_ids }),
    ...(list.length === 0
      ? {}
      : {
          prerequisiteRevisions: list.map((item) => {
            const one = readParameters(revision, item instanceof Map ? item : new Map());
            return {
              path: one.path.path,
              revision: one.revision,
              ...(one.transaction_id === undefined ? {} : { transactionId: one.transaction_id }),
            };
          }),
        }),
    ...(read.suppress_access_tracking === true ? { suppressAccessTracking: true } : {}),
    ...(read.suppress_modification_tracking === true ? { suppressModificationTracking: true } : {}),
    ...(read.suppress_expiration_timeout_renewal === true ? { suppressExpirationTimeoutRenewal: true } : {}),
  };
}

/** Whether the caller asked for the bare value in API v4 too. */
export function wantsBareValue(context: CommandContext): boolean {
  const value = context.parameters.get("return_only_value");
  return value !== undefined && value !== null && readBoolean(value);
}

/** The body of a command whose input is one value. @throws YtError 4000-family when it is none of its format */
export async function readStructured(context: CommandContext): Promise<YsonValue> {
  const body = await context.request.readBody(limits.maxStructuredBodyBytes);
  const work = parseStructuredInSlices(body, context.inputFormat(), { maxDepth: limits.maxCypressYsonDepth });
  return inSlices(work, context.services.cell.clock);
}
