/** What the runner of a command gets. */
import type { YsonValue } from "@qyt/base";
import type { Values } from "./arguments.ts";
import type { Session } from "./session.ts";
import type { Settings } from "./settings.ts";
import type { Out } from "./streams.ts";

export interface Context {
  readonly values: Values;
  /** The parameters of the API that the arguments give. @throws YtError for a path that cannot be sent */
  readonly parameters: Readonly<Record<string, YsonValue>>;
  readonly settings: Settings;
  readonly session: Session;
  readonly stdin: AsyncIterable<Buffer>;
  readonly out: Out;
  /** A line on standard error. */
  warn(text: string): void;
}
