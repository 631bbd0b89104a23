/** The two ways into a cluster that the histories take: straight to the commands, and over HTTP. */
import { isMap, mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import { createClient, readAll } from "@qyt/client";
import type { Cluster } from "@qyt/server";
import { parseYson, parseYsonList } from "@qyt/yson";

export interface Answer {
  /** Of a structured answer. */
  readonly value: YsonValue;
  /** Of a tabular answer. */
  readonly rows: readonly YsonValue[];
  readonly responseParameters: YsonMap;
}

export type Parameters = Readonly<Record<string, YsonValue | undefined>>;

export interface Door {
  /** @param body rows in binary YSON. @throws YtError what the command answers */
  call(command: string, parameters: Parameters, body?: Buffer): Promise<Answer>;
  close(): Promise<void>;
}

const formats = { input_format: "yson", output_format: "yson" } as const;
const noBody = Buffer.alloc(0);
const noParameters: YsonMap = mapOf({});

/** Never aborted. */
const { signal } = new AbortController();

export function driverDoor(cluster: Cluster): Door {
  const driver = cluster.services.driver();
  return {
    async call(command, parameters, body = noBody) {
      const response = await driver.execute({
        apiVersion: 4,
        command,
        parameters: mapOf({ ...formats, ...parameters }),
        user: "root",
        requestId: "1-2-3-4",
        signal,
        async *body() {
          yield body;
        },
        readBody: () => Promise.resolve(body),
      });
      switch (response.kind) {
        case "empty":
          return { value: null, rows: [], responseParameters: noParameters };
        case "structured":
          return {
            value: response.value,
            rows: [],
            responseParameters: response.responseParameters ?? noParameters,
          };
        case "stream": {
          const chunks: Buffer[] = [];
          for await (const chunk of response.chunks) {
            chunks.push(chunk);
          }
          return {
            value: null,
            rows: parseYsonList(Buffer.concat(chunks)),
            responseParameters: response.responseParameters?.() ?? noParameters,
          };
        }
      }
    },
    close: () => Promise.resolve(),
  };
}

const tabularAnswers = new Set(["pull_queue", "pull_queue_consumer", "lookup_rows"]);

export function httpDoor(cluster: Cluster): Door {
  const client = createClient({ proxy: cluster.address, retries: false });
  return {
    async call(command, parameters, body) {
      const isTabular = tabularAnswers.has(command);
      const response = await client.requester.send({
        command,
        method: body !== undefined ? "PUT" : isTabular ? "GET" : "POST",
        parameters: { ...formats, ...parameters },
        isVolatile: false,
        ...(body === undefined ? {} : { body }),
      });
      const bytes = await readAll(response, command);
      const header = response.headers.get("x-yt-response-parameters");
      const told = header === undefined ? null : parseYson(header);
      return {
        value: isTabular || bytes.length === 0 ? null : parseYson(bytes),
        rows: isTabular ? parseYsonList(bytes) : [],
        responseParameters: isMap(told) ? told : noParameters,
      };
    },
    close: () => client.close(),
  };
}
