/**
 * An error as a person reads it: the messages of its tree, each level further in, then its code, what more is known,
 * and what to do. Facts by: yt/python/yt/common.py (messages first, transparent errors left out).
 */
import { type ErrorCodeName, errorCodes, errorDescriptions, toYtError, type YtError } from "@qyt/base";
import { writeYsonText } from "@qyt/yson";

/** Attributes that say only where and when. */
const dullAttributes: ReadonlySet<string> = new Set([
  "host",
  "datetime",
  "pid",
  "tid",
  "fid",
  "trace_id",
  "span_id",
]);

/** Lines with a line break at the end of each. */
export function errorText(thrown: unknown): string {
  const error = toYtError(thrown);
  const more = details(error);
  const lines = [...messages(error, 0), ...(more.length === 0 ? [] : ["", ...more])];
  return lines.map((line) => `${line}\n`).join("");
}

function messages(error: YtError, depth: number): string[] {
  const inner = error.innerErrors.flatMap((each) => messages(each, depth + 1));
  return [`${" ".repeat(4 * depth)}${error.message}`, ...inner];
}

function details(error: YtError): string[] {
  const lines: string[] = [];
  const telling = deepestWithCode(error);
  const name = nameOfCode(telling.code);
  if (telling.code !== errorCodes.Generic) {
    lines.push(`Error ${telling.code}${name === undefined ? "" : ` (${name})`}`);
  }
  for (const [key, value] of error.attributes) {
    if (!dullAttributes.has(key)) {
      lines.push(`  ${key} = ${writeYsonText(value)}`);
    }
  }
  const description = name === undefined ? undefined : errorDescriptions[name];
  if (description !== undefined && telling.code !== errorCodes.Generic) {
    lines.push(`What to do: ${description.remedy}`);
  }
  return lines;
}

/** The innermost error along the first inner ones that has a code of its own: outer ones say where it happened. */
function deepestWithCode(error: YtError): YtError {
  const inner = error.innerErrors[0];
  const found = inner === undefined ? undefined : deepestWithCode(inner);
  return found === undefined || found.code === errorCodes.Generic ? error : found;
}

function nameOfCode(code: number): ErrorCodeName | undefined {
  return Object.keys(errorCodes)
    .filter((name): name is ErrorCodeName => name in errorCodes)
    .find((name) => errorCodes[name] === code);
}

/** The error's message and those of its first inner errors, as one sentence. */
export function sentence(thrown: unknown): string {
  const error = toYtError(thrown);
  const [inner] = error.innerErrors;
  return inner === undefined ? error.message : `${error.message}: ${sentence(inner)}`;
}
