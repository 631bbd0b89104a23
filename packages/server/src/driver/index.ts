/** The command table and the driver that runs it. */
export type {
  ApiVersion,
  CommandDescriptor,
  CommandRequest,
  CommandResponse,
  DataType,
  Driver,
} from "./command.ts";
export { allCommands } from "./commands/index.ts";
export type { RegisteredCommand } from "./define.ts";
export { CommandDriver } from "./driver.ts";
export { RequestLimits } from "./request-limits.ts";
export type { Services } from "./services.ts";
