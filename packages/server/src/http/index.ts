/** The YTsaurus HTTP protocol over a `Driver`. */
export type { AdmissionLimits } from "./admission.ts";
export type { Authenticate, AuthenticationInput, Identity } from "./authentication.ts";
export { Authenticator, type AuthenticatorOptions, type TrustedPeer } from "./authenticator.ts";
export type { ServerIdentity } from "./discovery.ts";
export { type RequestRecord, requestChannel } from "./exchange.ts";
export { type HttpServer, type HttpServerOptions, startHttpServer, type TlsFiles } from "./server.ts";
