/** Times and names of exported tables. */
import { timestampFromSeconds } from "@qyt/schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundaryAfter, boundaryAt, minExportTime } from "./export-time.ts";
import { strftime } from "./strftime.ts";
import { exportedTableName } from "./table-name.ts";

describe("boundaries", () => {
  test("a chunk whose newest second is a boundary goes into the table of the next one", () => {
    expect(minExportTime(timestampFromSeconds(119), 60)).toBe(120);
    expect(minExportTime(timestampFromSeconds(119) + (1n << 30n) - 1n, 60)).toBe(120);
    expect(minExportTime(timestampFromSeconds(120), 60)).toBe(180);
  });

  test("every moment lies in exactly one period", () => {
    fc.assert(
      fc.property(fc.nat(4_000_000_000), fc.integer({ min: 1, max: 1_000_000 }), (second, period) => {
        const [from, to] = [boundaryAt(second * 1_000 + 999, period), boundaryAfter(second, period)];
        expect(from).toBeLessThanOrEqual(second);
        expect(to).toBeGreaterThan(second);
        expect(to - from).toBe(period);
        expect(from % period).toBe(0);
      }),
    );
  });
});

describe("names", () => {
  const time = Date.UTC(2025, 0, 23, 14, 5, 9) / 1_000;
  const config = (outputTableNamePattern: string, useUpperBoundForTableNames = false) => ({
    exportPeriodSeconds: 60,
    outputTableNamePattern,
    useUpperBoundForTableNames,
  });

  test("the default is the lower bound and the period", () => {
    expect(exportedTableName(config("%UNIX_TS-%PERIOD"), 1_737_639_900)).toBe("1737639840-60");
    expect(exportedTableName(config("%UNIX_TS-%PERIOD", true), 1_737_639_900)).toBe("1737639900-60");
  });

  test("[queue-agent 98] variables first, then strftime in UTC", () => {
    expect(exportedTableName(config("%ISO-period-is-%PERIOD-fmt-%Y.%m.%d.%H.%M.%S", true), time)).toBe(
      "2025-01-23T14:05:09Z-period-is-60-fmt-2025.01.23.14.05.09",
    );
    expect(exportedTableName(config("%ISO %ISO"), time)).toBe("2025-01-23T14:04:09Z 2025-01-23T14:04:09Z");
  });

  test.each(["", "%Y/%m", "%D", "link/%UNIX_TS", "@attribute", "a&", "*", "a[1]", "{a}", "\\x41"])(
    "a pattern that does not give a plain name is an error: %j",
    (pattern) => {
      expect(() => exportedTableName(config(pattern), time)).toThrow(
        `Output table name pattern "${pattern}" gives`,
      );
    },
  );

  test.each([
    ["%a %A %b %B %h", "Thu Thursday Jan January Jan"],
    ["%c", "Thu Jan 23 14:05:09 2025"],
    ["%C %d %e %D %F %x", "20 23 23 01/23/25 2025-01-23 01/23/25"],
    ["%H %I %k %l %p %P %M %S", "14 02 14  2 PM pm 05 09"],
    ["%r|%R|%T|%X", "02:05:09 PM|14:05|14:05:09|14:05:09"],
    ["%j %u %w %U %W %V %G %g %y", "023 4 4 03 03 04 2025 25 25"],
    ["%s %z %Z %% %n%t", `${time} +0000 GMT % \n\t`],
    ["%Q %", "%Q %"],
    ["%Ey %Od", "25 23"],
  ])("strftime %s", (pattern, text) => {
    expect(strftime(pattern, new Date(time * 1_000))).toBe(text);
  });

  test("weeks of ISO 8601 belong to the year of their Thursday", () => {
    const week = (year: number, month: number, day: number) =>
      strftime("%G-W%V %U %W", new Date(Date.UTC(year, month - 1, day)));
    expect(week(2021, 1, 3)).toBe("2020-W53 01 00");
    expect(week(2024, 12, 30)).toBe("2025-W01 52 53");
    expect(week(2023, 1, 1)).toBe("2022-W52 01 00");
  });
});
