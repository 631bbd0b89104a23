/**
 * The command table at work: finds a command, answers a repeated mutation with the first answer, and
 * runs it.
 *
 * Specified in: yt/yt/client/driver/driver.cpp; mutation ids: http-api "Mutation ids".
 */
import { bare, type Clock, YtError } from "@qyt/base";
import type { ApiVersion, CommandDescriptor, CommandRequest, CommandResponse, Driver } from "./command.ts";
import type { RegisteredCommand } from "./define.ts";
import type { RequestLimits } from "./request-limits.ts";
import type { Services } from "./services.ts";

/** How long answers of mutations are kept, in milliseconds, and how many at most. */
const responseKeepMs = 5 * 60_000;
const maxKeptResponses = 10_000;

export class CommandDriver implements Driver {
  readonly #services: Services;
  readonly #clock: Clock;
  readonly #limits: RequestLimits | undefined;
  readonly #commands = new Map<string, RegisteredCommand>();
  readonly #kept = new Map<string, { readonly at: number; readonly response: Promise<CommandResponse> }>();

  constructor(
    services: Services,
    commands: readonly RegisteredCommand[],
    clock: Clock,
    limits?: RequestLimits,
  ) {
    this.#services = services;
    this.#clock = clock;
    this.#limits = limits;
    for (const command of commands) {
      for (const version of command.versions) {
        for (const name of [command.name, ...command.aliases]) {
          this.#commands.set(`${version}/${name}`, command);
        }
      }
    }
  }

  descriptors(version: ApiVersion): readonly CommandDescriptor[] {
    const result: CommandDescriptor[] = [];
    for (const [key, command] of this.#commands) {
      if (key.startsWith(`${version}/`)) {
        result.push({ ...command.descriptor(version), name: key.slice(2) });
      }
    }
    return result;
  }

  find(version: ApiVersion, name: string): CommandDescriptor | undefined {
    return this.#commands.get(`${version}/${name}`)?.descriptor(version);
  }

  async execute(request: CommandRequest): Promise<CommandResponse> {
    const command = this.#commands.get(`${request.apiVersion}/${request.command}`);
    if (command === undefined) {
      throw new YtError(`Command "${request.command}" is not registered`);
    }
    const descriptor = command.descriptor(request.apiVersion);
    const turn = this.#limits?.admit(request, descriptor);
    if (turn !== undefined) {
      await turn;
    }
    const mutationId = bare(request.parameters.get("mutation_id") ?? null);
    const isRemembered = descriptor.isVolatile && !descriptor.isHeavy && command.isRemembered;
    if (!isRemembered || typeof mutationId !== "string") {
      return command.run(this.#services, request);
    }
    return this.#once(`${request.user}/${command.name}/${mutationId}`, () =>
      command.run(this.#services, request),
    );
  }

  /** A repeated mutation gets the first one's answer, also while that is still under way; a failed one may be tried again. */
  #once(key: string, run: () => Promise<CommandResponse>): Promise<CommandResponse> {
    this.#forgetOld();
    const known = this.#kept.get(key);
    if (known !== undefined) {
      return known.response;
    }
    const response = run();
    this.#kept.set(key, { at: this.#clock.monotonic(), response });
    response.catch(() => this.#kept.delete(key));
    return response;
  }

  #forgetOld(): void {
    const oldest = this.#clock.monotonic() - responseKeepMs;
    for (const [key, entry] of this.#kept) {
      if (entry.at > oldest && this.#kept.size < maxKeptResponses) {
        return;
      }
      this.#kept.delete(key);
    }
  }
}
