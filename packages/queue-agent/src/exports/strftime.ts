/**
 * `strftime` in UTC and the C locale. Specified in: ISO C 7.27.3.5 and the additions of glibc; upstream calls
 * it by TInstant::FormatGmTime (util/datetime/base.h).
 */

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

type Directive = (time: Date) => string;

const directives: Readonly<Record<string, Directive>> = {
  a: (time) => dayName(time).slice(0, 3),
  A: dayName,
  b: (time) => monthName(time).slice(0, 3),
  B: monthName,
  c: (time) => strftime("%a %b %e %H:%M:%S %Y", time),
  C: (time) => pad(Math.floor(time.getUTCFullYear() / 100)),
  d: (time) => pad(time.getUTCDate()),
  D: (time) => strftime("%m/%d/%y", time),
  e: (time) => pad(time.getUTCDate(), 2, " "),
  F: (time) => strftime("%Y-%m-%d", time),
  g: (time) => pad(isoWeek(time).year % 100),
  G: (time) => String(isoWeek(time).year),
  h: (time) => monthName(time).slice(0, 3),
  H: (time) => pad(time.getUTCHours()),
  I: (time) => pad(hourOfTwelve(time)),
  j: (time) => pad(dayOfYear(time) + 1, 3),
  k: (time) => pad(time.getUTCHours(), 2, " "),
  l: (time) => pad(hourOfTwelve(time), 2, " "),
  m: (time) => pad(time.getUTCMonth() + 1),
  M: (time) => pad(time.getUTCMinutes()),
  n: () => "\n",
  p: halfOfDay,
  P: (time) => halfOfDay(time).toLowerCase(),
  r: (time) => strftime("%I:%M:%S %p", time),
  R: (time) => strftime("%H:%M", time),
  s: (time) => String(Math.floor(time.getTime() / 1_000)),
  S: (time) => pad(time.getUTCSeconds()),
  t: () => "\t",
  T: (time) => strftime("%H:%M:%S", time),
  u: (time) => String(time.getUTCDay() === 0 ? 7 : time.getUTCDay()),
  U: (time) => pad(Math.floor((dayOfYear(time) + 7 - time.getUTCDay()) / 7)),
  V: (time) => pad(isoWeek(time).week),
  w: (time) => String(time.getUTCDay()),
  W: (time) => pad(Math.floor((dayOfYear(time) + 7 - ((time.getUTCDay() + 6) % 7)) / 7)),
  x: (time) => strftime("%m/%d/%y", time),
  X: (time) => strftime("%H:%M:%S", time),
  y: (time) => pad(time.getUTCFullYear() % 100),
  Y: (time) => String(time.getUTCFullYear()),
  z: () => "+0000",
  Z: () => "GMT",
  "%": () => "%",
};

/** Replaces the directives of the pattern; what is none stays as it is. */
export function strftime(pattern: string, time: Date): string {
  return pattern.replace(/%[EO]?([A-Za-z%])/g, (text, directive: string) => {
    const format = Object.hasOwn(directives, directive) ? directives[directive] : undefined;
    return format === undefined ? text : format(time);
  });
}

function dayName(time: Date): string {
  return days[time.getUTCDay()] ?? "";
}

function monthName(time: Date): string {
  return months[time.getUTCMonth()] ?? "";
}

function hourOfTwelve(time: Date): number {
  return time.getUTCHours() % 12 === 0 ? 12 : time.getUTCHours() % 12;
}

function halfOfDay(time: Date): string {
  return time.getUTCHours() < 12 ? "AM" : "PM";
}

/** From 0. */
function dayOfYear(time: Date): number {
  const day = Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), time.getUTCDate());
  return (day - Date.UTC(time.getUTCFullYear(), 0, 1)) / msPerDay;
}

/** The week of ISO 8601 and the year it belongs to: the week's Thursday decides. */
function isoWeek(time: Date): { readonly year: number; readonly week: number } {
  const weekday = (time.getUTCDay() + 6) % 7;
  const thursday = new Date(time.getTime() + (3 - weekday) * msPerDay);
  return { year: thursday.getUTCFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 };
}

function pad(value: number, width = 2, filler = "0"): string {
  return String(value).padStart(width, filler);
}
