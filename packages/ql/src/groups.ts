/**
 * The groups of a query with GROUP BY: keys and the states of their aggregates.
 */
import type { RowValue } from "@qyt/schema";
import { YsonAny } from "@qyt/schema";
import type { AggregateState } from "./functions/aggregates.ts";
import type { GroupProgram } from "./plan.ts";
import { detach } from "./values.ts";

interface Group {
  readonly keys: readonly RowValue[];
  readonly states: readonly AggregateState[];
}

export class Groups {
  readonly #program: GroupProgram;
  readonly #groups = new Map<unknown, Group>();

  constructor(program: GroupProgram) {
    this.#program = program;
  }

  get size(): number {
    return this.#groups.size;
  }

  /** Adds a row; false when it would need a new group and there are `maxGroups` already. */
  add(row: readonly RowValue[], maxGroups: number): boolean {
    const keys = this.#program.items.map((item) => item(row));
    const id = identityOf(keys);
    let group = this.#groups.get(id);
    if (group === undefined) {
      if (this.#groups.size >= maxGroups) {
        return false;
      }
      group = { keys: keys.map(detach), states: this.#program.aggregates.map((item) => item.create()) };
      this.#groups.set(id, group);
    }
    for (const [index, item] of this.#program.aggregates.entries()) {
      group.states[index]?.update(item.arguments.map((argument) => argument(row)));
    }
    return true;
  }

  /** A row of group items and aggregates for each group, in the order the groups appeared. */
  *rows(): Iterable<GroupRow> {
    for (const { keys, states } of this.#groups.values()) {
      yield { row: [...keys, ...states.map((state) => state.result())], states };
    }
  }
}

export interface GroupRow {
  readonly row: readonly RowValue[];
  readonly states: readonly AggregateState[];
}

/** What WITH TOTALS counts: the aggregates over several groups as one. */
export class Totals {
  readonly #program: GroupProgram;
  #states: readonly AggregateState[] | undefined;

  constructor(program: GroupProgram) {
    this.#program = program;
  }

  add(states: readonly AggregateState[]): void {
    this.#states ??= this.#program.aggregates.map((item) => item.create());
    for (const [index, state] of this.#states.entries()) {
      const other = states[index];
      if (other !== undefined) {
        state.merge(other);
      }
    }
  }

  /** Null for each group item, and the aggregates; undefined when nothing was added. */
  row(): readonly RowValue[] | undefined {
    return this.#states === undefined
      ? undefined
      : [...this.#program.items.map(() => null), ...this.#states.map((state) => state.result())];
  }
}

/** Something equal (as a key of a map) for equal keys and different for different ones. */
export function identityOf(keys: readonly RowValue[]): unknown {
  const [only = null] = keys;
  return keys.length === 1 ? identityOfValue(only) : keys.map(describeValue).join("");
}

function identityOfValue(value: RowValue): unknown {
  const bytes = value instanceof YsonAny ? value.bytes : value;
  return bytes instanceof Uint8Array ? latin1(bytes) : bytes;
}

/** Prefix-free text, so that texts of several values cannot run into each other. */
function describeValue(value: RowValue): string {
  const identity = identityOfValue(value);
  if (typeof identity === "string") {
    return `s${identity.length}:${identity}`;
  }
  // -0 and 0 are one group, as they are one key of a map.
  return `${typeof identity}${identity === 0 ? 0 : String(identity)};`;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}
