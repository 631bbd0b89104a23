/** The whole server over a store in memory: static tables and files as clients see them on the wire. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Cluster } from "../../cluster.ts";
import { startTestCluster } from "../../cluster-fixture.ts";

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(() => cluster.close(0));

interface CallOptions {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

async function call(command: string, parameters: string, options: CallOptions = {}) {
  const response = await fetch(`http://${cluster.address}/api/v4/${command}`, {
    method: options.method ?? "GET",
    headers: {
      "X-YT-Header-Format": "<format=text>yson",
      "X-YT-Parameters": parameters,
      "Accept-Encoding": "identity",
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: options.body }),
  });
  const body = Buffer.from(await response.arrayBuffer());
  return { status: response.status, body, text: body.toString(), headers: response.headers };
}

const create = (type: string, path: string) =>
  call("create", `{type=${type};path="${path}"}`, { method: "POST" });
const write = (parameters: string, body: string, command = "write_table") =>
  call(command, parameters, { method: "PUT", body });
const read = async (parameters: string) => (await call("read_table", parameters)).text;

test("[http 108] [http 109] [http 110] [http 111] rows are written and read", async () => {
  await create("table", "//tmp/s");
  expect(await write('{path="//tmp/s";input_format=json}', '{"a":1}')).toMatchObject({
    status: 200,
    text: "{}",
  });
  const found = await call("read_table", '{path="//tmp/s";output_format=json}');
  expect(found.text).toBe('{"a":1}\n');
  expect(found.headers.get("X-YT-Response-Parameters")).toBe(
    '{"start_row_index"=0;"approximate_row_count"=1;}',
  );
  expect(await read('{path="//tmp/s"}')).toBe('{"a"=1;};\n');
  expect(await read('{path="//tmp/s";output_format=json;control_attributes={enable_row_index=%true}}')).toBe(
    '{"$attributes":{"row_index":0},"$value":null}\n{"a":1}\n',
  );
  await write('{path="<append=%true>//tmp/s";input_format=json}', '{"a":2}\n');
  expect(await read('{path="//tmp/s";output_format=json}')).toBe('{"a":1}\n{"a":2}\n');
});

test("[http 112] [http 113] framing", async () => {
  await create("table", "//tmp/framed");
  await write('{path="//tmp/framed";input_format=json}', '{"a":1}');
  const headers = { "X-YT-Accept-Framing": "1" };
  const found = await call("read_table", '{path="//tmp/framed";output_format=json}', { headers });
  expect(found.headers.get("X-YT-Framing")).toBe("1");
  expect(found.body).toEqual(Buffer.concat([Buffer.of(1, 8, 0, 0, 0), Buffer.from('{"a":1}\n')]));
  const missing = await call("read_table", '{path="//tmp/none";output_format=json}', { headers });
  expect(missing.status).toBe(400);
  expect(missing.headers.get("X-YT-Framing")).toBeNull();
  expect(JSON.parse(missing.text)).toMatchObject({ code: 500 });
});

test("[http 115] [http 116] [http 117] rows in other formats", async () => {
  await create("table", "//tmp/formats");
  await write('{path="//tmp/formats";input_format=json}', '{"a":1}');
  const schemaful =
    '<columns=[a;b];missing_value_mode=print_sentinel;missing_value_sentinel="-">schemaful_dsv';
  expect(await read(`{path="//tmp/formats";output_format=${schemaful}}`)).toBe("1\t-\n");
  const refused = await call(
    "read_table",
    '{path="//tmp/formats";output_format=<columns=[a;b]>schemaful_dsv}',
  );
  expect(refused.status).toBe(400);
  expect(JSON.parse(refused.text).message).toBe('Column "b" is in schema but missing');
  await write('{path="//tmp/formats";input_format=json}', '{"a":"x\\ty"}');
  expect(await read('{path="//tmp/formats";output_format=dsv}')).toBe("a=x\\ty\n");
  expect(JSON.parse(await read('{path="//tmp/formats";output_format=web_json}'))).toMatchObject({
    rows: [{ a: { $type: "string", $value: "x\ty" } }],
    incomplete_columns: "false",
    all_column_names: ["a"],
  });
});

test("[http 119] a file with its tag", async () => {
  await create("file", "//tmp/f");
  expect((await write('{path="//tmp/f"}', "hello", "write_file")).status).toBe(200);
  const found = await call("read_file", '{path="//tmp/f"}');
  expect(found.text).toBe("hello");
  expect(found.headers.get("Content-Type")).toBe("application/octet-stream");
  expect(found.headers.get("Content-Disposition")).toMatch(/^attachment; /);
  const tag = found.headers.get("ETag") ?? "";
  expect(tag).toMatch(/^[0-9a-f-]+:\d+$/);
  expect((await call("read_file", '{path="//tmp/f"}', { headers: { "If-None-Match": tag } })).status).toBe(
    304,
  );
  expect((await call("read_file", '{path="//tmp/f";offset=1;length=3}')).text).toBe("ell");
});

test("a body that ends in the middle of a row leaves the table as it was", async () => {
  await create("table", "//tmp/broken");
  await write('{path="//tmp/broken"}', "{a=1}");
  const failed = await write('{path="//tmp/broken"}', "{a=2};{a=");
  expect(failed.status).toBe(400);
  expect(await read('{path="//tmp/broken"}')).toBe('{"a"=1;};\n');
});
