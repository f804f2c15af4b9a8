export type { CallsObserverPort } from './client/server.js';
export type { Audit } from './core/audit.js';
export type * from './core/backend.js';
export type { ConfigurationObserverPort } from './core/configuration-observer.js';
export type { Core } from './core/core.js';
export { DomainError, type DomainErrorCode } from './core/errors.js';
export type { FaultText } from './core/faults.js';
export type * from './core/keys/types.js';
export type * from './core/model.js';
export type { OperationUse } from './core/operation-use.js';
export type * from './core/ports.js';
export type { CountersOutcome, CountersPost, SourceRun } from './core/posted-counters.js';
export type { Session } from './core/session.js';
export type { TokenGuard } from './core/token-guard.js';
export type { Gateway } from './gateway/compose.js';
export { createGateway } from './gateway/create-gateway.js';
export type { Home, HomeParts, OpenUpstream, TestHome } from './gateway/homes/home.js';
export type {
  DatabaseOptions,
  GatewayMount,
  GatewayObserver,
  GatewayOptions,
  GatewayUpstream,
  Overrides,
  TestControls,
  TestOptions,
  TestState,
  WatchedWebhook,
} from './gateway/options.js';
export type { DatabaseBackend } from './homes/database/backend.js';
export type { LocalBackend } from './homes/file/backend.js';
export type { AppSettings } from './northbound/app-options.js';
export type { CallerOf } from './northbound/caller.js';
export type { PanelServer, SubscriptionAddress } from './northbound/embedded-panel.js';
export type { LoginGuardLimit } from './northbound/login-guard.js';
export type { Mount } from './northbound/mount.js';
export type { RequestsObserver } from './northbound/request-observer.js';
export { createSeededPorts, type MovableClock, type SeededPorts } from './platform/seeded-ports.js';
export type { CreateServer } from './sockets/followed-connections.js';
export type { Encodable } from './wire/json/write-json.js';
