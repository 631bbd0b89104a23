/**
 * The static spec of a pipeline: its computations, streams and resources.
 * Specified in: yt/yt/flow/library/cpp/common/spec.cpp (`TPipelineSpec`); documentation "Flow", spec.
 */
import type { YsonValue } from "@qyt/base";
import type { z } from "zod";
import { computationSpec } from "./computation-spec.ts";
import {
  boolean,
  freeMap,
  mapOfFields,
  names,
  type ParsedSpec,
  parseSpec,
  struct,
  tableSchema,
  text,
} from "./fields.ts";

export const streamSpec = struct({
  className: text.optional(),
  schema: tableSchema,
  migrationFunction: text.prefault("NYT::NFlow::DefaultMigrationFunction"),
});

const resourceSpec = struct({
  resourceClassName: text,
  parameters: freeMap,
  dependencies: names.prefault([]),
  requiredCapabilities: names.prefault([]),
  preloadRequired: boolean.prefault(false),
  alwaysOn: boolean.prefault(false),
}).refine((resource) => !(resource.preloadRequired && resource.alwaysOn), {
  error: '"preload_required" and "always_on" cannot both be set',
});

export const pipelineSpec = struct({
  computations: mapOfFields(computationSpec),
  streams: mapOfFields(streamSpec),
  resources: mapOfFields(resourceSpec),
  validateBinaryVersion: boolean.prefault(false),
  binaryVersion: text.prefault(""),
  validateBinaryChecksum: boolean.prefault(false),
  binaryChecksum: text.prefault(""),
});

export type PipelineSpec = z.output<typeof pipelineSpec>;
export type StreamSpec = z.output<typeof streamSpec>;

/** @throws YtError 1 naming the path of a wrong field. What concerns several fields is `validatePipelineSpec`'s. */
export function parsePipelineSpec(value: YsonValue): ParsedSpec<PipelineSpec> {
  return parseSpec(pipelineSpec, value, "pipeline spec");
}
