import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Actors } from '../core/actors.js';
import type { Core } from '../core/core.js';
import type { KeyMakers } from '../core/keys/key-makers.js';
import type { KeyNotes } from '../core/keys/key-notes.js';
import type { AnnouncedServer, Credentials } from '../core/model.js';
import type { NamedTokens } from '../core/named-tokens.js';
import type { OperationUse } from '../core/operation-use.js';
import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import type { TokenGuard } from '../core/token-guard.js';
import type { CreateServer } from '../sockets/followed-connections.js';
import type { OfferFacts } from '../subscription/offer.js';
import type { CallerOf } from './caller.js';
import type { FaultyOptions } from './faulty.js';
import { DEFAULT_LOGIN_GUARD, type LoginGuardLimit } from './login-guard.js';
import type { Mount } from './mount.js';
import type { LoggedRequests } from './request-log.js';
import type { Observing, RequestsObserver } from './request-observer.js';
import type { ServedSubscriptions } from './subscriptions.js';

/** The settings that the northbound side reads by itself, each under the name of its row in the table of settings. */
export interface AppSettings {
  /** The limit on guessed passwords; `off` leaves the limit on guessed tokens in force. */
  readonly loginGuard: LoginGuardLimit | 'off';
  /** The host names that requests may be sent to, in addition to IP addresses and `localhost`; empty for any name. */
  readonly allowHosts: readonly string[];
  /** The requests that get a line in the log. */
  readonly requestLog: LoggedRequests;
  /** True if the audit operations require the mount's credential, which by the protocol they do not. */
  readonly protectAudit: boolean;
}

export const DEFAULT_APP_SETTINGS: AppSettings = {
  loginGuard: DEFAULT_LOGIN_GUARD,
  allowHosts: [],
  requestLog: 'none',
  protectAudit: false,
};

/** Paths that are served next to each mount's API and answer for themselves. */
export interface BesideMounts {
  serve(app: FastifyInstance, mount: Mount, observing: Observing): void;
  /**
   * Refuses a request whose path cannot be decoded if it is below a path of its own; otherwise does nothing and returns
   * false.
   */
  refuses(request: FastifyRequest, reply: FastifyReply, text: string): boolean;
}

/** The core, mounts and ports that the northbound side is given. */
export interface AppOptions extends AppSettings {
  readonly core: Core;
  readonly mounts: readonly Mount[];
  readonly credentials: () => Credentials;
  readonly announced: () => AnnouncedServer;
  /** Returns where clients find the server, as far as that is known. */
  readonly offerFacts: () => Promise<OfferFacts>;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
  /** Makes the server that listens; a plain one if absent. */
  readonly createServer?: CreateServer;
  /** Consulted wherever a token is checked. */
  readonly tokens: TokenGuard;
  readonly named: NamedTokens;
  readonly makers: KeyMakers;
  readonly notes: KeyNotes;
  /** Told who changes what. */
  readonly actors: Actors;
  /** Counts the use of operations; null if it is not counted. */
  readonly use: OperationUse | null;
  readonly callerOf: CallerOf;
  /** Null if Keyway's own interface is not served. */
  readonly ownApi: BesideMounts | null;
  /** Null if no subscription is answered by its token. */
  readonly subscriptions: ServedSubscriptions | null;
  /** The faults of a gateway for tests; null in any other gateway. */
  readonly faulty: FaultyOptions | null;
  /** Notified of every answer and login. */
  readonly observer?: RequestsObserver;
  /**
   * Tells whether a mount that its own rule leaves open must still refuse everyone (design: "A mount that its own rule
   * leaves open").
   */
  readonly refusesOpen: (mount: Mount) => boolean;
}
