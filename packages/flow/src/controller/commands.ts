/**
 * The commands of `flow_execute`, which the leader answers: each with the permission it needs on the pipeline.
 * Specified in: yt/yt/flow/library/cpp/controller/flow_executor.cpp; documentation "Flow", CLI.
 */
import { bare, emptyMap, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { describePartition, describeWorker, describeWorkers } from "./describe/describe-parts.ts";
import { describeComputation, describeComputations, describePipeline } from "./describe/describe-pipeline.ts";
import { flowView } from "./flow-view.ts";
import type { Leader } from "./leader.ts";
import { getAtPath } from "./spec-paths.ts";
import {
  type ChangeContext,
  changeDynamicSpec,
  changeSpec,
  readSpec,
  type SpecChange,
  type Specs,
} from "./spec-store.ts";
import { checkTarget } from "./state-machine.ts";
import { deleteStates, readStates } from "./state-rows.ts";

export type Permission = "read" | "write";

export interface FlowCommand {
  readonly permission: Permission;
  readonly run: (leader: Leader, argument: YsonMap) => YsonValue | Promise<YsonValue>;
}

const commands: Readonly<Record<string, FlowCommand>> = {
  list: read(() => Object.keys(commands).sort()),
  "get-command-required-permission": read((_, argument) =>
    mapOf({ permission: commandNamed(text(argument, "command")).permission }),
  ),
  "get-flow-view": read((leader, argument) =>
    getAtPath(flowView(leader), optionalText(argument, "path") ?? ""),
  ),
  "get-flow-view-v2": read((leader, argument) =>
    getAtPath(flowView(leader), optionalText(argument, "path") ?? ""),
  ),
  "get-pipeline-spec": read((leader, argument) =>
    readSpec(leader.specs.spec, optionalText(argument, "path") ?? ""),
  ),
  "get-pipeline-dynamic-spec": read((leader, argument) =>
    readSpec(leader.specs.dynamicSpec, optionalText(argument, "path") ?? ""),
  ),
  "get-pipeline-state": read((leader) => mapOf({ pipeline_state: leader.state })),
  "describe-pipeline": read((leader, argument) =>
    describePipeline(leader, argument.get("status_only") === true),
  ),
  "describe-computation": read((leader, argument) =>
    describeComputation(leader, text(argument, "computation_id")),
  ),
  "describe-computations": read(describeComputations),
  "describe-partition": read((leader, argument) => describePartition(leader, text(argument, "partition_id"))),
  "describe-worker": read((leader, argument) => describeWorker(leader, text(argument, "worker"))),
  "describe-workers": read(describeWorkers),
  "read-states": read(readStates),
  "set-pipeline-spec": write(async (leader, argument) => {
    const specs = await change(leader, (context, current) =>
      changeSpec(current, specChange(argument, required(argument, "spec")), context),
    );
    return mapOf({ version: specs.spec.version });
  }),
  "set-pipeline-dynamic-spec": write(async (leader, argument) => {
    const specs = await change(leader, (context, current) =>
      changeDynamicSpec(current, specChange(argument, required(argument, "spec")), context),
    );
    return mapOf({ version: specs.dynamicSpec.version });
  }),
  "remove-pipeline-spec": write(async (leader, argument) => {
    const specs = await change(leader, (context, current) =>
      changeSpec(current, specChange(argument, undefined), context),
    );
    return mapOf({ version: specs.spec.version });
  }),
  "remove-pipeline-dynamic-spec": write(async (leader, argument) => {
    const specs = await change(leader, (context, current) =>
      changeDynamicSpec(current, specChange(argument, undefined), context),
    );
    return mapOf({ version: specs.dynamicSpec.version });
  }),
  "set-pipeline-specs": write(setBoth),
  "set-target-pipeline-state": write(async (leader, argument) => {
    const name = text(argument, "target_pipeline_state").toLowerCase();
    await change(leader, (context, current) => {
      const target = checkTarget(context.state, stateNamed(name));
      const request = {
        path: "/target_state",
        value: target,
        expectedVersion: undefined,
        force: false,
        isStrict: false,
      };
      return changeDynamicSpec(current, request, context);
    });
    return emptyMap;
  }),
  "update-worker": write((leader, argument) => {
    leader.workers.setBanned(text(argument, "worker"), argument.get("banned") === true);
    return emptyMap;
  }),
  "delete-states": write(deleteStates),
};

/** @throws YtError 1 naming the commands there are */
export function commandNamed(name: string): FlowCommand {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    throw new YtError(
      `No such command: ${name}, possible commands: ${Object.keys(commands).sort().join(", ")}`,
    );
  }
  return command;
}

/** Runs a command at the leader. @throws YtError of the command */
export async function executeCommand(leader: Leader, name: string, argument: YsonValue): Promise<YsonValue> {
  const command = commandNamed(name);
  const plain = bare(argument);
  if (plain !== null && !isMap(plain)) {
    throw new YtError(
      `The argument of flow command "${name}" must be a map, for example {computation_id=reader}`,
    );
  }
  return command.run(leader, isMap(plain) ? plain : emptyMap);
}

async function setBoth(leader: Leader, argument: YsonMap): Promise<YsonValue> {
  const spec = argument.get("spec");
  const dynamicSpec = argument.get("dynamic_spec");
  if (spec === undefined && dynamicSpec === undefined) {
    throw new YtError("At least one of Spec or DynamicSpec must be specified");
  }
  const common = { path: "", isStrict: argument.get("strict") === true };
  const force = argument.get("allow_on_pause") === true || argument.get("force") === true;
  const specs = await change(leader, (context, current) => {
    let changed = current;
    // The dynamic one first, unchecked against the former static one: both are checked together at the end.
    if (spec !== undefined && dynamicSpec !== undefined) {
      changed = { ...changed, dynamicSpec: { ...changed.dynamicSpec, value: emptyMap } };
    }
    if (spec !== undefined) {
      const expectedVersion = optionalInteger(argument, "expected_spec_version");
      changed = changeSpec(changed, { ...common, value: spec, expectedVersion, force }, context);
    }
    if (dynamicSpec !== undefined) {
      const expectedVersion = optionalInteger(argument, "expected_dynamic_spec_version");
      const before = current.dynamicSpec;
      const request = { ...common, value: dynamicSpec, expectedVersion, force };
      changed = changeDynamicSpec({ ...changed, dynamicSpec: before }, request, context);
    }
    return changed;
  });
  return mapOf({ spec_version: specs.spec.version, dynamic_spec_version: specs.dynamicSpec.version });
}

function change(leader: Leader, apply: (context: ChangeContext, current: Specs) => Specs): Promise<Specs> {
  const validation = { registry: leader.options.registry, pipelineCluster: leader.options.cluster.name };
  return leader.changeSpecs((current, newVersion) =>
    apply({ state: leader.state, validation, newVersion }, current),
  );
}

function specChange(argument: YsonMap, value: YsonValue | undefined): SpecChange {
  return {
    path: optionalText(argument, "path") ?? "",
    value,
    expectedVersion: optionalInteger(argument, "expected_version"),
    force: argument.get("force") === true,
    isStrict: argument.get("strict") === true,
  };
}

function stateNamed(name: string): Parameters<typeof checkTarget>[1] {
  const known = ["unknown", "stopped", "paused", "working", "draining", "pausing", "completed"] as const;
  const found = known.find((state) => state === name);
  if (found === undefined) {
    throw new YtError(
      `Pipeline state "${name}" is not known; targets are "completed", "stopped" and "paused"`,
    );
  }
  return found;
}

function read(run: FlowCommand["run"]): FlowCommand {
  return { permission: "read", run };
}

function write(run: FlowCommand["run"]): FlowCommand {
  return { permission: "write", run };
}

function required(argument: YsonMap, name: string): YsonValue {
  const value = argument.get(name);
  if (value === undefined) {
    throw new YtError(`Missing required parameter /${name} of the flow command's argument`);
  }
  return value;
}

function text(argument: YsonMap, name: string): string {
  const value = required(argument, name);
  if (typeof value !== "string") {
    throw new YtError(`Parameter /${name} of the flow command's argument must be a string`);
  }
  return value;
}

function optionalText(argument: YsonMap, name: string): string | undefined {
  const value = argument.get(name) ?? null;
  return value === null ? undefined : text(argument, name);
}

function optionalInteger(argument: YsonMap, name: string): bigint | undefined {
  const value = argument.get(name) ?? null;
  if (value !== null && typeof value !== "bigint") {
    throw new YtError(`Parameter /${name} of the flow command's argument must be an integer`);
  }
  return value ?? undefined;
}
