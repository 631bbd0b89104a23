/** Error codes of tables, rows, chunks, dynamic tables, queries and queues. */
import type { DescriptionTable } from "./error-description.ts";

const sendCorrectedRows = "Correct the row that `row_index` names; nothing of the request was written.";
const damaged = "Run `qyt check` on the data directory, and take the data from a copy.";

export const dataErrorDescriptions: DescriptionTable = {
  SortOrderViolation: {
    meaning: "The rows are not in the order of the table's key.",
    cause: "`write_table` to a sorted table with unsorted rows, or rows before those that are there.",
    remedy: "Sort them first.",
  },
  IncomparableTypes: {
    meaning: "Values of this type have no order.",
    cause: "A key column of type `any`, or a comparison of such values.",
    remedy: "Use a key of a simple type.",
  },
  UnhashableType: {
    meaning: "A value of this type cannot be hashed.",
    cause: "`farm_hash` of a value of type `any`.",
    remedy: "Hash simple values.",
  },
  UniqueKeyViolation: {
    meaning: "Two rows have the same key.",
    cause: "`write_table` to a table with `unique_keys`.",
    remedy: "Leave one of them out.",
  },
  SchemaViolation: {
    meaning: "A row does not fit the schema.",
    cause: "An unknown column, a wrong type, a required value that is missing, a value out of range.",
    remedy: sendCorrectedRows,
  },
  RowWeightLimitExceeded: {
    meaning: "A row or its key is too large.",
    cause: "A row of more than 128 MiB, or a key of a sorted table of more than 3,873 encoded bytes.",
    remedy: "Split the row, or choose a shorter key.",
  },
  InvalidColumnFilter: {
    meaning: "The columns in the path cannot be chosen.",
    cause: "A column that the table does not have, or one named twice.",
    remedy: "Correct the list in braces.",
  },
  IncompatibleKeyColumns: {
    meaning: "The sorted columns do not fit those of the table.",
    cause: "`sorted_by` or `concatenate` with another key than the table's.",
    remedy: "Use the table's key, or write to a table without one.",
  },
  TimestampOutOfRange: {
    meaning: "The timestamp is not one that rows can be read at.",
    cause: "A number that is no timestamp of the cluster.",
    remedy: "Take one from `generate_timestamp` or from a row.",
  },
  InvalidSchemaValue: {
    meaning: "The schema is not a valid one, or not for this kind of table.",
    cause: "An unknown type, a bad name, key columns that do not come first, too many columns.",
    remedy: "Correct the column that the message names.",
  },
  FormatCannotRepresentRow: {
    meaning: "The format has no way to write a value of a row.",
    cause: "A composite value in DSV, for example.",
    remedy: "Read in YSON or JSON.",
  },
  IncompatibleSchemas: {
    meaning: "One schema cannot become the other, or take its rows.",
    cause: "`alter_table` that removes or changes a column; `concatenate` of tables that do not fit.",
    remedy: "Add optional columns only, or copy the rows to a new table.",
  },
  TooManyRowsInRowset: {
    meaning: "One request has too many rows.",
    cause: "More than 5,242,880 rows.",
    remedy: "Send several requests.",
  },
  TooManyColumnsInKey: {
    meaning: "The key has too many columns.",
    cause: "More than 256.",
    remedy: "Use fewer.",
  },
  TooManyValuesInRow: {
    meaning: "A row has too many values.",
    cause: "More than 1,024.",
    remedy: sendCorrectedRows,
  },
  DuplicateColumnInSchema: {
    meaning: "Two columns of the schema have the same name.",
    cause: "A mistake in the schema.",
    remedy: "Rename one.",
  },
  IncomparableComplexValues: {
    meaning: "Composite values cannot be compared.",
    cause: "A query that compares or orders maps or lists.",
    remedy: "Compare simple values that are taken out of them.",
  },
  KeyCannotBeNaN: {
    meaning: "NaN cannot be a part of a key.",
    cause: "A `double` key column with NaN.",
    remedy: sendCorrectedRows,
  },
  StringLikeValueLengthLimitExceeded: {
    meaning: "A string or `any` value is too long.",
    cause: "More than 16 MiB in one value of a dynamic table.",
    remedy: "Split the value.",
  },
  NoSuchChunk: {
    meaning: "There is no chunk with this id.",
    cause: "The table was changed or removed while it was read by chunk ids.",
    remedy: "Read it by its path.",
  },
  InvalidBlockChecksum: {
    meaning: "A stored record is damaged: its checksum is wrong.",
    cause: "A fault of the disk, or a data file that was changed from outside.",
    remedy: damaged,
  },
  ChunkBlockFetchFailed: {
    meaning: "Stored rows are missing.",
    cause: "A damaged data file.",
    remedy: damaged,
  },
  BlockChecksumMismatch: {
    meaning: "Stored rows are not those that were counted.",
    cause: "A damaged data file.",
    remedy: damaged,
  },
  TransactionLockConflict: {
    meaning:
      "Another transaction has changed the row, so this one cannot be committed, and nothing of it is done.",
    cause: "Two tablet transactions, advances of one partition, or sessions with one id at the same time.",
    remedy: "Read anew and try again.",
  },
  NoSuchTablet: {
    meaning: "The table has no tablet (partition) with this number.",
    cause: "A `partition_index` that is too large; the table was resharded.",
    remedy: "Look at `@tablet_count`.",
  },
  TableReplicaAlreadyExists: {
    meaning: "The replicated table has a replica at this path already.",
    cause:
      "`create` of a `table_replica` with a `replica_path` that another one has; its id is in `replica_id`.",
    remedy: "Use that replica, or remove it first (`remove #<id>`).",
  },
  NoSyncReplicas: {
    meaning: "The replicated table has replicas, but no enabled synchronous one; nothing was written.",
    cause: "A write with `require_sync_replica`, which is the default.",
    remedy:
      "Make a replica synchronous and enable it (`alter_table_replica`), or write with `require_sync_replica=%false`.",
  },
  UpstreamReplicaMismatch: {
    meaning:
      "The table is bound to another replica than the one that writes, or to one at all; nothing was written.",
    cause:
      "A direct write to the table of a replica, or an `upstream_replica_id` that is not that of the replica.",
    remedy:
      "Write to the replicated table; set `upstream_replica_id` with `alter_table` while the table is unmounted.",
  },
  SyncReplicaNotInSync: {
    meaning: "A synchronous replica lacks earlier rows, which are being brought to it; nothing was written.",
    cause: "A write soon after a replica was enabled or made synchronous, or while its table is unmounted.",
    remedy: "Write again in a moment; look at `@errors` of the replica if it stays so.",
  },
  NoInSyncReplicas: {
    meaning: "No synchronous replica has all rows of the replicated table, so that it cannot be read.",
    cause: "No replica is synchronous and enabled, or they lag, or their tables are not mounted.",
    remedy: "Enable a synchronous replica, mount its table, or read the table of a replica itself.",
  },
  TabletNotMounted: {
    meaning: "The table is not mounted, so its rows cannot be read or written.",
    cause: "It was created and not mounted, or it is being resharded or altered.",
    remedy: "Call `mount_table`.",
  },
  InvalidMountRevision: {
    meaning: "The tablets were mounted anew or laid out otherwise since the request was made for them.",
    cause: "A reshard, or an unmount and a mount, between the reading of the layout and the write.",
    remedy: "Read `@tablet_layout_revision`, choose the tablets anew, and send the rows again.",
  },
  InvalidTabletState: {
    meaning: "The tablets are not in the state that the command needs.",
    cause: "`reshard_table`, `alter_table` or a copy of a table that is mounted.",
    remedy: "Unmount or freeze it first, as the message says.",
  },
  QueryInputRowCountLimitExceeded: {
    meaning: "The query reads more rows than it may.",
    cause: "`input_row_limit`.",
    remedy: "Narrow the range of keys, or raise the limit.",
  },
  QueryOutputRowCountLimitExceeded: {
    meaning: "The query answers more rows than it may.",
    cause: "`output_row_limit`.",
    remedy: "Add `limit` or a condition, or raise the limit.",
  },
  QueryExpressionDepthLimitExceeded: {
    meaning: "An expression of the query is nested too deeply.",
    cause: "A generated query.",
    remedy: "Use `in (…)` in the place of many `or`.",
  },
  TabletSnapshotExpired: {
    meaning: "The rows as of this timestamp are not kept any more.",
    cause: "A read of a sorted table at a timestamp older than its `@retained_timestamp`.",
    remedy: "Read without a timestamp, or at one not below `@retained_timestamp`.",
  },
  TableMustBeSorted: {
    meaning: "The command works on sorted tables only.",
    cause:
      "Rows of a queue were to be changed by key. The commands themselves answer code 1, `Table … is not sorted`.",
    remedy: "Read a queue with `pull_queue`, shorten it with `trim_rows`.",
  },
  TooManyRowsInTransaction: {
    meaning: "The tablet transaction changes too many rows.",
    cause: "More than 100,000, or more than 512 MiB of them.",
    remedy: "Commit in smaller portions.",
  },
  ColumnNotFound: {
    meaning: "The table has no column with this name.",
    cause: "A misspelt name in `column_names`.",
    remedy: "Look at `@schema`.",
  },
  ConsumerOffsetConflict: {
    meaning: "The stored offset is not `old_offset`; nothing was changed.",
    cause: "Another reader of the same consumer moved it, or this one repeats an advance that was done.",
    remedy:
      "Take `current_offset` from the attributes, or pull with the offset left out, and go on from there.",
  },
  QueueInvalidEpoch: {
    meaning: "The epoch of the push is larger than that of the session.",
    cause:
      "An epoch that did not come from `create_queue_producer_session`, or a session that was removed and made anew.",
    remedy: "Call `create_queue_producer_session` and use its answer.",
  },
  ZombieEpoch: {
    meaning: "The session was taken over by another writer; nothing was written.",
    cause: "Somebody called `create_queue_producer_session` with the same id after this writer did.",
    remedy: "Stop writing, or take the session back with `create_queue_producer_session`.",
  },
  InvalidRowSequenceNumbers: {
    meaning: "The sequence numbers of the rows are not valid; nothing was written.",
    cause: "A row without one, with both kinds, with a negative one, or numbers that do not rise.",
    remedy: "Number all rows in rising order, or none and pass `sequence_number`.",
  },
  QueueAgentRetriableError: {
    meaning: "The queue agent that was asked cannot answer for the object now; another one may.",
    cause: "Objects are being moved between queue agents, because one has come or gone.",
    remedy: "Ask again in a second.",
  },
  QueueAgentObjectIsNotMapped: {
    meaning: "The queue agents do not know the queue or consumer.",
    cause:
      "`@queue_status` and its kin of an object that is younger than a few seconds (inside error 500, which tells its age).",
    remedy: "Ask again; if it stays so, look at `//sys/queue_agents/instances/*/orchid/alerts`.",
  },
  SpecVersionMismatch: {
    meaning:
      "The spec of the pipeline has another version than the one that was expected; nothing was changed.",
    cause: "Somebody else has set it since it was read.",
    remedy: "Read the spec again with its version, make the change on it, and set it.",
  },
  FlowViewKeeperIsNotInitialized: {
    meaning: "The controller of the pipeline has just begun to lead and has no view of it yet.",
    cause: "A controller was started, or took over.",
    remedy: "Ask again in a second.",
  },
  GracefulShutdown: {
    meaning:
      "A job has ended after its epoch, as its controller asked: its partition goes on at another worker.",
    cause: "Balancing of jobs among workers.",
    remedy: "Nothing: it is not a failure.",
  },
};
