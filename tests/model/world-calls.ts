/** How a history asks its cluster: commands that are counted, and what is read to compare. */
import { isMap, mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import { writeYsonList } from "@qyt/yson";
import { field } from "./answers.ts";
import type { Answer, Parameters } from "./door.ts";
import type { QueueName } from "./queue-model.ts";
import { clusterName, codesOf, type RealCluster } from "./real-cluster.ts";

export class WorldCalls {
  /** Of the queues of this history. */
  readonly directory: string;
  readonly #cluster: RealCluster;

  constructor(cluster: RealCluster) {
    this.#cluster = cluster;
    this.directory = `//model/${cluster.freshName()}`;
  }

  path(queue: QueueName): string {
    return `${this.directory}/${queue}`;
  }

  async call(command: string, parameters: Parameters, body?: Buffer): Promise<Answer> {
    try {
      const answer = await this.#cluster.door.call(command, parameters, body);
      this.#cluster.count(`${command} done`);
      return answer;
    } catch (thrown) {
      this.#cluster.count(`${command} ${codesOf(thrown).at(-1)}`);
      throw thrown;
    }
  }

  async rowCounts(
    queue: QueueName,
    indexes: readonly number[],
  ): Promise<{ total: unknown; trimmed: unknown }[]> {
    const { value } = await this.call("get_tablet_infos", {
      path: this.path(queue),
      tablet_indexes: indexes.map((index) => BigInt(index)),
    });
    const tablets = field(value, "tablets");
    return (Array.isArray(tablets) ? tablets : []).map((tablet) => ({
      total: field(tablet, "total_row_count"),
      trimmed: field(tablet, "trimmed_row_count"),
    }));
  }

  /** Rows of a consumer's or a producer's table by keys without the cluster; null where there is none. */
  async lookup(path: string, keys: readonly Record<string, YsonValue>[]): Promise<(YsonMap | null)[]> {
    const body = keys.map((key) => mapOf({ queue_cluster: clusterName, ...key }));
    const { rows } = await this.call(
      "lookup_rows",
      { path, keep_missing_rows: true },
      writeYsonList(body, "binary"),
    );
    return rows.map((row) => (isMap(row) ? row : null));
  }
}
