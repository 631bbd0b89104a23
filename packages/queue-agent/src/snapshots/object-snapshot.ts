/** What the snapshots of queues and of consumers have in common, and how the next one begins. */
import type { YtError } from "@qyt/base";
import type { ObjectReference } from "../objects/reference.ts";
import type { RegistrationRow, StateRow } from "../objects/state-rows.ts";

export interface ObjectSnapshot<Row extends StateRow> {
  readonly kind: Row["kind"];
  readonly reference: ObjectReference;
  readonly row: Row;
  readonly registrations: readonly RegistrationRow[];
  /** −1 before the first pass. */
  readonly passIndex: number;
  /** Unix milliseconds of the pass's start. */
  readonly passInstantMs: number;
  readonly error: YtError | null;
  /** Unix milliseconds of the first pass that found the object banned. */
  readonly bannedSinceMs: number | null;
}

/** What a pass works on. */
export interface PassInput<Row extends StateRow, Snapshot extends ObjectSnapshot<Row>> {
  readonly row: Row;
  readonly registrations: readonly RegistrationRow[];
  readonly previous: Snapshot | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** The beginning of the next snapshot, whatever the pass finds. */
export function nextSnapshotHead<Row extends StateRow>({
  row,
  registrations,
  previous,
  nowMs,
}: PassInput<Row, ObjectSnapshot<Row>>): Omit<ObjectSnapshot<Row>, "error"> {
  return {
    kind: row.kind,
    reference: row.reference,
    row,
    registrations,
    passIndex: (previous?.passIndex ?? -1) + 1,
    passInstantMs: nowMs,
    bannedSinceMs: row.queueAgentBanned === true ? (previous?.bannedSinceMs ?? nowMs) : null,
  };
}
