/** `@qyt/yson`: the value model and its codecs (YSON, JSON), formats, and YPath. */
export {
  Attributed,
  attributesOf,
  type BareYsonValue,
  bare,
  emptyMap,
  isList,
  isMap,
  mapOf,
  Uint64,
  withAttributes,
  type YsonList,
  type YsonMap,
  type YsonScalar,
  type YsonValue,
} from "@qyt/base";
export { ByteWriter } from "./byte-writer.ts";
export { bytesToString, stringToBytes } from "./bytes.ts";
export { parseAttributes, parseNode, parseYson, parseYsonList, parseYsonMap } from "./parser.ts";
export { type YsonParseOptions, YsonScanner } from "./scanner.ts";
export {
  doubleToText,
  writeYson,
  writeYsonList,
  writeYsonMap,
  writeYsonText,
  writeYsonTo,
  type YsonFormat,
} from "./writer.ts";
