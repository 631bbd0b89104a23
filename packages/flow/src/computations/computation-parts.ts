/** Pieces that all kinds of computations are put together from. */
import { YtError } from "@qyt/base";
import type { PhysicalType, TableSchema } from "@qyt/schema";
import type { ConnectorContext } from "../connectors/connector.ts";
import type { StreamId } from "../model/message.ts";
import { EpochCommitter } from "./epoch-committer.ts";
import type { JobContext } from "./job-context.ts";

export function keyTypesOf(schema: TableSchema): readonly PhysicalType[] {
  return schema.columns.map((column) => column.physical);
}

export function createCommitter(job: JobContext, leaseCheckPeriodMs: () => number): EpochCommitter {
  return new EpochCommitter({
    cluster: job.cluster,
    pipelinePath: job.pipelinePath,
    partitionId: job.partition.partitionId,
    jobId: job.jobId,
    clock: job.clock,
    random: job.random,
    leaseCheckPeriodMs,
  });
}

/** @throws YtError 1 when a stream is not in the spec */
export function inputSchemasOf(job: JobContext): ReadonlyMap<StreamId, TableSchema> {
  const schemas = new Map<StreamId, TableSchema>();
  for (const streamId of job.spec.inputStreamIds) {
    const schema = job.streams.get(streamId);
    if (schema === undefined) {
      throw new YtError(`Stream "${streamId}" is not registered in "streams"`);
    }
    schemas.set(streamId, schema);
  }
  return schemas;
}

export function connectorContextOf(job: JobContext): ConnectorContext {
  return {
    clusters: job.clusters,
    pipelineCluster: job.cluster.name,
    clock: job.clock,
    random: job.random,
    status: job.status,
    log: job.log,
  };
}
