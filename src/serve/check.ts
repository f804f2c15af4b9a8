import type { LogPort } from '../core/ports.js';
import { tryWriting } from '../local/file/try-writing.js';
import { UNIX_PEER } from '../northbound/peers.js';
import { StartError } from '../platform/start-error.js';
import { addressClashes } from '../settings/bind-address.js';
import type { Settings } from '../settings/table.js';
import { shellWord } from '../settings/text.js';
import { isLoopback, openMountProblems } from './open-mounts.js';
import { type Prepared, reach, type ServePorts } from './prepare.js';
import { reportUpstream } from './report-upstream.js';

/** Whether the file's own listener, or an explicit `--bind`, asks for serving at all. */
export function isWanted({ settings, gateway }: Prepared): boolean {
  return settings.bind !== null || settings.config === null || gateway.backend.settings().listener?.enabled === true;
}

/** Refuses what must not be served, and says what will be in the way of serving. Rejects with a `StartError`. */
export async function check(prepared: Prepared, ports: ServePorts): Promise<void> {
  const problems = openProblems(prepared);
  if (problems.length > 0) throw new StartError(problems);
  refuseClashes(prepared);
  await reportWriting(prepared.settings, ports);
  const { upstream, mounts } = prepared.gateway;
  const served = mounts.map(({ revision }) => revision);
  if (upstream !== null) reportUpstream(upstream, served, ports.log);
  reportSurroundings(prepared, ports.log);
  reportCallers(prepared.settings, ports.log);
}

/** One sentence for each mount that must not be served as it is now. */
export function openProblems({ settings, gateway, bind }: Prepared): readonly string[] {
  if (settings.allowOpen) return [];
  return openMountProblems({ mounts: gateway.mounts, credentials: gateway.credentials(), ...reach(settings, bind) });
}

/** Rejects addresses of which two cannot both be listened on. Throws a `StartError` that names each two. */
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

/** Tries the way of writing without changing the file, and says in one sentence what will be in its way. */
async function reportWriting(settings: Settings, { fileSystem, log }: ServePorts): Promise<void> {
  if (settings.config === null) return;
  const trial = { path: settings.config, fileSystem, inPlace: settings.inPlace };
  for (const { kind, message } of await tryWriting(trial)) log.warn({ kind }, message);
}

/** Says at start what was read past in the file, and what clients are told when they cannot reach it. */
function reportSurroundings({ settings, gateway }: Prepared, log: LogPort): void {
  for (const warning of gateway.local?.configuration?.load().warnings ?? []) log.warn({}, warning);
  const { host } = gateway.announced();
  if (['', '0.0.0.0', '[::]', '::'].includes(host) || isLoopback(host)) {
    const start = settings.config === null ? '' : `keyway serve --config ${shellWord(settings.config)} `;
    log.warn(
      { host },
      `share links name an address that clients cannot reach, ${host}: give theirs with ${start}--server-host ADDRESS`,
    );
  }
}

/** On a Unix socket all callers are one to the login guard, until a proxy is believed who they are. */
function reportCallers(settings: Settings, log: LogPort): void {
  const isSocket = settings.bind?.startsWith('unix:') === true;
  if (!isSocket || settings.loginGuard === 'off' || settings.trustProxy.includes(UNIX_PEER)) return;
  log.warn(
    {},
    'all callers of a Unix socket count as one for the login guard: where the proxy sets X-Forwarded-For, add --trust-proxy unix',
  );
}
