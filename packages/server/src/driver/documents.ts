/** Values as whole documents, in the formats that answers of one value may have. */
import { type Clock, inSlices, type YsonValue } from "@qyt/base";
import { writeDsvDocument } from "@qyt/schema";
import { type DataFormat, isLargeValue, writeStructured, writeStructuredInSlices } from "@qyt/yson";

/** The document in `yson`, `json`, `web_json` or `dsv`. @throws YtError 1 for another format or a value that it lacks; 2800 */
export function writeDocument(value: YsonValue, format: DataFormat): Buffer {
  return format.name === "dsv" ? writeDsvDocument(value, format) : writeStructured(value, format);
}

/** The same; a large value is written while others have their turn. */
export function writeDocumentInTurns(
  value: YsonValue,
  format: DataFormat,
  clock: Clock,
): Buffer | Promise<Buffer> {
  return format.name !== "dsv" && isLargeValue(value)
    ? inSlices(writeStructuredInSlices(value, format), clock)
    : writeDocument(value, format);
}
