import { UNCHANGED } from '../../client/find-line.js';
import type { UpstreamServer, UpstreamStatus, UpstreamTrouble } from '../../client/server.js';
import type { Backend, ChangeReason, Problem, ProblemKinds } from '../../core/backend.js';
import { ChangeListeners } from '../../core/change-listeners.js';
import { DomainError } from '../../core/errors.js';
import type { KeptRecords } from '../../core/kept-records.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { ListenerConfig, Published } from '../../core/model.js';
import type { RandomPort } from '../../core/ports.js';
import type { KeptVersions } from '../../files/kept-versions.js';
import { tellsField } from '../../wire/traits/snapshot.js';
import { createAnnouncement } from './announcement.js';
import { createServerAudit } from './audit.js';
import { createConfigurationAccess } from './configuration.js';
import { createConfigurationVersions } from './kept-configuration.js';
import { createKeyChanges } from './key-changes.js';
import type { Tells } from './key-state.js';
import { createServerKeys, type ServerKeysOptions } from './keys.js';
import type { KnownKeys } from './known-keys.js';
import { createLastKey } from './last-key.js';
import type { ListRefreshStatus } from './list-refresh.js';
import { createStatusKeeper } from './live-status.js';
import { createNames } from './names-from-configuration.js';
import { createKeyPersister } from './persist-keys.js';
import { createKnownPublished } from './published.js';
import { createReconnect } from './reconnect.js';
import { createRulesAndDns } from './rules-and-dns.js';
import { createRulesWrite } from './rules-write.js';
import { createServerCredentials } from './server-credentials.js';
import { createLiveKey, createSubscribers } from './single-keys.js';
import { createStrangerGate } from './stranger-gate.js';
import type { WriteJournal } from './write-journal.js';

/** The parts that the state of a server is made of. */
export interface ServerStateOptions
  extends Omit<
    ServerKeysOptions,
    'tells' | 'readsNames' | 'keepVersion' | 'storedRecord' | 'startStates' | 'onTaken' | 'onGone' | 'onWritten'
  > {
  /** Null where nothing outlives the process. */
  readonly versions: KeptVersions | null;
  /** Keyway's own records. */
  readonly records: KeptRecords;
  /** The keys as last known, beyond the process; null where nothing outlives it. */
  readonly knownKeys: ((keys: KeyReader) => KnownKeys) | null;
  /** The given credentials of the server's listener. */
  readonly listener: ListenerConfig | null;
  readonly readsSettings: boolean;
  readonly random: RandomPort;
  /** Called when the state has let the server go. */
  readonly onClosed: () => Promise<void>;
}

export interface ServerState {
  readonly backend: Omit<Backend, 'records'> & { status(): ServerStateStatus };
  /** Loads what the server has. Rejects with an `Error` for people where it lets nobody in. */
  open(): Promise<void>;
}

export interface ServerStateStatus extends ListRefreshStatus {
  /** Writes that wait to be settled. */
  readonly unsettled: number;
  /** Writes that were lost and made again, ever. */
  readonly madeAgain: number;
  /** Keys made here that somebody deleted before they were settled, which was left so, ever. */
  readonly left: number;
  /** Writes that wait for their turn, the one under way included. */
  readonly writesWaiting: number;
}

/** Puts the rooms of a server's state together; `openUpstreamBackend` opens what it stands on. */
export function createServerState(options: ServerStateOptions): ServerState {
  const { server, journal, versions, readsSettings, clock, random, timers, log, progress, onClosed } = options;
  const listeners = new ChangeListeners(log);
  let isClosed = false;
  let isReplacing = false;
  /** Tells of a part; one of a configuration that is taken as a whole is told with that, once. */
  const tellPart = (reason: ChangeReason): void => {
    if (!isReplacing) listeners.tell(reason);
  };

  const tells: Tells = (name) => {
    const line = server.line();
    return line === null || tellsField(line.snapshot, name);
  };
  const tellsServer = () => server.line()?.status.tellsServer === true;
  const readsNames = () => !tells('name') && server.line()?.capabilities.config === true;

  const context = { ...options, tells, readsNames };
  const { keys, replica, listRefresh, unconfirmed, queue, writes, reverted, report } = createServerKeys({
    ...context,
    keepVersion,
    storedRecord: (accessKey) => configuration.storedRecord(accessKey),
    startStates: (accessKey, before) => keeper.startStates(accessKey, before),
    async onTaken() {
      keeper.listed();
      await names.follow(clock.monotonic());
      if (names.areKnown()) known?.listed();
    },
    onGone: (accessKey) => keeper.gone(accessKey),
    onWritten() {
      keeper.written();
      kept?.changed();
      known?.changed();
      reconnect.keepLooking();
    },
  });
  const ofKeys = { ...context, keys, queue, listRefresh, unconfirmed };
  const known = options.knownKeys?.(keys) ?? null;
  const configuration = createConfigurationAccess({
    ...ofKeys,
    isClosing: () => isClosed,
    keepVersion,
    onStored() {
      keeper.written();
      kept?.settingsChanged();
    },
    onReplaced: (next, hasSameKeys) => {
      isReplacing = true;
      try {
        rulesAndDns.take(next);
        listener.take(next);
        published.take(next);
        announcement.forget();
        kept?.settingsChanged();
        if (!hasSameKeys) names.replaced(next.keys, clock.monotonic());
      } finally {
        isReplacing = false;
      }
      listeners.tell('replaced');
    },
  });
  const kept = versions === null ? null : createConfigurationVersions({ ...context, keys, configuration, versions });
  const listener = createServerCredentials({
    ...context,
    given: options.listener,
    configuration,
    onChange: () => tellPart('edited'),
  });
  const published = createKnownPublished({ ...context, configuration });
  const names = createNames({ ...context, configuration, replica });
  const keeper = createKeyPersister({ ...ofKeys, configuration });
  const lastKey = createLastKey({ ...ofKeys, writes, configuration });
  const rulesAndDns = createRulesAndDns({
    ...context,
    queue,
    configuration,
    keepVersion,
    writeRules: createRulesWrite({ ...ofKeys, configuration }),
    onChange() {
      kept?.settingsChanged();
      tellPart('saved');
    },
    onRules: keeper.ruled,
  });
  const gate = createStrangerGate();
  const announced: UpstreamServer['subscription'] = (accessKey, purpose) =>
    gate.take(() => server.subscription(accessKey, purpose));
  const announcement = createAnnouncement({ subscription: announced }, clock, () => {
    const ownDns = announcement.known()?.ownDns ?? null;
    // The links of a server that tells of itself are no settings: those may count from its next start on.
    if (ownDns !== null && !tellsServer()) rulesAndDns.learn({ enabled: ownDns });
    tellPart('edited');
  });
  let told: UpstreamStatus['endpoint'] = null;
  const status = createStatusKeeper({
    ...ofKeys,
    replica,
    onStatus: ({ endpoint }) => {
      told = endpoint;
      announcement.told(endpoint);
    },
    onRestart,
  });
  const find = createSubscribers({ ...ofKeys, replica, announcement, gate });
  const reconnect = createReconnect({
    ...context,
    load,
    look: status.look,
    isNeeded: () => unconfirmed.pending().size > 0,
    onBack: listRefresh.retry,
    onLine: () => mayBeAnother(),
  });

  async function keepVersion(): Promise<void> {
    await kept?.before();
  }

  /** Reads again what a restart may have changed. */
  function mayBeAnother(): void {
    announcement.forget();
    published.forget();
    void listener.learn();
  }

  function onRestart(): void {
    log.info({ upstream: server.name, unsettled: unconfirmed.pending().size }, 'the server was restarted');
    mayBeAnother();
    kept?.changed();
    keeper.written();
    listRefresh.fresh('poll').catch(() => undefined);
  }

  async function load(): Promise<void> {
    try {
      await server.find();
      await listRefresh.fresh('caller');
    } finally {
      progress?.clear();
    }
    await status.read();
    for (const { accessKey } of keys.entries()) {
      await announcement.learn(accessKey);
      break;
    }
    if (readsSettings) await rulesAndDns.load();
    await listener.learn();
    if (unconfirmed.pending().size > 0) keeper.written();
    kept?.look();
  }

  const liveKey = createLiveKey({ ...ofKeys, replica });
  const backend: ServerState['backend'] = {
    changes: createKeyChanges({ writes, lastKey, find: async (accessKey) => liveKey(accessKey) }),
    createBareKeys: writes.createBareKeys,
    adopt: writes.adopt,
    keys,
    settings: () => ({
      outbound: rulesAndDns.knownOutbound(),
      dns: rulesAndDns.knownDns(),
      listener: listener.now(),
      announced: announcement.known() ?? {
        ...published.announced(),
        ...(told && { host: told.host, port: told.port }),
      },
      told: tellsServer() ? (announcement.known() ?? told ?? undefined) : undefined,
      published: asTold(published.now(), told),
    }),
    onChange: listeners.add,
    replaceRules: rulesAndDns.replaceRules,
    changeDns: rulesAndDns.changeDns,
    count: countedElsewhere,
    get document() {
      return server.line()?.capabilities.config === undefined && server.line() !== null ? null : configuration.document;
    },
    audit: createServerAudit(context, random, gate),
    sessions: null,
    countPosted: countedElsewhere,
    live: {
      key: liveKey,
      status: () => status.read(),
      rules: rulesAndDns.rules,
      dns: rulesAndDns.dns,
      queries: rulesAndDns.queries,
    },
    replica: {
      freshen: listRefresh.freshen,
      stale: listRefresh.stale,
      watch: reconnect.keepLooking,
      lastKnown(milliseconds = 0) {
        if (milliseconds > 0) reconnect.keepLooking(milliseconds);
        return listRefresh.lastKnown(milliseconds);
      },
      find,
      lookForKeys: listRefresh.lookForKeys,
      learnPublished: published.learn,
    },
    refreshBlocklists: rulesAndDns.refreshBlocklists,
    past: null,
    problems: async () =>
      problemsOf(server, journal, {
        stale: listRefresh.stale(),
        isUnreadable: kept?.isUnreadable() === true,
        startError: configuration.startError() ?? lastKey.startError(),
      }),
    status: () => ({
      ...listRefresh.status(),
      madeAgain: report.count('madeAgain'),
      left: report.count('left'),
      unsettled: unconfirmed.pending().size,
      writesWaiting: queue.length,
    }),
    async close() {
      isClosed = true;
      reconnect.close();
      keeper.close();
      kept?.close();
      const written = reverted.idle().then(queue.idle);
      await Promise.race([written, new Promise<void>((resolve) => timers.after(CLOSING, resolve))]);
      // This ends whatever is still asked for.
      server.close();
      await written;
      await listRefresh.close();
      await known?.close();
      await onClosed();
    },
  };

  return { backend, open: reconnect.open };
}

/** For so long a server may still take what waits to be written, ms. */
const CLOSING = 10_000;

async function countedElsewhere(): Promise<never> {
  throw new DomainError('countedElsewhere', COUNTS);
}

const COUNTS = 'this Keyway stands in front of a running server, which counts by itself: reports would count twice';

/** The problems of a running server, and of the journal of its writes. */
export const UPSTREAM_PROBLEMS = {
  upstream_away: 'outside',
  upstream_refused: 'outside',
  upstream_later: 'outside',
  upstream_configuration_unreadable: 'outside',
  config_unreadable_by_server: 'own',
  stale: 'outside',
  upstream_notes_unwritable: 'own',
} as const satisfies ProblemKinds;

type UpstreamProblem = Problem<keyof typeof UPSTREAM_PROBLEMS>;

const NAMES: Readonly<Record<UpstreamTrouble['kind'], UpstreamProblem['problem']>> = {
  away: 'upstream_away',
  refused: 'upstream_refused',
};

/** Lists what is wrong with a server and with its journal. */
function problemsOf(
  server: Pick<UpstreamServer, 'name' | 'version' | 'isLater' | 'troubles'>,
  journal: Pick<WriteJournal, 'problem'>,
  {
    stale,
    isUnreadable,
    startError,
  }: { readonly stale: number | null; readonly isUnreadable: boolean; readonly startError: string | null },
): UpstreamProblem[] {
  const problems: UpstreamProblem[] = [];
  for (const { of, kind, since, reason } of server.troubles()) {
    const when = new Date(since).toISOString();
    problems.push({ problem: NAMES[kind], reason: `${server.name}, ${of}, since ${when}: ${reason}` });
  }
  if (server.isLater())
    problems.push({
      problem: 'upstream_later',
      reason: `${server.name} reports version ${server.version()}: ${UNCHANGED}`,
    });
  if (isUnreadable)
    problems.push({
      problem: 'upstream_configuration_unreadable',
      reason: `the configuration file of ${server.name} cannot be read, and it may not start again: keyway config restore`,
    });
  if (startError !== null)
    problems.push({ problem: 'config_unreadable_by_server', reason: `${server.name}: ${startError}` });
  if (stale !== null)
    problems.push({
      problem: 'stale',
      reason: `lists are as known ${Math.floor(stale / 1000)} s ago: ${server.name} is away`,
    });
  const unwritable = journal.problem();
  if (unwritable !== null) {
    const reason = `changes that the server may yet lose cannot be noted: ${unwritable}`;
    problems.push({ problem: 'upstream_notes_unwritable', reason });
  }
  return problems;
}

/**
 * Prefers what the running server's status says of TLS and subscriptions: its configuration may count only from its
 * next start.
 */
function asTold(published: Published, told: UpstreamStatus['endpoint']): Published {
  if (told === null) return published;
  const { tls, subscriptionPrefix } = told;
  const { subscription } = published;
  return {
    ...published,
    domain: tls?.host ?? published.domain,
    tls: tls && { port: tls.port, path: tls.path },
    subscription: {
      ...subscription,
      enabled: subscriptionPrefix !== null,
      prefix: subscriptionPrefix ?? subscription.prefix,
    },
  };
}
