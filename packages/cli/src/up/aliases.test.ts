import { expect, it } from "vitest";
import { aliasConfig, exportLine, parseAliases } from "./aliases.ts";

const clusters = [
  { name: "pythia", url: "http://127.0.0.1:8001" },
  { name: "freud", url: "http://127.0.0.1:8002" },
];

it("prints the line of the documentation", () => {
  expect(exportLine(clusters)).toBe(
    `export YT_PROXY_URL_ALIASING_CONFIG='{pythia="http://127.0.0.1:8001"; freud="http://127.0.0.1:8002"}'`,
  );
});

it("reads what it prints", () => {
  expect([...parseAliases(aliasConfig(clusters))]).toEqual(clusters.map(({ name, url }) => [name, url]));
  expect(parseAliases(undefined).size).toBe(0);
  expect(parseAliases(" ").size).toBe(0);
});

it.each(["pythia", "{a=", "{a=1}", "[]"])("refuses %j in one sentence that shows what is right", (text) => {
  expect(() => parseAliases(text)).toThrow(
    /^The variable YT_PROXY_URL_ALIASING_CONFIG cannot be read: .*; set it to a map like/,
  );
});
