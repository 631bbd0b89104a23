/** Where the tables of a pipeline are: children of its node. */
import type { PipelineTableName } from "@qyt/schema";

export function pipelineTablePath(pipelinePath: string, name: PipelineTableName): string {
  return `${pipelinePath}/${name}`;
}
