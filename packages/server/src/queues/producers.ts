/**
 * Producer sessions and pushes without duplicates.
 *
 * A session row (queue, session id) keeps the epoch, which fences out older writers, and the number of
 * the last row written. Paths are taken as given on this cluster: no links, no cluster attribute.
 *
 * Specified in: yt/yt/ytlib/api/native/transaction.cpp (DoPushQueueProducer),
 * client_dynamic_tables_impl.cpp (Do{Create,Remove}QueueProducerSession),
 * yt/yt/ytlib/queue_client/helpers.cpp (ValidatePushQueueProducerRows).
 */
import { isMap, limits, mapOf, toYtError, type YsonValue, YtError } from "@qyt/base";
import { type EncodedRows, producerSchema, type RowValue, type TableSchema, YsonAny } from "@qyt/schema";
import { parseYson, type RichPath, stringToBytes, writeYson } from "@qyt/yson";
import type { DynamicTable, TabletTransaction } from "../tablets/index.ts";
import { type ChangeOptions, inTransaction, type QueueContext, type QueueServices } from "./context.ts";
import { checkPermission, permittedTable } from "./permissions.ts";
import { requireLocalCluster } from "./references.ts";
import { numberRows } from "./sequence-numbers.ts";

export interface SessionParameters {
  readonly producerPath: RichPath;
  readonly queuePath: RichPath;
  readonly sessionId: string;
}

export interface SessionState {
  readonly epoch: bigint;
  /** −1 when nothing was written yet. */
  readonly sequenceNumber: bigint;
  readonly userMeta: YsonValue;
}

interface StoredSession {
  readonly sequenceNumber: bigint;
  readonly epoch: bigint;
  readonly userMeta: YsonAny | null;
  readonly systemMeta: YsonAny | null;
}

const ownTransaction: ChangeOptions = { transactionId: undefined };

const column = { sequenceNumber: 3, epoch: 4, userMeta: 5, systemMeta: 6 } as const;

/**
 * Opens a session, or takes it over: the epoch grows and older writers are fenced out.
 * @param checkAnswer throws when the caller cannot be told the state; nothing has changed then
 */
export async function createProducerSession(
  services: QueueServices,
  context: QueueContext,
  parameters: SessionParameters & {
    readonly userMeta: YsonValue | undefined;
    readonly mutationId: string | undefined;
  },
  checkAnswer: (state: SessionState) => void,
): Promise<SessionState> {
  const producer = producerTable(services, context, parameters);
  const key = sessionKey(services, parameters);
  const userMeta = encodeUserMeta(parameters.userMeta);
  return inTransaction(services, context, ownTransaction, (transaction) => {
    const stored = readSession(transaction, producer, key);
    if (
      stored !== undefined &&
      parameters.mutationId !== undefined &&
      mutationOf(stored) === parameters.mutationId
    ) {
      return stateOf(stored);
    }
    const next: StoredSession = {
      sequenceNumber: stored?.sequenceNumber ?? -1n,
      epoch: stored === undefined ? 0n : stored.epoch + 1n,
      userMeta: userMeta === undefined ? (stored?.userMeta ?? null) : userMeta,
      // A call without an id takes the session over from the mutation that had it: nobody may repeat that.
      systemMeta:
        parameters.mutationId === undefined ? null : encodeAny(mapOf({ mutation_id: parameters.mutationId })),
    };
    const state = stateOf(next);
    checkAnswer(state);
    writeSession(transaction, producer, key, next);
    return state;
  });
}

/** Forgets a session; one that does not exist is no error. */
export async function removeProducerSession(
  services: QueueServices,
  context: QueueContext,
  parameters: SessionParameters,
): Promise<void> {
  const producer = producerTable(services, context, parameters);
  await inTransaction(services, context, ownTransaction, (transaction) => {
    transaction.deleteKey(producer, sessionKey(services, parameters));
  });
}

export interface PushParameters extends SessionParameters, ChangeOptions {
  readonly epoch: bigint;
  /** Number of the first row; the following ones count up. */
  readonly sequenceNumber: bigint | undefined;
  readonly userMeta: YsonValue | undefined;
  readonly requireSyncReplica: boolean;
  /** The layout of the queue's tablets that the rows were routed by; another one at commit refuses the push. */
  readonly layoutRevision?: bigint | undefined;
}

export interface PushResult {
  readonly lastSequenceNumber: bigint;
  readonly skippedRowCount: bigint;
  /** Of the queue's tablets when the rows were routed. */
  readonly layoutRevision: bigint;
}

/** The two tables of a push, checked; the queue's write schema is needed to read the rows. */
export function pushTables(
  services: QueueServices,
  context: QueueContext,
  parameters: Pick<PushParameters, "producerPath" | "queuePath" | "layoutRevision">,
): { readonly queue: DynamicTable; readonly producer: DynamicTable } {
  requireThisCluster(services, parameters);
  const queue = validTable(services, context, parameters.queuePath, "queue");
  if (queue.sorted) {
    throw new YtError(`Queue ${queue.path} must be an ordered table`);
  }
  const producer = validTable(services, context, parameters.producerPath, "producer");
  if (!producer.sorted) {
    throw new YtError(`Producer ${producer.path} must be a sorted table`);
  }
  checkPermission(producer, context, "write");
  checkPermission(queue, context, "write");
  requireProducerSchema(producer);
  // Before the rows are read: their tablets may not exist any more.
  if (parameters.layoutRevision !== undefined) {
    queue.requireLayout(parameters.layoutRevision);
  }
  return { queue, producer };
}

/** Writes the rows that the session does not have yet, and moves the session, in one transaction. */
export async function pushQueueProducer(
  services: QueueServices,
  context: QueueContext,
  parameters: PushParameters,
  tables: { readonly queue: DynamicTable; readonly producer: DynamicTable },
  rows: EncodedRows,
): Promise<PushResult> {
  const key = sessionKey(services, parameters);
  const userMeta = encodeUserMeta(parameters.userMeta);
  return inTransaction(services, context, parameters, (transaction) => {
    const stored = readSession(transaction, tables.producer, key);
    if (stored === undefined) {
      throw new YtError(`Unknown queue producer session "${parameters.sessionId}"`, {
        attributes: { session_id: parameters.sessionId, producer: tables.producer.path },
      });
    }
    checkEpoch(parameters.epoch, stored.epoch);
    const memory = `${tables.producer.id}/${parameters.queuePath.path}\0${parameters.sessionId}`;
    const last = transaction.remembered.get(memory) ?? stored.sequenceNumber;
    const numbers = numberRows(rows, parameters.sequenceNumber, last);
    const reached = numbers.last !== undefined && numbers.last > last ? numbers.last : last;
    try {
      if (numbers.skippedRowCount < rows.rowCount) {
        transaction.insertRows(tables.queue, rows.slice(numbers.skippedRowCount, rows.rowCount), {
          requireSyncReplica: parameters.requireSyncReplica,
          layoutRevision: parameters.layoutRevision,
        });
      }
      writeSession(transaction, tables.producer, key, {
        ...stored,
        sequenceNumber: reached,
        userMeta: userMeta === undefined ? stored.userMeta : userMeta,
      });
    } catch (error) {
      // Rows without their session would be written again by a retry: a push that stopped half way must
      // not be committed with the rest of the caller's transaction.
      transaction.abort();
      throw error;
    }
    transaction.remembered.set(memory, reached);
    return {
      layoutRevision: tables.queue.layoutRevision,
      lastSequenceNumber: numbers.last ?? last,
      skippedRowCount: BigInt(numbers.skippedRowCount),
    };
  });
}

function checkEpoch(given: bigint, stored: bigint): void {
  if (given < stored) {
    throw new YtError(
      `Received session epoch ${given} is less than the actual ${stored} epoch, probably it is a zombie`,
      { code: "ZombieEpoch", attributes: { received_epoch: given, actual_epoch: stored } },
    );
  }
  if (given > stored) {
    throw new YtError(`Received epoch ${given} is greater than the actual ${stored} epoch`, {
      code: "QueueInvalidEpoch",
      attributes: { received_epoch: given, actual_epoch: stored },
    });
  }
}

function validTable(
  services: QueueServices,
  context: QueueContext,
  path: RichPath,
  role: "queue" | "producer",
): DynamicTable {
  try {
    return services.tables.dynamicTable(context, path);
  } catch (thrown) {
    throw toYtError(thrown).wrap(`Path ${path.path} does not point to a valid ${role}`, { path: path.path });
  }
}

function producerTable(
  services: QueueServices,
  context: QueueContext,
  parameters: Pick<SessionParameters, "producerPath" | "queuePath">,
): DynamicTable {
  requireThisCluster(services, parameters);
  const producer = permittedTable(services, context, parameters.producerPath, "write");
  requireProducerSchema(producer);
  return producer;
}

/** Rows and session change in one transaction, so producer and queue are where the transaction is. */
function requireThisCluster(
  services: QueueServices,
  parameters: Pick<SessionParameters, "producerPath" | "queuePath">,
): void {
  const instead =
    "send create_queue_producer_session, push_queue_producer and remove_queue_producer_session to the cluster of the queue, with a producer there";
  requireLocalCluster(services, parameters.queuePath, instead);
  requireLocalCluster(services, parameters.producerPath, instead);
}

/** Schemas compared before; a table keeps one object as long as its schema stays. */
const recognised = new WeakSet<TableSchema>();

function requireProducerSchema(producer: DynamicTable): void {
  const { schema } = producer;
  if (recognised.has(schema)) {
    return;
  }
  if (!schema.equals(producerSchema)) {
    throw new YtError(`Table ${producer.path} does not have the schema of a queue producer`, {
      attributes: mapOf({
        expected_schema: producerSchema.toYson(),
        actual_schema: schema.toYson(),
      }),
    });
  }
  recognised.add(schema);
}

function sessionKey(services: QueueServices, parameters: SessionParameters): RowValue[] {
  return [services.clusterName, parameters.queuePath.path, parameters.sessionId].map((text) =>
    stringToBytes(text),
  );
}

function readSession(
  transaction: TabletTransaction,
  producer: DynamicTable,
  key: readonly RowValue[],
): StoredSession | undefined {
  const [row] = transaction.lookup(producer, [key]);
  if (row === undefined) {
    return undefined;
  }
  const integer = (index: number, fallback: bigint): bigint => {
    const value = row[index];
    return typeof value === "bigint" ? value : fallback;
  };
  const any = (index: number): YsonAny | null => {
    const value = row[index];
    return value instanceof YsonAny ? value : null;
  };
  return {
    sequenceNumber: integer(column.sequenceNumber, -1n),
    epoch: integer(column.epoch, 0n),
    userMeta: any(column.userMeta),
    systemMeta: any(column.systemMeta),
  };
}

function writeSession(
  transaction: TabletTransaction,
  producer: DynamicTable,
  key: readonly RowValue[],
  session: StoredSession,
): void {
  transaction.writeRow(producer, [
    ...key,
    session.sequenceNumber,
    session.epoch,
    session.userMeta,
    session.systemMeta,
  ]);
}

function stateOf(session: StoredSession): SessionState {
  return {
    epoch: session.epoch,
    sequenceNumber: session.sequenceNumber,
    userMeta: session.userMeta === null ? null : parseYson(session.userMeta.bytes),
  };
}

function mutationOf(session: StoredSession): string | undefined {
  const meta = session.systemMeta === null ? null : parseYson(session.systemMeta.bytes);
  const id = isMap(meta) ? meta.get("mutation_id") : undefined;
  return typeof id === "string" ? id : undefined;
}

/** @throws YtError 326 when it is longer than a value of a row may be */
function encodeUserMeta(value: YsonValue | undefined): YsonAny | null | undefined {
  const encoded = value === undefined ? undefined : encodeAny(value);
  const length = encoded?.bytes.length ?? 0;
  if (length > limits.maxStringValueBytes) {
    throw new YtError(
      `The user meta of a session is too long: ${length} bytes, limit ${limits.maxStringValueBytes}`,
      { code: "StringLikeValueLengthLimitExceeded" },
    );
  }
  return encoded;
}

function encodeAny(value: YsonValue): YsonAny | null {
  return value === null ? null : new YsonAny(writeYson(value, "binary"));
}
