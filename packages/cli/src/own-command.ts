/** A command that `yt` does not have. */
import type { Command } from "commander";

export interface OwnCommand {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}
