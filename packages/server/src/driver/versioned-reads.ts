/**
 * Reads that show when each value was written: `versioned_read_options={read_mode=latest_timestamp}`.
 * Specified in: yt/yt/client/table_client/versioned_io_options.cpp.
 */
import type { YsonMap } from "@qyt/base";
import * as z from "zod";
import { timestampColumnPrefix } from "../tablets/index.ts";
import { optional, parameter, readParameters } from "./parameters.ts";

const options = z.object({
  read_mode: optional(parameter.oneOf("EVersionedIOMode", ["default", "latest_timestamp"])),
});

/** Whether timestamps of the values are wanted as columns. @throws YtError for an unknown mode */
export function wantsTimestamps(versionedReadOptions: YsonMap | undefined): boolean {
  return (
    versionedReadOptions !== undefined &&
    readParameters(options, versionedReadOptions).read_mode === "latest_timestamp"
  );
}

/** Who reads the timestamps of a column reads the column: the name that rights are asked for. */
export function readColumn(name: string): string {
  return name.startsWith(timestampColumnPrefix) ? name.slice(timestampColumnPrefix.length) : name;
}
