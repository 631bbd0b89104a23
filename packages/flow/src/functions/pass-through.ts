/**
 * The functions of the pass-through classes: payloads of the input, column by column in the output's schema.
 * Specified in: yt/yt/flow/library/cpp/computation/passthrough_computation.cpp.
 */
import { YtError } from "@qyt/base";
import type { RowValue, TableSchema } from "@qyt/schema";
import type { Payload } from "../model/message.ts";
import { parentOf } from "../model/parents.ts";
import { undefinedTimestamp } from "../model/timestamps.ts";
import type { CompiledFunction, FunctionContext, ProcessFunction } from "./process-function.ts";

export const passThrough: ProcessFunction = {
  name: "passthrough",
  compile: compilePassThrough,
};

function compilePassThrough(context: FunctionContext): CompiledFunction {
  const [output, ...others] = context.outputs;
  if (output === undefined || others.length > 0) {
    throw new YtError(
      `Impossible to guess output stream id: pass-through computation "${context.computationId}" ` +
        `has ${context.outputs.size} output streams, but needs one`,
    );
  }
  const [outputId, outputSchema] = output;
  const converters = new Map<string, (payload: Payload) => Payload>();
  return {
    states: [],
    process(batch, host) {
      for (const { item } of batch.messages) {
        let convert = converters.get(item.streamId);
        if (convert === undefined) {
          convert = compileConversion(context.inputs.get(item.streamId), outputSchema);
          converters.set(item.streamId, convert);
        }
        host.addMessage(outputId, convert(item.payload), undefinedTimestamp, [parentOf(item)], true);
      }
    },
  };
}

/**
 * Payloads of one schema in the order of another. A column that the input lacks is null.
 * @throws YtError 1 when a type differs, or a required column is absent
 */
export function compileConversion(
  from: TableSchema | undefined,
  to: TableSchema,
): (payload: Payload) => Payload {
  if (from === undefined) {
    throw new YtError("The schema of the input stream is not known yet");
  }
  const places = to.columns.map((target) => {
    const index = from.indexOf(target.name);
    const source = from.columns[index];
    if (source === undefined && target.required) {
      throw new YtError(
        `Required column "${target.name}" of the output stream is not found in the input stream`,
      );
    }
    if (source !== undefined && source.physical !== target.physical) {
      throw new YtError(
        `Column "${target.name}" has type "${source.type}" in the input stream, but type "${target.type}" in the output stream`,
      );
    }
    return index;
  });
  if (places.length === from.columns.length && places.every((place, index) => place === index)) {
    return (payload) => payload;
  }
  const width = places.length;
  return (payload) => {
    const result: RowValue[] = new Array<RowValue>(width);
    for (let index = 0; index < width; ++index) {
      result[index] = payload[places[index] ?? 0] ?? null;
    }
    return result;
  };
}
