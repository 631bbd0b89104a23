/**
 * Commands of Flow pipelines.
 * Specified in: yt/yt/client/driver/flow_commands.cpp; YTsaurus documentation, "Flow".
 */
import { bare, type YsonValue } from "@qyt/base";
import { toYson, writeYson } from "@qyt/yson";
import { field, integer, text } from "../answers.ts";
import type { CommandOptions, Parameters, PathInput } from "../types.ts";
import { AccessCommands } from "./access.ts";
import { named } from "./family.ts";

/** A specification, or the part of it at `specPath`. */
export interface PipelineSpec {
  readonly spec: YsonValue;
  readonly version: bigint;
}

export interface SpecPathOptions extends CommandOptions {
  /** The part that is meant, as a YPath without a root. Default: all. */
  readonly specPath?: string;
}

export interface SetSpecOptions extends SpecPathOptions {
  /** Refuses with error 3300 when the version is another one by then. */
  readonly expectedVersion?: bigint;
  /** Changes the specification of a paused pipeline, too. */
  readonly force?: boolean;
}

export class FlowCommands extends AccessCommands {
  async startPipeline(pipelinePath: PathInput, options: CommandOptions = {}): Promise<void> {
    await this.write("start_pipeline", { pipeline_path: pipelinePath }, options);
  }

  /** Asks the pipeline to drain what is under way, and to stop then. */
  async stopPipeline(pipelinePath: PathInput, options: CommandOptions = {}): Promise<void> {
    await this.write("stop_pipeline", { pipeline_path: pipelinePath }, options);
  }

  async pausePipeline(pipelinePath: PathInput, options: CommandOptions = {}): Promise<void> {
    await this.write("pause_pipeline", { pipeline_path: pipelinePath }, options);
  }

  /** The state by name: `stopped`, `working`, `draining`, … */
  async getPipelineState(pipelinePath: PathInput, options: CommandOptions = {}): Promise<string> {
    const answer = await this.read("get_pipeline_state", { pipeline_path: pipelinePath }, options);
    return text(answer === undefined ? answer : bare(answer)).toLowerCase();
  }

  getPipelineSpec(pipelinePath: PathInput, options: SpecPathOptions = {}): Promise<PipelineSpec> {
    return this.#spec("get_pipeline_spec", pipelinePath, options);
  }

  /** Replaces the specification, or its part at `specPath`. Returns the new version. @throws YtError 3300 */
  setPipelineSpec(pipelinePath: PathInput, spec: unknown, options: SetSpecOptions = {}): Promise<bigint> {
    return this.#setSpec("set_pipeline_spec", pipelinePath, spec, options);
  }

  /** Removes the part of the specification at `specPath`. Returns the new version. @throws YtError 3300 */
  removePipelineSpec(
    pipelinePath: PathInput,
    specPath: string,
    options: Omit<SetSpecOptions, "specPath"> = {},
  ): Promise<bigint> {
    return this.#removeSpec("remove_pipeline_spec", pipelinePath, specPath, options);
  }

  getPipelineDynamicSpec(pipelinePath: PathInput, options: SpecPathOptions = {}): Promise<PipelineSpec> {
    return this.#spec("get_pipeline_dynamic_spec", pipelinePath, options);
  }

  /** As `setPipelineSpec`, for what may be changed while the pipeline works. */
  setPipelineDynamicSpec(
    pipelinePath: PathInput,
    spec: unknown,
    options: Omit<SetSpecOptions, "force"> = {},
  ): Promise<bigint> {
    return this.#setSpec("set_pipeline_dynamic_spec", pipelinePath, spec, options);
  }

  removePipelineDynamicSpec(
    pipelinePath: PathInput,
    specPath: string,
    options: Omit<SetSpecOptions, "specPath" | "force"> = {},
  ): Promise<bigint> {
    return this.#removeSpec("remove_pipeline_dynamic_spec", pipelinePath, specPath, options);
  }

  /** What the controller knows of the pipeline, or the part of it at `viewPath`. */
  async getFlowView(
    pipelinePath: PathInput,
    options: CommandOptions & { readonly viewPath?: string; readonly cache?: boolean } = {},
  ): Promise<YsonValue> {
    const parameters = { pipeline_path: pipelinePath, ...named(options) };
    return (await this.read("get_flow_view", parameters, options)) ?? null;
  }

  /** A command of the pipeline's controller, with its argument. */
  async flowExecute(
    pipelinePath: PathInput,
    flowCommand: string,
    argument: unknown = {},
    options: CommandOptions = {},
  ): Promise<YsonValue> {
    const parameters = { pipeline_path: pipelinePath, flow_command: flowCommand, input_format: "yson" };
    const body = writeYson(toYson(argument), "binary");
    return (await this.write("flow_execute", parameters, options, body)) ?? null;
  }

  async #spec(command: string, path: PathInput, options: SpecPathOptions): Promise<PipelineSpec> {
    const answer = await this.read(command, { pipeline_path: path, ...named(options) }, options);
    return { spec: field(answer, "spec"), version: integer(field(answer, "version")) };
  }

  async #setSpec(command: string, path: PathInput, spec: unknown, options: SetSpecOptions): Promise<bigint> {
    const parameters = { pipeline_path: path, input_format: "yson", ...named(options) };
    const body = writeYson(toYson(spec), "binary");
    return integer(field(await this.write(command, parameters, options, body), "version"));
  }

  async #removeSpec(
    command: string,
    path: PathInput,
    specPath: string,
    options: CommandOptions,
  ): Promise<bigint> {
    const parameters: Parameters = { pipeline_path: path, spec_path: specPath, ...named(options) };
    return integer(field(await this.write(command, parameters, options), "version"));
  }
}
