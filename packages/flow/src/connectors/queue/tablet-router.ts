/**
 * Which partition of a queue a message goes to: by an expression over its payload.
 * Specified in: yt/yt/flow/library/cpp/connectors/queue/tablet_router.cpp, tablet_index_evaluator.cpp.
 */
import { toYtError, YtError } from "@qyt/base";
import { type CompiledExpression, prepareExpression } from "@qyt/ql";
import { type RowValue, type TableSchema, YsonAny } from "@qyt/schema";
import type { ClusterPath } from "../../cluster/flow-cluster.ts";
import type { Message, Payload } from "../../model/message.ts";
import { Periodic } from "../common/periodic.ts";
import type { ConnectorContext } from "../connector.ts";
import { readTabletCount } from "./queue-info.ts";

export type HashPolicy = "range" | "modulo";

const maxUint64 = (1n << 64n) - 1n;
const maxInt64 = (1n << 63n) - 1n;

/** A hash as an index below `count`: by the remainder, or by equal ranges of all hashes. */
export function reduceHash(hash: bigint, count: bigint, policy: HashPolicy): bigint {
  if (policy === "modulo") {
    return hash % count;
  }
  return count < 2n ? 0n : hash / (maxUint64 / count + 1n);
}

export interface TabletIndexExpression {
  readonly text: string;
  /** `undefined`: the value is the index. */
  readonly policy: HashPolicy | undefined;
}

/** Computes indexes of tablets. Keeps nothing between messages. */
export class TabletIndexEvaluator {
  readonly #text: string;
  readonly #policy: HashPolicy | undefined;
  readonly #expression: CompiledExpression;

  /** @throws YtError 1 for an expression that does not fit the schema, or gives no uint64 */
  constructor({ text, policy }: TabletIndexExpression, schema: TableSchema) {
    this.#text = text;
    this.#policy = policy;
    try {
      this.#expression = prepareExpression(text, schema);
    } catch (thrown) {
      throw new YtError(`Invalid tablet routing expression "${text}"`, { inner: [toYtError(thrown)] });
    }
    if (this.#expression.type !== "uint64") {
      throw new YtError(
        `Tablet routing expression "${text}" must produce a uint64, but produces "${this.#expression.type}"`,
      );
    }
  }

  /** @throws YtError 1 when the value is no index of a queue with so many tablets */
  evaluate(payload: Payload, tabletCount: bigint): bigint {
    const value = this.#expression.evaluate(payload);
    if (typeof value !== "bigint") {
      throw new YtError(
        `Tablet routing expression "${this.#text}" produced a "${kindOf(value)}" value, expected uint64`,
      );
    }
    if (this.#policy === undefined && value > maxInt64) {
      throw new YtError(
        `Tablet index expression "${this.#text}" produced value ${value} that does not fit into an int64 $tablet_index`,
      );
    }
    const index = this.#policy === undefined ? value : reduceHash(value, tabletCount, this.#policy);
    if (index >= tabletCount) {
      throw new YtError(
        `Tablet routing expression "${this.#text}" produced tablet index ${index} outside the valid range [0, ${tabletCount})`,
      );
    }
    return index;
  }
}

function kindOf(value: RowValue): string {
  if (value === null) {
    return "null";
  }
  if (value instanceof YsonAny) {
    return "any";
  }
  return typeof value === "number" ? "double" : typeof value === "boolean" ? "boolean" : "string";
}

/** Messages by tablet: groups in the order of indexes, each in the order of arrival. */
export function groupByTablet<Item>(
  items: readonly Item[],
  indexOf: (item: Item) => bigint,
): readonly (readonly [index: bigint, items: readonly Item[]])[] {
  const groups = new Map<bigint, Item[]>();
  for (const item of items) {
    const index = indexOf(item);
    const group = groups.get(index);
    if (group === undefined) {
      groups.set(index, [item]);
    } else {
      group.push(item);
    }
  }
  return [...groups].sort(([left], [right]) => (left < right ? -1 : 1));
}

export interface TabletRouterOptions {
  readonly context: ConnectorContext;
  readonly queue: ClusterPath;
  readonly expression: TabletIndexExpression;
  readonly schema: TableSchema;
  /** Fixed by the spec; only where hashes are mapped. */
  readonly tabletCount: number | undefined;
  readonly refreshPeriodMs: number;
}

/** The evaluator with the queue's tablet count, asked for at the first write and again and again after it. */
export class TabletRouter {
  readonly #options: TabletRouterOptions;
  readonly #evaluator: TabletIndexEvaluator;
  readonly #refresh: Periodic;
  #count: bigint | undefined;

  /** @throws YtError as `TabletIndexEvaluator` does */
  constructor(options: TabletRouterOptions) {
    this.#options = options;
    const { context, refreshPeriodMs, tabletCount } = options;
    this.#evaluator = new TabletIndexEvaluator(options.expression, options.schema);
    this.#count = tabletCount === undefined ? undefined : BigInt(tabletCount);
    this.#refresh = new Periodic({
      clock: context.clock,
      random: context.random,
      periodMs: () => refreshPeriodMs,
      isFirstAtOnce: false,
      work: (signal) => this.#update(signal),
    });
  }

  /**
   * The indexes of messages.
   * @throws YtError when the count cannot be read for the first time, or a message has no valid index
   */
  async route(messages: readonly Message[]): Promise<readonly bigint[]> {
    if (this.#count === undefined) {
      this.#count = await this.#read();
      this.#refresh.start();
    }
    const count = this.#count;
    return messages.map(({ payload }) => this.#evaluator.evaluate(payload, count));
  }

  async stop(): Promise<void> {
    await this.#refresh.stop();
  }

  async #read(signal?: AbortSignal): Promise<bigint> {
    const { context, queue } = this.#options;
    const count = await readTabletCount(context, queue, signal);
    if (count <= 0) {
      throw new YtError(`Queue ${queue.path} has non-positive @tablet_count ${count}`);
    }
    return BigInt(count);
  }

  async #update(signal: AbortSignal): Promise<boolean> {
    try {
      this.#count = await this.#read(signal);
      return true;
    } catch (thrown) {
      if (!signal.aborted) {
        this.#options.context.log("warn", "Failed to refresh the tablet count; the last one is used", {
          queue: this.#options.queue.path,
          tablet_count: this.#count,
          reason: toYtError(thrown).message,
        });
      }
      return false;
    }
  }
}
