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
export { errorFromYson, errorToYson } from "./error-codec.ts";
export {
  type DataFormat,
  type DataFormatName,
  isLargeValue,
  jsonOptionsOf,
  parseFormat,
  parseStructured,
  parseStructuredInSlices,
  writeStructured,
  writeStructuredInSlices,
  ysonFormatOf,
} from "./format.ts";
export { type JsonOptions, jsonOptionsFromAttributes } from "./json-options.ts";
export { parseJson, parseJsonStream } from "./json-parser.ts";
export { writeJson, writeJsonTo } from "./json-writer.ts";
export { parseAttributes, parseNode, parseYson, parseYsonList, parseYsonMap } from "./parser.ts";
export { deepEqual, fromYson, type PlainValue, toYson } from "./plain.ts";
export { parseRichPath, type RichPath, richPathToYson } from "./rich-path.ts";
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
export { escapeYPathLiteral, tokenizeYPath, type YPath, type YPathStep } from "./ypath.ts";
