/** Set-up of this room's tests: a tree over a memory store and a clock that stands still. */
import { type Clock, seededRandom, type YsonValue, YtError } from "@qyt/base";
import { Cell, MemoryStore, type Store } from "../cell/index.ts";
import { Cypress, type CypressOptions, type RequestContext } from "./cypress.ts";
import { emptyEntityType } from "./types/file.ts";

export const root: RequestContext = { user: "root" };

/** A clock that a test moves. */
export interface MovableClock extends Clock {
  advance(ms: number): Promise<void>;
  /** Moves the time of day without running timers. */
  setNow(unixMs: number): void;
}

export interface World {
  readonly cypress: Cypress;
  readonly cell: Cell;
  readonly clock: MovableClock;
  readonly store: Store;
  get(
    path: string,
    parameters?: { attributes?: YsonValue; maxSize?: number },
    context?: RequestContext,
  ): Promise<YsonValue>;
  set(path: string, value: YsonValue, context?: RequestContext): Promise<void>;
  create(type: string, path: string, context?: RequestContext): Promise<string>;
  exists(path: string, context?: RequestContext): Promise<boolean>;
  /** The same store opened anew, as after a restart. */
  reopen(): Promise<World>;
}

export interface WorldOptions extends Partial<CypressOptions> {
  readonly store?: Store;
}

/** A bare stand-in for tables, which other rooms register. */
export const tableStub = emptyEntityType("table", 401);

/** Gives what opens a fresh tree for each test. */
export function worldOpener(newClock: () => MovableClock): (options?: WorldOptions) => Promise<World> {
  return (options = {}) => openWorld(options, options.store ?? new MemoryStore(), newClock());
}

async function openWorld(options: WorldOptions, store: Store, clock: MovableClock): Promise<World> {
  const cell = await Cell.open({ store, clock, random: seededRandom(1), cellTag: 1 });
  const cypress = await Cypress.open(cell, { clusterName: "test", nodeTypes: [tableStub], ...options });
  return {
    cypress,
    cell,
    clock,
    store,
    get: (path, parameters = {}, context = root) => cypress.get(context, { path, ...parameters }),
    set: (path, value, context = root) => cypress.set(context, { path, value }),
    create: async (type, path, context = root) => (await cypress.create(context, { type, path })).id,
    exists: (path, context = root) => cypress.exists(context, { path }),
    async reopen() {
      await cypress.close();
      return openWorld(options, store, clock);
    },
  };
}

/** The error that the promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<YtError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof YtError) {
      return error;
    }
    throw error;
  }
  throw new Error("The promise was expected to reject");
}

/** Texts of an error and of those inside of it. */
export function texts(error: YtError): string {
  return [error.message, ...error.innerErrors.map(texts)].join(" | ");
}
