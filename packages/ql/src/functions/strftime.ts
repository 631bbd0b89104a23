/**
 * Printing of a time by a format of C's `strftime`, in the C locale.
 *
 * Specified in: yt/yt/library/query/engine/udf/dates.cpp (format_timestamp).
 */
import { YtError } from "@qyt/base";

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

/** A result longer than this is refused, as upstream's buffer does. */
const maxLength = 1024;

type Field = (date: Date, context: Context) => string;

interface Context {
  /** Seconds since the epoch, not shifted. */
  readonly seconds: number;
  readonly offset: number;
  readonly zone: string;
}

const fields: Readonly<Record<string, Field>> = {
  Y: (date) => String(date.getUTCFullYear()),
  C: (date) => pad(Math.floor(date.getUTCFullYear() / 100)),
  y: (date) => pad(date.getUTCFullYear() % 100),
  m: (date) => pad(date.getUTCMonth() + 1),
  d: (date) => pad(date.getUTCDate()),
  e: (date) => pad(date.getUTCDate(), 2, " "),
  H: (date) => pad(date.getUTCHours()),
  k: (date) => pad(date.getUTCHours(), 2, " "),
  I: (date) => pad(twelve(date)),
  l: (date) => pad(twelve(date), 2, " "),
  M: (date) => pad(date.getUTCMinutes()),
  S: (date) => pad(date.getUTCSeconds()),
  p: (date) => (date.getUTCHours() < 12 ? "AM" : "PM"),
  P: (date) => (date.getUTCHours() < 12 ? "am" : "pm"),
  j: (date) => pad(yearDay(date) + 1, 3),
  a: (date) => (days[date.getUTCDay()] ?? "").slice(0, 3),
  A: (date) => days[date.getUTCDay()] ?? "",
  b: (date) => (months[date.getUTCMonth()] ?? "").slice(0, 3),
  h: (date) => (months[date.getUTCMonth()] ?? "").slice(0, 3),
  B: (date) => months[date.getUTCMonth()] ?? "",
  u: (date) => String(date.getUTCDay() || 7),
  w: (date) => String(date.getUTCDay()),
  U: (date) => pad(Math.floor((yearDay(date) + 7 - date.getUTCDay()) / 7)),
  W: (date) => pad(Math.floor((yearDay(date) + 7 - ((date.getUTCDay() + 6) % 7)) / 7)),
  V: (date) => pad(isoWeek(date).week),
  G: (date) => String(isoWeek(date).year),
  g: (date) => pad(isoWeek(date).year % 100),
  s: (_date, context) => String(context.seconds),
  z: (_date, context) => formatOffset(context.offset),
  Z: (_date, context) => context.zone,
  n: () => "\n",
  t: () => "\t",
  "%": () => "%",
};

const composed: Readonly<Record<string, string>> = {
  D: "%m/%d/%y",
  F: "%Y-%m-%d",
  R: "%H:%M",
  T: "%H:%M:%S",
  r: "%I:%M:%S %p",
  c: "%a %b %e %H:%M:%S %Y",
  x: "%m/%d/%y",
  X: "%H:%M:%S",
};

/**
 * @param seconds Unix time
 * @param offset seconds that the zone's clock is ahead of UTC
 * @throws YtError when the result is too long
 */
export function formatTime(seconds: number, format: string, offset: number, zone: string): string {
  const date = new Date((seconds + offset) * 1000);
  const context = { seconds, offset, zone };
  const expanded = format.replace(/%([DFRTrcxX%])/g, (text, letter: string) => composed[letter] ?? text);
  const result = expanded.replace(
    /%([\s\S])/g,
    (text, letter: string) => fields[letter]?.(date, context) ?? text,
  );
  if (result.length > maxLength) {
    throw new YtError("Format string is too long");
  }
  return result;
}

function pad(value: number, width = 2, filler = "0"): string {
  return String(value).padStart(width, filler);
}

function twelve(date: Date): number {
  return date.getUTCHours() % 12 || 12;
}

function yearDay(date: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - start.getTime()) / 86_400_000);
}

/** The ISO 8601 week and its year: the week belongs to the year of its Thursday. */
function isoWeek(date: Date): { week: number; year: number } {
  const weekday = date.getUTCDay() || 7;
  const thursday = new Date(date.getTime() + (4 - weekday) * 86_400_000);
  return { week: Math.floor(yearDay(thursday) / 7) + 1, year: thursday.getUTCFullYear() };
}

function formatOffset(offset: number): string {
  const minutes = Math.floor(Math.abs(offset) / 60);
  return `${offset < 0 ? "-" : "+"}${pad(Math.floor(minutes / 60))}${pad(minutes % 60)}`;
}
