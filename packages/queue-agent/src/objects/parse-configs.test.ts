import { parseYson } from "@qyt/yson";
import { describe, expect, it } from "vitest";
import { parseAutoTrimConfig, parseStaticExportConfigs } from "./parse-configs.ts";

function reason(parse: () => unknown): string {
  try {
    parse();
  } catch (thrown) {
    const error = thrown as { message: string; innerErrors: readonly Error[] };
    return `${error.message}: ${error.innerErrors[0]?.message}`;
  }
  return "taken";
}

describe("@auto_trim_config", () => {
  it("is off by default, and ignores what it does not know", () => {
    expect(parseAutoTrimConfig(parseYson("{}"))).toEqual({
      enable: false,
      retainedRows: null,
      retainedLifetimeDurationMs: null,
    });
    expect(
      parseAutoTrimConfig(
        parseYson(
          "{enable=%true;some_unrecognized_option=x;retained_rows=6;retained_lifetime_duration=3000}",
        ),
      ),
    ).toEqual({ enable: true, retainedRows: 6n, retainedLifetimeDurationMs: 3_000 });
  });

  it.each(["true", "%true", "1", "1u", '"1"'])("is on by enable=%s", (yson) => {
    expect(parseAutoTrimConfig(parseYson(`{enable=${yson}}`)).enable).toBe(true);
  });

  it.each(["false", "%false", "0", "0u", '"0"', "#"])("is off by enable=%s", (yson) => {
    expect(parseAutoTrimConfig(parseYson(`{enable=${yson}}`)).enable).toBe(false);
  });

  it.each([
    ["{retained_lifetime_duration=1500}", /must be a multiple of 1000 \(1 second\)$/],
    ["{retained_rows=18446744073709551615u}", /retained_rows: it must be an integer, at least 0$/],
    ["{retained_rows=-1}", /retained_rows: it must be an integer, at least 0$/],
    ["{enable=2}", /enable: it must be boolean$/],
    ["on", /it must be a map$/],
  ])("refuses %s", (yson, message) => {
    expect(reason(() => parseAutoTrimConfig(parseYson(yson)))).toMatch(message);
  });
});

describe("@static_export_config", () => {
  it("has the documented defaults", () => {
    expect([
      ...parseStaticExportConfigs(parseYson('{a={export_directory="//tmp/e";export_period=5000}}')),
    ]).toEqual([
      [
        "a",
        {
          exportDirectory: "//tmp/e",
          exportPeriodSeconds: 5,
          exportTtlMs: 0,
          outputTableNamePattern: "%UNIX_TS-%PERIOD",
          useUpperBoundForTableNames: false,
          maxTableCount: null,
          maxDataWeight: null,
        },
      ],
    ]);
    expect(parseStaticExportConfigs(null).size).toBe(0);
  });

  it("takes durations with a unit, and booleans as text", () => {
    const [config] = parseStaticExportConfigs(
      parseYson(
        '{a={export_directory="//e";export_period="15m";export_ttl="2d";use_upper_bound_for_table_names="true"}}',
      ),
    ).values();
    expect(config).toMatchObject({
      exportPeriodSeconds: 900,
      exportTtlMs: 172_800_000,
      useUpperBoundForTableNames: true,
    });
  });

  it.each([
    ['{a={export_directory="//e";export_period="15"}}', /it must be an integer, at least 1$/],
    ['{a={export_directory="//e";export_period="9999999999999w"}}', /it must be an integer, at least 1$/],
    ["{a={export_period=1000}}", /\/a\/export_directory: it is required/],
    ['{a={export_directory="//e";export_period=1500}}', /must be a multiple of 1000 \(1 second\)$/],
    ['{a={export_directory="//e";export_period=9007199254740000}}', /at most 250000000000000 ms$/],
    [
      '{a={export_directory="//e";export_period=1000;export_ttl=9007199254740991}}',
      /at most 250000000000000 ms$/,
    ],
    ['{a={export_directory="//e";export_period=0}}', /it must be an integer, at least 1$/],
    ["{a=[]}", /\/a: it must be a map$/],
  ])("refuses %s", (yson, message) => {
    expect(reason(() => parseStaticExportConfigs(parseYson(yson)))).toMatch(message);
  });

  it("[queue-agent 116] wants exactly one of a period and a schedule, and has no schedules yet", () => {
    const config = (rest: string) => () =>
      parseStaticExportConfigs(parseYson(`{a={export_directory="//e";${rest}}}`));
    expect(reason(config("export_period=1000"))).toBe("taken");
    expect(reason(config(""))).toMatch(/Exactly one of "export_period" and "export_cron_schedule"/);
    expect(reason(config('export_period=1000;export_cron_schedule="* * * * *"'))).toMatch(/Exactly one/);
    expect(reason(config('export_cron_schedule="* * * * *"'))).toMatch(/not supported: set "export_period"/);
  });
});
