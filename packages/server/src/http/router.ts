/** The routes. Paths under `/api` are matched without regard to case; the verb has no say (http-api §1, §3). */
import { type YsonValue, YtError } from "@qyt/base";
import type { ApiVersion } from "../driver/command.ts";
import { type CommandHandlerContext, handleCommand } from "./command-handler.ts";
import { handleCors } from "./cors.ts";
import {
  replyAllHosts,
  replyApiVersions,
  replyClusterConnection,
  replyCommandList,
  replyHosts,
  replyPing,
  replyService,
  replyVersion,
  replyVersions,
  type ServerIdentity,
} from "./discovery.ts";
import { replyError } from "./error-reply.ts";
import type { Exchange } from "./exchange.ts";
import { HttpError } from "./http-error.ts";
import { handleLogin, type Login } from "./login.ts";
import { handleWhoAmI } from "./whoami.ts";

export interface RouterContext {
  readonly commands: CommandHandlerContext;
  readonly identity: ServerIdentity;
  readonly clusterConnection: () => Promise<YsonValue>;
  readonly csrfTokenFor: (user: string) => string;
  readonly isOriginAllowed: (origin: string) => boolean;
  /** Absent: there are no sessions, and no `/login`. */
  readonly login: Login | undefined;
}

const apiVersions: ReadonlyMap<string, ApiVersion> = new Map([
  ["v3", 3],
  ["v4", 4],
]);

interface Route {
  /** Whether it is served without asking who calls. */
  readonly isOpen: boolean;
  serve(exchange: Exchange, context: RouterContext): Promise<void> | void;
}

function open(serve: Route["serve"]): Route {
  return { isOpen: true, serve };
}

/** All paths but those of the API, `/hosts/<suffix>` and `/login`. */
export const routes: ReadonlyMap<string, Route> = new Map([
  ["/hosts", open(replyHosts)],
  ["/hosts/all", open((exchange, { commands }) => replyAllHosts(exchange, commands.admission.requests))],
  ["/ping", open(replyPing)],
  ["/version", open((exchange, { identity }) => replyVersion(exchange, identity))],
  ["/service", open((exchange, { identity }) => replyService(exchange, identity))],
  [
    "/auth/whoami",
    {
      isOpen: false,
      serve: (exchange, { commands, csrfTokenFor }) =>
        handleWhoAmI(exchange, commands.authenticate, csrfTokenFor),
    },
  ],
  [
    "/cluster_connection",
    open((exchange, { clusterConnection }) => replyClusterConnection(exchange, clusterConnection)),
  ],
  ["/internal/discover_versions/v2", open((exchange, { identity }) => replyVersions(exchange, identity))],
]);

/** Serves one request. `expectsContinue`: the client holds its body back until it is asked for it. */
export function route(
  context: RouterContext,
  exchange: Exchange,
  expectsContinue: boolean,
): Promise<void> | void {
  const isLogin = context.login !== undefined && /^\/login(?:\/|$)/.test(exchange.path);
  if (exchange.path !== "/" && !isLogin && handleCors(exchange, context.isOriginAllowed)) {
    return;
  }
  if (isLogin && context.login !== undefined) {
    return handleLogin(exchange, context.login);
  }
  const lowerPath = exchange.path.toLowerCase();
  if (lowerPath.startsWith("/api/")) {
    return routeApi(context, exchange, lowerPath, expectsContinue);
  }
  if (lowerPath === "/api") {
    return replyApiVersions(exchange);
  }
  // A path with a slash at its end is the same path.
  const { path } = exchange;
  const served = routes.get(path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path);
  if (served !== undefined) {
    return served.serve(exchange, context);
  }
  return path.startsWith("/hosts/") ? replyHosts(exchange) : exchange.reply(404);
}

/** `lowerPath` begins with `/api/`. */
function routeApi(
  context: RouterContext,
  exchange: Exchange,
  lowerPath: string,
  expectsContinue: boolean,
): Promise<void> | void {
  const [versionName = "", ...rest] = lowerPath.slice("/api/".length).split("/");
  if (versionName === "") {
    return replyApiVersions(exchange);
  }
  const version = apiVersions.get(versionName);
  if (version === undefined) {
    const error = new YtError(`Unsupported API version "${versionName}"`, {
      attributes: { supported_versions: [...apiVersions.keys()] },
    });
    return replyError(exchange, new HttpError(400, error));
  }
  const command = rest.join("/");
  if (command === "") {
    return replyCommandList(exchange, context.commands.driver, version);
  }
  return handleCommand(context.commands, exchange, { apiVersion: version, command }, expectsContinue);
}
