/**
 * The rules of a spec that concern several fields, with their texts.
 * Specified in: yt/yt/flow/library/cpp/common/spec.cpp, computation/*.cpp.
 */
import { emptyMap, YtError } from "@qyt/base";
import type { ClaimedPath, ConnectorRegistry } from "../connectors/connector.ts";
import { compileKey } from "../model/group-by.ts";
import { checkKind, computationClass } from "./computation-classes.ts";
import type { ComputationSpec } from "./computation-spec.ts";
import type { DynamicPipelineSpec } from "./dynamic-spec.ts";
import type { PipelineSpec } from "./pipeline-spec.ts";
import { findCycle, streamEdges, streamsOf } from "./stream-graph.ts";

export interface ValidationContext {
  readonly registry: ConnectorRegistry;
  readonly pipelineCluster: string;
}

/** @throws YtError 1 with the text of the violated rule */
export function validatePipelineSpec(spec: PipelineSpec, context: ValidationContext): void {
  const producers = new Map<string, string>();
  for (const [computationId, computation] of spec.computations) {
    if (computationId.includes(":")) {
      throw new YtError(`Computation id "${computationId}" must not contain a colon`);
    }
    within(`/computations/${computationId}`, () => {
      checkStreams(computationId, computation, spec, producers);
      checkDependencies(computationId, computation);
      checkResources(computationId, computation, spec);
      checkKeys(computation, spec);
      checkKind(computationId, computation);
    });
  }
  for (const [computationId, computation] of spec.computations) {
    for (const id of computation.inputStreamIds) {
      if (!producers.has(id)) {
        throw new YtError(`Stream "${id}" does not have producer in computation "${computationId}"`);
      }
    }
  }
  const cycle = findCycle(streamEdges(spec));
  if (cycle !== undefined) {
    throw new YtError(
      `Stream graph should be acyclic. Cycle found around the edge "${cycle.from}" => "${cycle.to}"`,
    );
  }
  checkConnectors(spec, undefined, context);
}

/** @throws YtError 1 with the text of the violated rule */
export function validateDynamicSpec(
  dynamic: DynamicPipelineSpec,
  spec: PipelineSpec,
  context: ValidationContext,
): void {
  for (const [id, computation] of dynamic.computations) {
    const place = `computation "${id}"`;
    const rows = computation.inputRowsThrottlerId;
    const bytes = computation.inputBytesThrottlerId;
    checkThrottler(dynamic, place, "input_rows_throttler", rows, computation.inputRowsThrottlerClassId);
    checkThrottler(dynamic, place, "input_bytes_throttler", bytes, computation.inputBytesThrottlerClassId);
    if (rows !== undefined && rows === bytes) {
      throw new YtError(
        `Throttler "${rows}" is referenced by both input_rows_throttler_id and input_bytes_throttler_id; ` +
          `declare one throttler for rows and another for bytes`,
      );
    }
  }
  for (const [id, throttler] of dynamic.throttlers) {
    for (const [name, { weight }] of throttler.classes) {
      if (name === "" || name === "default") {
        throw new YtError(
          `Class name "${name}" of throttler "${id}" is ${name === "" ? "empty" : "reserved"}`,
        );
      }
      if (!Number.isFinite(weight) || weight <= 0) {
        throw new YtError(`Weight of class "${name}" of throttler "${id}" must be finite and positive`);
      }
    }
  }
  checkConnectors(spec, dynamic, context);
}

function checkStreams(
  computationId: string,
  computation: ComputationSpec,
  spec: PipelineSpec,
  producers: Map<string, string>,
): void {
  const seen = new Set<string>();
  const all = [
    ...computation.inputStreamIds,
    ...computation.outputStreamIds,
    ...computation.sourceStreams.keys(),
    ...computation.timerStreams.keys(),
    ...computation.keyVisitorStreams.keys(),
  ];
  for (const id of all) {
    if (seen.has(id)) {
      throw new YtError(`Stream "${id}" is registered twice in computation "${computationId}"`);
    }
    seen.add(id);
  }
  for (const id of [...computation.inputStreamIds, ...computation.outputStreamIds]) {
    if (!spec.streams.has(id)) {
      throw new YtError(`Stream "${id}" in computation "${computationId}" is not registered in "streams"`);
    }
  }
  for (const id of computation.timerStreams.keys()) {
    if (spec.streams.has(id)) {
      throw new YtError(
        `Timer stream "${id}" of computation "${computationId}" should not be registered in "streams"`,
      );
    }
  }
  for (const id of computation.outputStreamIds) {
    const other = producers.get(id);
    if (other !== undefined) {
      throw new YtError(`Stream "${id}" is registered both in computation "${other}" and "${computationId}"`);
    }
    producers.set(id, computationId);
  }
  for (const [sinkId, sink] of computation.sinks) {
    for (const id of sink.inputStreamIds) {
      if (!computation.outputStreamIds.includes(id)) {
        throw new YtError(
          `Input stream "${id}" of sink "${sinkId}" in computation "${computationId}" is not an output stream of this computation`,
        );
      }
    }
  }
}

function checkDependencies(computationId: string, computation: ComputationSpec): void {
  const kinds = streamsOf(computation);
  for (const [id, parents] of computation.streamsDependency) {
    const kind = kinds.get(id);
    if (kind === undefined) {
      throw unknownStream(id, computationId);
    }
    if (kind === "input" || kind === "source") {
      throw new YtError(
        `Stream "${id}" in computation "${computationId}" could not be registered in "streams_dependency" as a key`,
      );
    }
    for (const parent of parents) {
      const parentKind = kinds.get(parent);
      if (parentKind === undefined) {
        throw unknownStream(parent, computationId);
      }
      if (kind === "timer" && parentKind === "output") {
        throw new YtError(
          `Timer stream "${id}" in computation "${computationId}" could not depend on output stream "${parent}"`,
        );
      }
    }
  }
  const delays = computation.watermarkStrategy.watermarkAlignment?.readDelays;
  if (delays !== undefined && delays.size > 0 && computation.sourceStreams.size === 0) {
    throw new YtError(`Computation "${computationId}" has non-empty "read_delays" but no source streams`);
  }
}

function unknownStream(id: string, computationId: string): YtError {
  return new YtError(`Unknown stream "${id}" in computation "${computationId}" in "streams_dependency"`);
}

function checkResources(computationId: string, computation: ComputationSpec, spec: PipelineSpec): void {
  for (const id of computation.requiredResourceIds.keys()) {
    if (!spec.resources.has(id)) {
      throw new YtError(`Unknown resource "${id}" required in computation "${computationId}"`);
    }
  }
}

function checkKeys(computation: ComputationSpec, spec: PipelineSpec): void {
  const hasSources = computation.sourceStreams.size > 0;
  const hasInputs = computation.inputStreamIds.length > 0 || computation.keyVisitorStreams.size > 0;
  if (hasSources && hasInputs) {
    throw new YtError("Computation with inputs and sources is not supported");
  }
  if (!hasSources && !hasInputs) {
    throw new YtError("Computation with no inputs and no sources is not supported");
  }
  if (computation.useCompactInputMessages === true && computation.experimentalEnableNonUintKey === true) {
    throw new YtError(
      `"use_compact_input_messages" cannot be enabled while "experimental_enable_non_uint_key" is set: ` +
        `the compact table stores the first key column as uint64`,
    );
  }
  if (!hasInputs) {
    return;
  }
  const [first] = computation.groupBySchema.columns;
  if (first === undefined) {
    throw new YtError("Range-partitioned computation should have non-empty group-by schema");
  }
  if (first.physical !== "uint64" && computation.experimentalEnableNonUintKey !== true) {
    throw new YtError(
      `First column in GroupBySchema is expected to have type "uint64" but it has "${first.type}"`,
    );
  }
  const forbidden = ["%", "bigb_hash"].find((word) => first.expression?.includes(word) === true);
  if (forbidden !== undefined) {
    throw new YtError(`"${forbidden}" is not allowed for usage in expression of the first column`);
  }
  for (const id of computation.inputStreamIds) {
    const stream = spec.streams.get(id);
    if (stream !== undefined) {
      compileKey(computation.groupBySchema, stream.schema);
    }
  }
}

function checkThrottler(
  dynamic: DynamicPipelineSpec,
  place: string,
  name: string,
  id: string | undefined,
  classId: string | undefined,
): void {
  if (classId !== undefined && id === undefined) {
    throw new YtError(`${name}_class_id is set but ${name}_id is not`);
  }
  if (id !== undefined && !dynamic.throttlers.has(id)) {
    throw new YtError(`Throttler "${id}" referenced in ${place} is not declared in dynamic_spec/throttlers`);
  }
}

/** Connectors' own rules, and that nobody writes where another writes alone. */
function checkConnectors(
  spec: PipelineSpec,
  dynamic: DynamicPipelineSpec | undefined,
  context: ValidationContext,
): void {
  const claims: (ClaimedPath & { readonly by: string })[] = [];
  for (const [computationId, computation] of spec.computations) {
    computationClass(computation.computationClassName);
    const settings = dynamic?.computations.get(computationId);
    for (const [streamId, source] of computation.sourceStreams) {
      const by = `source "${streamId}" of computation "${computationId}"`;
      within(`/computations/${computationId}/source_streams/${streamId}/parameters`, () => {
        const parameters = settings?.sourceStreams.get(streamId)?.parameters ?? emptyMap;
        const found = context.registry.source(source.sourceClassName).validate(source.parameters, parameters);
        claims.push(...found.map((claim) => ({ ...claim, by })));
      });
    }
    for (const [sinkId, sink] of computation.sinks) {
      const by = `sink "${sinkId}" of computation "${computationId}"`;
      within(`/computations/${computationId}/sinks/${sinkId}/parameters`, () => {
        const parameters = settings?.sinks.get(sinkId)?.parameters ?? emptyMap;
        const found = context.registry.sink(sink.sinkClassName).validate(sink.parameters, parameters, {
          inputStreamIds: sink.inputStreamIds,
          pipelineCluster: context.pipelineCluster,
        });
        claims.push(...found.map((claim) => ({ ...claim, by })));
      });
    }
  }
  checkWriters(claims);
}

function checkWriters(claims: readonly (ClaimedPath & { readonly by: string })[]): void {
  for (const [index, claim] of claims.entries()) {
    const other = claims
      .slice(0, index)
      .find(
        (item) =>
          item.cluster === claim.cluster &&
          item.path === claim.path &&
          item.use !== "read" &&
          claim.use !== "read" &&
          (item.use === "exclusive_write" || claim.use === "exclusive_write"),
      );
    if (other !== undefined) {
      throw new YtError(
        `YT path ${claim.path} on cluster "${claim.cluster}" is claimed for writing by ${other.by} and ${claim.by}; ` +
          `an exclusive writer cannot coexist with any other writer`,
      );
    }
  }
}

/** Errors of `check` say where in the spec they arose, in the attribute `spec_path`. */
function within(path: string, check: () => void): void {
  try {
    check();
  } catch (thrown) {
    if (thrown instanceof YtError) {
      throw new YtError(thrown.message, {
        code: thrown.code,
        inner: thrown.innerErrors,
        attributes: new Map([...thrown.attributes, ["spec_path", path]]),
      });
    }
    throw thrown;
  }
}
