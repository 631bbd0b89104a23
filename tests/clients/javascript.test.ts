/** The real npm client, `@ytsaurus/javascript-wrapper`, with both ways it has of sending parameters. */
import createWrapper, { type CommandName, type Setup } from "@ytsaurus/javascript-wrapper";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RunningCluster } from "./running-cluster.ts";

const yt = createWrapper();

/** Text as it is, instead of one character for each byte of its UTF-8 form. */
const plainText = { $value: "json", $attributes: { encode_utf8: "false" } };

const schema = [
  { name: "key", type: "int64", sort_order: "ascending" },
  { name: "text", type: "utf8" },
  { name: "big", type: "uint64" },
  { name: "ratio", type: "double" },
  { name: "flag", type: "boolean" },
];

let cluster: RunningCluster;
beforeAll(async () => {
  cluster = await RunningCluster.start();
});
afterAll(() => cluster?.stop());

describe.each([
  { version: "v3", useEncodedParameters: true },
  { version: "v3", useEncodedParameters: false },
  { version: "v4", useEncodedParameters: true },
  { version: "v4", useEncodedParameters: false },
] as const)("npm wrapper, $version, useEncodedParameters $useEncodedParameters", (how) => {
  const { version, useEncodedParameters } = how;
  const folder = `//tmp/js_${version}_${useEncodedParameters}`;
  const setup = (): Setup => ({
    proxy: cluster.address,
    secure: false,
    useEncodedParameters,
    // What a browser's btoa makes of it. The wrapper's own encoder for Node turns text into UTF-8 twice.
    encodedParametersSettings: {
      maxSize: 64 * 1024,
      maxCount: 2,
      encoder: (text) => Buffer.from(yt.setup.encodeForYt(text), "latin1").toString("base64"),
    },
  });
  const call = (command: CommandName, parameters: object, data?: unknown): Promise<unknown> =>
    yt[version][command]({ setup: setup(), parameters, ...(data === undefined ? {} : { data }) });
  /** What `get`, `list` and `exists` answer: in v4 a map with the value. */
  const answer = (value: unknown): unknown => (version === "v3" ? value : { value });

  beforeAll(() => call("create", { type: "map_node", path: folder }));

  it("[http 139] set, get, list, exists, create, copy, move, link, remove", async () => {
    const value = { a: 1, b: [1, 2.5, "text", true], c: { d: "x" } };
    const path = `${folder}/value`;
    await call("set", { path }, value);
    expect(await call("get", { path })).toEqual(answer(value));
    expect(await call("get", { path: `${path}/b/1` })).toEqual(answer(2.5));
    await call("set", { path: `${path}/@note` }, "kept");
    expect(await call("get", { path: `${path}/@note` })).toEqual(answer("kept"));
    await call("create", { type: "map_node", path: `${folder}/made/below`, recursive: true });
    await call("copy", { source_path: path, destination_path: `${folder}/made/copy` });
    await call("move", { source_path: `${folder}/made/copy`, destination_path: `${folder}/made/moved` });
    await call("link", { target_path: path, link_path: `${folder}/made/link` });
    expect(await call("get", { path: `${folder}/made/link/a` })).toEqual(answer(1));
    expect(await call("list", { path: `${folder}/made` })).toEqual(
      answer(expect.toSatisfy((names) => [...names].sort().join() === "below,link,moved")),
    );
    await call("remove", { path: `${folder}/made`, recursive: true });
    expect(await call("exists", { path: `${folder}/made` })).toEqual(answer(false));
    expect(await call("exists", { path })).toEqual(answer(true));
  });

  it("[http 139] text that is not ASCII", async () => {
    const path = `${folder}/text`;
    await call("set", { path, input_format: plainText }, "значение é 🙂");
    expect(await call("get", { path, output_format: plainText })).toEqual(answer("значение é 🙂"));
    // The default of the API: one character for each byte.
    const bytes = Buffer.from("значение é 🙂").toString("latin1");
    expect(await call("get", { path })).toEqual(answer(bytes));
    await call("set", { path: `${folder}/bytes` }, bytes);
    expect(await call("get", { path: `${folder}/bytes`, output_format: plainText })).toEqual(
      answer("значение é 🙂"),
    );
    await expect(call("set", { path }, "значение")).rejects.toMatchObject({
      code: yt.codes.GENERAL_ERROR,
      inner_errors: [{ message: expect.stringContaining("codes greater than 255") }],
    });
    if (useEncodedParameters) {
      await call("set", { path: `${folder}/ключ 🙂` }, 1);
      expect(await call("get", { path: `${folder}/ключ 🙂` })).toEqual(answer(1));
    }
  });

  it("errors by code", async () => {
    await expect(call("get", { path: `${folder}/none` })).rejects.toMatchObject({
      code: yt.codes.NODE_DOES_NOT_EXIST,
    });
    await expect(call("create", { type: "map_node", path: folder })).rejects.toMatchObject({
      code: yt.codes.NODE_ALREADY_EXISTS,
    });
    await expect(call("selectRows", { query: `* from [${folder}/none]` })).rejects.toMatchObject({
      code: yt.codes.NODE_DOES_NOT_EXIST,
    });
    await expect(call("readTable", { path: `${folder}/none` })).rejects.toMatchObject({
      code: yt.codes.NODE_DOES_NOT_EXIST,
    });
  });

  it("[http 123] [http 139] executeBatch, its text encoded twice", async () => {
    await call("set", { path: `${folder}/batch` }, { a: 1 });
    const requests = [
      { command: "get", parameters: { path: `${folder}/batch` } },
      { command: "get", parameters: { path: `${folder}/none` } },
      { command: "set", parameters: { path: `${folder}/ы` }, input: "значение" },
    ];
    const first = resultsOf(await call("executeBatch", { requests }));
    expect(first).toEqual([
      { output: answer({ a: 1 }) },
      { error: expect.objectContaining({ code: 500 }) },
      version === "v3" ? {} : { output: {} },
    ]);
    const reading = [{ command: "get", parameters: { path: `${folder}/ы` } }];
    expect(resultsOf(await call("executeBatch", { requests: reading }))).toEqual([
      { output: answer(Buffer.from("значение").toString("latin1")) },
    ]);
    if (useEncodedParameters) {
      expect(await call("get", { path: `${folder}/ы`, output_format: plainText })).toEqual(
        answer("значение"),
      );
    }
  });

  it("[http 139] writeTable and readTable", async () => {
    const path = `${folder}/static`;
    await call("create", { type: "table", path });
    await call("writeTable", { path }, [
      { a: 1, b: "x" },
      { a: 2, b: "y" },
    ]);
    expect(await call("readTable", { path })).toBe('{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n');
    expect(await call("readTable", { path: `${path}{a}[#1:]` })).toBe('{"a":2}\n');
    await call(
      "writeTable",
      { path: { $value: path, $attributes: { append: true } }, input_format: plainText },
      [{ a: 3, b: "три" }],
    );
    expect(await call("readTable", { path: `${path}[#2]`, output_format: plainText })).toBe(
      '{"a":3,"b":"три"}\n',
    );
  });

  it("[http 139] mountTable, insertRows and selectRows", async () => {
    const path = `${folder}/dynamic`;
    await call("create", { type: "table", path, attributes: { dynamic: "true", schema } });
    await call("mountTable", { path });
    await expect
      .poll(() => call("get", { path: `${path}/@tablet_state` }), { timeout: 20_000 })
      .toEqual(answer("mounted"));
    // The formats that the wrapper chooses: types and values as text.
    const annotated = {
      key: { $type: "int64", $value: "-9223372036854775808" },
      text: { $type: "string", $value: Buffer.from("один").toString("latin1") },
      big: { $type: "uint64", $value: "18446744073709551615" },
      ratio: { $type: "double", $value: "0.5" },
      flag: { $type: "boolean", $value: "true" },
    };
    await call("insertRows", { path }, [annotated, { key: { $type: "int64", $value: "1" }, text: null }]);
    expect(linesOf(await call("selectRows", { query: `* from [${path}]` }))).toEqual([
      annotated,
      { key: { $type: "int64", $value: "1" }, text: null, big: null, ratio: null, flag: null },
    ]);
    const plain = { key: 3, text: "три", big: 7, ratio: 1.5, flag: false };
    await call("insertRows", { path, input_format: plainText }, [plain]);
    const query = `* from [${path}] where key = 3`;
    expect(linesOf(await call("selectRows", { query, output_format: plainText }))).toEqual([plain]);
  });

  it("parameters of more than 64 KiB, in two headers where they are encoded", async () => {
    const note = "z".repeat(90_000);
    await call("create", { type: "map_node", path: `${folder}/long`, attributes: { note } });
    expect(await call("get", { path: `${folder}/long/@note` })).toEqual(answer(note));
  });

  it("transactions, which only v3 has by the names that the wrapper uses", async () => {
    if (version === "v4") {
      await expect(call("startTransaction", {})).rejects.toMatchObject({ code: 1 });
      return;
    }
    const id = await call("startTransaction", { timeout: 30_000 });
    expect(id).toMatch(/^[0-9a-f]+(-[0-9a-f]+){3}$/);
    const path = `${folder}/in_transaction`;
    await call("set", { path, transaction_id: id }, 1);
    expect(await call("exists", { path })).toBe(false);
    await call("commitTransaction", { transaction_id: id });
    expect(await call("exists", { path })).toBe(true);
    await expect(call("commitTransaction", { transaction_id: id })).rejects.toMatchObject({ code: 11000 });
  });
});

/** The answers of a batch: a list, in v4 a map with the list. */
function resultsOf(answer: unknown): unknown {
  return Array.isArray(answer) ? answer : asRecord(answer).results;
}

function linesOf(answer: unknown): unknown[] {
  return String(answer)
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return value !== null && typeof value === "object" ? { ...value } : {};
}
