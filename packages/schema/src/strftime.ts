/**
 * The directives of `strftime` in the C locale, for the clock of any zone.
 *
 * Specified in: ISO C 7.27.3.5 and the additions of glibc.
 */

/** A moment as a zone's clock shows it. */
export interface ZonedTime {
  /** Unix time, not shifted. */
  readonly seconds: number;
  /** Seconds that the zone's clock is ahead of UTC. */
  readonly offset: number;
  /** What `%Z` prints. */
  readonly zone: string;
}

export interface StrftimeOptions {
  /** Whether `%E…` and `%O…` are directives: they print what those without the modifier do. Default: they are not. */
  readonly modifiers?: boolean;
}

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
const msPerDay = 86_400_000;

/** The UTC fields of the date are those of the zone's clock. */
type Directive = (date: Date, time: ZonedTime) => string;

const directives: Readonly<Record<string, Directive>> = {
  a: (date) => dayName(date).slice(0, 3),
  A: dayName,
  b: (date) => monthName(date).slice(0, 3),
  B: monthName,
  c: composed("%a %b %e %H:%M:%S %Y"),
  C: (date) => pad(Math.floor(date.getUTCFullYear() / 100)),
  d: (date) => pad(date.getUTCDate()),
  D: composed("%m/%d/%y"),
  e: (date) => pad(date.getUTCDate(), 2, " "),
  F: composed("%Y-%m-%d"),
  g: (date) => pad(isoWeek(date).year % 100),
  G: (date) => String(isoWeek(date).year),
  h: (date) => monthName(date).slice(0, 3),
  H: (date) => pad(date.getUTCHours()),
  I: (date) => pad(hourOfTwelve(date)),
  j: (date) => pad(dayOfYear(date) + 1, 3),
  k: (date) => pad(date.getUTCHours(), 2, " "),
  l: (date) => pad(hourOfTwelve(date), 2, " "),
  m: (date) => pad(date.getUTCMonth() + 1),
  M: (date) => pad(date.getUTCMinutes()),
  n: () => "\n",
  p: halfOfDay,
  P: (date) => halfOfDay(date).toLowerCase(),
  r: composed("%I:%M:%S %p"),
  R: composed("%H:%M"),
  s: (_date, { seconds }) => String(seconds),
  S: (date) => pad(date.getUTCSeconds()),
  t: () => "\t",
  T: composed("%H:%M:%S"),
  u: (date) => String(date.getUTCDay() || 7),
  U: (date) => pad(Math.floor((dayOfYear(date) + 7 - date.getUTCDay()) / 7)),
  V: (date) => pad(isoWeek(date).week),
  w: (date) => String(date.getUTCDay()),
  W: (date) => pad(Math.floor((dayOfYear(date) + 7 - ((date.getUTCDay() + 6) % 7)) / 7)),
  x: composed("%m/%d/%y"),
  X: composed("%H:%M:%S"),
  y: (date) => pad(date.getUTCFullYear() % 100),
  Y: (date) => String(date.getUTCFullYear()),
  z: (_date, { offset }) => formatOffset(offset),
  Z: (_date, { zone }) => zone,
  "%": () => "%",
};

const plainDirective = /%([A-Za-z%])/g;
const modifiedDirective = /%[EO]?([A-Za-z%])/g;

/** Replaces the directives of the format; what is none stays as it is. */
export function strftime(format: string, time: ZonedTime, { modifiers }: StrftimeOptions = {}): string {
  const date = new Date((time.seconds + time.offset) * 1_000);
  return expand(format, modifiers === true ? modifiedDirective : plainDirective, date, time);
}

function expand(format: string, pattern: RegExp, date: Date, time: ZonedTime): string {
  return format.replace(pattern, (text, letter: string) => directives[letter]?.(date, time) ?? text);
}

function composed(format: string): Directive {
  return (date, time) => expand(format, plainDirective, date, time);
}

function dayName(date: Date): string {
  return days[date.getUTCDay()] ?? "";
}

function monthName(date: Date): string {
  return months[date.getUTCMonth()] ?? "";
}

function hourOfTwelve(date: Date): number {
  return date.getUTCHours() % 12 || 12;
}

function halfOfDay(date: Date): string {
  return date.getUTCHours() < 12 ? "AM" : "PM";
}

/** From 0. `Date.UTC` would take the years 0 to 99 for 1900 to 1999. */
function dayOfYear(date: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - start.getTime()) / msPerDay);
}

/** The week of ISO 8601 and the year it belongs to: the week's Thursday decides. */
function isoWeek(date: Date): { readonly year: number; readonly week: number } {
  const weekday = (date.getUTCDay() + 6) % 7;
  const thursday = new Date(date.getTime() + (3 - weekday) * msPerDay);
  return { year: thursday.getUTCFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 };
}

/** `+0530`. */
function formatOffset(offset: number): string {
  const minutes = Math.floor(Math.abs(offset) / 60);
  return `${offset < 0 ? "-" : "+"}${pad(Math.floor(minutes / 60))}${pad(minutes % 60)}`;
}

function pad(value: number, width = 2, filler = "0"): string {
  return String(value).padStart(width, filler);
}
