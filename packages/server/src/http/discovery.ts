/**
 * The small routes by which clients find proxies and learn what they can do. None of them asks who calls.
 * Specified in: yt/yt/server/http_proxy/{api,coordinator,component_discovery}.cpp; http-api §1.
 */
import type { YsonValue } from "@qyt/base";
import { writeJson } from "@qyt/yson";
import type { ApiVersion, Driver } from "../driver/command.ts";
import { replyError, toHttpError } from "./error-reply.ts";
import type { Exchange } from "./exchange.ts";

export interface ServerIdentity {
  readonly clusterName: string;
  /** Holds `N.N.N`: the web UI looks for it. */
  readonly version: string;
  /** ISO 8601. */
  readonly startTime: string;
}

/** The only role there is. */
const role = "data";

function replyJson(exchange: Exchange, value: unknown): void {
  exchange.headers["Content-Type"] = "application/json";
  exchange.reply(200, JSON.stringify(value));
}

function replyText(exchange: Exchange, text: string): void {
  exchange.headers["Content-Type"] = "text/plain";
  exchange.reply(200, text);
}

export function replyApiVersions(exchange: Exchange): void {
  replyJson(exchange, ["v3", "v4"]);
}

export function replyCommandList(exchange: Exchange, driver: Driver, version: ApiVersion): void {
  replyJson(
    exchange,
    driver.descriptors(version).map((descriptor) => ({
      name: descriptor.name,
      input_type: descriptor.inputType,
      output_type: descriptor.outputType,
      is_volatile: descriptor.isVolatile,
      is_heavy: descriptor.isHeavy,
    })),
  );
}

/** The proxies that serve heavy commands: this one. */
export function replyHosts(exchange: Exchange): void {
  const wanted = new URLSearchParams(exchange.query).get("role") ?? role;
  const hosts = wanted === role ? [ownAddress(exchange)] : [];
  if (exchange.message.headers.accept === "text/plain") {
    replyText(exchange, hosts.map((host) => `${host}\n`).join(""));
  } else {
    replyJson(exchange, hosts);
  }
}

export function replyAllHosts(exchange: Exchange, concurrentRequests: number): void {
  const address = ownAddress(exchange);
  replyJson(exchange, [
    {
      host: address,
      name: address,
      role,
      banned: false,
      ban_message: "",
      dead: false,
      liveness: {
        updated_at: new Date(exchange.context.clock.now()).toISOString(),
        load_average: 0,
        network_coef: 0,
        user_cpu: 0,
        system_cpu: 0,
        cpu_wait: 0,
        concurrent_requests: concurrentRequests,
      },
    },
  ]);
}

/** 200 when the server takes requests, 503 when it is closing. */
export function replyPing(exchange: Exchange): void {
  exchange.reply(exchange.context.isClosing() ? 503 : 200);
}

export function replyVersion(exchange: Exchange, identity: ServerIdentity): void {
  replyText(exchange, identity.version);
}

export function replyService(exchange: Exchange, identity: ServerIdentity): void {
  replyJson(exchange, { start_time: identity.startTime, version: identity.version });
}

export function replyVersions(exchange: Exchange, identity: ServerIdentity): void {
  const counts = { http_proxy: { total: 1, banned: 0, offline: 0 } };
  replyJson(exchange, {
    summary: { [identity.version]: counts, total: counts },
    details: [
      {
        address: ownAddress(exchange),
        type: "http_proxy",
        version: identity.version,
        start_time: identity.startTime,
        banned: false,
      },
    ],
  });
}

export async function replyClusterConnection(
  exchange: Exchange,
  clusterConnection: () => Promise<YsonValue>,
): Promise<void> {
  try {
    const body = writeJson(await clusterConnection());
    exchange.headers["Content-Type"] = "application/json";
    exchange.reply(200, body);
  } catch (error) {
    replyError(exchange, toHttpError(error));
  }
}

function ownAddress(exchange: Exchange): string {
  return exchange.context.addressFor(exchange.message);
}
