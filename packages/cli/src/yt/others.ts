/** Commands for whatever else the API has. */
import { answerFormat, flag, positional } from "./argument.ts";
import type { YtFamily } from "./command.ts";

export const others: YtFamily = {
  title: "Other",
  commands: [
    {
      name: "execute",
      summary: "Run a command of the HTTP API, and print what it answers.",
      details: "Where the command takes data, it is read from standard input.",
      arguments: [
        positional("command_name", "as in the API, e.g. get_tablet_infos", "text", { parameters: [] }),
        positional("execute_params", "its parameters, a map in YSON", "yson", { parameters: [] }),
      ],
      examples: ["execute get '{path=\"//tmp/@id\"; output_format=json}'"],
      run: async () => (await import("./runners/execute.ts")).execute,
    },
    {
      name: "execute-batch",
      summary: "Run several commands in one request, and print the list of their answers.",
      arguments: [
        positional(
          "requests",
          "each a map in YSON with `command`, `parameters` and possibly `input`",
          "yson",
          {
            repeat: "some",
          },
        ),
      ],
      examples: ["execute-batch '{command=get; parameters={path=\"//tmp/@id\"}}'"],
      run: { command: "execute_batch", method: "POST", isVolatile: true, output: { kind: "printed" } },
    },
    {
      name: "generate-timestamp",
      summary: "Print a new timestamp of the cluster.",
      arguments: [],
      examples: ["generate-timestamp"],
      run: { command: "generate_timestamp", method: "GET", output: { kind: "field", names: ["timestamp"] } },
    },
    {
      name: "get-features",
      summary: "Print the types, codecs and the like that the cluster has.",
      arguments: [answerFormat],
      examples: ["get-features"],
      run: {
        command: "get_supported_features",
        method: "GET",
        output: { kind: "printed", field: "features" },
      },
    },
    {
      name: "explain-id",
      summary: "Print what the parts of an id mean, and whether there is such an object.",
      arguments: [
        positional("id", "the id", "text", { parameters: [] }),
        flag("local", "do not ask the cluster", { parameters: [] }),
      ],
      examples: ["explain-id 1-2-30191-4 --local"],
      run: async () => (await import("./runners/explain-id.ts")).explainId,
    },
  ],
};
