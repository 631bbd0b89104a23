/** The wire examples of Cypress: JSON in and out, listing, creation, copies, links, depth and permissions. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fieldOf, messagesOf, TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
});
afterAll(() => cluster.stop());

/** Sets `path` to a JSON document in its plainest form: the query string and a content type. */
function setJson(path: string, body: string, parameters = `{path="${path}"}`) {
  return cluster.call("set", parameters, { body, headers: { "Content-Type": "application/json" } });
}

function getYson(path: string): Promise<string> {
  return cluster.ok("get", `{path="${path}";output_format=<format=text>yson}`);
}

describe("JSON documents", () => {
  it("[http 53] a key that begins with $ is doubled on the wire; a single $ is refused", async () => {
    expect((await setJson("//tmp/dollar", '{"$$k":1}')).text).toBe("{}");
    expect(await getYson("//tmp/dollar")).toBe('{"value"={"$k"=1;};}');
    const refused = await setJson("//tmp/single-dollar", '{"$k":1}');
    expect([refused.status, refused.headers["x-yt-response-code"]]).toEqual([400, "1"]);
    expect(refused.text).toContain('use \\"$$k\\"');
    expect(await cluster.value("exists", '{path="//tmp/single-dollar"}')).toEqual({ value: false });
  });

  it("[http 54] bytes stand for characters below 256 unless encode_utf8 is off", async () => {
    const refused = await setJson("//tmp/text", '"п"');
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("codes greater than 255");
    const inUtf8 = '{path="//tmp/text";input_format=<encode_utf8=%false>json}';
    expect((await setJson("//tmp/text", '"п"', inUtf8)).status).toBe(200);
    const answer = await cluster.request("/api/v4/get?path=//tmp/text");
    expect(answer.text).toBe('{"value":"Ð¿"}');
    expect(await cluster.ok("get", '{path="//tmp/text";output_format=<encode_utf8=%false>json}')).toBe(
      '{"value":"п"}',
    );
  });

  it("[http 55] $type names the type of a value that JSON cannot hold", async () => {
    await setJson("//tmp/wide", '{"$type":"uint64","$value":"18446744073709551615"}');
    expect(await getYson("//tmp/wide")).toBe('{"value"=18446744073709551615u;}');
  });

  it("[http 67] a document is nested 128 deep at most", async () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    const parameters = '{path="//tmp/deep-document"}';
    const error = await cluster.error("set", parameters, nested(200));
    const codes = (one: typeof error): number[] => [one.code, ...one.innerErrors.flatMap(codes)];
    expect(codes(error)).toContain(4002);
    expect(await cluster.value("exists", parameters)).toEqual({ value: false });
    await cluster.ok("set", parameters, nested(128));
  });
});

describe("formats of answers", () => {
  it("a list in dsv; no other row format carries a document, and nothing is changed by asking", async () => {
    const listed = await cluster.call("list", '{path="//sys/media";output_format=dsv}', { version: 3 });
    expect(listed.text).toBe("default\n");
    for (const name of ["yamr", "schemaful_dsv", "skiff", "arrow", "yaml"]) {
      const error = await cluster.error(
        "create",
        `{type=map_node;path="//tmp/${name}";output_format=${name}}`,
      );
      expect(messagesOf(error)).toContain(`Unsupported output format "${name}"`);
      expect(await cluster.value("exists", `{path="//tmp/${name}"}`)).toEqual({ value: false });
    }
  });

  it("rows in yamr, and a clear refusal of skiff and arrow", async () => {
    await cluster.ok("create", '{type=table;path="//tmp/yamr"}');
    await cluster.ok("write_table", '{path="//tmp/yamr";input_format=yamr}', "k1\tv1\nk2\tv2\n");
    expect(await cluster.ok("read_table", '{path="//tmp/yamr";output_format=<lenval=%true>yamr}')).toBe(
      "\x02\0\0\0k1\x02\0\0\0v1\x02\0\0\0k2\x02\0\0\0v2",
    );
    for (const name of ["skiff", "arrow"]) {
      const read = await cluster.error("read_table", `{path="//tmp/yamr";output_format=${name}}`);
      expect(messagesOf(read)).toContain(`Unsupported output format "${name}": rows are written as yson`);
      const written = await cluster.error("write_table", `{path="//tmp/yamr";input_format=${name}}`, "x");
      expect(messagesOf(written)).toContain(`Unsupported input format "${name}": rows are read as yson`);
    }
    expect(await cluster.get("//tmp/yamr/@row_count")).toBe(2);
  });

  it("blocks of snappy and LZ4, in and out", async () => {
    await cluster.ok("create", '{type=table;path="//tmp/blocks"}');
    for (const name of ["z-snappy", "z-lz4"]) {
      const reply = await cluster.call("read_table", '{path="//tmp/yamr";output_format=json}', {
        headers: { "Accept-Encoding": name },
      });
      expect([reply.status, reply.headers["content-encoding"]]).toEqual([200, name]);
      await cluster.ok("write_table", '{path="//tmp/blocks";input_format=json}', reply.body, {
        headers: { "Content-Encoding": name },
      });
      expect(await cluster.read("//tmp/blocks")).toEqual(await cluster.read("//tmp/yamr"));
    }
  });
});

describe("nodes", () => {
  it("[http 57] exists", async () => {
    expect(await cluster.value("exists", '{path="//tmp/none"}')).toEqual({ value: false });
    const v3 = await cluster.call("exists", '{path="//tmp/none"}', { version: 3 });
    expect(v3.text).toBe("false");
    expect(await cluster.value("exists", '{path="//tmp"}')).toEqual({ value: true });
  });

  it("[http 58] [http 59] list, with the attributes that were asked for", async () => {
    await cluster.ok("create", '{type=map_node;path="//tmp/folder"}');
    for (const name of ["a", "b"]) {
      await cluster.ok("create", `{type=map_node;path="//tmp/folder/${name}"}`);
    }
    const listed = await cluster.value("list", '{path="//tmp/folder"}');
    expect([fieldOf(listed, "value")].flat().sort()).toEqual(["a", "b"]);
    const bare = await cluster.value("list", '{path="//tmp/folder";return_only_value=%true}');
    expect([bare].flat().sort()).toEqual(["a", "b"]);
    const withType = await cluster.value("list", '{path="//tmp/folder";attributes=[type]}');
    expect(fieldOf(withType, "value")).toEqual([
      { $attributes: { type: "map_node" }, $value: "a" },
      { $attributes: { type: "map_node" }, $value: "b" },
    ]);
  });

  it("[http 60] a node that is there is created only with ignore_existing", async () => {
    const create = '{type=map_node;path="//tmp/there"';
    const first = await cluster.value("create", `${create}}`);
    expect((await cluster.error("create", `${create}}`)).code).toBe(501);
    expect(await cluster.value("create", `${create};ignore_existing=%true}`)).toEqual(first);
  });

  it("[http 61] a node without a parent is created only with recursive", async () => {
    const create = '{type=map_node;path="//tmp/p/q"';
    expect((await cluster.error("create", `${create}}`)).code).toBe(500);
    await cluster.ok("create", `${create};recursive=%true}`);
    expect(await cluster.get("//tmp/p/q/@type")).toBe("map_node");
  });

  it("[http 64] copy leaves the source, move takes it away", async () => {
    await cluster.ok("set", '{path="//tmp/source"}', "{x=1}");
    const copied = await cluster.value(
      "copy",
      '{source_path="//tmp/source";destination_path="//tmp/copied"}',
    );
    expect(fieldOf(copied, "node_id")).toBe(await cluster.get("//tmp/copied/@id"));
    const moved = await cluster.value("move", '{source_path="//tmp/source";destination_path="//tmp/moved"}');
    expect(fieldOf(moved, "node_id")).toBe(await cluster.get("//tmp/moved/@id"));
    expect(await cluster.get("//tmp/copied")).toEqual({ x: 1 });
    expect(await cluster.get("//tmp/moved")).toEqual({ x: 1 });
    expect(await cluster.value("exists", '{path="//tmp/source"}')).toEqual({ value: false });
  });

  it("[http 65] a link is followed unless & asks for the link itself", async () => {
    await cluster.ok("create", '{type=map_node;path="//tmp/target"}');
    const linked = await cluster.value("link", '{target_path="//tmp/target";link_path="//tmp/l"}');
    expect(fieldOf(linked, "node_id")).toBe(await cluster.get("//tmp/l&/@id"));
    expect(await cluster.get("//tmp/l/@type")).toBe("map_node");
    expect(await cluster.get("//tmp/l&/@type")).toBe("link");
    expect(await cluster.get("//tmp/l&/@target_path")).toBe("//tmp/target");
  });

  it("[http 68] a fresh cluster has no remote configuration of clients", async () => {
    const error = await cluster.error("get", '{path="//sys/client_config"}');
    expect(error.code).toBe(500);
    expect(messagesOf(error)).toContain('no child with key "client_config"');
  });

  it("[http 69] check_permission", async () => {
    const answer = await cluster.value("check_permission", '{user=root;permission=read;path="//tmp"}');
    expect(fieldOf(answer, "action")).toBe("allow");
  });
});
