/**
 * The two specs with their versions: who may set them, when, and what a wrong one is told.
 * Specified in: yt/yt/flow/library/cpp/controller/flow_executor.cpp; yt/yt/flow/lib/client/public.h.
 */
import { mapOf, type YsonValue, YtError } from "@qyt/base";
import { deepEqual } from "@qyt/yson";
import type { PipelineState } from "../protocol/protocol.ts";
import { type DynamicPipelineSpec, parseDynamicSpec } from "../spec/dynamic-spec.ts";
import { type PipelineSpec, parsePipelineSpec } from "../spec/pipeline-spec.ts";
import { type ValidationContext, validateDynamicSpec, validatePipelineSpec } from "../spec/validation.ts";
import { getAtPath, removeAtPath, setAtPath } from "./spec-paths.ts";
import { neverSet, type Versioned } from "./versioned.ts";

export interface Specs {
  readonly spec: Versioned;
  readonly dynamicSpec: Versioned;
}

export const noSpecs: Specs = { spec: neverSet, dynamicSpec: neverSet };

export interface ParsedSpecs {
  readonly spec: PipelineSpec;
  readonly dynamicSpec: DynamicPipelineSpec;
  /** Paths of fields that are not known, told as warnings. */
  readonly unknownFields: readonly string[];
}

/** Parses and checks both. @throws YtError 1 with the place and the rule */
export function parseSpecs(specs: Specs, context: ValidationContext): ParsedSpecs {
  const spec = parsePipelineSpec(specs.spec.value);
  const dynamicSpec = parseDynamicSpec(specs.dynamicSpec.value);
  validatePipelineSpec(spec.spec, context);
  validateDynamicSpec(dynamicSpec.spec, spec.spec, context);
  return {
    spec: spec.spec,
    dynamicSpec: dynamicSpec.spec,
    unknownFields: [
      ...spec.unknownFields.map((path) => `/spec${path}`),
      ...dynamicSpec.unknownFields.map((path) => `/dynamic_spec${path}`),
    ],
  };
}

/** A change of one spec, as a command asks for it. */
export interface SpecChange {
  /** "" is the whole. */
  readonly path: string;
  /** `undefined` removes. */
  readonly value: YsonValue | undefined;
  readonly expectedVersion: bigint | undefined;
  /** Static spec: also on a paused pipeline. */
  readonly force: boolean;
  /** Unknown fields are errors. */
  readonly isStrict: boolean;
}

export interface ChangeContext {
  readonly state: PipelineState;
  readonly validation: ValidationContext;
  /** Larger than any version before. */
  readonly newVersion: bigint;
}

/**
 * The specs after a change of the static one; the same object when nothing changes.
 * @throws YtError 3300 on another version than expected, 1 when the state does not allow it or the spec is wrong
 */
export function changeSpec(specs: Specs, change: SpecChange, context: ChangeContext): Specs {
  checkVersion(specs.spec, change.expectedVersion);
  const value = applied(specs.spec, change);
  if (deepEqual(value, specs.spec.value)) {
    return specs;
  }
  checkMayChange(context.state, change.force);
  return checked({ ...specs, spec: { version: context.newVersion, value } }, change, context);
}

/** The specs after a change of the dynamic one, in any state. @throws YtError as `changeSpec` */
export function changeDynamicSpec(specs: Specs, change: SpecChange, context: ChangeContext): Specs {
  checkVersion(specs.dynamicSpec, change.expectedVersion);
  const value = applied(specs.dynamicSpec, change);
  if (deepEqual(value, specs.dynamicSpec.value)) {
    return specs;
  }
  return checked({ ...specs, dynamicSpec: { version: context.newVersion, value } }, change, context);
}

/** `{spec; version}` of a part. @throws YtError 500 when there is none */
export function readSpec(spec: Versioned, path: string): YsonValue {
  return mapOf({ spec: getAtPath(spec.value, path), version: spec.version });
}

function applied(spec: Versioned, change: SpecChange): YsonValue {
  return change.value === undefined
    ? removeAtPath(spec.value, change.path)
    : setAtPath(spec.value, change.path, change.value);
}

function checkVersion(spec: Versioned, expected: bigint | undefined): void {
  if (expected !== undefined && expected !== spec.version) {
    throw new YtError(`Spec version mismatch: expected ${expected}, got ${spec.version}`, {
      code: "SpecVersionMismatch",
    });
  }
}

function checkMayChange(state: PipelineState, force: boolean): void {
  if (state === "completed") {
    throw new YtError(
      "Cannot modify pipeline spec; pipeline is in Completed state. Recreate the pipeline to recover",
    );
  }
  const isAllowed = state === "stopped" || state === "unknown" || (state === "paused" && force);
  if (!isAllowed) {
    const hint = state === "paused" ? " (or pass force=true to apply on a paused pipeline)" : "";
    throw new YtError(
      `Cannot modify pipeline spec while pipeline is "${state}"; stop the pipeline first${hint}`,
    );
  }
}

function checked(specs: Specs, change: SpecChange, context: ChangeContext): Specs {
  const { unknownFields } = parseSpecs(specs, context.validation);
  if (change.isStrict && unknownFields.length > 0) {
    throw new YtError(`Spec has fields that are not known: ${unknownFields.join(", ")}`);
  }
  return specs;
}
