/** `explain-id`: the parts of an id. Facts by: yt/python/yt/cli/command_explain_id.py. */
import { bare, toYtError, YtError } from "@qyt/base";
import type { Runner } from "../command.ts";
import { plainText, printLine } from "../printing.ts";
import { fieldOf } from "../session.ts";
import { objectTypeName } from "./object-types.ts";

export const explainId: Runner = async (context) => {
  const { session, values } = context;
  const id = values.needed("id");
  await printLine(context, `Id: ${id}`);
  const parts = id.split("-");
  if (parts.length !== 4 || !parts.every((part) => /^(0x)?[0-9a-f]+$/i.test(part))) {
    throw new YtError(`Error: expect GUID like string, not "${id}"`);
  }
  const [epoch = 0n, mutation = 0n, tagAndType = 0n, hash = 0n] = parts.map((part) =>
    BigInt(`0x${part.replace(/^0x/i, "")}`),
  );
  const type = tagAndType & 0xffffn;
  const lines: (readonly [string, bigint, string?])[] = [
    ["Epoch/Segment:  ", epoch],
    ["Mutation:       ", mutation],
    ["Cell tag:       ", tagAndType >> 16n],
    ["Object type:    ", type, ` - ${objectTypeName(Number(type))}`],
    ["Hash:           ", hash],
  ];
  for (const [label, number, tail = ""] of lines) {
    await printLine(context, `  ${label}${number} (0x${number.toString(16)})${tail}`);
  }
  if (objectTypeName(Number(type)) === "atomic_tablet_transaction") {
    const seconds = ((epoch << 32n) + mutation) >> 30n;
    await printLine(context, `  Tx timestamp:   ${localTime(Number(seconds))}`);
  }
  if (values.is("local")) {
    return undefined;
  }
  await printLine(context, `On cluster "${context.settings.text("proxy/url") ?? session.proxy}":`);
  try {
    const exists = fieldOf(await session.value("exists", { path: `#${id}` }), "value");
    const range = bare(await session.get(`//sys/estimated_creation_time/${id}`));
    await printLine(context, `  Exists:         ${exists === true ? "True" : "False"}`);
    await printLine(
      context,
      `  Creation range: ${plainText(fieldOf(range, "min"))} - ${plainText(fieldOf(range, "max"))}`,
    );
  } catch (thrown) {
    await printLine(context, "  Got error");
    throw toYtError(thrown);
  }
  return undefined;
};

function localTime(seconds: number): string {
  const time = new Date(seconds * 1000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  return `${day} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":")}`;
}
