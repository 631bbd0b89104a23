/**
 * Keeps the state table `multi_consumer_names`: the names in the tables of multi-consumers, for those who look
 * for a name without reading all of these tables. The names come with the snapshots of the consumers' passes,
 * what the table says with the state of the poll pass; so nothing more is read, and only news are written.
 *
 * Specified in: yt/yt/server/queue_agent/multi_consumer_controller.cpp (TMultiConsumerController::GuardedPass),
 * multi_consumer_names_garbage_collector.cpp (GuardedPass).
 */
import { turn, type YsonMap, YtError } from "@qyt/base";
import type { AgentContext } from "../context.ts";
import { parseReference } from "../objects/reference.ts";
import type { ConsumerRow, DynamicState, NamesInState } from "../objects/state-rows.ts";
import type { ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";
import { deleteYson, insertYson } from "../state/row-io.ts";
import { encodeNameRow } from "../state/state-rows-codec.ts";
import type { TableLocation } from "../state/state-tables.ts";

export interface NamesPlan {
  readonly write: readonly string[];
  readonly remove: readonly string[];
}

/** What makes the rows of one consumer say that there are these names, all of this stage. */
export function planNames(names: ReadonlySet<string>, inState: NamesInState, stage: string): NamesPlan {
  return {
    write: [...names].filter((name) => inState.get(name) !== stage),
    remove: [...inState.keys()].filter((name) => !names.has(name)),
  };
}

/**
 * References of consumers that have names but no row. Rows of names are written only while the consumer has
 * its row, so names of an earlier moment than the consumers are surely left over.
 */
export function abandonedConsumers(
  namesBefore: ReadonlyMap<string, NamesInState>,
  consumers: ReadonlyMap<string, ConsumerRow>,
): readonly string[] {
  return [...namesBefore.keys()].filter((reference) => !consumers.has(reference));
}

/** What is asked of a consumer's controller. */
export interface NamedConsumer {
  readonly isLeading: boolean;
  readonly snapshot: Pick<ConsumerSnapshot, "names">;
}

export interface ConsumerNamesOptions {
  readonly context: AgentContext;
  readonly table: TableLocation;
  /** Of all agents: removes what consumers that are gone have left. */
  readonly isLeader: () => boolean;
}

interface Agreed {
  readonly inState: NamesInState | undefined;
  readonly stage: string;
}

const noNames: NamesInState = new Map();
const consumersPerTurn = 20;

export class ConsumerNames {
  readonly #options: ConsumerNamesOptions;
  /** Sets of names of which the rows are known to say the same; both are kept from pass to pass. */
  readonly #agreed = new WeakMap<ReadonlySet<string>, Agreed>();
  #namesBefore: ReadonlyMap<string, NamesInState> = new Map();

  constructor(options: ConsumerNamesOptions) {
    this.#options = options;
  }

  /**
   * Makes the rows of consumers led here what their tables say. A consumer that is banned, of another stage,
   * or cannot be read keeps the rows it has.
   * @param state as it was read just now
   * @throws YtError when the table cannot be read or written; the next call tries again
   */
  async synchronize(
    state: DynamicState,
    consumers: ReadonlyMap<string, NamedConsumer>,
    signal: AbortSignal,
  ): Promise<void> {
    const { context, table, isLeader } = this.#options;
    const { consumerNames } = state;
    if (consumerNames === undefined) {
      throw new YtError(`The state table ${table.path} cannot be read: check that it is there and mounted`);
    }
    const written: YsonMap[] = [];
    const removed: YsonMap[] = [];
    let compared = 0;
    for (const [reference, { isLeading, snapshot }] of consumers) {
      const row = state.consumers.get(reference);
      if (isLeading && snapshot.names instanceof Set && row !== undefined && this.#isOurs(row)) {
        const plan = this.#compare(snapshot.names, consumerNames.get(reference));
        written.push(...plan.write.map((name) => encodeNameRow(row.reference, name, context.stage)));
        removed.push(...plan.remove.map((name) => encodeNameRow(row.reference, name)));
        compared += 1;
        if (compared % consumersPerTurn === 0) {
          await turn();
        }
      }
    }
    const abandoned = isLeader() ? abandonedConsumers(this.#namesBefore, state.consumers) : [];
    this.#namesBefore = consumerNames;
    for (const text of abandoned) {
      const names = consumerNames.get(text) ?? noNames;
      removed.push(...[...names.keys()].map((name) => encodeNameRow(parseReference(text), name)));
    }
    const client = context.clusters.client(table.cluster);
    await deleteYson(client, table.path, removed, { signal });
    await insertYson(client, table.path, written, { signal });
  }

  #isOurs({ queueAgentBanned, queueAgentStage }: ConsumerRow): boolean {
    return queueAgentBanned !== true && queueAgentStage === this.#options.context.stage;
  }

  #compare(names: ReadonlySet<string>, inState: NamesInState | undefined): NamesPlan {
    const { stage } = this.#options.context;
    const agreed = this.#agreed.get(names);
    if (agreed !== undefined && agreed.inState === inState && agreed.stage === stage) {
      return { write: [], remove: [] };
    }
    const plan = planNames(names, inState ?? noNames, stage);
    if (plan.write.length + plan.remove.length === 0) {
      this.#agreed.set(names, { inState, stage });
    }
    return plan;
  }
}
