import type { UpstreamServer } from '../../client/server.js';
import type { Backend, ChangeReason } from '../../core/backend.js';
import { DomainError } from '../../core/errors.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { ListenerConfig } from '../../core/model.js';
import type { ClockPort, LogPort, ProgressPort, RandomPort } from '../../core/ports.js';
import type { KeptVersions } from '../../files/kept-versions.js';
import { tellsField } from '../../wire/traits/snapshot.js';
import { createAnnouncement } from './announcement.js';
import { createServerAudit } from './audit.js';
import { createConfigurationDoor } from './configuration.js';
import { createConfigurationKeeper } from './kept-configuration.js';
import type { Tells } from './key-state.js';
import { createServerKeys } from './keys.js';
import type { KnownKeys } from './known-keys.js';
import type { RenewalStatus } from './list-refresh.js';
import { createStatusKeeper } from './live-status.js';
import type { SettleRule } from './lost-creates.js';
import { createNames } from './names-from-configuration.js';
import { createInboundsKeeper } from './persist-keys.js';
import { problemsOf } from './problems.js';
import { createPresence } from './reconnect.js';
import { createSections } from './rules-and-dns.js';
import { createRulesWrite } from './rules-write.js';
import { createKnownListener } from './server-credentials.js';
import { createLiveKey, createSubscribers } from './single-keys.js';
import { createStrangerGate } from './stranger-gate.js';
import type { TimersPort } from './timers.js';
import type { Notes } from './write-journal.js';

/** What the state of a server is made of. */
export interface ServerStateOptions {
  readonly server: UpstreamServer;
  readonly notes: Notes;
  readonly settle: SettleRule;
  /** Lists are what was last known while the server is away. */
  readonly servesStale: boolean;
  /** Null where nothing outlives the process. */
  readonly versions: KeptVersions | null;
  /** The keys as last known, beyond the process; null where nothing outlives it. */
  readonly knownKeys: ((keys: KeyReader) => KnownKeys) | null;
  /** What is given of the server's listener. */
  readonly listener: ListenerConfig | null;
  readonly guard: boolean;
  readonly readsSettings: boolean;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly timers: TimersPort;
  readonly log: LogPort;
  readonly progress?: ProgressPort;
  /** Called when the state has let the server go. */
  readonly onClosed: () => Promise<void>;
}

export interface ServerState {
  readonly backend: Backend & { status(): ServerStateStatus };
  /** Loads what the server has. Rejects with an `Error` for people where it lets nobody in. */
  open(): Promise<void>;
}

export interface ServerStateStatus extends RenewalStatus {
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
  const { server, notes, settle, versions, guard, readsSettings, clock, random, timers, log, progress, onClosed } =
    options;
  const listeners: ((reason: ChangeReason) => void)[] = [];
  let isClosed = false;

  const tells: Tells = (name) => {
    const line = server.line();
    return line === null || tellsField(line.snapshot, name);
  };
  const readsNames = () => !tells('name') && server.line()?.capabilities.config === true;
  const changed = (reason: ChangeReason): void => {
    for (const listener of listeners) listener(reason);
  };

  const { keys, replica, renewals, settling, queue, writes, undone, report } = createServerKeys({
    server,
    notes,
    settle,
    servesStale: options.servesStale,
    clock,
    timers,
    log,
    ...(progress === undefined ? {} : { progress }),
    tells,
    readsNames,
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
    },
  });
  const known = options.knownKeys?.(keys) ?? null;
  const configuration = createConfigurationDoor({
    server,
    keys,
    queue,
    renewals,
    settling,
    versions,
    guard,
    clock,
    timers,
    log,
    isClosing: () => isClosed,
    onStored() {
      keeper.written();
      kept?.changed();
    },
    onReplaced: (next) => {
      sections.take(next);
      listener.take(next);
      names.replaced(next.keys, clock.monotonic());
      changed('replaced');
    },
  });
  const kept =
    versions === null
      ? null
      : createConfigurationKeeper({
          configuration,
          versions,
          hasOne: () => server.line()?.capabilities.config !== undefined,
          clock,
          timers,
          log,
        });
  const listener = createKnownListener({
    given: options.listener,
    server,
    configuration,
    onChange: () => changed('edited'),
    log,
  });
  const names = createNames({
    configuration,
    replica,
    areWanted: readsNames,
    log,
  });
  const keeper = createInboundsKeeper({ server, keys, queue, renewals, configuration, settling, clock, timers, log });
  const sections = createSections({
    server,
    queue,
    configuration,
    writeRules: createRulesWrite({ server, keys, queue, configuration, log }),
    onChange: () => changed('saved'),
    onRules: keeper.ruled,
  });
  const gate = createStrangerGate();
  const announced: UpstreamServer['subscription'] = (accessKey, purpose) =>
    gate.take(() => server.subscription(accessKey, purpose));
  const announcement = createAnnouncement({ subscription: announced }, clock, () => {
    const ownDns = announcement.known()?.ownDns ?? null;
    if (ownDns !== null) sections.learn({ enabled: ownDns });
    changed('edited');
  });
  const status = createStatusKeeper({ server, keys, replica, clock, onRestart });
  const find = createSubscribers({ server, keys, replica, renewals, announcement, clock, gate });
  const presence = createPresence({
    server,
    load,
    look: status.look,
    onBack: renewals.retry,
    onLine: () => mayBeAnother(),
    timers,
    log,
  });

  /** What was learnt of the server may have become something else. */
  function mayBeAnother(): void {
    announcement.forget();
    void listener.learn();
  }

  function onRestart(): void {
    log.info({ upstream: server.name, unsettled: settling.watched().size }, 'the server was started anew');
    mayBeAnother();
    kept?.changed();
    keeper.written();
    renewals.fresh('poll').catch(() => undefined);
  }

  async function load(): Promise<void> {
    try {
      await server.find('caller');
      await renewals.fresh('caller');
    } finally {
      progress?.clear();
    }
    await status.read('caller');
    for (const { accessKey } of keys.entries()) {
      await announcement.learn(accessKey);
      break;
    }
    if (readsSettings) await sections.load();
    await listener.learn();
    if (settling.watched().size > 0) keeper.written();
    kept?.look();
  }

  const backend: ServerState['backend'] = {
    ...writes,
    keys,
    settings: () => ({
      outbound: sections.knownOutbound(),
      dns: sections.knownDns(),
      listener: listener.now(),
      announced: announcement.known() ?? {},
    }),
    onChange: (listener) => {
      listeners.push(listener);
    },
    replaceRules: sections.replaceRules,
    changeDns: sections.changeDns,
    count: countedElsewhere,
    get document() {
      return server.line()?.capabilities.config === undefined && server.line() !== null ? null : configuration.document;
    },
    audit: createServerAudit(server, clock, { random, gate }),
    sessions: null,
    countPosted: countedElsewhere,
    live: {
      key: createLiveKey({ server, keys, replica, renewals, tells, clock }),
      status: () => status.read('caller'),
      rules: sections.rules,
      dns: sections.dns,
      queries: sections.queries,
    },
    replica: { freshen: renewals.freshen, stale: renewals.stale, lastKnown: renewals.lastKnown, find },
    refreshBlocklists: sections.refreshBlocklists,
    problems: async () =>
      problemsOf(server, notes, { stale: renewals.stale(), isUnreadable: kept?.isUnreadable() === true }),
    status: () => ({
      ...renewals.status(),
      madeAgain: report.count('madeAgain'),
      left: report.count('left'),
      unsettled: settling.watched().size,
      writesWaiting: queue.length,
    }),
    async close() {
      isClosed = true;
      presence.close();
      keeper.close();
      kept?.close();
      const written = undone.idle().then(queue.idle);
      await Promise.race([written, new Promise<void>((resolve) => timers.after(CLOSING, resolve))]);
      // Whatever is still asked for ends here.
      server.close();
      await written;
      await renewals.close();
      await known?.close();
      await onClosed();
    },
  };

  return { backend, open: presence.open };
}

/** For so long a server may still take what waits to be written, ms. */
const CLOSING = 10_000;

async function countedElsewhere(): Promise<never> {
  throw new DomainError('countedElsewhere', COUNTS);
}

const COUNTS = 'this Keyway stands in front of a running server, which counts by itself: reports would count twice';
