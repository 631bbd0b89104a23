/** `create-temp-table`: a table with a name that nobody has, removed by its expiration time. */
import { isMap, mapOf, secureRandom, systemClock, type YsonMap, YtError } from "@qyt/base";
import type { Runner } from "../command.ts";
import { plainText, printLine } from "../printing.ts";
import { fieldOf } from "../session.ts";

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const nameLength = 10;
const weekMs = 7 * 24 * 60 * 60 * 1000;

export const createTempTable: Runner = async (context) => {
  const { session, settings, values } = context;
  const given = values.text("path");
  let directory: string;
  if (given === undefined) {
    const base = settings.text("remote_temp_tables_directory") ?? "//tmp/yt_wrapper/table_storage";
    const user = fieldOf(await session.value("get_current_user", {}), "user");
    directory = `${base}/${plainText(user)}`;
    await session.change("create", {
      type: "map_node",
      path: directory,
      recursive: true,
      ignore_existing: true,
    });
  } else {
    directory = plainText(session.path(given));
    if (fieldOf(await session.value("exists", { path: directory }), "value") !== true) {
      throw new YtError("You cannot create table in unexisting path");
    }
  }
  const random = secureRandom();
  const name = Array.from({ length: nameLength }, () => letters[random.uint32() % letters.length]).join("");
  const path = `${directory.replace(/\/$/, "")}/${values.text("name_prefix") ?? ""}${name}`;
  const expiration = systemClock.now() + (values.integer("expiration_timeout") ?? weekMs);
  const own = mapOf({ expiration_time: new Date(expiration).toISOString() });
  const more = values.get("attributes");
  const attributes: YsonMap = new Map([...own, ...(isMap(more) ? more : [])]);
  await session.change("create", { type: "table", path, attributes });
  await printLine(context, path);
  return undefined;
};
