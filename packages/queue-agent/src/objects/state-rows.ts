/**
 * Rows of the state tables as values. A column without a value is `null`.
 *
 * Specified in: yt/yt/ytlib/queue_client/records (queue_object, consumer_object, consumer_registration,
 * queue_agent_object_mapping).
 */
import type { YsonValue, YtError } from "@qyt/base";
import type { AutoTrimConfig, StaticExportConfigs } from "./object-configs.ts";
import type { ObjectReference } from "./reference.ts";

/** What rows of queues and of consumers have in common. */
export interface ObjectRow {
  readonly reference: ObjectReference;
  /** Grows with every rewrite of the row. */
  readonly rowRevision: bigint | null;
  /** The object's `@attribute_revision`. */
  readonly revision: bigint | null;
  /** `table`, `replicated_table`, … */
  readonly objectType: string | null;
  readonly queueAgentStage: string | null;
  /** `null`: never synchronized or fine. */
  readonly synchronizationError: YtError | null;
  readonly queueAgentBanned: boolean | null;
  readonly profilingTag: string | null;
}

export interface QueueRow extends ObjectRow {
  readonly kind: "queue";
  readonly dynamic: boolean | null;
  readonly sorted: boolean | null;
  readonly autoTrimConfig: AutoTrimConfig | null;
  readonly staticExportConfig: StaticExportConfigs | null;
  readonly objectId: string | null;
  /** The two configurations as they were set, for the Orchid. */
  readonly rawAutoTrimConfig: YsonValue;
  readonly rawStaticExportConfig: YsonValue;
}

export interface ConsumerRow extends ObjectRow {
  readonly kind: "consumer";
  readonly treatAsQueueConsumer: boolean | null;
  /** The schema node itself (in the table it is wrapped in a list of one). */
  readonly schema: YsonValue;
  readonly isMultiConsumer: boolean;
}

export type StateRow = QueueRow | ConsumerRow;

/** Replicated tables have no rows of their own that the agent could look at. */
export function isReplicated(row: StateRow | undefined): boolean {
  return row?.objectType === "replicated_table" || row?.objectType === "chaos_replicated_table";
}

/** `consumerName` is that of a multi-consumer; the reference names its table. */
export interface RegistrationRow {
  readonly queue: ObjectReference;
  readonly consumer: ObjectReference;
  readonly consumerName: string | null;
  readonly vital: boolean;
  /** `null`: all partitions (an empty list in the table means the same). */
  readonly partitions: readonly bigint[] | null;
}

/** Names of consumers in one table, each with the stage that its row says. */
export type NamesInState = ReadonlyMap<string, string | null>;

/** All of the dynamic state at one moment, as the poll pass read it. */
export interface DynamicState {
  readonly queues: ReadonlyMap<string, QueueRow>;
  readonly consumers: ReadonlyMap<string, ConsumerRow>;
  readonly registrations: readonly RegistrationRow[];
  /** Object reference → agent id. */
  readonly mapping: ReadonlyMap<string, string>;
  /** Consumer's reference → its names in `multi_consumer_names`; absent: that table cannot be read just now. */
  readonly consumerNames?: ReadonlyMap<string, NamesInState> | undefined;
}
