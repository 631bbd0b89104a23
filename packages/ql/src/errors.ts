/** Errors of the query language that more than one step raises. */
import { YtError } from "@qyt/base";
import { queryLimits } from "./options.ts";
import { describeToken, type Token } from "./tokens.ts";

/** Characters of the query shown on each side of the place of a syntax error. */
const contextLength = 16;

/** A syntax error; attributes say where it is and show the text around it. */
export function parseError(message: string, text: string, start: number, end: number): YtError {
  const left = text.slice(Math.max(0, start - contextLength), start);
  const right = text.slice(end, end + contextLength);
  return new YtError(`Error while parsing query: ${message}`, {
    attributes: {
      position: `${start}-${end}`,
      query: `${left} >>>>> ${text.slice(start, end)} <<<<< ${right}`,
    },
  });
}

/** The syntax error for a token that cannot stand where it does. */
export function unexpectedToken(token: Token, text: string, expected?: string): YtError {
  const suffix = expected === undefined ? "" : `, expecting ${expected}`;
  return parseError(
    `syntax error, unexpected ${describeToken(token)}${suffix}`,
    text,
    token.start,
    token.end,
  );
}

/** Error 1711. */
export function depthExceeded(): YtError {
  return new YtError("Maximum expression depth exceeded", {
    code: "QueryExpressionDepthLimitExceeded",
    attributes: { max_expression_depth: BigInt(queryLimits.maxExpressionDepth) },
  });
}

/** An error for a part of the grammar that is recognised but not done. */
export function unsupported(what: string): YtError {
  return new YtError(`${what} is not supported yet`);
}
