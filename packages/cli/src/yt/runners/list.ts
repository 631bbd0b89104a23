/** `list`: sorted names, one on a line, or the server's answer in a format. */
import { attributesOf, bare, isList, type YsonValue, YtError } from "@qyt/base";
import { escapeYPathLiteral } from "@qyt/yson";
import type { Runner } from "../command.ts";
import { endOutput, plainText, printLine } from "../printing.ts";
import { fieldOf } from "../session.ts";
import { compareNames, longAttributes, printLong } from "./long-format.ts";

export const list: Runner = async (context) => {
  const { values, session, out } = context;
  const parameters = { max_size: defaultMaxSize, return_only_value: true, ...context.parameters };
  if (values.get("format") !== undefined) {
    await out.write(await session.bytes("list", parameters));
    await endOutput(context, false);
    return;
  }
  const isLong = values.is("long_format");
  const attributes = isLong ? [...longAttributes, "modification_time"] : values.get("attributes");
  const { return_only_value: _, ...others } = parameters;
  const answer = fieldOf(
    await session.value("list", { ...others, ...(attributes === undefined ? {} : { attributes }) }),
    "value",
  );
  const items: YsonValue = bare(answer);
  if (!isList(items)) {
    throw new YtError("The answer of the cluster is not a list");
  }
  if (values.get("attributes") !== undefined) {
    context.warn("WARNING! Attributes are ignored if format is not specified.");
  }
  const isIncomplete = attributesOf(answer).get("incomplete") === true;
  const sorted = isIncomplete ? items : [...items].sort((a, b) => compareNames(plainText(a), plainText(b)));
  const path = values.needed("path");
  for (const item of sorted) {
    const name = plainText(item);
    const shown = values.is("absolute") ? `${path}/${name}` : name;
    if (isLong) {
      const whole = session.path(`${path === "/" ? "/" : path}/${escapeYPathLiteral(name)}`);
      await printLong(context, { shown, path: plainText(whole), attributes: attributesOf(item) });
    } else {
      await printLine(context, shown);
    }
  }
  if (isIncomplete) {
    context.warn("WARNING: list is incomplete, check --max-size option");
  }
  return undefined;
};

/** As the real client asks. */
const defaultMaxSize = 65_535n;
