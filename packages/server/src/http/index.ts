/** The YTsaurus HTTP protocol over a `Driver`. */
export type { AdmissionLimits } from "./admission.ts";
export type { Authenticate, AuthenticationInput, Identity } from "./authentication.ts";
export type { ServerIdentity } from "./discovery.ts";
export { type RequestRecord, requestChannel } from "./exchange.ts";
export { type HttpServer, type HttpServerOptions, startHttpServer } from "./server.ts";
