/**
 * Process functions in TypeScript: a definition with typed streams, key, states and timers becomes what the runtime
 * calls.
 * Specified in: documentation "Flow", process functions.
 */
import { YtError } from "@qyt/base";
import type { TableSchema } from "@qyt/schema";
import type { StateCodec } from "../computations/key-states.ts";
import type { Key, Message, Payload, StreamId } from "../model/message.ts";
import type { Parent } from "../model/meta-setters.ts";
import { parentOf } from "../model/parents.ts";
import { CallContext, type Handlers, type WorkItem } from "./call-context.ts";
import type { Field, Fields } from "./fields.ts";
import type { FunctionDefinition, States, Streams } from "./function-types.ts";
import type {
  CompiledFunction,
  EpochBatch,
  FunctionContext,
  KeyedItem,
  ProcessFunction,
} from "./process-function.ts";
import { compileReader, compileWriter, fieldsState, valueState } from "./row-codecs.ts";

/** A function that knows the types of its streams; see `harness`. */
export interface DefinedFunction<
  Inputs extends Streams,
  Outputs extends Streams,
  Key extends Fields,
  StateShapes extends States,
  Timers extends string,
> extends ProcessFunction {
  readonly inputs: Inputs;
  readonly outputs: Outputs;
  readonly key: Key;
  readonly states: StateShapes;
  readonly timers: readonly Timers[];
}

/**
 * Defines a process function.
 *
 * Handlers of single messages, timers and visits (`onMessage`, `onTimer`, `onVisit`) see the states of the key at
 * hand, and what they give descends from what they process. `onKey` gets all of a key, `onBatch` the whole batch; both
 * say themselves what outputs descend from (`setParents`, or `parents` with an output).
 * @throws YtError 1 when handlers of different kinds are given, or none
 */
export function defineFunction<
  const Inputs extends Streams,
  const Outputs extends Streams = Record<never, never>,
  const KeyFields extends Fields = Record<never, never>,
  const StateShapes extends States = Record<never, never>,
  const Timers extends string = never,
  Parameters = undefined,
>(
  definition: FunctionDefinition<Inputs, Outputs, KeyFields, StateShapes, Timers, Parameters>,
): DefinedFunction<Inputs, Outputs, KeyFields, StateShapes, Timers> {
  checkHandlers(definition);
  // The handlers' own types end here: rows are made by the codecs of the declared fields.
  const loose = definition as unknown as LooseDefinition;
  return {
    name: definition.name,
    inputs: definition.inputs,
    outputs: definition.outputs ?? ({} as Outputs),
    key: definition.key ?? ({} as KeyFields),
    states: definition.states ?? ({} as StateShapes),
    timers: definition.timers ?? [],
    compile: (context) => compile(loose, context),
  };
}

/** A definition without its type parameters. */
interface LooseDefinition extends Handlers {
  readonly name: string;
  readonly inputs: Streams;
  readonly outputs?: Streams;
  readonly key?: Fields;
  readonly states?: States;
  readonly timers?: readonly string[];
  readonly parameters?: (fixed: unknown, dynamic: unknown) => unknown;
  readonly sync?: NonNullable<CompiledFunction["sync"]>;
}

function checkHandlers(definition: {
  readonly name: string;
  readonly onMessage?: unknown;
  readonly onTimer?: unknown;
  readonly onVisit?: unknown;
  readonly onKey?: unknown;
  readonly onBatch?: unknown;
}): void {
  const { name, onMessage, onTimer, onVisit, onKey, onBatch } = definition;
  const isSingle = onMessage !== undefined || onTimer !== undefined || onVisit !== undefined;
  const kinds = [isSingle, onKey !== undefined, onBatch !== undefined].filter(Boolean).length;
  if (kinds !== 1) {
    throw new YtError(
      `Function "${name}" must have handlers of one kind: "onMessage", "onTimer" and "onVisit", or "onKey", or "onBatch"`,
    );
  }
}

function compile(definition: LooseDefinition, context: FunctionContext): CompiledFunction {
  const where = `function "${definition.name}" of computation "${context.computationId}"`;
  if (definition.sync !== undefined && context.kind !== "transform") {
    throw new YtError(`"sync" of ${where} is possible in a transform computation only`);
  }
  const inputs = matchStreams(definition.inputs, context.inputs, where, "input");
  const outputs = matchStreams(definition.outputs ?? {}, context.outputs, where, "output");
  const timers = matchTimers(definition.timers ?? [], context.timerStreams, where);
  const readers = new Map<StreamId, { name: string; read: (values: Payload) => unknown }>();
  for (const { name, streamId, fields, schema } of inputs) {
    readers.set(streamId, { name, read: compileReader(fields, schema, `stream "${streamId}"`) });
  }
  const states = Object.entries(definition.states ?? {}).map(([name, shape]) => stateCodec(name, shape));
  const readParameters = (dynamic: unknown): unknown => definition.parameters?.(context.parameters, dynamic);
  const call = new CallContext({
    handlers: definition,
    stateNames: Object.keys(definition.states ?? {}),
    readKey: compileReader(definition.key ?? {}, context.keySchema, `the key of ${where}`),
    writeKey: (row) => writeKey(definition.key ?? {}, context.keySchema, row, where),
    outputs: outputs.map(({ name, streamId, fields, schema }) => ({
      name,
      streamId,
      write: compileWriter(fields, schema, `stream "${streamId}"`),
    })),
    timers,
    parameters: readParameters(context.dynamicParameters),
  });
  const { sync } = definition;
  return {
    states,
    process: (batch, host) => call.process(itemsOf(batch, readers, timers, where), host),
    reconfigure: (dynamic) => call.setParameters(readParameters(dynamic)),
    ...(sync === undefined ? {} : { sync }),
  };
}

/** The items of a batch: timers first, then messages, then visits. Rows are decoded when they are looked at. */
function itemsOf(
  batch: EpochBatch,
  readers: ReadonlyMap<StreamId, { name: string; read: (values: Payload) => unknown }>,
  timers: readonly { readonly name: string; readonly streamId: StreamId }[],
  where: string,
): WorkItem[] {
  const items: WorkItem[] = [];
  for (const { item, key, keyText } of batch.timers) {
    const name = timers.find((timer) => timer.streamId === item.streamId)?.name ?? item.streamId;
    items.push({ kind: "timer", name, parent: parentOf(item), key, keyText, timer: item, row: undefined });
  }
  for (const keyed of batch.messages) {
    items.push(messageItem(keyed, readers, where));
  }
  for (const { item, key, keyText } of batch.visits) {
    const parent: Parent = parentOf(item);
    items.push({
      kind: "visit",
      name: item.streamId,
      parent,
      key,
      keyText,
      timer: undefined,
      row: undefined,
    });
  }
  return items;
}

function messageItem(
  { item, key, keyText }: KeyedItem<Message>,
  readers: ReadonlyMap<StreamId, { name: string; read: (values: Payload) => unknown }>,
  where: string,
): WorkItem {
  const reader = readers.get(item.streamId);
  if (reader === undefined) {
    throw new YtError(`Stream "${item.streamId}" is not declared as an input of ${where}`);
  }
  const row = reader.read(item.payload);
  return { kind: "message", name: reader.name, parent: item, key, keyText, timer: undefined, row };
}

interface MatchedStream {
  /** As the function calls it. */
  readonly name: string;
  readonly streamId: StreamId;
  readonly fields: Fields;
  readonly schema: TableSchema;
}

function matchStreams(
  declared: Streams,
  actual: ReadonlyMap<StreamId, TableSchema>,
  where: string,
  kind: "input" | "output",
): readonly MatchedStream[] {
  const entries = Object.entries(declared);
  const [only] = actual;
  if (entries.length === 1 && actual.size === 1 && only !== undefined) {
    const [[name, fields]] = entries as [[string, Fields]];
    return [{ name, streamId: only[0], fields, schema: only[1] }];
  }
  return entries.map(([name, fields]) => {
    const schema = actual.get(name);
    if (schema === undefined) {
      throw new YtError(
        `Stream "${name}", an ${kind} of ${where}, is not an ${kind} stream of the computation: ` +
          `these are ${[...actual.keys()].map((id) => `"${id}"`).join(", ") || "none"}`,
      );
    }
    return { name, streamId: name, fields, schema };
  });
}

function matchTimers(
  declared: readonly string[],
  actual: readonly StreamId[],
  where: string,
): readonly { readonly name: string; readonly streamId: StreamId }[] {
  const [declaredOnly] = declared;
  const [actualOnly] = actual;
  if (
    declared.length === 1 &&
    actual.length === 1 &&
    declaredOnly !== undefined &&
    actualOnly !== undefined
  ) {
    return [{ name: declaredOnly, streamId: actualOnly }];
  }
  return declared.map((name) => {
    if (!actual.includes(name)) {
      throw new YtError(`Timer "${name}" of ${where} is not in "timer_streams" of the computation`);
    }
    return { name, streamId: name };
  });
}

function stateCodec(name: string, shape: Fields | Field<unknown>): StateCodec {
  return isField(shape) ? valueState(name, shape) : fieldsState(name, shape);
}

function isField(shape: Fields | Field<unknown>): shape is Field<unknown> {
  return typeof shape.physical === "string";
}

/** A key that a function names itself. All columns of the key must be declared. */
function writeKey(fields: Fields, schema: TableSchema, row: Record<string, unknown>, where: string): Key {
  return schema.columns.map((column) => {
    const item = fields[column.name];
    if (item === undefined) {
      throw new YtError(
        `Key column "${column.name}" is not declared by ${where}: it cannot name a key itself`,
      );
    }
    const value = row[column.name];
    return value === undefined || value === null ? null : item.encode(value);
  });
}
