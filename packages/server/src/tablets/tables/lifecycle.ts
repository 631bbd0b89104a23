/**
 * Mounting and its kin. Transitions happen within one mutation: a command answers when the tablets have
 * their new state.
 *
 * Specified in: yt/yt/server/master/tablet_server/tablet_manager.cpp (who may go where),
 * test_dynamic_tables_state_transitions.py.
 */
import { YtError } from "@qyt/base";
import type { Draft, Node } from "../../cypress/index.ts";
import { attach, type TableEnvironment } from "./environment.ts";
import { tabletFormatOf } from "./row-format.ts";
import {
  hasOrderedTablets,
  isOrderedDynamic,
  type TableState,
  type TabletRecord,
  type TabletStateName,
} from "./table-state.ts";

export type LifecycleCommand =
  | "mount"
  | "mount_frozen"
  | "unmount"
  | "force_unmount"
  | "freeze"
  | "unfreeze"
  | "remount";

export interface TabletRange {
  readonly firstTabletIndex?: number;
  readonly lastTabletIndex?: number;
}

/** Where a command leads from each state; absent: refused. */
const transitions: Readonly<Record<LifecycleCommand, Partial<Record<TabletStateName, TabletStateName>>>> = {
  mount: { unmounted: "mounted", mounted: "mounted" },
  mount_frozen: { unmounted: "frozen", frozen: "frozen" },
  unmount: { unmounted: "unmounted", mounted: "unmounted", frozen: "unmounted" },
  force_unmount: { unmounted: "unmounted", mounted: "unmounted", frozen: "unmounted" },
  freeze: { mounted: "frozen", frozen: "frozen" },
  unfreeze: { frozen: "mounted", mounted: "mounted" },
  remount: { unmounted: "unmounted", mounted: "mounted", frozen: "frozen" },
};

const verbs: Readonly<Record<LifecycleCommand, string>> = {
  mount: "mount",
  mount_frozen: "mount",
  unmount: "unmount",
  force_unmount: "unmount",
  freeze: "freeze",
  unfreeze: "unfreeze",
  remount: "remount",
};

/** Applies the command to a range of tablets of the table, all or none. */
export function changeTabletStates(
  environment: TableEnvironment,
  draft: Draft,
  node: Node<TableState>,
  command: LifecycleCommand,
  range: TabletRange,
): void {
  const { state } = node;
  if (!state.dynamic) {
    throw new YtError(`Cannot ${verbs[command]} a static table`, {
      attributes: { path: draft.pathOf(node) },
    });
  }
  const { first, last } = resolveRange(state, range);
  const tablets = state.tablets.map((tablet, index) =>
    index < first || index > last ? tablet : changed(draft, tablet, nextState(tablet, command)),
  );
  for (let index = first; index <= last; index++) {
    const before = state.tablets[index];
    const after = tablets[index];
    if (before === undefined || after === undefined) {
      continue;
    }
    if (before.state === "mounted" && after.state !== "mounted") {
      flushOrDrop(environment, draft, state, before, command);
    }
    if (before.state === "unmounted" && hasOrderedTablets(state)) {
      // The schema may have been altered since the tablet was last written.
      const format = tabletFormatOf(state);
      draft.onDurable(() => environment.orderedTablet(before.id).setFormat(format));
    }
    if (after?.state === "unmounted" && hasOrderedTablets(state)) {
      // Nobody reads here any more; a pull that waits is told so.
      const ordered = environment.orderedTablet(after.id);
      draft.onDurable(() => ordered.wakeWaiters());
    }
  }
  const next = { ...state, tablets };
  const isSameLayout = !isOrderedDynamic(state) || sameTakeWrites(state.tablets, tablets);
  draft.update(
    node.id,
    { state: isSameLayout ? next : withNewLayout(draft, next) },
    { lock: { mode: "exclusive" } },
  );
}

function sameTakeWrites(before: readonly TabletRecord[], after: readonly TabletRecord[]): boolean {
  return before.every(({ state }, index) => (state === "mounted") === (after[index]?.state === "mounted"));
}

/** Clients that route rows by the tablets must look at them again. Revisions are never used twice. */
export function withNewLayout(draft: Draft, state: TableState): TableState {
  return { ...state, layoutRevision: draft.nextTimestamp() };
}

function nextState(tablet: TabletRecord, command: LifecycleCommand): TabletStateName {
  const next = transitions[command][tablet.state];
  if (next === undefined) {
    throw new YtError(`Cannot ${verbs[command]} tablet: Tablet ${tablet.id} is in "${tablet.state}" state`, {
      code: "InvalidTabletState",
      attributes: { tablet_id: tablet.id, state: tablet.state },
    });
  }
  return next;
}

function changed(draft: Draft, tablet: TabletRecord, state: TabletStateName): TabletRecord {
  if (state === tablet.state) {
    return tablet;
  }
  if (state === "unmounted") {
    return { id: tablet.id, pivotKey: tablet.pivotKey, state };
  }
  return tablet.state === "unmounted"
    ? { id: tablet.id, pivotKey: tablet.pivotKey, state, mountTimeMs: draft.now }
    : { ...tablet, state };
}

function flushOrDrop(
  environment: TableEnvironment,
  draft: Draft,
  state: TableState,
  tablet: TabletRecord,
  command: LifecycleCommand,
): void {
  environment.stopWrites(draft, tablet.id);
  if (!hasOrderedTablets(state)) {
    return;
  }
  const ordered = environment.orderedTablet(tablet.id);
  attach(
    draft,
    // Replicas may have the unflushed rows of a log already, and a replica is known to have its rows.
    command === "force_unmount" && state.isReplicated !== true && state.upstreamReplicaId === undefined
      ? ordered.prepareDropUnflushed(draft.batch)
      : ordered.prepareFlush(draft.batch),
  );
}

/** @throws YtError when the range is not within the table */
export function resolveRange(state: TableState, range: TabletRange): { first: number; last: number } {
  const count = state.tablets.length;
  const first = range.firstTabletIndex ?? 0;
  const last = range.lastTabletIndex ?? count - 1;
  if (first < 0 || first >= count || last < first || last >= count) {
    throw new YtError(
      `Invalid tablet range [${first}, ${last}]: expected within [0, ${count - 1}] and first not above last`,
    );
  }
  return { first, last };
}
