import { fromYson, parseYson } from "@qyt/yson";
import { expect, it } from "vitest";
import { aliasConfig, exportLine } from "./aliases.ts";

const clusters = [
  { name: "pythia", url: "http://127.0.0.1:8001" },
  { name: "freud", url: "http://127.0.0.1:8002" },
];

it("prints the line of the documentation", () => {
  expect(exportLine(clusters)).toBe(
    `export YT_PROXY_URL_ALIASING_CONFIG='{pythia="http://127.0.0.1:8001"; freud="http://127.0.0.1:8002"}'`,
  );
});

it("prints YSON that says each cluster's address", () => {
  expect({ ...(fromYson(parseYson(aliasConfig(clusters))) as object) }).toEqual({
    pythia: "http://127.0.0.1:8001",
    freud: "http://127.0.0.1:8002",
  });
});
