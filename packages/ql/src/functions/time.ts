/**
 * Functions over Unix seconds: floors to calendar units and printing.
 *
 * Specified in: yt/yt/library/query/engine/udf/dates.cpp (the `…_tz` variants take a zone's IANA name).
 */
import { YtError } from "@qyt/base";
import type { RowValue } from "@qyt/schema";
import { asBigint, asText } from "../values.ts";
import { type FunctionDefinition, signature } from "./signature.ts";
import { formatTime } from "./strftime.ts";

type Unit = "hour" | "day" | "week" | "month" | "quarter" | "year";
const units: readonly Unit[] = ["hour", "day", "week", "month", "quarter", "year"];

/** Bound of what a JavaScript date can hold, in seconds. */
const maxSeconds = 8_640_000_000_000n;

export const timeFunctions: Readonly<Record<string, FunctionDefinition>> = {
  ...floorFunctions(),
  format_timestamp: {
    signature: signature(["int64", "string"], "string"),
    prepare: () => (values) =>
      Buffer.from(formatTime(toSeconds(values[0]), asText(values[1]), 0, "UTC"), "utf8"),
  },
  format_timestamp_tz: {
    signature: signature(["int64", "string", "string"], "string"),
    prepare: () => (values) => {
      const seconds = toSeconds(values[0]);
      const zone = asText(values[2]);
      return Buffer.from(formatTime(seconds, asText(values[1]), offsetOf(zone, seconds), zone), "utf8");
    },
  },
};

function floorFunctions(): Record<string, FunctionDefinition> {
  const result: Record<string, FunctionDefinition> = {};
  for (const unit of units) {
    result[`timestamp_floor_${unit}`] = {
      signature: signature(["int64"], "int64"),
      prepare: () => (values) => BigInt(floorTime(toSeconds(values[0]), unit)),
    };
    result[`timestamp_floor_${unit}_tz`] = {
      signature: signature(["int64", "string"], "int64"),
      prepare: () => (values) => BigInt(floorInZone(toSeconds(values[0]), unit, asText(values[1]))),
    };
  }
  return result;
}

function toSeconds(value: RowValue | undefined): number {
  const seconds = asBigint(value);
  if (seconds > maxSeconds || seconds < -maxSeconds) {
    throw new YtError("Timestamp is out of range", { attributes: { timestamp: seconds } });
  }
  return Number(seconds);
}

/** The beginning of the hour, day, … in UTC; weeks begin on Monday. */
function floorTime(seconds: number, unit: Unit): number {
  const date = new Date(seconds * 1000);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  switch (unit) {
    case "hour":
      return Math.floor(seconds / 3600) * 3600;
    case "day":
      return Math.floor(seconds / 86_400) * 86_400;
    case "week": {
      const day = Math.floor(seconds / 86_400);
      return (day - ((date.getUTCDay() + 6) % 7)) * 86_400;
    }
    case "month":
      return utcSeconds(year, month);
    case "quarter":
      return utcSeconds(year, month - (month % 3));
    case "year":
      return utcSeconds(year, 0);
  }
}

/** The first second of a month. `Date.UTC` alone takes the years 0 to 99 for 1900 to 1999. */
function utcSeconds(year: number, month: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month, 1);
  return date.getTime() / 1000;
}

function floorInZone(seconds: number, unit: Unit, zone: string): number {
  const local = floorTime(seconds + offsetOf(zone, seconds), unit);
  // The offset may differ at the floor itself, when a clock change lies between.
  const guess = local - offsetOf(zone, local);
  return local - offsetOf(zone, guess);
}

const formats = new Map<string, Intl.DateTimeFormat>();
/** So that a query over generated zone names cannot fill the memory. */
const maxFormats = 512;

/** Seconds that a zone's clock is ahead of UTC at a moment. @throws YtError for an unknown zone */
function offsetOf(zone: string, seconds: number): number {
  const moment = new Date(seconds * 1000);
  const parts = new Map(
    formatOf(zone)
      .formatToParts(moment)
      .map((part) => [part.type, part.value]),
  );
  const field = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name));
  const local = Date.UTC(
    field("year"),
    field("month") - 1,
    field("day"),
    field("hour") % 24,
    field("minute"),
  );
  return (local + field("second") * 1000) / 1000 - seconds;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) {
    return known;
  }
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch (error) {
    throw new YtError(`Unknown time zone "${zone}"`, { cause: error });
  }
  if (formats.size >= maxFormats) {
    formats.clear();
  }
  formats.set(zone, format);
  return format;
}
