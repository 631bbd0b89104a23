/**
 * What the Queue Agent's attributes answer, compared with what the document prints: as maps, because it prints
 * rates in two orders; value by value, but those of one run only by their type.
 */
import { isList, isMap, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { parseYson } from "@qyt/yson";

/** They say where and when the agent runs. */
const valuesOfOneRun: ReadonlySet<string> = new Set([
  "queue_agent_host",
  ...["trace_id", "span_id", "thread", "datetime", "tid", "pid", "host", "fid"],
  "cell_id",
  "commit_idle_time",
]);

/** Maps become objects. The ids in messages are masked. */
export function comparable(value: YsonValue): unknown {
  if (isMap(value)) {
    return Object.fromEntries(
      [...value].map(([key, item]) => [key, valuesOfOneRun.has(key) ? typeOf(item) : comparable(item)]),
    );
  }
  if (isList(value)) {
    return value.map(comparable);
  }
  return typeof value === "string" ? value.replace(/\b[0-9a-f]+(?:-[0-9a-f]+){3}\b/g, "ID") : value;
}

/** Without the YSON bindings the client takes numbers from JSON, which has one kind of integer. */
function typeOf(value: YsonValue): string {
  return value instanceof Uint64 || typeof value === "bigint" ? "integer" : typeof value;
}

export function parseAnswer(text: string): YsonValue {
  return parseYson(text.trim());
}

/**
 * The printed answer, with what the agent has beyond it: the document prints one of its two consumer statuses
 * without the host of the agent, which here is always there.
 */
export function expectedAnswer(printed: string): unknown {
  const value = parseAnswer(printed);
  return isMap(value) && value.has("queues")
    ? { ...asObject(comparable(value)), queue_agent_host: "string" }
    : comparable(value);
}

/** The status of a consumer of which one queue cannot be told: any error of code 1 in the place of its rates. */
export function withAnyError(status: unknown): unknown {
  const { queues, ...rest } = asObject(status);
  const entries = Object.entries(asObject(queues)).map(([queue, sub]) => {
    const { error, ...others } = asObject(sub);
    return [queue, error === undefined ? sub : { error: { code: asObject(error)["code"] }, ...others }];
  });
  return { ...rest, queues: Object.fromEntries(entries) };
}

/** The numbers of a map of rates, by name. @throws Error when the answer is no map of doubles */
export function ratesOf(text: string): Readonly<Record<string, number>> {
  const value = parseAnswer(text);
  const rates: YsonMap = isMap(value) ? value : new Map();
  return Object.fromEntries(
    [...rates].map(([name, rate]) => {
      if (typeof rate !== "number") {
        throw new Error(`${name} is no double in ${text}`);
      }
      return [name, rate];
    }),
  );
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return { ...Object(value) };
}
