/**
 * `skip_if_expression`: messages for which it is true are acknowledged without being processed.
 * Specified in: documentation "Flow", computations; yt/yt/flow/library/cpp/common/spec.cpp.
 */
import { type CompiledExpression, prepareExpression } from "@qyt/ql";
import type { TableSchema } from "@qyt/schema";
import type { Message, StreamId } from "../model/message.ts";

export class SkipFilter {
  #schemas: ReadonlyMap<StreamId, TableSchema>;
  #text: string | undefined;
  #compiled = new Map<StreamId, CompiledExpression>();

  constructor(schemas: ReadonlyMap<StreamId, TableSchema>) {
    this.#schemas = schemas;
  }

  /** The expression as it is now in the dynamic spec. @throws YtError when it does not fit a stream */
  use(text: string | undefined, schemas: ReadonlyMap<StreamId, TableSchema> = this.#schemas): void {
    if (text === this.#text && schemas === this.#schemas) {
      return;
    }
    const compiled = new Map<StreamId, CompiledExpression>();
    if (text !== undefined) {
      for (const [streamId, schema] of schemas) {
        compiled.set(streamId, prepareExpression(text, schema, "boolean"));
      }
    }
    this.#text = text;
    this.#schemas = schemas;
    this.#compiled = compiled;
  }

  get isActive(): boolean {
    return this.#text !== undefined;
  }

  matches(message: Message): boolean {
    return this.#compiled.get(message.streamId)?.evaluate(message.payload) === true;
  }
}
