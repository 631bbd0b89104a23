/** Files. Specified in: yt/yt/client/driver/file_commands.cpp. */
import { mapOf, Uint64 } from "@qyt/base";
import { readFile, writeFile } from "../../tablets/files/index.ts";
import { needs, right } from "../access.ts";
import { defineCommand, stream } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { cypressContext } from "../request-context.ts";

const writeFileCommand = defineCommand({
  name: "write_file",
  input: "binary",
  output: "structured",
  outputV3: "null",
  isVolatile: true,
  isHeavy: true,
  access: needs(right("write", "node", "path")),
  summary: "Replaces the bytes of a file, or appends with the path attribute `append`.",
  parameters: {
    path: parameter.path,
    file_writer: optional(parameter.map),
    compute_md5: withDefault(parameter.boolean, false),
  },
  async execute(context, { path, compute_md5 }) {
    await writeFile(context.services.tables, cypressContext(context), {
      path,
      computeMd5: compute_md5,
      body: context.request.body(),
    });
    return context.nothing();
  },
});

const readFileCommand = defineCommand({
  name: "read_file",
  input: "null",
  output: "binary",
  isVolatile: false,
  isHeavy: true,
  access: needs(right("read", "node", "path")),
  summary: "Reads bytes of a file.",
  parameters: {
    path: parameter.path,
    offset: withDefault(parameter.int64, 0n),
    length: optional(parameter.int64),
    file_reader: optional(parameter.map),
    etag: optional(parameter.string),
  },
  async execute(context, { path, offset, length }) {
    const read = readFile(context.services.tables, cypressContext(context), {
      path,
      offset,
      length,
      signal: context.request.signal,
    });
    return stream(read.chunks, {
      entityTag: `${read.id}:${read.revision}`,
      responseParameters: () => mapOf({ id: read.id, revision: new Uint64(read.revision) }),
    });
  },
});

export const fileCommands = [writeFileCommand, readFileCommand];
