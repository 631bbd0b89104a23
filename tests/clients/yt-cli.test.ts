/** The real `yt` command on Cypress and on dynamic tables: one script, its whole output compared. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { masked } from "./listing.ts";
import { ClustersForYt, hasEnvironment } from "./real-yt.ts";

/** Commands and what each prints. */
const cypress: readonly (readonly [command: string, answer: string])[] = [
  ["yt create map_node //tmp/place --recursive", "ID"],
  ["yt set //tmp/place/number 42", ""],
  ["yt get //tmp/place/number", "42"],
  ["yt set //tmp/place/map '{a=1;b=[x;%true;#]}'", ""],
  ["yt get //tmp/place/map --format '<format=text>yson'", '{"a"=1;"b"=["x";%true;#;];}'],
  ["yt get //tmp/place/map/b --format json", '["x",true,null]'],
  ["yt set //tmp/place/@note '\"kept\"'", ""],
  ["yt get //tmp/place/@note", '"kept"'],
  ["yt list //tmp/place | sort", "map\nnumber"],
  ["yt exists //tmp/place/number", "true"],
  ["yt exists //tmp/place/none", "false"],
  ["yt copy //tmp/place //tmp/copy", ""],
  ["yt get //tmp/copy/@note", '"kept"'],
  ["yt move //tmp/copy //tmp/moved", ""],
  ["yt exists //tmp/copy", "false"],
  ["yt link //tmp/moved //tmp/link", ""],
  ["yt get //tmp/link/number", "42"],
  ["yt remove //tmp/moved --recursive", ""],
  ["yt exists //tmp/moved", "false"],
];

const table: readonly (readonly [command: string, answer: string])[] = [
  [
    "yt create table //tmp/table --attributes '{dynamic=%true;schema=[{name=k;type=int64;sort_order=ascending};{name=v;type=string}]}'",
    "ID",
  ],
  ["yt mount-table //tmp/table --sync", ""],
  ["echo '{k=1;v=one};{k=2;v=two};{k=3;v=three};' | yt insert-rows //tmp/table --format yson", ""],
  ["echo '{k=2}' | yt lookup-rows //tmp/table --format '<format=text>yson'", '{"k"=2;"v"="two";};'],
  [
    "yt select-rows 'k, v from [//tmp/table] where k > 1' --format '<format=text>yson'",
    '{"k"=2;"v"="two";};\n{"k"=3;"v"="three";};',
  ],
  ["echo '{k=2}' | yt delete-rows //tmp/table --format yson", ""],
  ["yt select-rows 'k from [//tmp/table]' --format json", '{"k":1}\n{"k":3}'],
  ["yt unmount-table //tmp/table --sync", ""],
  ["yt get //tmp/table/@tablet_state", '"unmounted"'],
];

for (const environment of ["full", "plain"] as const) {
  describe.skipIf(!hasEnvironment(environment))(`the yt command, ${environment} client`, () => {
    let clusters: ClustersForYt;
    beforeAll(async () => {
      clusters = await ClustersForYt.start(["pythia"], ["--log-level", "debug", "--no-queue-agent"]);
    });
    afterAll(() => clusters?.stop());

    it.each([
      ["[http 135] lists, reads, writes, copies, moves, links and removes nodes", cypress],
      ["inserts, looks up, selects and deletes rows of a sorted table", table],
    ])("%s", { timeout: 120_000 }, async (_title, steps) => {
      for (const [command, answer] of steps) {
        const result = await clusters.bash(environment, `export YT_PROXY=pythia\n${command}`);
        expect(
          { command, exit: result.exit, answer: masked(result.stdout.trimEnd()) },
          result.stderr,
        ).toEqual({
          command,
          exit: 0,
          answer,
        });
      }
    });

    it("[http 135] asks what the proxy can do, then lists", async () => {
      const before = clusters.output.length;
      const { exit } = await clusters.bash(environment, "yt --proxy pythia list //tmp");
      expect(exit).toBe(0);
      await expect
        .poll(() => requestsIn(clusters.output.slice(before)))
        .toEqual(["GET /api/v4", "GET /api/v4/list"]);
    });

    it("names the missing node and its code", async () => {
      const { stderr, exit } = await clusters.bash(environment, "yt --proxy pythia get //tmp/none");
      expect(exit).toBe(1);
      expect(stderr).toMatch(/has no child with key "none"/);
      expect(stderr).toMatch(/\b500\b/);
    });
  });
}

/** Method and path of the requests that the log lines tell of. */
function requestsIn(log: string): string[] {
  return log.split("\n").flatMap((line) => {
    const match = /"method":"([A-Z]+)","path":"([^"]+)"/.exec(line);
    return match === null ? [] : [`${match[1]} ${match[2]}`];
  });
}
