import { isReachable } from '../core/client-address.js';
import type { LogPort } from '../core/ports.js';
import { methodsAt } from '../northbound/matching.js';
import { UNIX_PEER } from '../northbound/peers.js';
import { StartError } from '../platform/start-error.js';
import { addressClashes, isLoopback } from '../settings/bind-address.js';
import type { Settings } from '../settings/table.js';
import { openMountProblems, shutMountProblems } from './open-mounts.js';
import { type Prepared, reach, type ServePorts } from './prepare.js';

/** Returns why the API need not be served at all; null if the state or an explicit `--bind` asks for it. */
export function idleReason({ settings, gateway }: Prepared): string | null {
  return settings.bind === null ? gateway.home.idleReason() : null;
}

/** Refuses what must not be served, and logs what will hinder serving. Rejects with a `StartError`. */
export async function check(prepared: Prepared, ports: ServePorts): Promise<void> {
  const { mounts: served, credentials } = prepared.gateway;
  const shut = shutMountProblems({ mounts: served, credentials: credentials() });
  if (shut.length > 0) throw new StartError(shut, 2);
  const problems = openProblems(prepared);
  if (problems.length > 0) throw new StartError(problems);
  refuseClashes(prepared);
  const { home, mounts } = prepared.gateway;
  await home.report(mounts.map(({ revision }) => revision));
  reportCallers(prepared.settings, ports.log);
  reportPlainHttp(prepared, ports.log);
  reportSubscriptions(prepared, ports.log);
  reportRecords(prepared, ports.log);
}

/** Warns if named tokens, batches and events will be lost with the process. */
function reportRecords({ settings, gateway }: Prepared, log: LogPort): void {
  if (settings.ownApi === false || gateway.home.backend.records.outliveProcess) return;
  log.warn({}, 'named tokens, batches and events are kept in memory alone: there is no data folder');
}

/** Returns one sentence for each mount that must not be served as it is now. */
export function openProblems({ settings, gateway, bind }: Prepared): readonly string[] {
  const context = { mounts: gateway.mounts, credentials: gateway.credentials(), ...reach(settings, bind) };
  return [...shutMountProblems(context), ...(settings.allowOpen ? [] : openMountProblems(context))];
}

/** Refuses addresses that clash. Throws a `StartError` that names each two. */
function refuseClashes({ settings, bind }: Prepared): void {
  const api = settings.bind === null ? "the API's own address" : '--bind';
  const clashes = addressClashes([
    { name: api, bind },
    ...named('--subscription-bind', settings.subscriptionBind),
    ...named('--feed-bind', settings.feedBind),
    ...named('--ops-bind', settings.opsBind),
  ]);
  if (clashes.length > 0) throw new StartError(clashes);
}

function named(name: string, bind: string | null) {
  return bind === null ? [] : [{ name, bind }];
}

/** Tells whether clients can reach the address that they are given. */
export const isHostReached = ({ gateway }: Prepared): boolean => isReachable(gateway.announced().host);

/** Logs at the start which address clients are given if they cannot reach it. */
export function reportHost(prepared: Prepared, log: LogPort): void {
  if (isHostReached(prepared)) return;
  const { host } = prepared.gateway.announced();
  const { hint } = prepared.settings.home;
  const start = hint === '' ? '' : `keyway serve ${hint} `;
  log.warn(
    { host },
    `share links name an address that clients cannot reach, ${host}: give theirs with ${start}--server-host ADDRESS`,
  );
}

/** Warns that all callers on a Unix socket are one to the login guard until a proxy is trusted to name them. */
function reportCallers(settings: Settings, log: LogPort): void {
  const isSocket = settings.bind?.startsWith('unix:') === true;
  if (!isSocket || settings.loginGuard === 'off' || settings.trustProxy.includes(UNIX_PEER)) return;
  log.warn(
    {},
    'all callers of a Unix socket count as one for the login guard: where the proxy sets X-Forwarded-For, add --trust-proxy unix',
  );
}

/** Warns that a password or token in plain HTTP can be read by anyone on its way. */
function reportPlainHttp({ settings, bind, gateway }: Prepared, log: LogPort): void {
  const { token, username } = gateway.credentials();
  const isAsked = (token ?? '') !== '' || username !== '';
  const [host = ''] = /^.*(?=:\d+$)/.exec(bind) ?? [];
  if (!isAsked || host === '' || isLoopback(host) || settings.tlsCert !== null || settings.trustProxy.length > 0)
    return;
  log.warn(
    { bind },
    'passwords and tokens go over the network in plain HTTP: give a certificate with --tls-cert and --tls-key, put a proxy before 127.0.0.1 (docs/proxy.md), or serve users alone there with --subscription-bind',
  );
}

/** Warns about subscriptions that are never answered because a mount's own paths take precedence. */
function reportSubscriptions({ settings, gateway: { backend, mounts } }: Prepared, log: LogPort): void {
  const { prefix } = backend.settings().published.subscription;
  if (settings.subscriptionTokens !== true || methodsAt(mounts, `${prefix}/`).length === 0) return;
  log.warn(
    { mounts: mounts.map(({ label }) => label) },
    'the web path of a mount is where subscriptions would be: give it another one, or serve them on --subscription-bind',
  );
}
