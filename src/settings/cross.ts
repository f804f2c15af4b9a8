import type { SettingProblem } from './flags.js';
import type { Settings } from './table.js';

/**
 * What is wrong with settings that are each well formed: no revision, a panel folder for no mount, a feed
 * that anybody could write to, half of a certificate and its key, or both for nothing, two homes for one state.
 */
export function crossProblems(
  settings: Settings,
  placeOf: (name: keyof Settings) => string,
): readonly SettingProblem[] {
  if (settings.revision.length === 0) {
    return [{ setting: 'revision', place: placeOf('revision'), message: 'expected at least one revision' }];
  }
  return [
    ...panelProblems(settings, placeOf('panelDir')),
    ...feedProblems(settings, placeOf('feedBind')),
    ...tlsProblems(settings, placeOf),
    ...upstreamProblems(settings, placeOf),
    ...databaseProblems(settings, placeOf),
  ];
}

function databaseProblems(
  { config, dataDir, upstream, database, databaseListenUrl }: Settings,
  placeOf: (name: keyof Settings) => string,
): readonly SettingProblem[] {
  const problem = (setting: string, place: string, message: string) => [{ setting, place, message }];
  if (database === null) {
    if (databaseListenUrl === null) return [];
    return problem('database-listen-url', placeOf('databaseListenUrl'), 'expected --database with it');
  }
  if (upstream !== null) return problem('database', placeOf('database'), 'expected --upstream or --database, not both');
  if (config !== null)
    return problem(
      'config',
      placeOf('config'),
      'expected no configuration file beside --database, which holds the state',
    );
  if (dataDir === null) return [];
  return problem('data-dir', placeOf('dataDir'), 'expected no data folder beside --database, which holds the state');
}

function upstreamProblems(
  { upstream, config, upstreamUsername, upstreamPassword }: Settings,
  placeOf: (name: keyof Settings) => string,
): readonly SettingProblem[] {
  const problem = (setting: string, place: string, message: string) => [{ setting, place, message }];
  if (upstream === null) return [];
  if (config !== null)
    return problem(
      'config',
      placeOf('config'),
      'expected no configuration file beside --upstream: the server has its own',
    );
  if (upstreamUsername !== null && upstreamPassword === null)
    return problem('upstream-username', placeOf('upstreamUsername'), 'expected --upstream-password with it');
  if (upstreamUsername === null && upstreamPassword !== null)
    return problem('upstream-password', placeOf('upstreamPassword'), 'expected --upstream-username with it');
  return [];
}

function feedProblems({ feedBind, feedToken }: Settings, place: string): readonly SettingProblem[] {
  if (feedBind === null || feedToken !== null || feedBind.startsWith('unix:')) return [];
  return [{ setting: 'feed-bind', place, message: 'expected --feed-token with it: only a Unix socket needs none' }];
}

function tlsProblems(
  { tlsCert, tlsKey, bind, subscriptionBind }: Settings,
  placeOf: (name: keyof Settings) => string,
): readonly SettingProblem[] {
  const problem = (setting: string, place: string, message: string) => [{ setting, place, message }];
  if (tlsCert === null && tlsKey === null) return [];
  if (tlsKey === null) return problem('tls-cert', placeOf('tlsCert'), 'expected --tls-key with it');
  if (tlsCert === null) return problem('tls-key', placeOf('tlsKey'), 'expected --tls-cert with it');
  const isPlain = (address: string) => address.startsWith('unix:');
  if (bind === null || !isPlain(bind) || (subscriptionBind !== null && !isPlain(subscriptionBind))) return [];
  return problem(
    'tls-cert',
    placeOf('tlsCert'),
    'expected an address as host:port to serve it on: Unix sockets have no TLS',
  );
}

function panelProblems({ revision, panelDir }: Settings, place: string): readonly SettingProblem[] {
  const seen = new Set<string | null>();
  return panelDir.flatMap(({ mount }) => {
    const known = mount === null || revision.some((one) => one.text === mount || one.name === mount);
    const repeated = seen.has(mount);
    seen.add(mount);
    const names = revision.map(({ text }) => text).join(', ');
    if (!known) {
      const message = `expected one of the served revisions (${names}) before the =, got ${JSON.stringify(mount)}`;
      return [{ setting: 'panel-dir', place, message }];
    }
    if (!repeated) return [];
    const whom = mount === null ? 'all revisions' : mount;
    return [{ setting: 'panel-dir', place, message: `expected one folder for ${whom}, got several` }];
  });
}
