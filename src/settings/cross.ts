import { NO_FAULT } from '../core/faults.js';
import type { SettingProblem } from './flags.js';
import { databaseHome, fileHome, type HomePlace, memoryHome, testHome, upstreamHome } from './home.js';
import { SETTINGS, type SettingValues } from './table.js';

type SettingName = keyof SettingValues;
type PlaceOf = (name: SettingName) => string;

/**
 * Lists contradictions between settings that are each valid: no revision, a panel folder for no mount, a feed that
 * anybody could write to, a certificate without its key or the reverse, both without a listener to use them, two homes
 * for one state.
 */
export function crossProblems(settings: SettingValues, placeOf: PlaceOf): readonly SettingProblem[] {
  if (settings.revision.length === 0) {
    return [{ setting: 'revision', place: placeOf('revision'), message: 'expected at least one revision' }];
  }
  return [
    ...panelProblems(settings, placeOf('panelDirs')),
    ...sunsetProblems(settings, placeOf('sunset')),
    ...feedProblems(settings, placeOf('feedBind')),
    ...tlsProblems(settings, placeOf),
    ...homeProblems(settings, placeOf),
    ...webhookProblems(settings, placeOf),
    ...testProblems(settings, placeOf),
  ];
}

/** Lists contradictions between the rows that name a home, in the order in which homes take precedence. */
function homeProblems(values: SettingValues, placeOf: PlaceOf): readonly SettingProblem[] {
  const { config, dataDir, upstream, upstreamUsername, upstreamPassword, database, databaseListenUrl } = values;
  const problem = (name: SettingName, message: string) => [
    { setting: SETTINGS[name].flag, place: placeOf(name), message: `expected ${message}` },
  ];
  const ofUpstream = () => {
    if (upstream === null) return [];
    if (config !== null) return problem('config', 'no configuration file with --upstream: the server has its own');
    if (upstreamUsername !== null && upstreamPassword === null)
      return problem('upstreamUsername', '--upstream-password with it');
    if (upstreamUsername === null && upstreamPassword !== null)
      return problem('upstreamPassword', '--upstream-username with it');
    return [];
  };
  const ofDatabase = () => {
    if (database === null) return databaseListenUrl === null ? [] : problem('databaseListenUrl', '--database with it');
    if (upstream !== null) return problem('database', '--upstream or --database, not both');
    if (config !== null) return problem('config', 'no configuration file with --database, which holds the state');
    return dataDir === null ? [] : problem('dataDir', 'no data folder with --database, which holds the state');
  };
  return [...ofUpstream(), ...ofDatabase()];
}

/** Requires a secret, because an unsigned event could come from anybody. */
function webhookProblems({ webhook, webhookSecret }: SettingValues, placeOf: PlaceOf): readonly SettingProblem[] {
  if ((webhook === null) === (webhookSecret === null)) return [];
  const name = webhook === null ? 'webhookSecret' : 'webhook';
  const message =
    webhook === null
      ? 'expected --webhook with it'
      : 'expected KEYWAY_WEBHOOK_SECRET with it: whsec_ and Base64 of 24 to 64 bytes';
  return [{ setting: SETTINGS[name].flag, place: placeOf(name), message }];
}

const TEST_SETTINGS = ['fault', 'testState', 'seed'] as const;

/** Keeps settings for tests away from anything that lasts, so that nobody meets a fault by accident. */
function testProblems(values: SettingValues, placeOf: PlaceOf): readonly SettingProblem[] {
  const { config, upstream, database, dataDir } = values;
  if (config === null && upstream === null && database === null && dataDir === null) return [];
  return TEST_SETTINGS.filter((name) => values[name] !== null).map((name) => ({
    setting: SETTINGS[name].flag,
    place: placeOf(name),
    message: 'expected --no-config with it, and no --upstream, --database or --data-dir: it is for tests alone',
  }));
}

/** Returns the one home that the rows name. */
export function homeOf(values: SettingValues): HomePlace {
  const { config, dataDir, inPlace, serverVersion, upstream, database } = values;
  if (upstream !== null) {
    const { upstreamRevision, upstreamToken: token, upstreamUsername: username, upstreamPassword: password } = values;
    return upstreamHome({
      origin: upstream.origin,
      webpath: upstream.webpath,
      revision: upstreamRevision?.revision ?? null,
      credentials: { token, operator: username === null || password === null ? null : { username, password } },
      ca: values.upstreamCa,
      dataFolder: dataDir ?? upstream.dataFolder,
      servesStale: values.serveStale,
    });
  }
  if (database !== null) {
    const { databaseListenUrl: listenUrl, databaseStale: stale, noMigrate } = values;
    const listened = listenUrl === null ? {} : { listenUrl };
    return databaseHome({ url: database, ...listened, stale, migrates: !noMigrate });
  }
  const { fault, testState } = values;
  if (fault !== null || testState !== null) return testHome({ path: testState, state: null, fault: fault ?? NO_FAULT });
  return config === null
    ? memoryHome({ dataDir, serverVersion })
    : fileHome(config, { dataDir, inPlace, serverVersion });
}

function feedProblems({ feedBind, feedToken }: SettingValues, place: string): readonly SettingProblem[] {
  if (feedBind === null || feedToken !== null || feedBind.startsWith('unix:')) return [];
  return [{ setting: 'feed-bind', place, message: 'expected --feed-token with it: only a Unix socket needs none' }];
}

function tlsProblems(
  { tlsCert, tlsKey, bind, subscriptionBind }: SettingValues,
  placeOf: PlaceOf,
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

/** Returns the day on which a served revision ends; null for one that stays. */
export function sunsetOf(
  { text, name, revision }: SettingValues['revision'][number],
  { sunset }: Pick<SettingValues, 'sunset'>,
): number | null {
  return (
    sunset.findLast((each) => each.mount === text || each.mount === name || each.revision === revision)?.at ?? null
  );
}

function sunsetProblems({ revision, sunset }: SettingValues, place: string): readonly SettingProblem[] {
  const names = revision.map(({ text }) => text).join(', ');
  return sunset.flatMap((each) => {
    if (revision.some((one) => sunsetOf(one, { sunset: [each] }) !== null)) return [];
    const message = `expected one of the served revisions (${names}) before the day, got ${JSON.stringify(each.mount)}`;
    return [{ setting: 'sunset', place, message }];
  });
}

function panelProblems({ revision, panelDirs }: SettingValues, place: string): readonly SettingProblem[] {
  const seen = new Set<string | null>();
  return panelDirs.flatMap(({ mount }) => {
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
