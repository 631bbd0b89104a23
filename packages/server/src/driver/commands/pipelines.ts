/**
 * Flow pipelines: their nodes with their tables, and the commands that their leading controller answers. What a
 * pipeline does is in `@qyt/flow`; here is only who may ask, and where the answer is.
 * Specified in: yt/yt/client/driver/flow_commands.cpp, yt/yt/flow/lib/native_client; documentation "Flow".
 */
import { emptyMap, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { type PipelineTable, pipelineTables, schemaOfPipelineTable } from "@qyt/schema";
import { parseRichPath } from "@qyt/yson";
import { type CommandAccess, needs, right, when } from "../access.ts";
import type { CommandResponse } from "../command.ts";
import { type CommandContext, defineCommand, type RegisteredCommand, structured } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { cypressContext, readStructured } from "../request-context.ts";
import { answerless, reading, writing } from "./kinds.ts";

/** Node type of a pipeline: a map with its tables. */
export const pipelineTypeName = "pipeline";
const formatVersion = 1n;
const initializeTables = "initialize_tables";
const leaderAttribute = "leader_controller_address";
/** How long a controller may take to answer when the request names no timeout, in milliseconds. */
const defaultTimeoutMs = 30_000;

export interface PipelineToCreate {
  readonly path: string;
  readonly attributes: YsonMap;
  readonly recursive: boolean;
  readonly force: boolean;
  readonly ignoreExisting: boolean;
}

/**
 * Makes the node and, unless `initialize_tables=%false`, its tables, mounted. Node and tables come to be at once.
 * @returns the id of the node
 */
export async function createPipeline(context: CommandContext, pipeline: PipelineToCreate): Promise<string> {
  const { cypress } = context.services;
  const outer = cypressContext(context);
  const attributes = new Map(pipeline.attributes);
  const hasTables = attributes.get(initializeTables) !== false;
  attributes.delete(initializeTables);
  attributes.set("pipeline_format_version", formatVersion);
  if (hasTables && outer.transactionId !== undefined) {
    throw new YtError(
      `The tables of a pipeline cannot be created in a transaction: create it outside of one, or set "${initializeTables}=%false"`,
    );
  }
  const existed = pipeline.ignoreExisting && (await cypress.exists(outer, { path: pipeline.path }));
  const transactionId = await cypress.startTransaction(outer, { timeoutMs: defaultTimeoutMs });
  const inside = { ...outer, transactionId };
  try {
    const { path, recursive, force, ignoreExisting } = pipeline;
    const options = { type: pipelineTypeName, path, attributes, recursive, force, ignoreExisting };
    const { id } = await cypress.create(inside, options);
    for (const table of hasTables && !existed ? pipelineTables : []) {
      await cypress.create(inside, {
        type: "table",
        path: `${path}/${table.name}`,
        attributes: tableAttributes(table),
      });
    }
    await cypress.commitTransaction(outer, transactionId);
    for (const table of hasTables && !existed ? pipelineTables : []) {
      const tablePath = parseRichPath(`${path}/${table.name}`);
      await context.services.tables.mount({ user: context.user }, tablePath, {});
    }
    return id;
  } catch (thrown) {
    await cypress.abortTransaction(outer, transactionId, {}).catch(() => undefined);
    throw thrown;
  }
}

function tableAttributes(table: PipelineTable): YsonMap {
  return new Map<string, YsonValue>([...table.attributes, ["schema", schemaOfPipelineTable(table).toYson()]]);
}

/** Commands of `flow_execute` that need only `read` on the pipeline. */
const readingCommands: ReadonlySet<string> = new Set([
  "list",
  "get-command-required-permission",
  "get-flow-view",
  "get-flow-view-v2",
  "get-pipeline-spec",
  "get-pipeline-dynamic-spec",
  "get-pipeline-state",
  "describe-pipeline",
  "describe-computation",
  "describe-computations",
  "describe-partition",
  "describe-worker",
  "describe-workers",
  "get-worker-orchid",
  "get-controller-orchid",
  "get-worker-backtraces",
  "read-states",
  "get-flow-core-target",
]);

/** Asks the leading controller. @throws YtError of the command, or why the controller cannot be asked */
async function ask(
  context: CommandContext,
  path: string,
  command: string,
  argument: YsonValue,
): Promise<YsonValue> {
  const { services } = context;
  const permission = readingCommands.has(command) ? "read" : "write";
  const view = services.cypress.view();
  const node = view.resolveNode(path);
  view.check(context.user, permission, node);
  if (node.type !== pipelineTypeName) {
    throw new YtError(`"${path}" is not a pipeline but has type "${node.type}"`);
  }
  const address = node.attributes.get(leaderAttribute);
  if (typeof address !== "string") {
    throw new YtError(`Pipeline "${path}" has no leading controller: start one with "qyt flow controller"`, {
      code: "Unavailable",
    });
  }
  const question = mapOf({ command, argument, user: context.user });
  return services.processes.call(
    address,
    "flow_execute",
    question,
    context.common.timeout ?? defaultTimeoutMs,
  );
}

const path = { pipeline_path: parameter.path };
const readAccess: CommandAccess = needs(right("read", "node", "pipeline_path"));
const writeAccess: CommandAccess = needs(right("write", "node", "pipeline_path"));

function targetCommand(name: string, summary: string, target: string): RegisteredCommand {
  return defineCommand({
    ...answerless,
    versions: [4],
    name,
    access: writeAccess,
    summary,
    parameters: path,
    async execute(context, { pipeline_path }) {
      const argument = mapOf({ target_pipeline_state: target });
      await ask(context, pipeline_path.path, "set-target-pipeline-state", argument);
      return context.nothing();
    },
  });
}

const getPipelineState = defineCommand({
  ...reading,
  versions: [4],
  name: "get_pipeline_state",
  access: readAccess,
  summary: "State of a pipeline, as a word.",
  parameters: path,
  async execute(context, { pipeline_path }) {
    const answer = await ask(context, pipeline_path.path, "get-pipeline-state", emptyMap);
    return structured(isMap(answer) ? (answer.get("pipeline_state") ?? null) : answer);
  },
});

const getFlowView = defineCommand({
  ...reading,
  versions: [4],
  name: "get_flow_view",
  access: readAccess,
  summary: "What the leading controller of a pipeline knows, or a part of it.",
  parameters: { ...path, view_path: withDefault(parameter.string, ""), cache: optional(parameter.boolean) },
  async execute(context, { pipeline_path, view_path, cache }) {
    const argument = mapOf({ path: view_path, cache });
    return structured(await ask(context, pipeline_path.path, "get-flow-view", argument));
  },
});

const flowExecute = defineCommand({
  name: "flow_execute",
  versions: [4],
  input: "structured",
  output: "structured",
  isVolatile: true,
  isHeavy: true,
  access: needs(
    right("read", "node", "pipeline_path"),
    when("the command changes something", right("write", "node", "pipeline_path")),
  ),
  summary: "Runs a command of Flow at the leading controller of a pipeline.",
  parameters: { ...path, flow_command: withDefault(parameter.string, "list") },
  async execute(context, { pipeline_path, flow_command }) {
    return structured(await ask(context, pipeline_path.path, flow_command, await readStructured(context)));
  },
});

interface SpecKind {
  readonly command: string;
  readonly flowCommand: string;
  readonly title: string;
}

const specKinds: readonly SpecKind[] = [
  { command: "pipeline_spec", flowCommand: "pipeline-spec", title: "spec" },
  { command: "pipeline_dynamic_spec", flowCommand: "pipeline-dynamic-spec", title: "dynamic spec" },
];

const changeParameters = {
  ...path,
  expected_version: optional(parameter.int64),
  force: optional(parameter.boolean),
};

function specCommands({ command, flowCommand, title }: SpecKind): readonly RegisteredCommand[] {
  const change = async (
    context: CommandContext,
    parameters: {
      readonly pipeline_path: { readonly path: string };
      readonly spec_path: string;
      readonly expected_version: bigint | undefined;
      readonly force: boolean | undefined;
    },
    verb: "set" | "remove",
    spec: YsonValue | undefined,
  ): Promise<CommandResponse> => {
    const { spec_path, expected_version, force } = parameters;
    const argument = mapOf({ path: spec_path, expected_version, force, spec });
    return structured(await ask(context, parameters.pipeline_path.path, `${verb}-${flowCommand}`, argument));
  };
  return [
    defineCommand({
      ...reading,
      versions: [4],
      name: `get_${command}`,
      access: readAccess,
      summary: `The ${title} of a pipeline, or a part of it, with its version.`,
      parameters: { ...path, spec_path: withDefault(parameter.string, "") },
      async execute(context, { pipeline_path, spec_path }) {
        const argument = mapOf({ path: spec_path });
        return structured(await ask(context, pipeline_path.path, `get-${flowCommand}`, argument));
      },
    }),
    defineCommand({
      ...writing,
      versions: [4],
      input: "structured",
      name: `set_${command}`,
      access: writeAccess,
      summary: `Sets the ${title} of a pipeline, or a part of it.`,
      parameters: { ...changeParameters, spec_path: withDefault(parameter.string, "") },
      async execute(context, parameters) {
        return change(context, parameters, "set", await readStructured(context));
      },
    }),
    defineCommand({
      ...writing,
      versions: [4],
      name: `remove_${command}`,
      access: writeAccess,
      summary: `Removes a part of the ${title} of a pipeline.`,
      parameters: { ...changeParameters, spec_path: parameter.string },
      execute: (context, parameters) => change(context, parameters, "remove", undefined),
    }),
  ];
}

export const pipelineCommands: readonly RegisteredCommand[] = [
  targetCommand("start_pipeline", "Starts a pipeline, or goes on with it.", "completed"),
  targetCommand("stop_pipeline", "Stops a pipeline after what is under way has been handed on.", "stopped"),
  targetCommand("pause_pipeline", "Stops a pipeline at once; what is under way waits.", "paused"),
  getPipelineState,
  getFlowView,
  flowExecute,
  ...specKinds.flatMap(specCommands),
];
