/** The lines of `list -l` and `find -l`. Facts by: yt/python/yt/cli/yt_binary.py (formatted_print). */
import { bare, isMap, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { stringToBytes } from "@qyt/yson";
import type { Context } from "../context.ts";
import { plainText, printLine } from "../printing.ts";

export const longAttributes = ["type", "target_path", "account", "resource_usage"] as const;

export interface LongItem {
  readonly shown: string;
  readonly path: string;
  readonly attributes: YsonMap;
}

export async function printLong(context: Context, item: LongItem): Promise<void> {
  const { values, session } = context;
  let { attributes } = item;
  const attribute = async (name: string): Promise<YsonValue> => {
    if (!attributes.has(name)) {
      const all = bare(await session.get(`${item.path}&/@`));
      attributes = new Map([...attributes, ...(isMap(all) ? all : [])]);
    }
    const value = attributes.get(name);
    if (value === undefined) {
      throw new YtError(`Node ${item.path} has no attribute ${name}`);
    }
    return value;
  };
  const type = plainText(await attribute("type"));
  const tail = type === "link" ? ` -> ${plainText(await attribute("target_path"))}` : "";
  const account = plainText(await attribute("account"));
  const usage = values.is("recursive_resource_usage")
    ? await session.get(`${item.path}&/@recursive_resource_usage`)
    : await attribute("resource_usage");
  const [date = "", time = ""] = plainText(
    await attribute(values.text("time_type") ?? "modification_time"),
  ).split("T");
  const columns = [
    type.padStart(10),
    account.padStart(20),
    sizeText(diskSpace(usage)).padStart(10),
    date.padStart(10),
    time.slice(0, 5).padStart(5),
    `${item.shown}${tail}`,
  ];
  await printLine(context, columns.join(" "));
}

function diskSpace(usage: YsonValue): number {
  const map = bare(usage);
  const space = isMap(map) ? (map.get("disk_space") ?? 0n) : 0n;
  return Number(plainText(space));
}

const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi"];

function sizeText(bytes: number): string {
  let rest = bytes;
  for (const unit of units) {
    if (Math.abs(rest) < 1024) {
      return `${rest.toFixed(1)}${unit}B`;
    }
    rest /= 1024;
  }
  return `${rest.toFixed(1)}YiB`;
}

/** By bytes, which for UTF-8 is the order of code points. */
export function compareNames(left: string, right: string): number {
  return Buffer.compare(stringToBytes(left), stringToBytes(right));
}
